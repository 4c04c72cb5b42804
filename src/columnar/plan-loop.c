/*
 * Loops that become one value: which of them run over columns.
 *
 * A reduction is all(), exists(), exists_one(), or size(), sum(), min(), max() of what filter()
 * and map() leave of a list. Its list must be one of these; the scalar machine does the rest:
 *
 *   precomputed  a list that each row has: the elements of all rows are a space, and each row's
 *                are reduced to the row's value
 *   a union      (the host says so) of the lists of the rows of a group: the same elements,
 *                reduced to a value for each group, which the rows look up
 *   rows         the rows of a group: the body becomes columns of rows, which are reduced likewise
 *   groups       all groups of a key, each with unions: their values are reduced to one
 */

#include "columnar/plan-internal.h"

static uint32_t space_of(Planner *p, PlanSpaceKind kind, uint32_t of) {
    PlanSpaces *spaces = &p->plan->spaces;

    for (size_t i = 1; i < spaces->n; i++) {
        if (spaces->items[i].kind == kind && spaces->items[i].of == of)
            return (uint32_t)i;
    }
    PLAN_PUSH(p, spaces, p->arena, (PlanSpace){.kind = (uint8_t)kind, .of = of});
    return p->failed ? NO_SPACE : (uint32_t)spaces->n - 1;
}

