/* Registers of a session. A root, and a column of several lists, has a register of its own. Any
 * other column has one only until the last step that reads it: the fewer registers, the better they
 * fit the cache. A list of elements may run inside a list of rows, so these share no registers.
 * Lists of the rows of groups run in an evaluator of their own (session-loop.c). */

#include "columnar/plan-internal.h"

#define NOT_GIVEN UINT32_MAX
#define NOT_READ UINT32_MAX

typedef struct Registers {
    Plan *plan;
    uint32_t list;   /* the number of the current list */
    uint32_t from;   /* first register that lists share */
    uint32_t n_most; /* shared registers of the list that needs most */
    uint32_t *free;  /* registers that this list does not use any more */
    uint32_t n_free, n_given;
} Registers;

static bool has_column(const PlanStep *step) {
    return step->kind == STEP_COLUMN || step->kind == STEP_LOAD;
}

static void find_shared(Registers *r, const PlanSteps *steps, const PlanColumn *reduced) {
    r->list++;
    for (uint32_t i = 0; i < steps->n; i++) {
        PlanColumn *column = plan_column_at(r->plan, steps->steps[i].column);

        if (!has_column(&steps->steps[i]))
            continue;
        if (column->list != 0 && column->list != r->list)
            column->is_lasting = true;
        column->list = r->list;
    }
}

/* Columns of groups last as long as the session. */
static void give_lasting(Plan *plan) {
    for (size_t i = 0; i < plan->n_roots; i++)
        plan_column_at(plan, plan->roots[i].column)->is_lasting = true;
    for (uint32_t i = 0; i < plan->columns.n; i++) {
        PlanColumn *column = plan_column_at(plan, i);

        column->last = NOT_READ;
        if (plan_column_is_single(column))
            continue;
        column->is_lasting |= plan->spaces.items[column->space].kind == SPACE_GROUPS;
        column->reg = column->is_lasting && column->is_in_batch ? plan->n_regs++ : NOT_GIVEN;
    }
}

/* The columns of the same list that a step reads. A loop over elements reads those of its rows;
 * columns of the elements are in a list of their own. */
static uint32_t find_reads(const Plan *plan, const PlanStep *step, const uint32_t **ret) {
    const PlanColumn *column = plan_column_at(plan, step->column);

    if (step->kind == STEP_WHERE) {
        *ret = &step->column;
        return 1;
    }
    if (step->kind != STEP_COLUMN || column->method == METHOD_SPREAD)
        return 0;
    *ret = column->reduction ? column->reduction->of_rows : column->inputs;
    return column->reduction ? column->reduction->n_of_rows : column->n_inputs;
}

/* Sets the last step that reads each column. The inputs of @reduced (NULL: the list is of a root)
 * are read after the list. */
static void note_reads(const Registers *r, const PlanSteps *steps, const PlanColumn *reduced) {
    for (uint32_t i = 0; i < steps->n; i++) {
        const uint32_t *reads = NULL;
        uint32_t n = find_reads(r->plan, &steps->steps[i], &reads);

        for (uint32_t k = 0; k < n; k++)
            plan_column_at(r->plan, reads[k])->last = i;
    }
    for (uint32_t i = 0; reduced && i < reduced->n_inputs; i++)
        plan_column_at(r->plan, reduced->inputs[i])->last = NOT_READ;
}

/* Frees the registers that step @i was the last to read. */
static void take_back(Registers *r, const PlanStep *step, uint32_t i) {
    const uint32_t *reads = NULL;
    uint32_t n = find_reads(r->plan, step, &reads);

    for (uint32_t k = 0; k < n; k++) {
        PlanColumn *column = plan_column_at(r->plan, reads[k]);

        if (column->last != i || column->is_lasting || plan_column_is_single(column))
            continue;
        column->last = NOT_READ; /* it may be read twice */
        r->free[r->n_free++] = column->reg;
    }
}

static void give_registers(Registers *r, const PlanSteps *steps, const PlanColumn *reduced) {
    r->n_free = r->n_given = 0;
    note_reads(r, steps, reduced);
    for (uint32_t i = 0; i < steps->n; i++) {
        PlanColumn *column = plan_column_at(r->plan, steps->steps[i].column);

        if (has_column(&steps->steps[i]) && column->reg == NOT_GIVEN)
            column->reg = r->n_free > 0 ? r->free[--r->n_free] : r->from + r->n_given++;
        take_back(r, &steps->steps[i], i);
    }
    if (r->n_given > r->n_most)
        r->n_most = r->n_given;
}

/* @reduced: the reduction whose inputs the list makes, or NULL. */
typedef void Visit(Registers *r, const PlanSteps *steps, const PlanColumn *reduced);

/* The lists of rows, or those of elements. */
static void visit_lists(Registers *r, Visit *visit, bool of_rows) {
    for (size_t i = 0; of_rows && i < r->plan->n_roots; i++)
        visit(r, &r->plan->roots[i].steps, NULL);
    for (uint32_t i = 0; i < r->plan->columns.n; i++) {
        const PlanColumn *column = plan_column_at(r->plan, i);

        if (column->is_needed && column->reduction &&
            (column->reduction->space == ROW_SPACE) == of_rows)
            visit(r, &column->reduction->steps, column);
    }
}

void planner_assign_registers(Planner *p) {
    Plan *plan = p->plan;
    Registers r = {
        .plan = plan,
        .free = planner_check(p, ARENA_RAW(p->scratch, uint32_t, plan->columns.n)),
    };

    if (!r.free)
        return;
    visit_lists(&r, find_shared, /* of_rows= */ true);
    visit_lists(&r, find_shared, /* of_rows= */ false);
    give_lasting(plan);
    r.from = plan->n_regs;
    visit_lists(&r, give_registers, /* of_rows= */ true);
    r.from += r.n_most;
    r.n_most = 0;
    visit_lists(&r, give_registers, /* of_rows= */ false);
    plan->n_regs = r.from + r.n_most;
}
