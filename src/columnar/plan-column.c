/* Which node can be a column, and the method to compute it. Nodes are classified by rising numbers,
 * arguments first. A node that cannot be a column (a list, a map, a string that depends on more
 * than its row) becomes part of the scalar code of the columns that need it. */

#include <stdlib.h>

#include "columnar/plan-internal.h"

static bool is_slot(const void *item, const void *key) {
    return ((const PlanSlot *)item)->key == *(const uint64_t *)key;
}

static uint64_t hash_key(uint64_t key) {
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* NULL: not classified yet. */
static PlanSlot *find_slot(const Planner *p, uint32_t space, uint32_t node) {
    uint64_t key = (uint64_t)space << 32 | node;

    return set_find(&p->slots, hash_key(key), is_slot, &key);
}

void planner_index(Planner *p, uint32_t space, uint32_t node, uint32_t column) {
    PlanSlot *slot = find_slot(p, space, node);

    if (slot) {
        slot->column = column;
        return;
    }
    slot = planner_check(p, ARENA_NEW(p->scratch, PlanSlot));
    if (!slot)
        return;
    *slot = (PlanSlot){.key = (uint64_t)space << 32 | node, .column = column};
    p->failed |= set_add(&p->slots, hash_key(slot->key), slot) < 0;
}

/* Whether @node is classified in @space. @ret: its column, or NO_COLUMN. */
static bool is_known(const Planner *p, uint32_t space, uint32_t node, uint32_t *ret) {
    const PlanSlot *slot = find_slot(p, space, node);

    *ret = slot ? slot->column : NO_COLUMN;
    return slot;
}

uint32_t planner_add(Planner *p, const PlanColumn *column, bool is_found) {
    PlanColumn *added = planner_check(p, VEC_PUSH(&p->plan->columns, p->arena));
    uint32_t number = (uint32_t)p->plan->columns.n - 1;

    if (!added)
        return NO_COLUMN;
    *added = *column;
    added->op = (uint8_t)cel_graph_node(p->graph, column->node)->op;
    if (is_found)
        planner_index(p, column->space, column->node, number);
    return number;
}

static uint8_t level_bit(uint32_t space) {
    return space != ROW_SPACE;
}

bool planner_frequency(const Planner *p, uint32_t space, uint32_t number, PlanFrequency *ret) {
    const CelGraphNode *node = cel_graph_node(p->graph, number);
    bool reads_row = (node->groups & p->host->row_groups) != 0;
    bool reads_more = (node->groups & (uint8_t)~p->host->row_groups) != 0;
    uint8_t bit = level_bit(space);

    if (number >= p->n_seen || node->levels & (uint8_t)~bit)
        return false;
    if (p->plan->spaces.items[space].kind == SPACE_GROUPS && reads_row)
        return false;
    if (!reads_row && (!(node->levels & bit) || p->plan->spaces.items[space].kind == SPACE_GROUPS))
        *ret = PLAN_ONCE;
    else if (reads_more || p->reads_other_rows[number])
        *ret = PLAN_PER_BATCH;
    else
        *ret = PLAN_PRECOMPUTED;
    return true;
}

bool planner_set_input(Planner *p, PlanColumn *column, uint32_t input) {
    uint32_t *inputs = planner_check(p, ARENA_NEW(p->arena, uint32_t));

    if (!inputs)
        return false;
    *inputs = input;
    column->inputs = inputs;
    column->n_inputs = 1;
    return true;
}

static uint32_t find_spread(Planner *p, uint32_t space, uint32_t of_row) {
    const PlanColumn *row = plan_column_at(p->plan, of_row);
    uint32_t known;
    PlanColumn spread = {
        .node = row->node,
        .space = space,
        .method = METHOD_SPREAD,
        .frequency = row->frequency,
        .lane = row->lane,
        .kind = row->kind,
    };

    if (is_known(p, space, row->node, &known))
        return known;
    return planner_set_input(p, &spread, of_row) ? planner_add(p, &spread, true) : NO_COLUMN;
}

uint32_t planner_find(Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency) {
    bool is_local = (cel_graph_node(p->graph, node)->levels & level_bit(space)) != 0;
    const PlanColumn *column;
    PlanFrequency own;
    uint32_t found;

    if (!planner_frequency(p, space, node, &own))
        return NO_COLUMN;
    (void)is_known(p, is_local ? space : ROW_SPACE, node, &found);
    if (found == NO_COLUMN)
        return NO_COLUMN;
    column = plan_column_at(p->plan, found);
    if (frequency == PLAN_PRECOMPUTED && column->frequency == PLAN_ONCE && !column->is_constant)
        return NO_COLUMN; /* an error that is no constant has no value in a block */
    if (!is_local && space != ROW_SPACE && column->frequency != PLAN_ONCE)
        return find_spread(p, space, found);
    return found;
}

/* The columns of all arguments; NULL: one is missing, or has no lane. */
static const uint32_t *find_args(
    Planner *p, const PlanColumn *column, const uint32_t *args, uint32_t n_args) {
    uint32_t *inputs = planner_check(p, ARENA_RAW(p->arena, uint32_t, n_args));

    for (uint32_t i = 0; inputs && i < n_args; i++) {
        inputs[i] = planner_find(p, column->space, args[i], column->frequency);
        if (inputs[i] == NO_COLUMN || plan_column_at(p->plan, inputs[i])->lane == LANE_NONE)
            return NULL;
    }
    return inputs;
}

static bool is_text(const Planner *p, uint32_t column) {
    return plan_column_at(p->plan, column)->lane == LANE_TEXT;
}

/* The method to compute a node from the columns of its arguments; false: none. */
static bool choose_method(Planner *p, PlanColumn *column, const CelGraphNode *node) {
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

static bool try_args(Planner *p, PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node);

    if (node->n_args == 0 || node->n_args > 3 || cel_op_is_loop(node->op))
        return false;
    column->inputs = find_args(p, column, node->args, node->n_args);
    column->n_inputs = node->n_args;
    return column->inputs && choose_method(p, column, node);
}

/* math.greatest([a, b, c]). */
static bool try_fold(Planner *p, PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node), *list;

    column->kernel = kernel_find_fold(p->graph, column->node);
    if (!column->kernel)
        return false;
    list = cel_graph_node(p->graph, node->args[0]);
    if (list->n_args > PLAN_FOLD_ARGS_MAX)
        return false;
    column->inputs = find_args(p, column, list->args, list->n_args);
    column->method = METHOD_FOLD;
    column->n_inputs = list->n_args;
    return column->inputs != NULL;
}

