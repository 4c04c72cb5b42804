/*
 * Recognising: from the outside in, what is asked, then by which key, then the path of fields
 * down to the variable, looked up in one table. Loading: a value and whether it is set for each
 * row; what is asked decides what a row without it gives.
 */

#include "schema/leaf.h"

#include <assert.h>

#include "schema/metric-leaf.h"
#include "schema/pod.h"

#include <string.h>

#define PATH_FIELDS_MAX 3u /* node.metadata.labels has two */
#define NSEC_PER_SEC INT64_C(1000000000)

typedef struct Path {
    const char *fields[PATH_FIELDS_MAX]; /* from the variable on; NULL behind the last */
    LeafSource source;
} Path;

static const Path plain_paths[] = {
    {{"metadata", "name"}, LEAF_NAME},
    {{"metadata", "uid"}, LEAF_UID},
    {{"metadata", "creationTimestamp"}, LEAF_CREATED},
    {{"ready"}, LEAF_READY},
    {{"spec", "unschedulable"}, LEAF_CORDONED},
};

static const Path pod_paths[] = {
    {{"metadata", "name"}, LEAF_NAME},
    {{"metadata", "namespace"}, LEAF_NAMESPACE},
    {{"metadata", "uid"}, LEAF_UID},
    {{"metadata", "creationTimestamp"}, LEAF_CREATED},
    {{"scheduledTime"}, LEAF_PLACED},
};

static const Path pod_map_paths[] = {
    {{"metadata", "labels"}, LEAF_LABEL},
};

static const Path map_paths[] = {
    {{"metadata", "labels"}, LEAF_LABEL},
    {{"metadata", "annotations"}, LEAF_ANNOTATION},
    {{"allocatable"}, LEAF_ALLOCATABLE},
    {{"requested"}, LEAF_REQUESTED},
    {{"free"}, LEAF_FREE},
};

static const Path list_paths[] = {
    {{"pods"}, LEAF_N_PODS},
    {{"spec", "taints"}, LEAF_N_TAINTS},
};

/* --- recognising ------------------------------------------------------------------------ */

typedef struct Reading {
    const CelGraph *graph;
    bool is_pod; /* of a loop's variable; else of the row variable */
    uint32_t row_slot;
    uint32_t *ret_key; /* the node of a key that is no constant; NULL: keys must be constants */
} Reading;

/* Whether @node is the variable that is read from. */
static bool is_variable(const Reading *reading, const CelGraphNode *node) {
    if (!reading->is_pod)
        return node->op == OP_VARIABLE && node->immediate == reading->row_slot;
    return node->op == OP_LOCAL && node->immediate == 0 &&
           schema_record_of(node->type) == &schema_node_pod;
}

/* The node that @number stands for if it is of @op; NULL: it is another. */
static const CelGraphNode *node_if(const Reading *reading, uint32_t number, uint16_t op) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

    return node->op == op ? node : NULL;
}

/* Whether @object.@field, the last one a field of any kind, is @path. */
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

static bool find_path(const Reading *reading, const CelGraphNode *field, const Path *paths,
    size_t n, LeafSource *ret) {
    for (size_t i = 0; i < n; i++)
        if (is_path(reading, cel_str(field->constant), field->args[0], &paths[i])) {
            *ret = paths[i].source;
            return true;
        }
    return false;
}

/* An entry of a map of the row, by a constant key. */
static bool read_entry(const Reading *reading, uint32_t map, CelValue key, LeafAsk ask, Leaf *ret) {
    const CelGraphNode *field = node_if(reading, map, OP_FIELD);

    *ret = (Leaf){.ask = ask, .key = cel_str(key)};
    if (!field || key.kind != CEL_STRING)
        return false;
    return reading->is_pod
               ? find_path(reading, field, pod_map_paths, ELEMENTS_OF(pod_map_paths), &ret->source)
               : find_path(reading, field, map_paths, ELEMENTS_OF(map_paths), &ret->source);
}

/* The same by the key that is node @key. */
static bool read_keyed(const Reading *reading, uint32_t map, uint32_t key, LeafAsk ask, Leaf *ret) {
    if (!reading->ret_key || !read_entry(reading, map, cel_string(STR("")), ask, ret))
        return false;
    *reading->ret_key = key;
    return true;
}

/* map[?key], of which @ask is asked. */
static bool read_optional(const Reading *reading, uint32_t number, LeafAsk ask, Leaf *ret) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

    if (node->op == OP_OPT_INDEX)
        return read_keyed(reading, node->args[0], node->args[1], ask, ret);
    return node->op == OP_OPT_SELECT &&
           read_entry(reading, node->args[0], node->constant, ask, ret);
}

