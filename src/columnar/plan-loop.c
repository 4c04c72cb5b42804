/*
 * Loops that become one value: which of them run over columns.
 *
 * A reduction is all(), exists(), exists_one(), or size(), sum(), min(), max() of what filter()
 * and map() leave of a list. Its list must be one of these:
 *
 *   kept      a list that each row has: the elements of all rows are a space, and each row's
 *             are reduced to the row's value
 *   a union   (the host says so) of what the rows of a group have: the same elements, reduced
 *             to a value for each group, which the rows look up
 *   groups    all groups of a key, each with unions: their values are reduced to one
 *
 * Everything else is the scalar machine's.
 */
#include <errno.h>

#include "columnar/plan-internal.h"

static bool is_list(const Planner *p, uint32_t node) {
    return cel_graph_node(p->graph, node)->type->kind == CEL_T_LIST;
}

/* --- columns ----------------------------------------------------------------------------- */

static int space_of(Planner *p, PlanSpaceKind kind, uint32_t of, uint32_t *ret) {
    PlanSpaces *spaces = &p->plan->spaces;
    PlanSpace *space;

    for (size_t i = 1; i < spaces->n; i++) {
        if (spaces->items[i].kind == kind && spaces->items[i].of == of) {
            *ret = (uint32_t)i;
            return 0;
        }
    }
    space = VEC_PUSH(spaces, p->arena);
    if (!space)
        return -ENOMEM;
    *space = (PlanSpace){.kind = (uint8_t)kind, .of = of};
    *ret = (uint32_t)spaces->n - 1;
    return 0;
}

/* The column of a part of the loop, or NO_COLUMN. */
static int find_part(
    Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency, uint32_t *ret) {
    int r = planner_classify_below(p, space, node);

    if (r < 0)
        return r;
    return planner_find(p, space, node, frequency, ret);
}

static bool fits_value(const Planner *p, const PlanReduction *reduction) {
    ColumnLane lane;

    if (reduction->value == NO_COLUMN)
        return reduction->op == REDUCE_COUNT;
    lane = (ColumnLane)plan_column_at(p->plan, reduction->value)->lane;
    switch ((ReduceOp)reduction->op) {
    case REDUCE_ALL:
    case REDUCE_EXISTS:
    case REDUCE_ONE:
        return lane == LANE_BOOL;
    case REDUCE_COUNT:
        return lane != LANE_NONE;
    case REDUCE_SUM:
        return lane == LANE_INT || lane == LANE_DOUBLE;
    default:
        return lane == LANE_INT || lane == LANE_DOUBLE || lane == LANE_TIME;
    }
}

/* The reduction over @space of a column of @frequency; NULL through @ret: parts of it are no
 * columns. */
static int make_reduction(Planner *p, const ReductionShape *shape, uint32_t space,
    PlanFrequency frequency, PlanReduction **ret) {
    PlanReduction *made = ARENA_NEW(p->arena, PlanReduction);
    uint32_t *predicates = ARENA_RAW(p->arena, uint32_t, shape->n_predicates);
    int r = 0;

    *ret = NULL;
    if (!made || !predicates)
        return -ENOMEM;
    *made = (PlanReduction){
        .op = (uint8_t)shape->op,
        .space = space,
        .n_predicates = shape->n_predicates,
        .predicates = predicates,
        .value = NO_COLUMN,
        .partial = NO_COLUMN,
    };
    for (uint32_t i = 0; r == 0 && i < shape->n_predicates; i++) {
        r = find_part(p, space, shape->predicates[i], frequency, &predicates[i]);
        if (r == 0 && (predicates[i] == NO_COLUMN ||
                          plan_column_at(p->plan, predicates[i])->lane != LANE_BOOL))
            return 0;
    }
    if (r == 0 && shape->value != CEL_NO_NODE) {
        r = find_part(p, space, shape->value, frequency, &made->value);
        if (r == 0 && made->value == NO_COLUMN)
            return 0;
    }
    if (r == 0 && fits_value(p, made))
        *ret = made;
    return r;
}

/* Its columns, as arguments. */
static int set_inputs(Planner *p, PlanColumn *column) {
    const PlanReduction *of = column->reduction;
    uint32_t *inputs = ARENA_RAW(p->arena, uint32_t, of->n_predicates + 1);

    if (!inputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < of->n_predicates; i++)
        inputs[column->n_inputs++] = of->predicates[i];
    if (of->value != NO_COLUMN)
        inputs[column->n_inputs++] = of->value;
    column->inputs = inputs;
    return 0;
}

static PlanColumn column_of(
    const Planner *p, uint32_t space, uint32_t number, PlanMethod how, PlanFrequency frequency) {
    const CelGraphNode *node = cel_graph_node(p->graph, number);

    return (PlanColumn){
        .node = number,
        .space = space,
        .method = (uint8_t)how,
        .frequency = (uint8_t)frequency,
        .lane = (uint8_t)column_lane_of(node->type),
        .kind = node->type->value_kind,
    };
}

