/*
 * As pods (pod.c): one structure carries the heads of a node and of its metadata, spec and
 * status. What stands in columns is read from the table, the rest from the Node; a row without a
 * node reads as a node with nothing.
 */

#include "schema/node.h"

#include "schema/amounts.h"
#include "schema/lists.h"
#include "schema/pod.h"

static const NodeValue *value_of(const CelRecord *record) {
    return OBJECT_OF(record, NodeValue, head);
}

static const Node *metadata_of(const CelRecord *record) {
    return OBJECT_OF(record, NodeValue, metadata)->node;
}

static const Node *spec_of(const CelRecord *record) {
    return OBJECT_OF(record, NodeValue, spec)->node;
}

static const Node *status_of(const CelRecord *record) {
    return OBJECT_OF(record, NodeValue, status)->node;
}

/* --- the parts of a node that are lists ------------------------------------------------ */

static const Taint *taint_of(const CelRecord *record) {
    return item_of(record);
}

GET(taint_key, schema_text(taint_of(record)->key))
GET(taint_value, schema_text(taint_of(record)->value))
GET(taint_effect, schema_text(taint_effect_word(taint_of(record)->effect)))

/* As kubectl writes it. One string instead of three: what it decides can be worked out once for
 * all nodes that have the same taint. */
static CelValue taint_text(const CelRecord *record, CelRun *run) {
    const Taint *taint = taint_of(record);
    bool has_value = !str_is_empty(taint->value);
    Str text = arena_printf(run->arena,
        "%.*s%s%.*s:%.*s",
        STR_FMT(taint->key),
        has_value ? "=" : "",
        STR_FMT(taint->value),
        STR_FMT(taint_effect_word(taint->effect)));

    return text.ptr ? cel_string(text) : cel_no_memory(run);
}

#define TAINT(X)                                                                                   \
    X("key", &cel_string_type, ALWAYS, KEY_MAX_BYTES, taint_key, PART_TAINTS, "its key")           \
    X("value",                                                                                     \
        &cel_string_type,                                                                          \
        ALWAYS,                                                                                    \
        WORD_MAX_BYTES,                                                                            \
        taint_value,                                                                               \
        PART_TAINTS,                                                                               \
        "its value; may be empty")                                                                 \
    X("effect",                                                                                    \
        &cel_string_type,                                                                          \
        ALWAYS,                                                                                    \
        WORD_MAX_BYTES,                                                                            \
        taint_effect,                                                                              \
        PART_TAINTS,                                                                               \
        "NoSchedule, PreferNoSchedule or NoExecute; Unknown: a word that repels nobody")           \
    X("text",                                                                                      \
        &cel_string_type,                                                                          \
        ALWAYS,                                                                                    \
        KEY_MAX_BYTES + 2 * WORD_MAX_BYTES,                                                        \
        taint_text,                                                                                \
        PART_TAINTS,                                                                               \
        "all three, as kubectl writes them: `gpu=true:NoSchedule`, `gpu:NoSchedule`")
SCHEMA_RECORD(schema_taint, "Taint", TAINT);

static const Condition *condition_of(const CelRecord *record) {
    return item_of(record);
}

GET(condition_type, schema_text(condition_of(record)->type))
GET(condition_status, schema_text(condition_of(record)->status))

#define CONDITION(X)                                                                               \
    X("type",                                                                                      \
        &cel_string_type,                                                                          \
        ALWAYS,                                                                                    \
        WORD_MAX_BYTES,                                                                            \
        condition_type,                                                                            \
        PART_CONDITIONS,                                                                           \
        "Ready, MemoryPressure, DiskPressure, …")                                                  \
    X("status",                                                                                    \
        &cel_string_type,                                                                          \
        ALWAYS,                                                                                    \
        WORD_MAX_BYTES,                                                                            \
        condition_status,                                                                          \
        PART_CONDITIONS,                                                                           \
        "True, False or Unknown")
SCHEMA_RECORD(schema_condition, "Condition", CONDITION);

static const Image *image_of(const CelRecord *record) {
    return item_of(record);
}

GET(image_names, schema_strings(run, image_of(record)->names, image_of(record)->n_names))
GET(image_size, cel_int(image_of(record)->size))

#define IMAGE(X)                                                                                   \
    X("names",                                                                                     \
        &schema_strings_type,                                                                      \
        ALWAYS,                                                                                    \
        NODE_IMAGE_NAMES_MAX,                                                                      \
        image_names,                                                                               \
        PART_REST,                                                                                 \
        "tags and digests, as the node lists them")                                                \
    X("sizeBytes", &cel_int_type, ALWAYS, 0, image_size, PART_REST, "its size in bytes")