static bool read_in_map(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *key = node_if(reading, node->args[0], OP_CONSTANT);

    return key ? read_entry(reading, node->args[1], key->constant, LEAF_IS_SET, ret)
               : read_keyed(reading, node->args[1], node->args[0], LEAF_IS_SET, ret);
}

/* map[?key].orValue(constant) is: has it a value? that : the constant. */
static bool read_or_value(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *has = node_if(reading, node->args[0], OP_OPT_HAS);
    const CelGraphNode *get = node_if(reading, node->args[1], OP_OPT_GET);
    const CelGraphNode *otherwise = node_if(reading, node->args[2], OP_CONSTANT);

    if (!has || !get || !otherwise || has->args[0] != get->args[0] ||
        !read_optional(reading, has->args[0], LEAF_ELSE, ret))
        return false;
    ret->otherwise = otherwise->constant;
    return ret->otherwise.kind == (ret->source >= LEAF_ALLOCATABLE ? CEL_DOUBLE : CEL_STRING);
}

static bool read_size(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *list;

    if (node->n_args != 1 || node->n_overloads != 1 || !str_is(node->overloads[0]->name, "size"))
        return false;
    list = node_if(reading, node->args[0], OP_FIELD);
    *ret = (Leaf){.ask = LEAF_VALUE};
    return list && !reading->is_pod &&
           find_path(reading, list, list_paths, ELEMENTS_OF(list_paths), &ret->source);
}

static bool read_field(const Reading *reading, const CelGraphNode *node, LeafAsk ask, Leaf *ret) {
    *ret = (Leaf){.ask = ask};
    return reading->is_pod
               ? find_path(reading, node, pod_paths, ELEMENTS_OF(pod_paths), &ret->source)
               : find_path(reading, node, plain_paths, ELEMENTS_OF(plain_paths), &ret->source);
}

static bool read_leaf(const Reading *reading, uint32_t number, Leaf *ret) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

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
        return read_in_map(reading, node, ret);
    case OP_OPT_HAS:
        return read_optional(reading, node->args[0], LEAF_IS_SET, ret);
    case OP_OPT_GET:
        return read_optional(reading, node->args[0], LEAF_STRICT, ret);
    case OP_CONDITIONAL:
        return read_or_value(reading, node, ret);
    case OP_CALL:
    case OP_CALL_CHECKED:
        return read_size(reading, node, ret);
    default:
        return false;
    }
}

bool leaf_read(const CelGraph *graph, uint32_t number, uint32_t row_slot, Leaf *ret) {
    const Reading reading = {.graph = graph, .row_slot = row_slot};

    return metric_leaf_read(graph, number, row_slot, ret) || read_leaf(&reading, number, ret);
}

bool leaf_read_keyed(
    const CelGraph *graph, uint32_t number, uint32_t row_slot, Leaf *ret, uint32_t *ret_key) {
    const Reading reading = {.graph = graph, .row_slot = row_slot, .ret_key = ret_key};

    *ret_key = CEL_NO_NODE;
    return read_leaf(&reading, number, ret) && *ret_key != CEL_NO_NODE;
}

bool leaf_read_pod(const CelGraph *graph, uint32_t number, Leaf *ret) {
    const Reading reading = {.graph = graph, .is_pod = true};

    return read_leaf(&reading, number, ret);
}

/* Doubles by their bits: a NaN is itself, and 0.0 is not -0.0. */
static bool constant_equal(CelValue a, CelValue b) {
    if (a.kind != b.kind)
        return false;
    return a.kind == CEL_STRING ? str_eq(cel_str(a), cel_str(b)) : a.u == b.u;
}

bool leaf_equal(const Leaf *a, const Leaf *b) {
    return a->source == b->source && a->ask == b->ask && a->gauge == b->gauge &&
           str_eq(a->key, b->key) && constant_equal(a->otherwise, b->otherwise);
}

/* --- loading -------------------------------------------------------------------------------- */

typedef struct Load {
    const Leaf *leaf;
    const NodeTable *table;
    const uint32_t *rows;
    const CelValue *pods; /* instead of rows */
    size_t n;
    CelColumn *ret;
    CelValue *texts;
} Load;

/* What nodes and pods have both. */
typedef struct Object {
    const Str *name, *uid, *namespace;
    const Labels *labels, *annotations;
    int64_t created_at, placed_at;
} Object;

