/* Needed columns, from the roots down. A precomputed column that a session reads gets a place in
 * the blocks; one that only precomputed columns read is dropped when the block is made. Scalar code
 * is made for needed columns only. */

#include "columnar/plan-internal.h"

/* A column that is still to be visited. */
typedef struct Pending {
    uint32_t column;
    bool in_session;
} Pending;

typedef struct Needs {
    Planner *p;
    VEC(Pending) pending;
} Needs;

static void need(Needs *n, uint32_t column, bool in_session) {
    PLAN_PUSH(n->p, &n->pending, n->p->scratch, (Pending){column, in_session});
}

static void need_space(Needs *n, uint32_t number, bool is_stored) {
    PlanSpace *space = &n->p->plan->spaces.items[number];
    bool is_known = space->is_needed;

    space->is_needed = true;
    if (space->kind != SPACE_ITEMS)
        return;
    space->is_stored |= is_stored;
    if (!is_known)
        space->code = planner_code(n->p, ROW_SPACE, space->of, PLAN_PRECOMPUTED, true);
}

/* Whether the code reads only one string of the row, and single values. */
static bool reads_one_text(const Planner *p, const PlanCode *code) {
    uint32_t n_texts = 0;

    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanColumn *column;

        if (code->inputs[i].kind != PLAN_INPUT_COLUMN)
            return false;
        column = plan_column_at(p->plan, code->inputs[i].column);
        if (plan_column_is_single(column))
            continue;
        if (column->lane != LANE_TEXT || column->method == METHOD_SPREAD)
            return false;
        n_texts++;
    }
    return n_texts == 1;
}

/* Reads its column again after planner_code(), which may add columns and so move the array. */
static void make_code(Needs *n, uint32_t number) {
    PlanColumn *column = plan_column_at(n->p->plan, number);
    const PlanCode *code =
        planner_code(n->p, column->space, column->node, (PlanFrequency)column->frequency, false);
    uint32_t *inputs =
        code ? planner_check(n->p, ARENA_RAW(n->p->arena, uint32_t, code->n_inputs)) : NULL;

    if (!inputs)
        return;
    column = plan_column_at(n->p->plan, number);
    column->code = code;
    column->inputs = inputs;
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        if (code->inputs[i].kind == PLAN_INPUT_COLUMN)
            inputs[column->n_inputs++] = code->inputs[i].column;
    }
    if (!plan_column_is_single(column) && column->lane != LANE_TEXT && reads_one_text(n->p, code))
        column->method = METHOD_BY_STRING;
}

/* Column @number must be stored in blocks, because a session reads it. */
static void need_stored(Needs *n, uint32_t number) {
    PlanColumn *column = plan_column_at(n->p->plan, number);

    if (column->is_in_batch)
        return;
    column->is_in_batch = true;
    if (column->method == METHOD_SPREAD) {
        need(n, column->inputs[0], true);
        return;
    }
    column->is_stored = true;
    column->store = n->p->plan->n_stored++;
    need_space(n, column->space, true);
    need(n, number, false);
}

/* If a group has a partial column, it needs only that: blocks have reduced the elements by row. */
static void need_column(Needs *n, uint32_t number) {
    const Plan *plan = n->p->plan;
    PlanColumn *column = plan_column_at(plan, number);
    bool is_group = column->method == METHOD_GROUP;
    bool in_session = column->frequency != PLAN_PRECOMPUTED;

    if (column->is_needed || column->is_constant)
        return;
    column->is_needed = true;
    column->is_in_batch |= in_session;
    if (column->method == METHOD_SCALAR)
        make_code(n, number);
    column = plan_column_at(plan, number);
    if (column->reduction)
        need_space(n, column->reduction->space, in_session);
    need_space(n, plan_column_at(plan, number)->space, in_session);
    column = plan_column_at(plan, number);
    if (is_group && column->reduction->partial != NO_COLUMN) {
        need(n, column->reduction->partial, true);
        return;
    }
    for (uint32_t i = 0; i < column->n_inputs; i++)
        need(n, column->inputs[i], in_session);
}

static void give_register(Plan *plan, PlanColumn *column) {
    if (column->is_needed && column->frequency == PLAN_PRECOMPUTED)
        column->block_reg = plan->n_block_regs++;
    if (plan_column_is_single(column) && column->is_needed)
        column->reg = plan->n_singles++;
    if ((column->method == METHOD_BY_STRING || column->method == METHOD_KEYED) &&
        column->is_needed && column->frequency == PLAN_PER_BATCH)
        column->cache = plan->n_caches++;
}

static void number_all(Planner *p) {
    Plan *plan = p->plan;
    uint32_t *stored = planner_check(p, ARENA_RAW(p->arena, uint32_t, plan->n_stored));
    PlanNodes groups = {0};

    if (!stored)
        return;
    plan->stored = stored;
    for (uint32_t i = 0; i < plan->columns.n; i++) {
        PlanColumn *column = plan_column_at(plan, i);

        give_register(plan, column);
        if (column->is_stored)
            stored[column->store] = i;
        if (column->method != METHOD_GROUP || !column->is_needed)
            continue;
        column->store = (uint32_t)groups.n;
        PLAN_PUSH(p, &groups, p->arena, i);
    }
    for (size_t i = 1; i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].is_needed && plan->spaces.items[i].kind == SPACE_ITEMS)
            plan->spaces.items[i].store = plan->n_offsets++;
    }
    plan->groups = groups.items;
    plan->n_groups = (uint32_t)groups.n;
}

void planner_mark_needed(Planner *p) {
    Needs n = {.p = p};

    for (size_t i = 0; i < p->plan->n_roots; i++)
        need(&n, p->plan->roots[i].column, true);
    while (!p->failed && n.pending.n > 0) {
        Pending next = n.pending.items[--n.pending.n];
        const PlanColumn *column = plan_column_at(p->plan, next.column);

        if (column->frequency == PLAN_PRECOMPUTED && next.in_session)
            need_stored(&n, next.column);
        else
            need_column(&n, next.column);
    }
    if (!p->failed)
        number_all(p);
}