static int add_reduced(
    Planner *p, PlanColumn column, PlanReduction *reduction, bool is_found, uint32_t *ret) {
    int r;

    column.reduction = reduction;
    r = set_inputs(p, &column);
    return r < 0 ? r : planner_add(p, &column, is_found, ret);
}

/* --- lists of rows ----------------------------------------------------------------------- */

static int reduce_items(Planner *p, const ReductionShape *shape, uint32_t node,
    PlanFrequency frequency, bool *ret_done) {
    PlanReduction *reduction = NULL;
    uint32_t space = ROW_SPACE, number;
    PlanFrequency of_list;
    int r;

    if (!shape->has_level || !planner_frequency(p, ROW_SPACE, shape->list, &of_list) ||
        of_list != PLAN_PRECOMPUTED || frequency == PLAN_ONCE)
        return 0;
    r = space_of(p, SPACE_ITEMS, shape->list, &space);
    if (r == 0)
        r = make_reduction(p, shape, space, frequency, &reduction);
    if (r < 0 || !reduction)
        return r;
    *ret_done = true;
    return add_reduced(
        p, column_of(p, ROW_SPACE, node, METHOD_REDUCE, frequency), reduction, true, &number);
}

/* --- unions ------------------------------------------------------------------------------ */

static bool reads_row(const Planner *p, uint32_t node) {
    return (cel_graph_node(p->graph, node)->groups & p->host->row_groups) != 0;
}

/* Rows of a group share the value: nothing of a row itself may be in it. */
static bool is_same_for_group(const Planner *p, const ReductionShape *shape) {
    for (uint32_t i = 0; i < shape->n_predicates; i++) {
        if (reads_row(p, shape->predicates[i]))
            return false;
    }
    return shape->value == CEL_NO_NODE || !reads_row(p, shape->value);
}

/* Whether everything in it is known when the rows are. */
static bool is_kept_reduction(const Planner *p, const PlanReduction *reduction) {
    for (uint32_t i = 0; i < reduction->n_predicates; i++) {
        const PlanColumn *column = plan_column_at(p->plan, reduction->predicates[i]);

        if (column->frequency != PLAN_PRECOMPUTED && !column->is_constant)
            return false;
    }
    return reduction->value == NO_COLUMN ||
           plan_column_at(p->plan, reduction->value)->frequency == PLAN_PRECOMPUTED ||
           plan_column_at(p->plan, reduction->value)->is_constant;
}

/* Counts and verdicts of rows add up to those of a group; sums and extremes of elements must be
 * taken in their order. A verdict that is an error must be one that other elements can make good:
 * not a filter's. */
static bool adds_up(const PlanReduction *reduction) {
    if (reduction->op == REDUCE_ALL || reduction->op == REDUCE_EXISTS)
        return reduction->n_predicates == 0;
    return reduction->op == REDUCE_ONE || reduction->op == REDUCE_COUNT;
}

static int add_partial(Planner *p, PlanColumn column, PlanReduction *reduction) {
    PlanReduction *partial = ARENA_NEW(p->arena, PlanReduction);

    if (!partial)
        return -ENOMEM;
    *partial = *reduction;
    column.space = ROW_SPACE;
    column.method = METHOD_REDUCE;
    column.frequency = PLAN_PRECOMPUTED;
    if (reduction->op == REDUCE_ONE) {
        /* the value is one more thing that must be true of those that are counted */
        uint32_t *predicates = ARENA_RAW(p->arena, uint32_t, reduction->n_predicates + 1u);

        if (!predicates)
            return -ENOMEM;
        for (uint32_t i = 0; i < reduction->n_predicates; i++)
            predicates[i] = reduction->predicates[i];
        predicates[partial->n_predicates++] = reduction->value;
        partial->predicates = predicates;
        partial->value = NO_COLUMN;
        partial->op = REDUCE_COUNT;
        column.lane = LANE_INT;
        column.kind = CEL_INT;
    }
    return add_reduced(p, column, partial, false, &reduction->partial);
}

static bool is_same_reduction(const PlanReduction *a, const PlanReduction *b) {
    return a->op == b->op && a->space == b->space && a->value == b->value &&
           a->n_predicates == b->n_predicates &&
           (a->n_predicates == 0 ||
               memcmp(a->predicates, b->predicates, a->n_predicates * sizeof(uint32_t)) == 0);
}

/* A column of groups that is the same by another name. */
static uint32_t find_same(const Planner *p, uint32_t groups, const PlanReduction *reduction) {
    for (size_t i = 0; i < p->groups.n; i++) {
        const PlanColumn *column = plan_column_at(p->plan, p->groups.items[i]);

        if (column->space == groups && is_same_reduction(column->reduction, reduction))
            return p->groups.items[i];
    }
    return NO_COLUMN;
}

static int add_group(
    Planner *p, const PlanColumn *column, PlanReduction *reduction, uint32_t *ret) {
    uint32_t *added = VEC_PUSH(&p->groups, p->scratch);
    int r = 0;

    if (!added)
        return -ENOMEM;
    if (adds_up(reduction) && is_kept_reduction(p, reduction))
        r = add_partial(p, *column, reduction);
    if (r == 0)
        r = add_reduced(p, *column, reduction, true, ret);
    if (r == 0)
        *added = *ret;
    return r;
}