static bool gives_bool(const Leaf *leaf) {
    return leaf->ask == LEAF_IS_SET || leaf->source == LEAF_READY || leaf->source == LEAF_CORDONED;
}

/* Whether a row that has no value is an error. */
static bool can_fail(const Leaf *leaf) {
    return leaf->ask == LEAF_STRICT || (leaf->ask == LEAF_VALUE && leaf->source < LEAF_ALLOCATABLE);
}

static void set_bool(const Load *load, size_t i, bool value) {
    load->ret->states[i] = value ? CEL_STATE_TRUE : CEL_STATE_FALSE;
}

/* @value NULL: not set. */
static void set_text(const Load *load, size_t i, const Str *value) {
    const Leaf *leaf = load->leaf;

    if (leaf->ask == LEAF_IS_SET) {
        set_bool(load, i, value != NULL);
        return;
    }
    load->ret->states[i] = value || leaf->ask == LEAF_ELSE ? CEL_STATE_FINE : CEL_STATE_ERROR;
    if (value)
        load->texts[i] = schema_text(*value);
    else
        load->texts[i] = leaf->ask == LEAF_ELSE ? leaf->otherwise : schema_text(STR_NULL);
}

static const Node *node_at(const Load *load, size_t i) {
    static const Node nothing;
    const Node *node;

    assert(load->rows); /* rows or elements, by the leaf's source */
    node = table_node(load->table, load->rows[i]);

    return node ? node : &nothing;
}

/* labels_find() for one node after the other. They have much the same labels, so the key's place
 * is mostly @near, where it was the last time, or would have been: that place and the one beside
 * it are looked at before any other. */
static const Str *find_near(const Labels *labels, Str key, size_t *near) {
    size_t low = 0, high = labels->n, at = *near < high ? *near : high - 1;

    for (unsigned n = 0; low < high; n++) {
        int r;

        if (n >= 2 || at < low || at >= high)
            at = low + (high - low) / 2;
        r = str_cmp(key, labels->items[at].key);
        *near = at;
        if (r == 0)
            return &labels->items[at].value;
        if (r < 0)
            high = at--;
        else
            low = ++at;
    }
    *near = low;
    return NULL;
}

/* False: it is no pod. */
static bool pod_at(const Load *load, size_t i, Object *ret) {
    const CelValue *value = &load->pods[i];
    const Pod *pod;

    if (value->kind != CEL_RECORD || value->record->type != &schema_node_pod.type)
        return false;
    pod = OBJECT_OF(value->record, PodValue, head)->pod;
    *ret = (Object){.name = &pod->name,
        .uid = &pod->uid,
        .namespace = &pod->namespace,
        .labels = &pod->labels,
        .created_at = pod->created_at,
        .placed_at = pod_placed_at(pod)};
    return true;
}

static bool object_at(const Load *load, size_t i, Object *ret) {
    const Node *node;

    if (load->pods)
        return pod_at(load, i, ret);
    node = node_at(load, i);
    *ret = (Object){.name = &node->name,
        .uid = &node->uid,
        .labels = &node->labels,
        .annotations = &node->annotations,
        .created_at = node->created_at};
    return true;
}

/* NULL: not set. */
static const Str *find_text(const Load *load, const Object *object, size_t *near) {
    switch (load->leaf->source) {
    case LEAF_NAME:
        return object->name;
    case LEAF_UID:
        return object->uid;
    case LEAF_NAMESPACE:
        return object->namespace;
    case LEAF_LABEL:
        return find_near(object->labels, load->leaf->key, near);
    default:
        assert(object->annotations); /* only a node's are asked for: leaf_read() */
        return find_near(object->annotations, load->leaf->key, near);
    }
}

/* Whether any is odd. */
static bool load_texts(const Load *load) {
    size_t near = 0;
    bool is_odd = false;

    for (size_t i = 0; i < load->n; i++) {
        Object object;

        if (object_at(load, i, &object)) {
            set_text(load, i, find_text(load, &object, &near));
            continue;
        }
        load->ret->states[i] = CEL_STATE_ODD;
        is_odd = true;
    }
    return is_odd;
}

static void set_time(const Load *load, size_t i, int64_t at) {
    load->ret->ints[i] = 0;
    if (at == 0)
        load->ret->states[i] = CEL_STATE_ERROR;
    else
        load->ret->states[i] = __builtin_mul_overflow(at, NSEC_PER_SEC, &load->ret->ints[i])
                                   ? CEL_STATE_ODD
                                   : CEL_STATE_FINE;
    if (load->ret->states[i] != CEL_STATE_FINE)
        load->ret->ints[i] = 0;
}

