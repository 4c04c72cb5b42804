/*
 * Which node can be a column, and how it would be computed.
 *
 * Nodes are looked at by rising numbers, so what a node is made of is known before it. A node
 * that can be no column (a list, a map, a string that depends on more than its row) is
 * part of the scalar code of whoever needs it.
 */
#include <errno.h>
#include <stdlib.h>

#include "columnar/plan-internal.h"

#define PLACES_FIRST 256 /* a power of two */

/* --- the map ---------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t space, uint32_t node) {
    return ((uint64_t)space << 32 | node) + 1;
}

static PlanSlot *place_of(const Planner *p, uint64_t key) {
    size_t mask = p->n_places - 1;
    size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

    while (p->places[i].key != 0 && p->places[i].key != key)
        i = (i + 1) & mask;
    return &p->places[i];
}

static int grow_places(Planner *p) {
    PlanSlot *old = p->places;
    size_t n_old = p->n_places;

    p->n_places = n_old > 0 ? n_old * 2 : PLACES_FIRST;
    p->places = ARENA_ARRAY(p->scratch, PlanSlot, p->n_places);
    if (!p->places)
        return -ENOMEM;
    for (size_t i = 0; i < n_old; i++) {
        if (old[i].key != 0)
            *place_of(p, old[i].key) = old[i];
    }
    return 0;
}

int planner_index(Planner *p, uint32_t space, uint32_t node, uint32_t column) {
    PlanSlot *place;

    if (p->n_used * 2 >= p->n_places) {
        int r = grow_places(p);

        if (r < 0)
            return r;
    }
    place = place_of(p, key_of(space, node));
    p->n_used += place->key == 0;
    *place = (PlanSlot){key_of(space, node), column};
    return 0;
}

/* The column under @space and @node: NO_COLUMN for none; false: nobody asked yet. */
static bool is_known(const Planner *p, uint32_t space, uint32_t node, uint32_t *ret) {
    const PlanSlot *place;

    *ret = NO_COLUMN;
    if (p->n_places == 0)
        return false;
    place = place_of(p, key_of(space, node));
    if (place->key == 0)
        return false;
    *ret = place->column;
    return true;
}

int planner_add(Planner *p, const PlanColumn *column, bool is_found, uint32_t *ret) {
    PlanColumn *added = VEC_PUSH(&p->plan->columns, p->arena);

    if (!added)
        return -ENOMEM;
    *added = *column;
    added->op = (uint8_t)cel_graph_node(p->graph, column->node)->op;
    *ret = (uint32_t)p->plan->columns.n - 1;
    if (!is_found)
        return 0;
    return planner_index(p, column->space, column->node, *ret);
}

/* --- times ------------------------------------------------------------------------------- */

static uint8_t level_bit(uint32_t space) {
    return space != ROW_SPACE;
}

bool planner_frequency(const Planner *p, uint32_t space, uint32_t number, PlanFrequency *ret) {
    const CelGraphNode *node = cel_graph_node(p->graph, number);
    bool reads_row = (node->groups & p->host->row_groups) != 0;
    bool reads_more = (node->groups & (uint8_t)~p->host->row_groups) != 0;
    uint8_t bit = level_bit(space);

    if (node->levels & (uint8_t)~bit)
        return false;
    if (p->plan->spaces.items[space].kind == SPACE_GROUPS && reads_row)
        return false;
    if (!reads_row && (!(node->levels & bit) || p->plan->spaces.items[space].kind == SPACE_GROUPS))
        *ret = PLAN_ONCE;
    else if (reads_more || p->is_whole[number])
        *ret = PLAN_PER_BATCH;
    else
        *ret = PLAN_PRECOMPUTED;
    return true;
}

/* A constant's type may say less than its kind; who relies on types must not see it. */
static ColumnLane lane_of(const CelGraphNode *node) {
    if (node->op == OP_CONSTANT && node->constant.kind != node->type->value_kind)
        return LANE_NONE;
    return column_lane_of(node->type);
}

/* --- finding ----------------------------------------------------------------------------- */

static int find_spread(Planner *p, uint32_t space, uint32_t of_row, uint32_t *ret) {
    const PlanColumn *row = plan_column_at(p->plan, of_row);
    uint32_t *input = ARENA_NEW(p->arena, uint32_t);
    PlanColumn spread = {
        .node = row->node,
        .space = space,
        .method = METHOD_SPREAD,
        .frequency = row->frequency,
        .lane = row->lane,
        .kind = row->kind,
        .inputs = input,
        .n_inputs = 1,
    };

    if (is_known(p, space, row->node, ret))
        return 0;
    if (!input)
        return -ENOMEM;
    *input = of_row;
    return planner_add(p, &spread, true, ret);
}

