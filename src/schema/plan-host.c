/*
 * Numbers for the leaves (leaf.h) that plans read, and for the labels that rows are grouped by.
 * They are valid for all plans of one Schema.
 */

#include "schema/schema-internal.h"

#include "base/map.h"
#include "schema/leaf.h"

struct SchemaReads {
    Arena *arena;
    VEC(Leaf) leaves;
    size_t n_labels, n_annotations; /* leaves of these sources */
    VEC(Str) keys;                  /* labels that rows are grouped by */
};

static const Schema *schema_of(const PlanHost *host) {
    return (const Schema *)(const void *)((const char *)host - offsetof(Schema, host));
}

/* The number of @leaf, which is added if it is new. PLAN_NO_LEAF: not @is_leaf, or no memory. */
static uint32_t number_of(const PlanHost *host, bool is_leaf, Leaf *leaf) {
    struct SchemaReads *reads = schema_of(host)->reads;

    for (size_t i = 0; is_leaf && i < reads->leaves.n; i++)
        if (leaf_equal(&reads->leaves.items[i], leaf))
            return (uint32_t)i;
    if (!is_leaf)
        return PLAN_NO_LEAF;
    leaf->key = arena_copy(reads->arena, leaf->key);
    if (leaf->otherwise.kind == CEL_STRING)
        leaf->otherwise = cel_string(arena_copy(reads->arena, cel_str(leaf->otherwise)));
    if (arena_has_failed(reads->arena) || !VEC_ADD(&reads->leaves, reads->arena, *leaf))
        return PLAN_NO_LEAF;
    reads->n_labels += leaf->source == LEAF_LABEL;
    reads->n_annotations += leaf->source == LEAF_ANNOTATION;
    return (uint32_t)(reads->leaves.n - 1);
}

static uint32_t leaf_number(const PlanHost *host, const CelGraph *graph, uint32_t node) {
    Leaf leaf;

    return number_of(host, leaf_read(graph, node, host->row_slot, &leaf), &leaf);
}

static uint32_t keyed_leaf_number(
    const PlanHost *host, const CelGraph *graph, uint32_t node, uint32_t *ret_key) {
    Leaf leaf;

    return number_of(host, leaf_read_keyed(graph, node, host->row_slot, &leaf, ret_key), &leaf);
}

static uint32_t element_leaf_number(const PlanHost *host, const CelGraph *graph, uint32_t node) {
    Leaf leaf;

    return number_of(host, leaf_read_pod(graph, node, &leaf), &leaf);
}

/* The number of a label that rows are grouped by. False: out of memory. */
static bool key_number(struct SchemaReads *reads, Str key, uint32_t *ret) {
    Str copy;

    *ret = (uint32_t)str_index(key, reads->keys.items, reads->keys.n);
    if (*ret < reads->keys.n)
        return true;
    *ret = (uint32_t)reads->keys.n;
    copy = arena_copy(reads->arena, key);
    return copy.ptr && VEC_ADD(&reads->keys, reads->arena, copy);
}

/* Whether node @number calls @fn on the variable in @slot and a constant key; @ret: its number. */
static bool find_key(const Schema *schema, const CelGraph *graph, uint32_t number, CelFunction *fn,
    uint32_t slot, uint32_t *ret) {
    const CelGraphNode *call = cel_graph_node(graph, number), *variable, *key;

    if (!schema_calls(call, fn))
        return false;
    variable = cel_graph_node(graph, call->args[0]);
    if (variable->op != OP_VARIABLE || variable->immediate != slot)
        return false;
    key = cel_graph_node(graph, call->args[1]);
    return key->op == OP_CONSTANT && key->constant.kind == CEL_STRING &&
           key_number(schema->reads, cel_str(key->constant), ret);
}

static bool reads_other_rows(const PlanHost *host, const CelGraph *graph, uint32_t node) {
    return schema_calls(cel_graph_node(graph, node), schema_call_domain);
}

