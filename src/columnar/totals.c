/*
 * What must be known of the whole table: the groups of its rows, and for each group what is kept
 * of its rows, added up.
 */
#include <errno.h>

#include "columnar/evaluator-internal.h"

static int find_groups(
    const PlanTable *table, uint32_t key, size_t n_rows, Arena *arena, RowGroups *ret) {
    uint32_t *of_row = ARENA_RAW(arena, uint32_t, n_rows);

    if (!of_row)
        return -ENOMEM;
    ret->n = table->groups(table, key, n_rows, of_row);
    ret->of_row = of_row;
    return 0;
}

/* A loop over groups may ask nothing of them: how many there are counts all the same. */
static bool is_needed(const PlanSpace *space) {
    return space->kind == SPACE_GROUPS && space->is_needed;
}

static bool needs_groups(const Plan *plan) {
    for (size_t i = 0; i < plan->spaces.n; i++) {
        if (is_needed(&plan->spaces.items[i]))
            return true;
    }
    return false;
}

static int find_all_groups(
    const Plan *plan, const PlanTable *table, size_t n_rows, Arena *arena, RowGroups *groups) {
    for (size_t i = 0; i < plan->spaces.n; i++) {
        const PlanSpace *space = &plan->spaces.items[i];
        int r = is_needed(space) ? find_groups(table, space->of, n_rows, arena, &groups[i]) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

/* A row's own count or verdict, as one more element. */
static void add_row(ReduceOp op, const Column *of_row, size_t i, ReduceState *account) {
    uint8_t state = of_row->states ? of_row->states[i] : COLUMN_OK;
    uint8_t *bad = op == REDUCE_ALL || op == REDUCE_EXISTS ? &account->bad_value : &account->bad;

    if (state >= COLUMN_ERROR)
        *bad = state > *bad ? state : *bad;
    else if (op == REDUCE_ALL)
        account->is_decided |= state == COLUMN_FALSE;
    else if (op == REDUCE_EXISTS)
        account->is_decided |= state == COLUMN_TRUE;
    else
        account->i += of_row->ints[i];
}

static void add_block(const Plan *plan, const PlanColumn *column, const PlanBlock *block, size_t n,
    const uint32_t *of_row, ReduceState *accounts) {
    const PlanReduction *reduction = column->reduction;
    const Column *partial = &block->columns[plan_column_at(plan, reduction->partial)->store];
    const ListOffsets *offsets = &block->offsets[plan->spaces.items[reduction->space].store];

    for (size_t i = 0; i < n; i++) {
        if (of_row[i] == UINT32_MAX)
            continue;
        if (offsets->broken && offsets->broken[i])
            accounts[of_row[i]].bad = COLUMN_FALLBACK;
        else
            add_row((ReduceOp)reduction->op, partial, i, &accounts[of_row[i]]);
    }
}

/* The column of a group, from what blocks have kept of the rows. */
static int add_up(const Plan *plan, const PlanColumn *column, const RowGroups *groups,
    const PlanBlock *const *blocks, size_t n_rows, Arena *arena, Column *ret) {
    ReduceState *accounts = ARENA_ARRAY(arena, ReduceState, groups->n);
    uint8_t *states = ARENA_ARRAY(arena, uint8_t, groups->n);
    int64_t *values = ARENA_ARRAY(arena, int64_t, groups->n);

    if (!accounts || !states || !values)
        return -ENOMEM;
    for (size_t from = 0; from < n_rows; from += PLAN_BLOCK_ROWS) {
        size_t n = n_rows - from < PLAN_BLOCK_ROWS ? n_rows - from : PLAN_BLOCK_ROWS;

        add_block(plan, column, blocks[from / PLAN_BLOCK_ROWS], n, groups->of_row + from, accounts);
    }
    *ret = (Column){.lane = (ColumnLane)column->lane, .states = states, .ints = values};
    for (uint32_t i = 0; i < groups->n; i++)
        reduce_end((ReduceOp)column->reduction->op, &accounts[i], ret, i);
    return 0;
}

static int copy_all_groups(
    const Plan *plan, const PlanTotals *known, size_t n_rows, Arena *arena, RowGroups *groups) {
    for (size_t i = 0; i < plan->spaces.n; i++) {
        uint32_t *of_row;

        if (!is_needed(&plan->spaces.items[i]))
            continue;
        of_row = ARENA_RAW(arena, uint32_t, n_rows);
        if (!of_row)
            return -ENOMEM;
        if (n_rows > 0)
            memcpy(of_row, known->groups[i].of_row, n_rows * sizeof(*of_row));
        groups[i] = (RowGroups){.n = known->groups[i].n, .of_row = of_row};
    }
    return 0;
}

/* @groups are known. */
static int add_all_up(const Plan *plan, RowGroups *groups, const PlanBlock *const *blocks,
    size_t n_rows, Arena *arena, const PlanTotals **ret) {
    PlanTotals *whole = ARENA_NEW(arena, PlanTotals);
    Column *columns = ARENA_ARRAY(arena, Column, plan->n_groups);
    int r = 0;

    if (!whole || !columns)
        return -ENOMEM;
    *whole = (PlanTotals){.groups = groups, .columns = columns};
    for (uint32_t i = 0; r == 0 && i < plan->n_groups; i++) {
        const PlanColumn *column = plan_column_at(plan, plan->groups[i]);

        if (column->reduction->partial != NO_COLUMN)
            r = add_up(plan, column, &groups[column->space], blocks, n_rows, arena, &columns[i]);
    }
    if (r < 0)
        return r;
    *ret = whole;
    return 0;
}

int plan_totals_new(const Plan *plan, const PlanTable *table, const PlanBlock *const *blocks,
    size_t n_rows, Arena *arena, const PlanTotals **ret) {
    RowGroups *groups;
    int r;

    *ret = NULL;
    if (!needs_groups(plan))
        return 0;
    groups = ARENA_ARRAY(arena, RowGroups, plan->spaces.n);
    if (!groups)
        return -ENOMEM;
    r = find_all_groups(plan, table, n_rows, arena, groups);
    if (r == 0)
        r = add_all_up(plan, groups, blocks, n_rows, arena, ret);
    return r;
}

int plan_totals_update(const Plan *plan, const PlanTotals *known, const PlanBlock *const *blocks,
    size_t n_rows, Arena *arena, const PlanTotals **ret) {
    RowGroups *groups = ARENA_ARRAY(arena, RowGroups, plan->spaces.n);
    int r;

    *ret = NULL;
    if (!groups)
        return -ENOMEM;
    r = copy_all_groups(plan, known, n_rows, arena, groups);
    if (r == 0)
        r = add_all_up(plan, groups, blocks, n_rows, arena, ret);
    return r;
}