int planner_find(
    Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency, uint32_t *ret) {
    bool is_local = (cel_graph_node(p->graph, node)->levels & level_bit(space)) != 0;
    const PlanColumn *column;
    PlanFrequency own;

    *ret = NO_COLUMN;
    if (!planner_frequency(p, space, node, &own))
        return 0;
    (void)is_known(p, is_local ? space : ROW_SPACE, node, ret);
    if (*ret == NO_COLUMN)
        return 0;
    column = plan_column_at(p->plan, *ret);
    if (frequency == PLAN_PRECOMPUTED && column->frequency == PLAN_ONCE && !column->is_constant)
        *ret = NO_COLUMN; /* an error that is no constant: nobody has its value there */
    else if (!is_local && space != ROW_SPACE && column->frequency != PLAN_ONCE)
        return find_spread(p, space, *ret, ret);
    return 0;
}

/* --- ways -------------------------------------------------------------------------------- */

/* The columns of all arguments, and whether there are such, of lanes that can be computed with. */
static int find_args(Planner *p, const PlanColumn *column, const uint32_t *args, uint32_t n_args,
    const uint32_t **ret) {
    uint32_t *inputs = ARENA_RAW(p->arena, uint32_t, n_args);

    *ret = NULL;
    if (!inputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < n_args; i++) {
        int r = planner_find(p, column->space, args[i], column->frequency, &inputs[i]);

        if (r < 0)
            return r;
        if (inputs[i] == NO_COLUMN || plan_column_at(p->plan, inputs[i])->lane == LANE_NONE)
            return 0;
    }
    *ret = inputs;
    return 0;
}

static bool is_text(const Planner *p, uint32_t column) {
    return plan_column_at(p->plan, column)->lane == LANE_TEXT;
}

/* How the columns of its arguments make a node: true if they can. */
static bool choose_way(Planner *p, PlanColumn *column, const CelGraphNode *node) {
    uint32_t n_texts = 0;

    for (uint32_t i = 0; i < node->n_args; i++)
        n_texts += is_text(p, column->inputs[i]);
    if (node->op == OP_EQ_STRING || node->op == OP_NE_STRING) {
        column->method = METHOD_SAME_STRING;
        column->is_negated = node->op == OP_NE_STRING;
        return n_texts == 2;
    }
    if (node->op == OP_CONDITIONAL && column->lane == LANE_TEXT) {
        column->method = METHOD_CHOOSE;
        return n_texts == 2 && !is_text(p, column->inputs[0]);
    }
    column->method = METHOD_KERNEL;
    column->kernel =
        n_texts == 0 && column->lane != LANE_TEXT ? kernel_find(p->graph, column->node) : NULL;
    return column->kernel != NULL;
}

static int try_args(Planner *p, PlanColumn *column, bool *ret) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node);
    int r;

    *ret = false;
    if (node->n_args == 0 || node->n_args > 3 || cel_op_is_loop(node->op))
        return 0;
    r = find_args(p, column, node->args, node->n_args, &column->inputs);
    if (r < 0)
        return r;
    column->n_inputs = node->n_args;
    *ret = column->inputs && choose_way(p, column, node);
    return 0;
}

/* math.greatest([a, b, c]). */
static int try_fold(Planner *p, PlanColumn *column, bool *ret) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node), *list;
    int r;

    *ret = false;
    column->kernel = kernel_find_fold(p->graph, column->node);
    if (!column->kernel || column->lane == LANE_TEXT)
        return 0;
    list = cel_graph_node(p->graph, node->args[0]);
    if (list->op != OP_LIST || list->n_args < 2 || list->n_args > PLAN_FOLD_ARGS_MAX)
        return 0;
    r = find_args(p, column, list->args, list->n_args, &column->inputs);
    if (r < 0)
        return r;
    column->method = METHOD_FOLD;
    column->n_inputs = list->n_args;
    for (uint32_t i = 0; column->inputs && i < list->n_args; i++) {
        if (plan_column_at(p->plan, column->inputs[i])->lane != column->lane)
            return 0;
    }
    *ret = column->inputs != NULL;
    return 0;
}