/* The value for each group, as a column of the space @groups. */
static int reduce_groups(Planner *p, const ReductionShape *shape, uint32_t list, uint32_t groups,
    uint32_t node, uint32_t *ret) {
    PlanColumn column = column_of(p, groups, node, METHOD_GROUP, PLAN_ONCE);
    PlanReduction *reduction = NULL;
    PlanFrequency of_list;
    uint32_t space = ROW_SPACE;
    int r;

    *ret = NO_COLUMN;
    if (!is_list(p, list) || !planner_frequency(p, ROW_SPACE, list, &of_list) ||
        of_list != PLAN_PRECOMPUTED || !is_same_for_group(p, shape))
        return 0;
    r = space_of(p, SPACE_ITEMS, list, &space);
    if (r == 0)
        r = make_reduction(p, shape, space, PLAN_PER_BATCH, &reduction);
    if (r < 0 || !reduction)
        return r;
    *ret = find_same(p, groups, reduction);
    if (*ret != NO_COLUMN)
        return planner_index(p, groups, node, *ret);
    return add_group(p, &column, reduction, ret);
}

static int find_union(Planner *p, uint32_t list, PlanUnion *ret, bool *ret_is) {
    *ret_is = p->host->find_union && p->host->find_union(p->host, p->graph, list, ret);
    return planner_scan_nodes(p);
}

/* A union of a row's group: the row looks its value up. */
static int reduce_union(Planner *p, const ReductionShape *shape, uint32_t node, bool *ret_done) {
    PlanColumn lookup = column_of(p, ROW_SPACE, node, METHOD_LOOKUP, PLAN_PER_BATCH);
    uint32_t *input = ARENA_NEW(p->arena, uint32_t), groups = ROW_SPACE, number;
    PlanUnion of;
    bool is_union;
    int r;

    if (!input)
        return -ENOMEM;
    r = find_union(p, shape->list, &of, &is_union);
    if (r < 0 || !is_union)
        return r;
    r = space_of(p, SPACE_GROUPS, of.key, &groups);
    if (r == 0)
        r = reduce_groups(p, shape, of.list, groups, node, input);
    if (r < 0 || *input == NO_COLUMN)
        return r;
    *ret_done = true;
    lookup.inputs = input;
    lookup.n_inputs = 1;
    return planner_add(p, &lookup, true, &number);
}

/* In a loop over groups: a union of the group that is the loop's variable, whatever its key. */
static int reduce_of_group(
    Planner *p, const ReductionShape *shape, uint32_t space, uint32_t node, bool *ret_done) {
    PlanUnion of;
    uint32_t number = NO_COLUMN;
    bool is_union;
    int r = find_union(p, shape->list, &of, &is_union);

    if (r < 0 || !is_union)
        return r;
    r = reduce_groups(p, shape, of.list, space, node, &number);
    *ret_done = number != NO_COLUMN;
    return r;
}

/* A loop over all groups: one value. */
static int reduce_all_groups(
    Planner *p, const ReductionShape *shape, uint32_t node, bool *ret_done) {
    PlanReduction *reduction = NULL;
    uint32_t key, space = ROW_SPACE, number;
    int r;

    if (!shape->has_level || !p->host->find_groups ||
        !p->host->find_groups(p->host, p->graph, shape->list, &key))
        return 0;
    r = space_of(p, SPACE_GROUPS, key, &space);
    if (r == 0)
        r = make_reduction(p, shape, space, PLAN_ONCE, &reduction);
    if (r < 0 || !reduction)
        return r;
    *ret_done = true;
    return add_reduced(
        p, column_of(p, ROW_SPACE, node, METHOD_REDUCE, PLAN_ONCE), reduction, true, &number);
}

/* --- all of them ------------------------------------------------------------------------- */

int planner_reduce(Planner *p, uint32_t space, uint32_t node, bool *ret_done) {
    PlanSpaceKind kind = (PlanSpaceKind)p->plan->spaces.items[space].kind;
    PlanFrequency frequency;
    ReductionShape shape;
    bool is_own;
    int r;

    *ret_done = false;
    if (kind == SPACE_ITEMS || !planner_frequency(p, space, node, &frequency) ||
        !reduction_shape_find(p, node, &shape))
        return 0;
    r = reduction_shape_relevel(p, &shape, &is_own);
    if (r < 0 || !is_own)
        return r;
    if (kind == SPACE_GROUPS)
        return reduce_of_group(p, &shape, space, node, ret_done);
    if (frequency == PLAN_ONCE)
        return reduce_all_groups(p, &shape, node, ret_done);
    r = reduce_items(p, &shape, node, frequency, ret_done);
    if (r == 0 && !*ret_done && frequency == PLAN_PER_BATCH)
        r = reduce_union(p, &shape, node, ret_done);
    return r;
}