static bool find_groups(
    const PlanHost *host, const CelGraph *graph, uint32_t node, uint32_t *ret_key) {
    const Schema *schema = schema_of(host);

    return find_key(schema, graph, node, schema_call_domains, schema->cluster_slot, ret_key);
}

/* The row variable as a node of the graph. CEL_NO_NODE: out of memory. */
static uint32_t add_row(const Schema *schema, CelGraph *graph) {
    return schema_add_variable(
        graph, "node", schema->node_slot, SCHEMA_NODE, &schema_node_record.of);
}

/* The same for node.pods. */
static uint32_t add_row_pods(const Schema *schema, CelGraph *graph) {
    uint32_t row = add_row(schema, graph);
    CelGraphNode node = {.op = OP_FIELD,
        .args = &row,
        .n_args = 1,
        .type = &schema_pods_type,
        .immediate = cel_record_find(&schema_node_record.type, STR("pods")),
        .constant = cel_string(STR("pods"))};

    return row == CEL_NO_NODE ? CEL_NO_NODE : cel_graph_add(graph, &node);
}

/* Whether the node is the pods or nodes of a domain: the row's, or that of a loop over domains. */
static bool find_union(const PlanHost *host, CelGraph *graph, uint32_t number, PlanUnion *ret) {
    const CelGraphNode *node = cel_graph_node(graph, number), *domain;
    const Schema *schema = schema_of(host);

    if (node->op != OP_FIELD)
        return false;
    ret->is_rows = str_is(cel_str(node->constant), "nodes");
    domain = cel_graph_node(graph, node->args[0]);
    if (schema_record_of(domain->type) != &schema_domain ||
        (!ret->is_rows && !str_is(cel_str(node->constant), "pods")))
        return false;
    if (domain->op == OP_LOCAL)
        ret->key = PLAN_KEY_OF_LOOP;
    else if (!find_key(
                 schema, graph, node->args[0], schema_call_domain, schema->node_slot, &ret->key))
        return false;
    ret->list = ret->is_rows ? add_row(schema, graph) : add_row_pods(schema, graph);
    return ret->list != CEL_NO_NODE;
}

bool schema_plan_host_init(Schema *schema, Arena *arena) {
    schema->reads = ARENA_NEW(arena, struct SchemaReads);
    if (!schema->reads)
        return false;
    schema->reads->arena = arena;
    schema->host = (PlanHost){.row_slot = schema->node_slot,
        .row_groups = SCHEMA_BIT(SCHEMA_NODE),
        .leaf = leaf_number,
        .element_leaf = element_leaf_number,
        .keyed_leaf = keyed_leaf_number,
        .reads_other_rows = reads_other_rows,
        .find_union = find_union,
        .find_groups = find_groups};
    return true;
}

/* Policies with many rules read dozens of keys of each node. An index reads all labels of a block's
 * nodes once; then no key needs a search in each node. */

typedef struct LabelIndex {
    Map numbers; /* of keys */
    const Str *values[LABEL_INDEX_KEYS_MAX][CHUNK_ROWS];
} LabelIndex;

static bool add_label(LabelIndex *index, size_t row, const Label *label) {
    uint32_t number = map_find(&index->numbers, label->key);

    if (number == MAP_NONE) {
        number = (uint32_t)index->numbers.n_used;
        if (number == LABEL_INDEX_KEYS_MAX || map_add(&index->numbers, label->key, number) < 0)
            return false;
        memset(index->values[number], 0, sizeof(index->values[number]));
    }
    index->values[number][row] = &label->value;
    return true;
}

/* An index of the labels (or @annotations) of @n rows, at most CHUNK_ROWS; borrows from the table.
 * NULL: too many keys, or no memory. */
