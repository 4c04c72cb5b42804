#pragma once

/* Shared by the files of this folder: the model as values of expressions. */

#include "cel/graph.h"
#include "cel/library.h"
#include "cluster/related-objects.h"
#include "model/labels.h"
#include "schema/record.h"
#include "schema/schema.h"

/* schema.c */
typedef struct SchemaVariable {
    Str name;
    const CelType *type;
    uint8_t group;
    size_t slot; /* offset in Schema */
    const char *about;
} SchemaVariable;

extern const SchemaVariable schema_variables[];
extern const size_t schema_n_variables;

/* The record of @type, or of the value of an optional; NULL: none. */
const SchemaRecord *schema_record_in(const CelType *type);

static inline bool schema_is_field(const CelGraphNode *node) {
    return node->op == OP_FIELD || node->op == OP_TEST_FIELD || node->op == OP_OPT_FIELD;
}

/* Whether @node is a call of @fn and of nothing else. */
static inline bool schema_calls(const CelGraphNode *node, CelFunction *fn) {
    return node->n_overloads == 1 && node->overloads[0]->spec->fn == fn;
}

/* --- lists.c */

/* Each function returns a value that borrows its data, or an error when out of memory. */

extern const CelType schema_strings_type; /* list(string) */
extern const CelType schema_labels_type;  /* map(string, string) */

/* A list of @n values that @at makes from @items when they are read. */
typedef struct SchemaList {
    CelList list;
    const void *items;
    const void *of; /* for @at: the owner of the items, or their type; may be NULL */
    size_t size;    /* of an item */
} SchemaList;

typedef CelValue SchemaElement(const CelList *list, uint32_t i, CelRun *run);
CelValue schema_list(
    CelRun *run, SchemaElement *at, const void *items, size_t n, const void *of, size_t size);

static inline const SchemaList *schema_list_of(const CelList *list) {
    return OBJECT_OF(list, SchemaList, list);
}

/* An element of an array of structures. */
typedef struct ItemValue {
    CelRecord head;
    const void *item;
} ItemValue;

static inline const void *item_of(const CelRecord *record) {
    return OBJECT_OF(record, ItemValue, head)->item;
}

/* A copy of the @size bytes of @value, which begins with a CelRecord, as a value. ABSENT, or an
 * error, when there is no memory. */
CelValue schema_keep(Arena *arena, const void *value, size_t size);
CelValue schema_make(CelRun *run, const void *value, size_t size);

/* For SCHEMA_RECORD(): fields of such an element. */
#define ITEM(its_type) const its_type *item = item_of(record)

/* @n structures of @size bytes as records of @type. */
CelValue schema_items(
    CelRun *run, const SchemaRecord *type, const void *items, size_t n, size_t size);

/* The same for the array @items with @n of them. */
#define ITEMS(type, items, n) schema_items(run, &(type), (items), (n), sizeof(*(items)))

/* TYPE and value of a row of SCHEMA_RECORD()'s list, for the usual ones. */
#define NAME(value) TEXT(NAME_MAX_BYTES), schema_text(value)
#define WORD(value) TEXT(WORD_MAX_BYTES), schema_text(value)
#define KEY(value) TEXT(KEY_MAX_BYTES), schema_text(value)
#define NUMBER(value) INT, cel_int(value)
#define FLAG(value) BOOL, cel_bool(value)
#define SECONDS(value) TIME, schema_time(value)
#define LABELS(value) VALUE(schema_labels_type, LABELS_ASSUMED), schema_labels(run, &value)
#define STRINGS(max, items, n) VALUE(schema_strings_type, max), schema_strings(run, items, n)
#define RECORD(type, object) VALUE(type.of, 0), schema_item(run, &type, object)

/* One structure as a record of @type. */
CelValue schema_item(CelRun *run, const SchemaRecord *type, const void *item);

CelValue schema_strings(CelRun *run, const Str *items, size_t n);

/* Labels or annotations, sorted by key; reading an absent key is an error. */
CelValue schema_labels(CelRun *run, const Labels *labels);

/* --- pod.c */

/* Pods as values: the one to be placed (Pod), and those that run on a node (NodePod), of which only
 * the fields that expressions read are kept. */

/* Assumed sizes for the cost of expressions; a node may have more. */
#define SCHEMA_PODS_ASSUMED 256u