static int64_t time_of(const Load *load, const Object *object) {
    return load->leaf->source == LEAF_PLACED ? object->placed_at : object->created_at;
}

static void load_times(const Load *load) {
    for (size_t i = 0; i < load->n; i++) {
        Object object;

        if (!object_at(load, i, &object))
            load->ret->states[i] = CEL_STATE_ODD;
        else if (load->leaf->ask == LEAF_IS_SET)
            set_bool(load, i, time_of(load, &object) != 0);
        else
            set_time(load, i, time_of(load, &object));
    }
}

static void load_bools(const Load *load) {
    bool is_always = load->leaf->ask == LEAF_IS_SET;

    for (size_t i = 0; i < load->n; i++) {
        const Node *node = node_at(load, i);

        set_bool(load,
            i,
            is_always ||
                (load->leaf->source == LEAF_READY ? node->is_ready : node->is_unschedulable));
    }
}

static void load_counts(const Load *load) {
    for (size_t i = 0; i < load->n; i++) {
        uint32_t row = load->rows[i];

        load->ret->ints[i] = load->leaf->source == LEAF_N_PODS
                                 ? table_chunk(load->table, row)->n_pods[table_slot(row)]
                                 : (int64_t)node_at(load, i)->taints.n;
        load->ret->states[i] = CEL_STATE_FINE;
    }
}

static AmountKind kind_of(LeafSource source) {
    return source == LEAF_ALLOCATABLE ? AMOUNT_ALLOCATABLE
           : source == LEAF_REQUESTED ? AMOUNT_REQUESTED
                                      : AMOUNT_FREE;
}

static void load_amounts(const Load *load) {
    const Leaf *leaf = load->leaf;
    const AmountKey key = amount_key(leaf->key);
    AmountKind kind = kind_of(leaf->source);
    size_t column = table_find_resource(load->table, key.resource);

    for (size_t i = 0; i < load->n; i++) {
        uint32_t row = load->rows[i];
        bool is_there = leaf->ask == LEAF_VALUE ||
                        amount_is_there(load->table, row, kind, key.resource, column);

        if (leaf->ask == LEAF_IS_SET) {
            set_bool(load, i, is_there);
            continue;
        }
        load->ret->states[i] =
            is_there || leaf->ask == LEAF_ELSE ? CEL_STATE_FINE : CEL_STATE_ERROR;
        load->ret->doubles[i] =
            is_there
                ? amount_number(key, amount_of_row(load->table, row, kind, key.resource, column))
                : leaf->otherwise.d;
    }
}

void leaf_load(const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n,
    CelColumn *ret, CelValue *ret_texts) {
    const Load load = {
        .leaf = leaf, .table = table, .rows = rows, .n = n, .ret = ret, .texts = ret_texts};

    switch (leaf->source) {
    case LEAF_NAME:
    case LEAF_UID:
    case LEAF_NAMESPACE:
    case LEAF_LABEL:
    case LEAF_ANNOTATION:
        (void)load_texts(&load);
        break;
    case LEAF_CREATED:
    case LEAF_PLACED:
        load_times(&load);
        break;
    case LEAF_READY:
    case LEAF_CORDONED:
        load_bools(&load);
        break;
    case LEAF_N_PODS:
    case LEAF_N_TAINTS:
        load_counts(&load);
        break;
    case LEAF_ALLOCATABLE:
    case LEAF_REQUESTED:
    case LEAF_FREE:
        load_amounts(&load);
        break;
    case LEAF_METRIC:
    case LEAF_MEASURED:
    case LEAF_MEASURED_AT:
        metric_leaf_load(leaf, table, rows, n, ret);
        break;
    }
    if (!gives_bool(leaf) && !can_fail(leaf))
        ret->states = NULL;
}

void leaf_load_pods(
    const Leaf *leaf, const CelValue *pods, size_t n, CelColumn *ret, CelValue *ret_texts) {
    const Load load = {.leaf = leaf, .pods = pods, .n = n, .ret = ret, .texts = ret_texts};

    if (leaf->source == LEAF_CREATED || leaf->source == LEAF_PLACED)
        load_times(&load);
    else if (!load_texts(&load) && !gives_bool(leaf) && !can_fail(leaf))
        ret->states = NULL;
}