/* Whether the host can load the node, or it is the loop's variable. */
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

/* Whether the host can load the node by a key that is computed once. */
static bool try_keyed(Planner *p, PlanColumn *column) {
    uint32_t key, input;

    if (column->frequency != PLAN_PER_BATCH || column->space != ROW_SPACE || !p->host->keyed_leaf)
        return false;
    column->leaf = p->host->keyed_leaf(p->host, p->graph, column->node, &key);
    if (column->leaf == PLAN_NO_LEAF)
        return false;
    input = planner_find(p, ROW_SPACE, key, PLAN_PER_BATCH);
    if (input == NO_COLUMN || !plan_column_is_single(plan_column_at(p->plan, input)))
        return false;
    column->method = METHOD_KEYED;
    return planner_set_input(p, column, input);
}

bool planner_is_or_value(const Planner *p, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(p->graph, number), *has, *get;

    if (node->op != OP_CONDITIONAL)
        return false;
    has = cel_graph_node(p->graph, node->args[0]);
    get = cel_graph_node(p->graph, node->args[1]);
    return has->op == OP_OPT_HAS && get->op == OP_OPT_GET && has->args[0] == get->args[0];
}

/* Whether it is x.orValue(y) and the scalar machine computes x: one evaluation then does it all. */
static bool is_one_evaluation(const Planner *p, const PlanColumn *column) {
    uint32_t get;

    if (!planner_is_or_value(p, column->node))
        return false;
    (void)is_known(p, column->space, cel_graph_node(p->graph, column->node)->args[1], &get);
    return get != NO_COLUMN && plan_column_at(p->plan, get)->method == METHOD_SCALAR &&
           plan_column_at(p->plan, get)->frequency == column->frequency;
}

/* Chooses kernels, or else the scalar machine; false: neither, since groups have no scalar code. */
static bool choose_any(Planner *p, PlanColumn *column) {
    bool may_be_scalar = p->plan->spaces.items[column->space].kind != SPACE_GROUPS;

    if (!(may_be_scalar && is_one_evaluation(p, column)) &&
        (try_args(p, column) || try_fold(p, column)))
        return true;
    column->method = METHOD_SCALAR;
    column->inputs = NULL;
    column->n_inputs = 0;
    return may_be_scalar;
}

/* Stores the constant, also as a column of one entry. */
static void set_constant(Planner *p, PlanColumn *column, CelValue v) {
    uint8_t *state = planner_check(p, ARENA_NEW(p->arena, uint8_t));
    int64_t *number = planner_check(p, ARENA_NEW(p->arena, int64_t));

    if (!state || !number)
        return;
    column->is_constant = true;
    column->constant = v;
    column->single = (Column){.lane = (ColumnLane)column->lane, .states = state, .ints = number};
    if (column->lane != LANE_NONE && column->lane != LANE_TEXT)
        column_set(&column->single, 0, (CelKind)column->kind, v);
}