SCHEMA_RECORD(schema_image, "Image", IMAGE);

SCHEMA_LIST_TYPE(taints_type, &schema_taint.of);
SCHEMA_LIST_TYPE(conditions_type, &schema_condition.of);
SCHEMA_LIST_TYPE(images_type, &schema_image.of);

/* --- metadata, spec, status ---------------------------------------------------------------- */

GET(metadata_name, schema_text(metadata_of(record)->name))
GET(metadata_uid, schema_text(metadata_of(record)->uid))
GET(metadata_labels, schema_labels(run, &metadata_of(record)->labels))
GET(metadata_annotations, schema_labels(run, &metadata_of(record)->annotations))
GET(metadata_created, schema_time(metadata_of(record)->created_at))

#define METADATA(X)                                                                                \
    X("name", &cel_string_type, ALWAYS, NAME_MAX_BYTES, metadata_name, PART_NONE, "its name")      \
    X("uid", &cel_string_type, ALWAYS, WORD_MAX_BYTES, metadata_uid, PART_REST, "its UID")         \
    X("labels",                                                                                    \
        &schema_labels_type,                                                                       \
        ALWAYS,                                                                                    \
        LABELS_ASSUMED,                                                                            \
        metadata_labels,                                                                           \
        PART_LABELS,                                                                               \
        "its labels; labels[?'key'] where one may be missing")                                     \
    X("annotations",                                                                               \
        &schema_labels_type,                                                                       \
        ALWAYS,                                                                                    \
        NODE_ANNOTATIONS_MAX,                                                                      \
        metadata_annotations,                                                                      \
        PART_REST,                                                                                 \
        "its annotations; those with a value over 4 KiB are left out")                             \
    X("creationTimestamp",                                                                         \
        &cel_timestamp_type,                                                                       \
        MAYBE,                                                                                     \
        0,                                                                                         \
        metadata_created,                                                                          \
        PART_REST,                                                                                 \
        "when it joined")
SCHEMA_RECORD(schema_node_metadata, "NodeMetadata", METADATA);

static CelValue taints(CelRun *run, const Taints *all) {
    return schema_items(run, &schema_taint, all->items, all->n, sizeof(*all->items));
}

GET(spec_unschedulable, cel_bool(spec_of(record)->is_unschedulable))
GET(spec_taints, taints(run, &spec_of(record)->taints))

#define SPEC(X)                                                                                    \
    X("unschedulable", &cel_bool_type, ALWAYS, 0, spec_unschedulable, PART_NONE, "it is cordoned") \
    X("taints",                                                                                    \
        &taints_type,                                                                              \
        ALWAYS,                                                                                    \
        TAINTS_MAX,                                                                                \
        spec_taints,                                                                               \
        PART_TAINTS,                                                                               \
        "what keeps pods off; see pod.tolerates()")
SCHEMA_RECORD(schema_node_spec, "NodeSpec", SPEC);

static CelValue conditions(CelRun *run, const Node *node) {
    return schema_items(
        run, &schema_condition, node->conditions, node->n_conditions, sizeof(Condition));
}

static CelValue images(CelRun *run, const Node *node) {
    return schema_items(run, &schema_image, node->images, node->n_images, sizeof(Image));
}

GET(status_allocatable, schema_quantities_of(run, &status_of(record)->allocatable))
GET(status_conditions, conditions(run, status_of(record)))
GET(status_images, images(run, status_of(record)))

#define STATUS(X)                                                                                  \
    X("allocatable",                                                                               \
        &schema_quantities_type,                                                                   \
        ALWAYS,                                                                                    \
        RESOURCES_MAX,                                                                             \
        status_allocatable,                                                                        \
        PART_ALLOCATABLE,                                                                          \
        "what it offers, as quantities; a resource that is not there is an error. "                \
        "node.allocatable has numbers")                                                            \
    X("conditions",                                                                                \
        &conditions_type,                                                                          \
        ALWAYS,                                                                                    \
        NODE_CONDITIONS_MAX,                                                                       \
        status_conditions,                                                                         \
        PART_CONDITIONS,                                                                           \
        "how it is")                                                                               \
    X("images",                                                                                    \
        &images_type,                                                                              \
        ALWAYS,                                                                                    \
        NODE_IMAGES_MAX,                                                                           \
        status_images,                                                                             \
        PART_REST,                                                                                 \
        "the images it has; kubelets list their largest 50 unless told otherwise")
SCHEMA_RECORD(schema_node_status, "NodeStatus", STATUS);

/* --- the node itself ------------------------------------------------------------------------- */

const Pod *const *node_pods(const NodeTable *table, uint32_t row, uint32_t *ret_n) {
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

    *ret_n = pods ? pods->n : 0;
    return pods ? pods->items : NULL;
}

