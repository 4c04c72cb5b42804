/* The cost of blocks: counted by column and space, and summed over all that a root reads. */

#include "columnar/evaluator-internal.h"

PlanMeter *plan_meter_new(const Plan *plan, uint64_t work_max, Arena *arena) {
    PlanMeter *meter = ARENA_NEW(arena, PlanMeter);

    if (!meter)
        return NULL;
    *meter = (PlanMeter){
        .plan = plan,
        .work_max = work_max,
        .columns = ARENA_ARRAY(arena, PlanCost, plan->columns.n),
        .spaces = ARENA_ARRAY(arena, PlanCost, plan->spaces.n),
        .stack = ARENA_ARRAY(arena, uint32_t, plan->columns.n),
        .is_seen = ARENA_ARRAY(arena, bool, plan->columns.n),
        .has_space = ARENA_ARRAY(arena, bool, plan->spaces.n),
    };
    return arena_has_failed(arena) ? NULL : meter;
}

bool plan_meter_is_over(const PlanMeter *meter) {
    return meter->work > meter->work_max;
}

uint64_t plan_meter_work(const PlanMeter *meter) {
    return meter->work;
}

static void add(PlanCost *total, const PlanCost *cost) {
    total->work += cost->work;
    total->bytes += cost->bytes;
}

/* Each column is put on the stack once. */
static void visit(PlanMeter *meter, uint32_t column, size_t *n) {
    if (column == NO_COLUMN || meter->is_seen[column])
        return;
    meter->is_seen[column] = true;
    meter->stack[(*n)++] = column;
}

static void visit_space(PlanMeter *meter, uint32_t space, PlanCost *total) {
    if (meter->has_space[space])
        return;
    meter->has_space[space] = true;
    add(total, &meter->spaces[space]);
}

PlanCost plan_meter_root(PlanMeter *meter, size_t root) {
    const Plan *plan = meter->plan;
    PlanCost total = {0};
    size_t n = 0;

    memset(meter->is_seen, 0, plan->columns.n * sizeof(bool));
    memset(meter->has_space, 0, plan->spaces.n * sizeof(bool));
    visit(meter, plan->roots[root].column, &n);
    while (n > 0) {
        uint32_t number = meter->stack[--n];
        const PlanColumn *column = plan_column_at(plan, number);

        add(&total, &meter->columns[number]);
        visit_space(meter, column->space, &total);
        for (uint32_t i = 0; i < column->n_inputs; i++)
            visit(meter, column->inputs[i], &n);
        if (!column->reduction)
            continue;
        visit(meter, column->reduction->partial, &n); /* inputs have its other columns */
        visit_space(meter, column->reduction->space, &total);
    }
    return total;
}