/* A value that is computed once; of any type. */
static bool classify_single(Planner *p, PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(p->graph, column->node);

    column->method = METHOD_SCALAR;
    if (node->op == OP_CONSTANT)
        set_constant(p, column, node->constant);
    return node->op != OP_OPT_ELEMENT; /* which may be no value at all */
}

void planner_classify(Planner *p, uint32_t space, uint32_t node) {
    const CelGraphNode *of = cel_graph_node(p->graph, node);
    /* A constant's type may say less than its kind: then it has no lane. */
    bool has_no_lane = of->op == OP_CONSTANT && of->constant.kind != of->type->value_kind;
    PlanColumn column = {
        .node = node,
        .space = space,
        .kind = of->type->value_kind,
        .lane = (uint8_t)(has_no_lane ? LANE_NONE : column_lane_of(of->type)),
    };
    bool has_lane = column.lane != LANE_NONE, is_column;
    PlanFrequency frequency;
    uint32_t known;

    if (p->failed || is_known(p, space, node, &known))
        return;
    is_column = planner_frequency(p, space, node, &frequency);
    if (is_column) {
        column.frequency = (uint8_t)frequency;
        if (!has_lane || (!choose_source(p, &column) && !try_keyed(p, &column))) {
            if (has_lane && planner_reduce(p, space, node))
                return;
            is_column = plan_column_is_single(&column) ? classify_single(p, &column)
                        : has_lane && (column.lane != LANE_TEXT || frequency == PLAN_PRECOMPUTED)
                            ? choose_any(p, &column)
                            : false;
        }
    }
    if (is_column)
        (void)planner_add(p, &column, true);
    else
        planner_index(p, space, node, NO_COLUMN);
}

/* Adds @node to @found unless it is there. */
static void collect(Planner *p, uint32_t node, PlanCopies *found) {
    if (node >= p->n_seen || p->marks[node] == p->mark)
        return;
    p->marks[node] = p->mark;
    PLAN_PUSH(p, found, p->scratch, (PlanCopy){.node = node});
}

PlanCopies planner_collect(Planner *p, uint32_t root, uint8_t bits, bool is_exact) {
    PlanCopies found = {0};

    p->mark++;
    collect(p, root, &found);
    for (size_t i = 0; i < found.n; i++) {
        const CelGraphNode *at = cel_graph_node(p->graph, found.items[i].node);

        for (uint32_t k = 0; k < at->n_args; k++) {
            uint8_t levels = cel_graph_node(p->graph, at->args[k])->levels;

            if (is_exact ? levels == bits : levels & bits)
                collect(p, at->args[k], &found);
        }
    }
    if (found.n > 0)
        qsort(found.items, found.n, sizeof(PlanCopy), plan_compare_nodes);
    return found;
}

void planner_classify_below(Planner *p, uint32_t space, uint32_t node) {
    uint8_t bit = level_bit(space);
    PlanCopies found = {0};

    if (cel_graph_node(p->graph, node)->levels == bit)
        found = planner_collect(p, node, bit, /* is_exact= */ true);
    for (size_t i = 0; i < found.n; i++)
        planner_classify(p, space, found.items[i].node);
}

/* Memory for the flags of @n nodes, and of as many new ones. */
static bool open_nodes(Planner *p, uint32_t n) {
    uint32_t capacity = n < UINT32_MAX / 2 ? 2 * n : n;
    bool *reads_other_rows = planner_check(p, ARENA_ARRAY(p->scratch, bool, capacity));
    uint32_t *marks = planner_check(p, ARENA_ARRAY(p->scratch, uint32_t, capacity));

    if (!reads_other_rows || !marks)
        return false;
    if (p->n_seen > 0) {
        memcpy(reads_other_rows, p->reads_other_rows, p->n_seen * sizeof(bool));
        memcpy(marks, p->marks, p->n_seen * sizeof(uint32_t));
    }
    p->reads_other_rows = reads_other_rows;
    p->marks = marks;
    p->capacity = capacity;
    return true;
}

void planner_scan_nodes(Planner *p) {
    uint32_t n = cel_graph_size(p->graph);

    if (n > p->capacity && !open_nodes(p, n))
        return;
    for (uint32_t i = p->n_seen; i < n; i++) {
        const CelGraphNode *node = cel_graph_node(p->graph, i);

        p->reads_other_rows[i] =
            p->host->reads_other_rows && p->host->reads_other_rows(p->host, p->graph, i);
        for (uint32_t k = 0; k < node->n_args; k++)
            p->reads_other_rows[i] |= p->reads_other_rows[node->args[k]];
    }
    p->n_seen = n;
}