typedef struct PodValue {
    CelRecord head, metadata, spec, status;
    const Pod *pod;
} PodValue;

extern const CelType schema_pods_type; /* list(NodePod) */

/* Pods of a node, as NodePod; @items may be NULL when @n is 0. An error when there is no memory. */
CelValue schema_pods(CelRun *run, const Pod *const *items, size_t n);

/* related.c */
extern const CelType schema_claims_type; /* list(PersistentVolumeClaim) */

/* The claims of the pod to be placed; an error when they are not known, or out of memory. */
CelValue schema_claims(CelRun *run, const Pod *pod);

CelFunction schema_call_claim_selects;

/* --- container.c */

/* Values; an error when there is no memory. Both borrow the lists. */
CelValue schema_quantity_list(CelRun *run, const AmountList *list);
CelValue schema_resources_of(CelRun *run, const AmountList *requests, const AmountList *limits);

/* affinity.c */
/* @affinity NULL: an empty one. An error when there is no memory. */
CelValue schema_affinity_of(CelRun *run, const PodAffinity *affinity);

/* node.c */
typedef struct NodeValue {
    CelRecord head, metadata, spec, status;
    const NodeTable *table;
    const Node *node; /* schema_node_at() of the row */
    uint32_t row;
} NodeValue;

extern const CelType schema_nodes_type; /* list(Node) */

static inline const NodeValue *node_value_of(CelValue node) {
    return OBJECT_OF(node.record, NodeValue, head);
}

/* The pods of @row in their order; NULL: none. */
const Pod *const *node_pods(const NodeTable *table, uint32_t row, uint32_t *ret_n);

/* The node of a row, or an empty one; never NULL. */
static inline const Node *schema_node_at(const NodeTable *table, uint32_t row) {
    static const Node nothing;
    const Node *node = table_node(table, row);

    return node ? node : &nothing;
}

/* Values; an error when there is no memory. @rows is borrowed. */
CelValue schema_row(CelRun *run, const NodeTable *table, uint32_t row);
CelValue schema_rows(CelRun *run, const NodeTable *table, const uint32_t *rows, size_t n);

/* cluster.c */
typedef struct ClusterValue {
    CelRecord head;
    const NodeTable *table;
    int64_t n_nodes, n_pods;
    int64_t *totals[_AMOUNT_KINDS]; /* by the table's resource, in its units */
} ClusterValue;

static inline const ClusterValue *cluster_value_of(CelValue cluster) {
    return OBJECT_OF(cluster.record, ClusterValue, head);
}

/* --- domain.c */

/* Domains: the rows of a table that share the value of a label, such as a zone.
 *
 * Domains are in the order of their first row, rows in that of the table, pods in that of their
 * lists: sums are always added in the same order. A node without the label is in no domain. */

/* Returns how many domains the label @key has in the first @n_rows rows. @ret_group_of_row: by row,
 * the number of its domain, UINT32_MAX for none. */
uint32_t domain_groups(const NodeTable *table, Str key, size_t n_rows, uint32_t *ret_group_of_row);

/* Each reads every row of the table. */
CelFunction schema_call_domain, schema_call_domains, schema_call_nodes_by_label;

/* --- functions.c */

/* node.domain(key), cluster.domains(key), cluster.nodesByLabel(key), pod.tolerates(taint),
 * amount(resource, number), pow(x, y). */
extern const CelOverloadSpec schema_functions[];
extern const Str schema_function_abouts[]; /* one a function, for users */
extern const size_t schema_n_functions;

CelFunction schema_call_selects, schema_call_tolerates, schema_call_tolerates_text;

/* --- metrics.c */

/* The variable @name as a node of @graph. CEL_NO_NODE: out of memory. */
uint32_t schema_add_variable(
    CelGraph *graph, const char *name, uint32_t slot, uint8_t group, const CelType *type);

/* --- plan-host.c */

/* Number of label keys for which an index is made: plans that read fewer keys are faster without
 * one, and a block with more keys gets none. */
#define LABEL_INDEX_KEYS_MIN 48u
#define LABEL_INDEX_KEYS_MAX 512u

/* Initializes schema->host (columnar/plan.h): reads of the table without the scalar machine.
 * Returns false if out of memory. */
bool schema_plan_host_init(Schema *schema, Arena *arena) MUST_CHECK;