/* Not from columns: the host's, the loop's variable, or the scalar machine. True: that is it. */
static bool choose_source(Planner *p, PlanColumn *column) {
    const PlanSpace *space = &p->plan->spaces.items[column->space];
    uint32_t (*leaf)(const PlanHost *, const CelGraph *, uint32_t) =
        space->kind == SPACE_ROWS ? p->host->leaf : p->host->element_leaf;

    column->leaf = PLAN_NO_LEAF;
    if (column->frequency == PLAN_PRECOMPUTED && space->kind != SPACE_GROUPS && leaf)
        column->leaf = leaf(p->host, p->graph, column->node);
    column->method = column->leaf != PLAN_NO_LEAF ? METHOD_LEAF : METHOD_ELEMENT;
    if (column->leaf != PLAN_NO_LEAF)
        return true;
    return space->kind == SPACE_ITEMS && cel_graph_node(p->graph, column->node)->op == OP_LOCAL;
}

/* The host's, by a key that is known once. */
static int try_keyed(Planner *p, PlanColumn *column, bool *ret) {
    uint32_t key, *input;
    int r;

    *ret = false;
    if (column->frequency != PLAN_PER_BATCH || column->space != ROW_SPACE || !p->host->keyed_leaf)
        return 0;
    column->leaf = p->host->keyed_leaf(p->host, p->graph, column->node, &key);
    if (column->leaf == PLAN_NO_LEAF)
        return 0;
    input = ARENA_NEW(p->arena, uint32_t);
    if (!input)
        return -ENOMEM;
    r = planner_find(p, ROW_SPACE, key, PLAN_PER_BATCH, input);
    if (r < 0)
        return r;
    *ret = *input != NO_COLUMN && plan_column_is_single(plan_column_at(p->plan, *input));
    if (*ret) {
        column->method = METHOD_KEYED;
        column->inputs = input;
        column->n_inputs = 1;
    }
    return 0;
}

bool planner_is_or_value(const Planner *p, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(p->graph, number), *has, *get;

    if (node->op != OP_CONDITIONAL)
        return false;
    has = cel_graph_node(p->graph, node->args[0]);
    get = cel_graph_node(p->graph, node->args[1]);
    return has->op == OP_OPT_HAS && get->op == OP_OPT_GET && has->args[0] == get->args[0];
}

/* Whether it is x.orValue(y) where only the scalar machine can say what x is: then it does all of
 * it at once, and makes x once. */
static bool is_one_evaluation(const Planner *p, const PlanColumn *column) {
    uint32_t get;

    if (!planner_is_or_value(p, column->node))
        return false;
    (void)is_known(p, column->space, cel_graph_node(p->graph, column->node)->args[1], &get);
    return get != NO_COLUMN && plan_column_at(p->plan, get)->method == METHOD_SCALAR &&
           plan_column_at(p->plan, get)->frequency == column->frequency;
}

static int choose_how(Planner *p, PlanColumn *column, bool *ret) {
    int r;

    *ret =
        is_one_evaluation(p, column) && p->plan->spaces.items[column->space].kind != SPACE_GROUPS;
    if (*ret) {
        column->method = METHOD_SCALAR;
        return 0;
    }
    r = try_args(p, column, ret);
    if (r == 0 && !*ret)
        r = try_fold(p, column, ret);
    if (r < 0 || *ret)
        return r;
    column->method = METHOD_SCALAR;
    column->inputs = NULL;
    column->n_inputs = 0;
    *ret = p->plan->spaces.items[column->space].kind != SPACE_GROUPS;
    return 0;
}

/* --- classifying ------------------------------------------------------------------------- */

/* One entry of the lane that the constant is of. */
static int set_constant(Planner *p, PlanColumn *column, CelValue v) {
    uint8_t *state = ARENA_NEW(p->arena, uint8_t);
    int64_t *number = ARENA_NEW(p->arena, int64_t);
    Column single = {.lane = (ColumnLane)column->lane, .states = state, .ints = number};

    if (!state || !number)
        return -ENOMEM;
    column->is_constant = true;
    column->constant = v;
    if (column->lane != LANE_NONE && column->lane != LANE_TEXT)
        column_set(&single, 0, (CelKind)column->kind, v);
    column->single = single;
    return 0;
}

