/*
 * Recognises leaves in a graph from the outside in: first the mode, then the key, then the path of
 * fields down to the variable. leaf-load*.c load them.
 */

#include "schema/leaf.h"

#include "schema/metrics.h"
#include "schema/schema-internal.h"

#define PATH_FIELDS_MAX 3u /* node.metadata.labels has two */

typedef enum PathKind { PATH_FIELD, PATH_MAP, PATH_LIST } PathKind;

typedef struct Path {
    const char *fields[PATH_FIELDS_MAX]; /* from the variable outwards; terminated by NULL */
    LeafSource source;
    PathKind kind;
    bool of_nodes, of_pods; /* for the row variable; for a loop over the pods of a node */
} Path;

static const Path paths[] = {
    {{"metadata", "name"}, LEAF_NAME, PATH_FIELD, true, true},
    {{"metadata", "namespace"}, LEAF_NAMESPACE, PATH_FIELD, false, true},
    {{"metadata", "uid"}, LEAF_UID, PATH_FIELD, true, true},
    {{"metadata", "creationTimestamp"}, LEAF_CREATED, PATH_FIELD, true, true},
    {{"ready"}, LEAF_READY, PATH_FIELD, true, false},
    {{"spec", "unschedulable"}, LEAF_CORDONED, PATH_FIELD, true, false},
    {{"scheduledTime"}, LEAF_PLACED, PATH_FIELD, false, true},
    {{"terminating"}, LEAF_TERMINATING, PATH_FIELD, false, true},
    {{"metadata", "labels"}, LEAF_LABEL, PATH_MAP, true, true},
    {{"metadata", "annotations"}, LEAF_ANNOTATION, PATH_MAP, true, true},
    {{"allocatable"}, LEAF_ALLOCATABLE, PATH_MAP, true, false},
    {{"requested"}, LEAF_REQUESTED, PATH_MAP, true, false},
    {{"free"}, LEAF_FREE, PATH_MAP, true, false},
    {{"pods"}, LEAF_N_PODS, PATH_LIST, true, false},
    {{"spec", "taints"}, LEAF_N_TAINTS, PATH_LIST, true, false},
};

typedef struct Reading {
    const CelGraph *graph;
    bool is_pod; /* reads the variable of a loop over pods; else the row variable */
    uint32_t row_slot;
    uint32_t *ret_key; /* the node of a key that is not constant; NULL: keys must be constants */
} Reading;

/* Whether @node is the variable that is read from. */
static bool is_variable(const Reading *reading, const CelGraphNode *node) {
    if (!reading->is_pod)
        return node->op == OP_VARIABLE && node->immediate == reading->row_slot;
    return node->op == OP_LOCAL && node->immediate == 0 &&
           schema_record_of(node->type) == &schema_node_pod;
}

/* The node @number if its operation is @op; else NULL. */
static const CelGraphNode *node_if(const Reading *reading, uint32_t number, uint16_t op) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

    return node->op == op ? node : NULL;
}

/* Whether @object.@field is @path. */
static bool is_path(const Reading *reading, Str field, uint32_t object, const Path *path) {
    size_t n = 0;

    while (n < PATH_FIELDS_MAX && path->fields[n])
        n++;
    while (n > 0 && str_is(field, path->fields[n - 1])) {
        const CelGraphNode *node = cel_graph_node(reading->graph, object);

        if (--n == 0)
            return is_variable(reading, node);
        if (node->op != OP_FIELD)
            return false;
        field = cel_str(node->constant);
        object = node->args[0];
    }
    return false;
}

static bool find_path(
    const Reading *reading, const CelGraphNode *field, PathKind kind, LeafSource *ret) {
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++)
        if (paths[i].kind == kind && (reading->is_pod ? paths[i].of_pods : paths[i].of_nodes) &&
            is_path(reading, cel_str(field->constant), field->args[0], &paths[i])) {
            *ret = paths[i].source;
            return true;
        }
    return false;
}

/* The constant of a call of @fn on the row; NULL: it is not such a call. */
static const CelRecord *find_constant(
    const Reading *reading, const CelGraphNode *call, CelFunction *fn) {
    const CelGraphNode *row, *constant;

    if (reading->is_pod || !call || !schema_calls(call, fn))
        return NULL;
    row = node_if(reading, call->args[0], OP_VARIABLE);
    constant = node_if(reading, call->args[1], OP_CONSTANT);
    return row && row->immediate == reading->row_slot && constant ? constant->constant.record
                                                                  : NULL;
}