static CelValue pods(CelRun *run, const NodeValue *value) {
    uint32_t n;
    const Pod *const *items = node_pods(value->table, value->row, &n);

    return schema_pods(run, items, n);
}

static CelValue amounts(CelRun *run, const NodeValue *value, AmountKind kind) {
    return schema_amounts_of_row(run, value->table, value->row, value->node, kind);
}

GET(node_metadata, cel_record(&value_of(record)->metadata))
GET(node_spec, cel_record(&value_of(record)->spec))
GET(node_status, cel_record(&value_of(record)->status))
GET(node_ready, cel_bool(value_of(record)->node->is_ready))
GET(node_free, amounts(run, value_of(record), AMOUNT_FREE))
GET(node_requested, amounts(run, value_of(record), AMOUNT_REQUESTED))
GET(node_allocatable, amounts(run, value_of(record), AMOUNT_ALLOCATABLE))
GET(node_pod_list, pods(run, value_of(record)))

#define NODE(X)                                                                                    \
    X("metadata", &schema_node_metadata.of, ALWAYS, 0, node_metadata, PART_NONE, "who it is")      \
    X("spec", &schema_node_spec.of, ALWAYS, 0, node_spec, PART_NONE, "how it is to be")            \
    X("status", &schema_node_status.of, ALWAYS, 0, node_status, PART_NONE, "how it is")            \
    X("ready",                                                                                     \
        &cel_bool_type,                                                                            \
        ALWAYS,                                                                                    \
        0,                                                                                         \
        node_ready,                                                                                \
        PART_CONDITIONS,                                                                           \
        "its condition Ready is True")                                                             \
    X("free",                                                                                      \
        &schema_amounts_type,                                                                      \
        ALWAYS,                                                                                    \
        RESOURCES_MAX,                                                                             \
        node_free,                                                                                 \
        PART_ALLOCATABLE,                                                                          \
        "allocatable less requested, as numbers: cpu in cores, 0.0 for what it does not offer; "   \
        "below 0 when it is overcommitted; milliCPU is cpu in thousandths")                        \
    X("requested",                                                                                 \
        &schema_amounts_type,                                                                      \
        ALWAYS,                                                                                    \
        RESOURCES_MAX,                                                                             \
        node_requested,                                                                            \
        PART_ALLOCATABLE,                                                                          \
        "what the pods on it ask for")                                                             \
    X("allocatable",                                                                               \
        &schema_amounts_type,                                                                      \
        ALWAYS,                                                                                    \
        RESOURCES_MAX,                                                                             \
        node_allocatable,                                                                          \
        PART_ALLOCATABLE,                                                                          \
        "what it offers")                                                                          \
    X("pods",                                                                                      \
        &schema_pods_type,                                                                         \
        ALWAYS,                                                                                    \
        SCHEMA_PODS_ASSUMED,                                                                       \
        node_pod_list,                                                                             \
        PART_NONE,                                                                                 \
        "the pods on it that have not ended, those bound a moment ago included")
SCHEMA_RECORD(schema_node_record, "Node", NODE);

SCHEMA_LIST_TYPE(schema_nodes_type, &schema_node_record.of);

void node_value_init(NodeValue *value, const NodeTable *table, uint32_t row) {
    static const Node nothing;
    const Node *node = table_node(table, row);

    *value = (NodeValue){.head = {.type = &schema_node_record.type},
        .metadata = {.type = &schema_node_metadata.type},
        .spec = {.type = &schema_node_spec.type},
        .status = {.type = &schema_node_status.type},
        .table = table,
        .node = node ? node : &nothing,
        .row = row};
}

CelValue schema_row(CelRun *run, const NodeTable *table, uint32_t row) {
    NodeValue *value = cel_alloc(run, sizeof(*value));

    if (!value)
        return cel_no_memory(run);
    node_value_init(value, table, row);
    return cel_record(&value->head);
}

typedef struct RowValues {
    CelList list;
    const NodeTable *table;
    const uint32_t *rows;
} RowValues;

static CelValue row_at(const CelList *list, uint32_t i, CelRun *run) {
    const RowValues *values = OBJECT_OF(list, RowValues, list);

    return schema_row(run, values->table, values->rows[i]);
}

CelValue schema_rows(CelRun *run, const NodeTable *table, const uint32_t *rows, size_t n) {
    RowValues *values = cel_alloc(run, sizeof(*values));

    if (!values)
        return cel_no_memory(run);
    *values = (RowValues){
        .list = {.n = (uint32_t)n, .depth = 1, .at = row_at}, .table = table, .rows = rows};
    return cel_list(&values->list);
}