/* What is known once is a value of any type. */
static int classify_once(Planner *p, PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node);
    uint32_t number;
    int r = 0;

    column->method = METHOD_SCALAR;
    if (node->op == OP_OPT_ELEMENT) /* may be no value at all */
        return planner_index(p, column->space, column->node, NO_COLUMN);
    if (node->op == OP_CONSTANT)
        r = set_constant(p, column, node->constant);
    return r < 0 ? r : planner_add(p, column, true, &number);
}

int planner_classify(Planner *p, uint32_t space, uint32_t node) {
    const CelType *type = cel_graph_node(p->graph, node)->type;
    PlanColumn column = {.node = node, .space = space, .kind = type->value_kind};
    uint32_t number;
    bool is_one = false;
    PlanFrequency frequency;
    int r;

    if (is_known(p, space, node, &number))
        return 0;
    if (!planner_frequency(p, space, node, &frequency))
        return planner_index(p, space, node, NO_COLUMN);
    column.frequency = (uint8_t)frequency;
    column.lane = (uint8_t)lane_of(cel_graph_node(p->graph, node));
    if (column.lane != LANE_NONE && choose_source(p, &column))
        return planner_add(p, &column, true, &number);
    if (column.lane != LANE_NONE) {
        r = try_keyed(p, &column, &is_one);
        if (r == 0 && is_one)
            return planner_add(p, &column, true, &number);
        if (r == 0)
            r = planner_reduce(p, space, node, &is_one);
        if (r < 0 || is_one)
            return r;
    }
    if (plan_column_is_single(&column))
        return classify_once(p, &column);
    if (column.lane != LANE_NONE && (column.lane != LANE_TEXT || frequency == PLAN_PRECOMPUTED)) {
        r = choose_how(p, &column, &is_one);
        if (r < 0)
            return r;
    }
    if (!is_one)
        return planner_index(p, space, node, NO_COLUMN);
    return planner_add(p, &column, true, &number);
}

static int order_of_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Adds @node to @found unless it is there. */
static bool collect(Planner *p, uint32_t node, PlanNodes *found) {
    uint32_t *added;

    if (p->marks[node] == p->mark)
        return true;
    p->marks[node] = p->mark;
    added = VEC_PUSH(found, p->scratch);
    if (!added)
        return false;
    *added = node;
    return true;
}

int planner_classify_below(Planner *p, uint32_t space, uint32_t node) {
    uint8_t bit = level_bit(space);
    PlanNodes found = {0};

    p->mark++;
    if (cel_graph_node(p->graph, node)->levels == bit && !collect(p, node, &found))
        return -ENOMEM;
    for (size_t i = 0; i < found.n; i++) {
        const CelGraphNode *at = cel_graph_node(p->graph, found.items[i]);

        for (uint32_t k = 0; k < at->n_args; k++) {
            if (cel_graph_node(p->graph, at->args[k])->levels == bit &&
                !collect(p, at->args[k], &found))
                return -ENOMEM;
        }
    }
    if (found.n > 0)
        qsort(found.items, found.n, sizeof(uint32_t), order_of_numbers);
    for (size_t i = 0; i < found.n; i++) {
        int r = planner_classify(p, space, found.items[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Room for what is known of @n nodes, with more to come. */
static int open_nodes(Planner *p, uint32_t n) {
    uint32_t room = n < UINT32_MAX / 2 ? 2 * n : n;
    bool *is_whole = ARENA_ARRAY(p->scratch, bool, room);
    uint32_t *marks = ARENA_ARRAY(p->scratch, uint32_t, room);

    if (!is_whole || !marks)
        return -ENOMEM;
    if (p->n_seen > 0) {
        memcpy(is_whole, p->is_whole, p->n_seen * sizeof(bool));
        memcpy(marks, p->marks, p->n_seen * sizeof(uint32_t));
    }
    p->is_whole = is_whole;
    p->marks = marks;
    p->room = room;
    return 0;
}

int planner_scan_nodes(Planner *p) {
    uint32_t n = cel_graph_size(p->graph);
    int r = n > p->room ? open_nodes(p, n) : 0;

    if (r < 0)
        return r;
    for (uint32_t i = p->n_seen; i < n; i++) {
        const CelGraphNode *node = cel_graph_node(p->graph, i);

        p->is_whole[i] = p->host->is_whole && p->host->is_whole(p->host, p->graph, i);
        for (uint32_t k = 0; k < node->n_args; k++)
            p->is_whole[i] |= p->is_whole[node->args[k]];
    }
    p->n_seen = n;
    return 0;
}