/* A field of `metrics`, which is a call (metrics.c). */
static bool read_metric(
    const Reading *reading, const CelGraphNode *field, LeafMode mode, Leaf *ret) {
    const CelRecord *constant =
        find_constant(reading, node_if(reading, field->args[0], OP_CALL), schema_call_metrics);

    if (!constant)
        return false;
    *ret = (Leaf){.source = LEAF_METRIC,
        .mode = mode,
        .gauge = OBJECT_OF(constant, SchemaMetrics, constant)->gauges[field->immediate]};
    return true;
}

/* metrics.x.measured, and the time of the measurement. */
static bool read_measured(const Reading *reading, const CelGraphNode *call, Leaf *ret) {
    const CelRecord *measured = find_constant(reading, call, schema_call_measured);
    const CelRecord *at = find_constant(reading, call, schema_call_measured_at);

    if (call->op != OP_CALL || (!measured && !at))
        return false;
    *ret = (Leaf){.source = measured ? LEAF_MEASURED : LEAF_MEASURED_AT,
        .mode = LEAF_VALUE,
        .gauge = OBJECT_OF(measured ? measured : at, SchemaMetric, constant)->gauge};
    return true;
}

/* An entry of a map of the row, by a constant key. */
static bool read_entry(
    const Reading *reading, uint32_t map, CelValue key, LeafMode mode, Leaf *ret) {
    const CelGraphNode *field = node_if(reading, map, OP_FIELD);

    *ret = (Leaf){.mode = mode, .key = cel_str(key)};
    return field && key.kind == CEL_STRING && find_path(reading, field, PATH_MAP, &ret->source);
}

/* The same, but the key is the value of node @key. */
static bool read_keyed(
    const Reading *reading, uint32_t map, uint32_t key, LeafMode mode, Leaf *ret) {
    if (!reading->ret_key || !read_entry(reading, map, cel_string(STR("")), mode, ret))
        return false;
    *reading->ret_key = key;
    return true;
}

/* map[?key], read as @mode. */
static bool read_optional(const Reading *reading, uint32_t number, LeafMode mode, Leaf *ret) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

    if (node->op == OP_OPT_FIELD)
        return read_metric(reading, node, mode, ret);
    if (node->op == OP_OPT_INDEX)
        return read_keyed(reading, node->args[0], node->args[1], mode, ret);
    return node->op == OP_OPT_SELECT &&
           read_entry(reading, node->args[0], node->constant, mode, ret);
}

/* map[?key].orValue(constant), which is OPT_HAS ? OPT_GET : constant in the graph. */
static bool read_or_value(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *has = node_if(reading, node->args[0], OP_OPT_HAS);
    const CelGraphNode *get = node_if(reading, node->args[1], OP_OPT_GET);
    const CelGraphNode *otherwise = node_if(reading, node->args[2], OP_CONSTANT);

    if (!has || !get || !otherwise || has->args[0] != get->args[0] ||
        !read_optional(reading, has->args[0], LEAF_ELSE, ret))
        return false;
    ret->otherwise = otherwise->constant;
    return ret->otherwise.kind == (ret->source >= LEAF_ALLOCATABLE || ret->source == LEAF_METRIC
                                          ? CEL_DOUBLE
                                          : CEL_STRING);
}

static bool read_size(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *list;

    if (node->n_args != 1 || node->n_overloads != 1 || !str_is(node->overloads[0]->name, "size"))
        return false;
    list = node_if(reading, node->args[0], OP_FIELD);
    *ret = (Leaf){.mode = LEAF_VALUE};
    return list && find_path(reading, list, PATH_LIST, &ret->source);
}

static bool read_field(const Reading *reading, const CelGraphNode *node, LeafMode mode, Leaf *ret) {
    if (read_metric(reading, node, mode, ret))
        return true;
    *ret = (Leaf){.mode = mode};
    return find_path(reading, node, PATH_FIELD, &ret->source);
}

