/* Totals: the groups of the rows of a table, and stored columns of rows summed by group. */

#include <errno.h>

#include "columnar/evaluator-internal.h"

/* Adds a row's own count or verdict as if it were one element. */
static void add_row(ReduceOp op, const Column *of_row, size_t i, ReduceState *result) {
    uint8_t state = of_row->states ? of_row->states[i] : COLUMN_OK;
    uint8_t *bad = op == REDUCE_ALL || op == REDUCE_EXISTS ? &result->bad_value : &result->bad;

    if (state >= COLUMN_ERROR)
        *bad = state > *bad ? state : *bad;
    else if (op == REDUCE_ALL)
        result->is_decided |= state == COLUMN_FALSE;
    else if (op == REDUCE_EXISTS)
        result->is_decided |= state == COLUMN_TRUE;
    else
        result->i += of_row->ints[i];
}

static void add_block(const Plan *plan, const PlanColumn *column, const PlanBlock *block, size_t n,
    const uint32_t *of_row, ReduceState *results) {
    const PlanReduction *reduction = column->reduction;
    const Column *partial = &block->columns[plan_column_at(plan, reduction->partial)->store];
    const ListOffsets *offsets = &block->offsets[plan->spaces.items[reduction->space].store];

    for (size_t i = 0; i < n; i++) {
        if (of_row[i] == UINT32_MAX)
            continue;
        if (offsets->list_states && offsets->list_states[i])
            results[of_row[i]].bad = COLUMN_FALLBACK;
        else
            add_row((ReduceOp)reduction->op, partial, i, &results[of_row[i]]);
    }
}

static KernelOperand operand_of(const Plan *plan, uint32_t number, const PlanBlock *block) {
    const PlanColumn *column = plan_column_at(plan, number);

    if (column->is_constant)
        return (KernelOperand){&column->single, true};
    return (KernelOperand){&block->columns[column->store], false};
}

/* Adds the rows as elements of their groups, one by one, in the order of the scalar machine. */
static void add_members(const Plan *plan, const PlanColumn *column, const PlanBlock *block,
    size_t n, const uint32_t *of_row, ReduceState *results) {
    const PlanReduction *reduction = column->reduction;
    uint8_t include[PLAN_BLOCK_ROWS];
    ReduceArgs args = {.op = (ReduceOp)reduction->op, .lane = LANE_BOOL, .include = include};

    memset(include, COLUMN_TRUE, sizeof(include));
    for (uint32_t i = 0; i < reduction->n_predicates; i++)
        reduce_apply_predicate(include, n, operand_of(plan, reduction->predicates[i], block));
    if (reduction->value != NO_COLUMN) {
        args.has_value = true;
        args.value = operand_of(plan, reduction->value, block);
        args.lane = (ColumnLane)plan_column_at(plan, reduction->value)->lane;
    }
    for (size_t i = 0; i < n; i++)
        if (of_row[i] != UINT32_MAX)
            reduce_range(&args, i, i + 1, &results[of_row[i]]);
}

/* The column of a group, from the stored columns of the rows. */
static void sum_column(const Plan *plan, const PlanColumn *column, const RowGroups *groups,
    const PlanBlock *const *blocks, size_t n_rows, Arena *arena, Column *ret) {
    ReduceState *results = ARENA_ARRAY(arena, ReduceState, groups->n);
    uint8_t *states = ARENA_ARRAY(arena, uint8_t, groups->n);
    int64_t *values = ARENA_ARRAY(arena, int64_t, groups->n);

    if (!results || !states || !values)
        return;
    for (size_t from = 0; from < n_rows; from += PLAN_BLOCK_ROWS) {
        size_t n = n_rows - from < PLAN_BLOCK_ROWS ? n_rows - from : PLAN_BLOCK_ROWS;

        (column->reduction->is_total ? add_members : add_block)(
            plan, column, blocks[from / PLAN_BLOCK_ROWS], n, groups->of_row + from, results);
    }
    *ret = (Column){.lane = (ColumnLane)column->lane, .states = states, .ints = values};
    for (uint32_t i = 0; i < groups->n; i++)
        reduce_end((ReduceOp)column->reduction->op, &results[i], ret, i);
}

/* The groups of @key, from @known or, if that is NULL, from the table. */
static RowGroups find_groups(
    const PlanTable *table, const RowGroups *known, uint32_t key, size_t n_rows, Arena *arena) {
    uint32_t *of_row = ARENA_RAW(arena, uint32_t, n_rows);
    RowGroups groups = {.of_row = of_row};

    if (!of_row)
        return groups;
    groups.n = known ? known->n : table->groups(table, key, n_rows, of_row);
    if (known && n_rows > 0)
        memcpy(of_row, known->of_row, n_rows * sizeof(*of_row));
    return groups;
}

int plan_totals_new(const Plan *plan, const PlanTable *table, const PlanTotals *known,
    const PlanBlock *const *blocks, size_t n_rows, Arena *arena, const PlanTotals **ret) {
    PlanTotals *totals = ARENA_NEW(arena, PlanTotals);
    RowGroups *groups = ARENA_ARRAY(arena, RowGroups, plan->spaces.n);
    Column *columns = ARENA_ARRAY(arena, Column, plan->n_groups);
    size_t n_needed = 0;

    *ret = NULL;
    for (size_t i = 0; groups && i < plan->spaces.n; i++) {
        const PlanSpace *space = &plan->spaces.items[i];

        if (space->kind != SPACE_GROUPS || !space->is_needed)
            continue;
        groups[i] = find_groups(table, known ? &known->groups[i] : NULL, space->of, n_rows, arena);
        n_needed++; /* also without columns: a loop over groups needs their number */
    }
    if (arena_has_failed(arena)) /* also find_groups */
        return -ENOMEM;
    if (n_needed == 0)
        return 0;
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        const PlanColumn *column = plan_column_at(plan, plan->groups[i]);

        if (column->reduction->partial != NO_COLUMN || column->reduction->is_total)
            sum_column(plan, column, &groups[column->space], blocks, n_rows, arena, &columns[i]);
    }
    if (arena_has_failed(arena))
        return -ENOMEM;
    *totals = (PlanTotals){.groups = groups, .columns = columns};
    *ret = totals;
    return 0;
}