static LabelIndex *index_labels(
    const NodeTable *table, const uint32_t *rows, size_t n, bool annotations, Arena *arena) {
    LabelIndex *index = ARENA_RAW(arena, LabelIndex, 1);

    if (!index)
        return NULL;
    index->numbers = MAP_INIT_IN(arena);
    for (size_t i = 0; i < n; i++) {
        const Node *node = schema_node_at(table, rows[i]);
        const Labels *labels = annotations ? &node->annotations : &node->labels;

        for (size_t k = 0; k < labels->n; k++)
            if (!add_label(index, i, &labels->items[k]))
                return NULL;
    }
    return index;
}

/* The values of @key, one a row; NULL: not set. */
static const Str *const *find_values(const LabelIndex *index, Str key) {
    static const Str *const none[CHUNK_ROWS];
    uint32_t number = map_find(&index->numbers, key);

    return number != MAP_NONE ? index->values[number] : none;
}

static CelValue table_row(const PlanTable *table, uint32_t row, CelRun *run) {
    return schema_row(run, table->rows, row);
}

/* The values of a label or annotation by row; NULL: search them. */
static const Str *const *find_known(const PlanTable *table, const struct SchemaReads *reads,
    const Leaf *leaf, const uint32_t *rows, size_t n) {
    bool annotations = leaf->source == LEAF_ANNOTATION;
    SchemaBlock *block = table->block;
    LabelIndex **index;

    if (!block || (leaf->source != LEAF_LABEL && !annotations) ||
        (annotations ? reads->n_annotations : reads->n_labels) < LABEL_INDEX_KEYS_MIN)
        return NULL;
    index = &block->indexes[annotations];
    if (!*index && !block->is_read[annotations])
        *index = index_labels(table->rows, rows, n, annotations, block->arena);
    block->is_read[annotations] = true;
    return *index ? find_values(*index, leaf->key) : NULL;
}

static void table_load(const PlanTable *table, uint32_t number, const uint32_t *rows, size_t n,
    Column *ret, CelValue *ret_texts) {
    const struct SchemaReads *reads = schema_of(table->host)->reads;
    const Leaf *leaf = &reads->leaves.items[number];

    leaf_load(leaf, table->rows, rows, n, find_known(table, reads, leaf, rows, n), ret, ret_texts);
}

static void table_load_keyed(const PlanTable *table, uint32_t number, CelValue key,
    const uint32_t *rows, size_t n, Column *ret, CelValue *ret_texts) {
    Leaf leaf = schema_of(table->host)->reads->leaves.items[number];

    if (leaf.source == LEAF_SELECTED || leaf.source == LEAF_TOLERATED) {
        const Pod *pod = OBJECT_OF(key.record, PodValue, head)->pod;

        (leaf.source == LEAF_SELECTED ? leaf_load_selected : leaf_load_tolerated)(
            pod, table->rows, rows, n, ret);
        return;
    }
    leaf.key = cel_str(key);
    leaf_load(&leaf, table->rows, rows, n, /* known= */ NULL, ret, ret_texts);
}

static void table_load_elements(const PlanTable *table, uint32_t leaf, const CelValue *elements,
    size_t n, Column *ret, CelValue *ret_texts) {
    const struct SchemaReads *reads = schema_of(table->host)->reads;

    leaf_load_pods(&reads->leaves.items[leaf], elements, n, ret, ret_texts);
}

static uint32_t table_groups(
    const PlanTable *table, uint32_t key, size_t n_rows, uint32_t *ret_group_of_row) {
    const struct SchemaReads *reads = schema_of(table->host)->reads;

    return domain_groups(table->rows, reads->keys.items[key], n_rows, ret_group_of_row);
}

PlanTable schema_table(const Schema *schema, const NodeTable *table) {
    return (PlanTable){.host = &schema->host,
        .rows = table,
        .row = table_row,
        .load = table_load,
        .load_elements = table_load_elements,
        .load_keyed = table_load_keyed,
        .groups = table_groups};
}
