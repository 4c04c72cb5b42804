/*
 * What is needed: from the roots down, which columns are worked out when.
 *
 * A column that is kept with the rows and that a session reads gets a place in the blocks. What
 * only other kept columns read is forgotten when the block is done. Scalar code is made for
 * what is needed and nothing else.
 */
#include <errno.h>

#include "columnar/plan-internal.h"

typedef struct Want {
    uint32_t column;
    bool in_session;
} Want;

typedef struct Needs {
    Planner *p;
    VEC(Want) wants;
} Needs;

static int want(Needs *n, uint32_t column, bool in_session) {
    Want *added = VEC_PUSH(&n->wants, n->p->scratch);

    if (!added)
        return -ENOMEM;
    *added = (Want){column, in_session};
    return 0;
}

/* --- spaces ------------------------------------------------------------------------------ */

/* Code, and room for what it reads. */
static int code_of(Needs *n, uint32_t space, uint32_t node, PlanFrequency frequency, bool from_row,
    const PlanCode **ret) {
    int r = planner_code(n->p, space, node, frequency, from_row, ret);

    if (r < 0)
        return r;
    if ((*ret)->n_inputs > n->p->plan->n_inputs_max)
        n->p->plan->n_inputs_max = (*ret)->n_inputs;
    return 0;
}

static int need_space(Needs *n, uint32_t number, bool is_stored) {
    PlanSpace *space = &n->p->plan->spaces.items[number];
    bool is_known = space->is_needed;

    space->is_needed = true;
    if (space->kind != SPACE_ITEMS)
        return 0;
    space->is_stored |= is_stored;
    if (is_known)
        return 0;
    return code_of(n, ROW_SPACE, space->of, PLAN_PRECOMPUTED, true, &space->code);
}

/* --- scalar code ------------------------------------------------------------------------- */

/* Whether it reads nothing but one string of the row, and what is known once. */
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

/* Adding columns may move them all. */
static int make_code(Needs *n, uint32_t number) {
    PlanColumn *column = plan_column_at(n->p->plan, number);
    const PlanCode *code;
    uint32_t *inputs;
    int r;

    r = code_of(n, column->space, column->node, (PlanFrequency)column->frequency, false, &code);
    if (r < 0)
        return r;
    inputs = ARENA_RAW(n->p->arena, uint32_t, code->n_inputs);
    if (!inputs)
        return -ENOMEM;
    column = plan_column_at(n->p->plan, number);
    column->code = code;
    column->inputs = inputs;
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        if (code->inputs[i].kind == PLAN_INPUT_COLUMN)
            inputs[column->n_inputs++] = code->inputs[i].column;
    }
    if (!plan_column_is_single(column) && column->lane != LANE_TEXT && reads_one_text(n->p, code))
        column->method = METHOD_BY_STRING;
    return 0;
}

/* --- columns ----------------------------------------------------------------------------- */

static int want_inputs(Needs *n, const PlanColumn *column, bool in_session) {
    for (uint32_t i = 0; i < column->n_inputs; i++) {
        int r = want(n, column->inputs[i], in_session);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Elements of a group are summed up by rows beforehand, where that can be done. */
static int need_group(Needs *n, const PlanColumn *column) {
    const PlanReduction *reduction = column->reduction;
    int r;

    r = need_space(n, column->space, true);
    if (r == 0)
        r = need_space(n, reduction->space, true);
    if (r == 0 && reduction->partial != NO_COLUMN)
        return want(n, reduction->partial, true);
    return r < 0 ? r : want_inputs(n, column, true);
}

/* A session reads what is kept. */
static int need_stored(Needs *n, uint32_t number) {
    PlanColumn *column = plan_column_at(n->p->plan, number);
    int r;

    if (column->is_in_batch)
        return 0;
    column->is_in_batch = true;
    if (column->method == METHOD_SPREAD)
        return want(n, column->inputs[0], true);
    column->is_stored = true;
    column->store = n->p->plan->n_stored++;
    r = need_space(n, column->space, true);
    return r < 0 ? r : want(n, number, false);
}

static int need_column(Needs *n, uint32_t number) {
    PlanColumn *column = plan_column_at(n->p->plan, number);
    bool in_session = column->frequency != PLAN_PRECOMPUTED;
    int r = 0;

    if (column->is_needed || column->is_constant)
        return 0;
    column->is_needed = true;
    column->is_in_batch |= in_session;
    if (column->method == METHOD_GROUP)
        return need_group(n, column);
    if (column->method == METHOD_SCALAR)
        r = make_code(n, number);
    column = plan_column_at(n->p->plan, number);
    if (r == 0 && column->reduction)
        r = need_space(n, column->reduction->space, in_session);
    if (r == 0)
        r = need_space(n, plan_column_at(n->p->plan, number)->space, in_session);
    return r < 0 ? r : want_inputs(n, plan_column_at(n->p->plan, number), in_session);
}

static int need_all(Needs *n) {
    int r = 0;

    while (r == 0 && n->wants.n > 0) {
        Want next = n->wants.items[--n->wants.n];
        bool is_kept = plan_column_at(n->p->plan, next.column)->frequency == PLAN_PRECOMPUTED;

        r = is_kept && next.in_session ? need_stored(n, next.column) : need_column(n, next.column);
    }
    return r;
}

/* --- numbers ----------------------------------------------------------------------------- */

static void give_register(Plan *plan, PlanColumn *column) {
    if (column->is_needed && column->frequency == PLAN_PRECOMPUTED)
        column->block_reg = plan->n_block_regs++;
    if (plan_column_is_single(column) && column->is_needed)
        column->reg = plan->n_singles++;
    if (column->method == METHOD_BY_STRING && column->is_needed &&
        column->frequency == PLAN_PER_BATCH)
        column->cache = plan->n_caches++;
}

static int number_all(Planner *p) {
    Plan *plan = p->plan;
    uint32_t *stored = ARENA_RAW(p->arena, uint32_t, plan->n_stored);
    VEC(uint32_t) groups = {0};

    if (!stored)
        return -ENOMEM;
    plan->stored = stored;
    for (uint32_t i = 0; i < plan->columns.n; i++) {
        PlanColumn *column = plan_column_at(plan, i);
        uint32_t *group;

        give_register(plan, column);
        if (column->is_stored)
            stored[column->store] = i;
        if (column->method != METHOD_GROUP || !column->is_needed)
            continue;
        group = VEC_PUSH(&groups, p->arena);
        if (!group)
            return -ENOMEM;
        column->store = (uint32_t)groups.n - 1;
        *group = i;
    }
    for (size_t i = 1; i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].is_needed && plan->spaces.items[i].kind == SPACE_ITEMS)
            plan->spaces.items[i].store = plan->n_offsets++;
    }
    plan->groups = groups.items;
    plan->n_groups = (uint32_t)groups.n;
    return 0;
}

int planner_mark_needed(Planner *p) {
    Needs n = {.p = p};
    int r = 0;

    for (size_t i = 0; r == 0 && i < p->plan->n_roots; i++)
        r = want(&n, p->plan->roots[i].column, true);
    if (r == 0)
        r = need_all(&n);
    return r < 0 ? r : number_all(p);
}