static bool read_leaf(const Reading *reading, uint32_t number, Leaf *ret) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number), *key;

    switch (node->op) {
    case OP_FIELD:
        return read_field(reading, node, LEAF_VALUE, ret);
    case OP_TEST_FIELD:
        return read_field(reading, node, LEAF_IS_SET, ret);
    case OP_SELECT:
        return read_entry(reading, node->args[0], node->constant, LEAF_VALUE, ret);
    case OP_INDEX_MAP:
        return read_keyed(reading, node->args[0], node->args[1], LEAF_VALUE, ret);
    case OP_TEST_SELECT:
        return read_entry(reading, node->args[0], node->constant, LEAF_IS_SET, ret);
    case OP_IN_MAP:
        key = node_if(reading, node->args[0], OP_CONSTANT);
        return key ? read_entry(reading, node->args[1], key->constant, LEAF_IS_SET, ret)
                   : read_keyed(reading, node->args[1], node->args[0], LEAF_IS_SET, ret);
    case OP_OPT_HAS:
        return read_optional(reading, node->args[0], LEAF_IS_SET, ret);
    case OP_OPT_GET:
        return read_optional(reading, node->args[0], LEAF_STRICT, ret);
    case OP_CONDITIONAL:
        return read_or_value(reading, node, ret);
    case OP_CALL:
    case OP_CALL_CHECKED:
        return read_measured(reading, node, ret) || read_size(reading, node, ret);
    default:
        return false;
    }
}

bool leaf_read(const CelGraph *graph, uint32_t number, uint32_t row_slot, Leaf *ret) {
    const Reading reading = {.graph = graph, .row_slot = row_slot};

    return read_leaf(&reading, number, ret);
}

/* pod.selects(node) */
static bool is_selected(const Reading *reading, uint32_t number, Leaf *ret) {
    const CelGraphNode *call = cel_graph_node(reading->graph, number), *pod;

    if (!schema_calls(call, schema_call_selects))
        return false;
    pod = cel_graph_node(reading->graph, call->args[0]);
    *reading->ret_key = call->args[0];
    *ret = (Leaf){.source = LEAF_SELECTED, .otherwise = cel_absent()};
    return pod->op == OP_VARIABLE &&
           is_variable(reading, cel_graph_node(reading->graph, call->args[1]));
}

/* node.spec.taints.all(t, pod.tolerates(t.text)) */
static bool is_tolerated(const Reading *reading, uint32_t number, Leaf *ret) {
    LeafSource source = LEAF_NAME;
    const CelGraphNode *loop = node_if(reading, number, OP_ALL), *taints, *call, *text, *taint;

    if (!loop || loop->immediate & CEL_LOOP_PAIRS)
        return false;
    taints = node_if(reading, loop->args[0], OP_FIELD);
    call = cel_graph_node(reading->graph, loop->args[1]);
    if (!taints || !find_path(reading, taints, PATH_LIST, &source) || source != LEAF_N_TAINTS ||
        !schema_calls(call, schema_call_tolerates_text) ||
        !node_if(reading, call->args[0], OP_VARIABLE))
        return false;
    text = node_if(reading, call->args[1], OP_FIELD);
    taint = text ? node_if(reading, text->args[0], OP_LOCAL) : NULL;
    *reading->ret_key = call->args[0];
    *ret = (Leaf){.source = LEAF_TOLERATED, .otherwise = cel_absent()};
    return taint && taint->immediate == (loop->immediate & CEL_LOOP_LEVEL) &&
           str_is(cel_str(text->constant), "text");
}

bool leaf_read_keyed(
    const CelGraph *graph, uint32_t number, uint32_t row_slot, Leaf *ret, uint32_t *ret_key) {
    const Reading reading = {.graph = graph, .row_slot = row_slot, .ret_key = ret_key};

    if (is_selected(&reading, number, ret) || is_tolerated(&reading, number, ret))
        return true;
    *ret_key = CEL_NO_NODE;
    return read_leaf(&reading, number, ret) && *ret_key != CEL_NO_NODE;
}

bool leaf_read_pod(const CelGraph *graph, uint32_t number, Leaf *ret) {
    const Reading reading = {.graph = graph, .is_pod = true};

    return read_leaf(&reading, number, ret);
}

bool leaf_equal(const Leaf *a, const Leaf *b) {
    CelValue x = a->otherwise, y = b->otherwise;

    /* Compares doubles by their bits: a NaN equals itself, and 0.0 differs from -0.0. */
    return a->source == b->source && a->mode == b->mode && a->gauge == b->gauge &&
           str_eq(a->key, b->key) && x.kind == y.kind &&
           (x.kind == CEL_STRING ? str_eq(cel_str(x), cel_str(y)) : x.u == y.u);
}