/* The column of a part of the loop, or NO_COLUMN. */
static uint32_t find_part(Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency) {
    planner_classify_below(p, space, node);
    return planner_find(p, space, node, frequency);
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

/* The reduction over @space of a column of @frequency; NULL: parts of it are no columns. */
static PlanReduction *make_reduction(
    Planner *p, const ReductionShape *shape, uint32_t space, PlanFrequency frequency) {
    uint32_t n_parts = shape->n_predicates + shape->has_value;
    PlanReduction *made = planner_check(p, ARENA_NEW(p->arena, PlanReduction));
    uint32_t *parts = planner_check(p, ARENA_RAW(p->arena, uint32_t, n_parts));

    if (p->failed)
        return NULL;
    for (uint32_t i = 0; i < n_parts; i++) {
        parts[i] = find_part(p, space, shape->parts[i], frequency);
        if (parts[i] == NO_COLUMN ||
            (i < shape->n_predicates && plan_column_at(p->plan, parts[i])->lane != LANE_BOOL))
            return NULL;
    }
    *made = (PlanReduction){
        .op = (uint8_t)shape->op,
        .space = space,
        .n_predicates = shape->n_predicates,
        .predicates = parts,
        .value = shape->has_value ? parts[shape->n_predicates] : NO_COLUMN,
        .partial = NO_COLUMN,
    };
    return fits_value(p, made) ? made : NULL;
}

static uint32_t count_parts(const PlanReduction *reduction) {
    return reduction->n_predicates + (reduction->value != NO_COLUMN);
}

static PlanColumn column_of(
    const Planner *p, uint32_t space, uint32_t number, PlanMethod method, PlanFrequency frequency) {
    const CelGraphNode *node = cel_graph_node(p->graph, number);

    return (PlanColumn){
        .node = number,
        .space = space,
        .method = (uint8_t)method,
        .frequency = (uint8_t)frequency,
        .lane = (uint8_t)column_lane_of(node->type),
        .kind = node->type->value_kind,
    };
}

/* The columns of the reduction are the column's inputs. */
static uint32_t add_reduced(
    Planner *p, PlanColumn column, PlanReduction *reduction, bool is_found) {
    column.inputs = reduction->predicates;
    column.n_inputs = count_parts(reduction);
    column.reduction = reduction;
    return planner_add(p, &column, is_found);
}

/* Reduces the entries of @space to a column of rows. */
static bool reduce_space(Planner *p, const ReductionShape *shape, uint32_t space, uint32_t node,
    PlanFrequency frequency) {
    PlanReduction *reduction = make_reduction(p, shape, space, frequency);

    if (!reduction)
        return false;
    (void)add_reduced(p, column_of(p, ROW_SPACE, node, METHOD_REDUCE, frequency), reduction, true);
    return true;
}

static bool reduce_items(
    Planner *p, const ReductionShape *shape, uint32_t node, PlanFrequency frequency) {
    PlanFrequency of_list;

    return shape->has_level && planner_frequency(p, ROW_SPACE, shape->list, &of_list) &&
           of_list == PLAN_PRECOMPUTED && frequency != PLAN_ONCE &&
           reduce_space(p, shape, space_of(p, SPACE_ITEMS, shape->list), node, frequency);
}

typedef bool NodeTest(const Planner *p, uint32_t node);

/* Whether @test is true for a part of the loop's body. */
static bool is_any(const Planner *p, const ReductionShape *shape, NodeTest *test) {
    for (uint32_t i = 0; i < shape->n_predicates + shape->has_value; i++)
        if (test(p, shape->parts[i]))
            return true;
    return false;
}

static bool reads_row(const Planner *p, uint32_t node) {
    return (cel_graph_node(p->graph, node)->groups & p->host->row_groups) != 0;
}

static bool reads_other_rows(const Planner *p, uint32_t node) {
    return p->reads_other_rows[node];
}

/* Whether everything in it can be precomputed. */
static bool is_precomputed(const Planner *p, const PlanReduction *reduction) {
    for (uint32_t i = 0; i < count_parts(reduction); i++) {
        const PlanColumn *part = plan_column_at(p->plan, reduction->predicates[i]);

        if (part->frequency != PLAN_PRECOMPUTED && !part->is_constant)
            return false;
    }
    return true;
}

/* Counts and verdicts of rows add up to those of a group; sums and extremes of elements depend on
 * their order. A verdict that is an error must be one that other elements can override: not a
 * filter's. */
static bool adds_up(const PlanReduction *reduction) {
    if (reduction->op == REDUCE_ALL || reduction->op == REDUCE_EXISTS)
        return reduction->n_predicates == 0;
    return reduction->op == REDUCE_ONE || reduction->op == REDUCE_COUNT;
}

/* Adds the column of the same reduction for each row alone. */
static void add_partial(Planner *p, PlanColumn column, PlanReduction *reduction) {
    PlanReduction *partial = planner_check(p, ARENA_NEW(p->arena, PlanReduction));

    if (!partial)
        return;
    *partial = *reduction;
    column.space = ROW_SPACE;
    column.method = METHOD_REDUCE;
    column.frequency = PLAN_PRECOMPUTED;
    if (reduction->op == REDUCE_ONE) { /* the value is one more predicate of a count */
        partial->n_predicates++;
        partial->value = NO_COLUMN;
        partial->op = REDUCE_COUNT;
        column.lane = LANE_INT;
        column.kind = CEL_INT;
    }
    reduction->partial = add_reduced(p, column, partial, false);
}

static bool is_same_reduction(const PlanReduction *a, const PlanReduction *b) {
    return a->op == b->op && a->space == b->space && a->value == b->value &&
           a->n_predicates == b->n_predicates &&
           memcmp(a->predicates, b->predicates, a->n_predicates * sizeof(uint32_t)) == 0;
}

/* Whether PlanTotals can compute it: it reads only stored columns of rows. */
static bool is_total(const Planner *p, const PlanReduction *reduction) {
    return reduction->space == ROW_SPACE && is_precomputed(p, reduction);
}

/* The column of an equal reduction of the same groups by another node; or NO_COLUMN. */
static uint32_t find_same(const Planner *p, uint32_t groups, const PlanReduction *reduction) {
    for (size_t i = 0; i < p->groups.n; i++) {
        const PlanColumn *column = plan_column_at(p->plan, p->groups.items[i]);

        if (column->space == groups && is_same_reduction(column->reduction, reduction))
            return p->groups.items[i];
    }
    return NO_COLUMN;
}

/* The reduction of the elements of @list, which each row has. */
static PlanReduction *reduce_lists(Planner *p, ReductionShape shape, uint32_t list) {
    PlanFrequency of_list;

    if (!planner_is_list(p, list) || !planner_frequency(p, ROW_SPACE, list, &of_list) ||
        of_list != PLAN_PRECOMPUTED || !reduction_shape_relevel(p, &shape))
        return NULL;
    return make_reduction(p, &shape, space_of(p, SPACE_ITEMS, list), PLAN_PER_BATCH);
}

/* The reduction of rows themselves; @row is the row variable. Nodes that read other rows cannot be
 * computed while the whole table is reduced. */
static PlanReduction *reduce_members(Planner *p, ReductionShape shape, uint32_t row) {
    if (!reduction_shape_use_row(p, &shape, row) || is_any(p, &shape, reads_other_rows))
        return NULL;
    return make_reduction(p, &shape, ROW_SPACE, PLAN_PER_BATCH);
}

/* The value for each group, as a column of the space @groups; NO_COLUMN: it cannot be one. */
static uint32_t reduce_groups(
    Planner *p, const ReductionShape *shape, const PlanUnion *of, uint32_t groups, uint32_t node) {
    PlanColumn column = column_of(p, groups, node, METHOD_GROUP, PLAN_ONCE);
    PlanReduction *reduction;
    uint32_t number;

    if (is_any(p, shape, reads_row)) /* rows of a group share the value */
        return NO_COLUMN;
    reduction =
        of->is_rows ? reduce_members(p, *shape, of->list) : reduce_lists(p, *shape, of->list);
    if (!reduction)
        return NO_COLUMN;
    number = find_same(p, groups, reduction);
    if (number != NO_COLUMN) {
        planner_index(p, groups, node, number);
        return number;
    }
    reduction->is_total = is_total(p, reduction);
    if (!of->is_rows && adds_up(reduction) && is_precomputed(p, reduction))
        add_partial(p, column, reduction);
    number = add_reduced(p, column, reduction, true);
    if (number != NO_COLUMN)
        PLAN_PUSH(p, &p->groups, p->scratch, number);
    return number;
}

static bool find_union(Planner *p, uint32_t list, PlanUnion *ret) {
    bool is_union = p->host->find_union && p->host->find_union(p->host, p->graph, list, ret);

    planner_scan_nodes(p);
    return is_union && !p->failed;
}

/* A union of a row's group: the row looks its value up. */
static bool reduce_union(Planner *p, const ReductionShape *shape, uint32_t node) {
    PlanColumn lookup = column_of(p, ROW_SPACE, node, METHOD_LOOKUP, PLAN_PER_BATCH);
    uint32_t groups, input;
    PlanUnion of;

    if (!find_union(p, shape->list, &of))
        return false;
    groups = space_of(p, SPACE_GROUPS, of.key);
    input = p->failed ? NO_COLUMN : reduce_groups(p, shape, &of, groups, node);
    if (input == NO_COLUMN || !planner_set_input(p, &lookup, input))
        return false;
    (void)planner_add(p, &lookup, true);
    return true;
}

/* A loop over all groups: one value. */
static bool reduce_all_groups(Planner *p, const ReductionShape *shape, uint32_t node) {
    uint32_t key;

    return shape->has_level && p->host->find_groups &&
           p->host->find_groups(p->host, p->graph, shape->list, &key) &&
           reduce_space(p, shape, space_of(p, SPACE_GROUPS, key), node, PLAN_ONCE);
}

bool planner_reduce(Planner *p, uint32_t space, uint32_t node) {
    PlanSpaceKind kind = (PlanSpaceKind)p->plan->spaces.items[space].kind;
    PlanFrequency frequency;
    ReductionShape shape;
    PlanUnion of;

    if (kind == SPACE_ITEMS || !planner_frequency(p, space, node, &frequency) ||
        !reduction_shape_find(p, node, &shape) || !reduction_shape_is_own(p, &shape))
        return false;
    if (kind == SPACE_GROUPS) /* a union of the group that is the loop's variable, of any key */
        return find_union(p, shape.list, &of) &&
               reduce_groups(p, &shape, &of, space, node) != NO_COLUMN;
    if (frequency == PLAN_PER_BATCH && reduce_union(p, &shape, node))
        return true;
    if (!reduction_shape_relevel(p, &shape))
        return false;
    return frequency == PLAN_ONCE ? reduce_all_groups(p, &shape, node)
                                  : reduce_items(p, &shape, node, frequency);
}
