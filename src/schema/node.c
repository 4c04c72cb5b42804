/*
 * Nodes as values. Like PodValue, one structure has the heads of a node and of its metadata, spec
 * and status. Columns are read from the table, the rest from the Node; a row without a node reads
 * as an empty node.
 */

#include "schema/schema-internal.h"

#include "schema/amounts.h"

static const NodeValue *value_of(const CelRecord *record) {
    return OBJECT_OF(record, NodeValue, head);
}

/* A getter of the node or of its @part: the value may use @node. */
#define GET_NODE(part, name, ...)                                                                  \
    static CelValue name(const CelRecord *record, CelRun *run) {                                   \
        const Node *node = OBJECT_OF(record, NodeValue, part)->node;                               \
        (void)run;                                                                                 \
        return __VA_ARGS__;                                                                        \
    }

/* None are kept if no policy reads them (kube/cluster-watcher.h). */
static const NodeDetails *details_of(const Node *node) {
    static const NodeDetails none;

    return node->details ? node->details : &none;
}

static CelValue texts(CelRun *run, const TextList *list) {
    return schema_strings(run, list->items, list->n);
}

/* --- the parts of a node that are lists ------------------------------------------------ */

GET_ITEM(Taint, taint_key, schema_text(item->key))
GET_ITEM(Taint, taint_value, schema_text(item->value))
GET_ITEM(Taint, taint_effect, schema_text(taint_effect_word(item->effect)))

/* As kubectl writes it. With one string instead of three, results can be computed once for all
 * nodes that have the same taint. */
static CelValue taint_text(const CelRecord *record, CelRun *run) {
    const Taint *taint = item_of(record);
    bool has_value = !str_is_empty(taint->value);
    Str text = arena_printf(run->arena, "%.*s%s%.*s:%.*s", STR_FMT(taint->key),
        has_value ? "=" : "", STR_FMT(taint->value), STR_FMT(taint_effect_word(taint->effect)));

    return text.ptr ? cel_string(text) : cel_no_memory(run);
}

#define TAINT(X)                                                                                   \
    X("key", TEXT(KEY_MAX_BYTES), taint_key, "its key", PART_TAINTS)                               \
    X("value", TEXT(WORD_MAX_BYTES), taint_value, "its value; may be empty", PART_TAINTS)          \
    X("effect", TEXT(WORD_MAX_BYTES), taint_effect,                                                \
        "NoSchedule, PreferNoSchedule or NoExecute; Unknown: any other effect, which repels no "   \
        "pod",                                                                                     \
        PART_TAINTS)                                                                               \
    X("text", TEXT(KEY_MAX_BYTES + 2 * WORD_MAX_BYTES), taint_text,                                \
        "all three, as kubectl writes them: `gpu=true:NoSchedule`, `gpu:NoSchedule`", PART_TAINTS)
SCHEMA_RECORD(schema_taint, "Taint", TAINT);

GET_ITEM(Condition, condition_type, schema_text(item->type))
GET_ITEM(Condition, condition_status, schema_text(item->status))
GET_ITEM(Condition, condition_changed, schema_time(item->changed_at))

#define CONDITION(X)                                                                               \
    X("type", TEXT(WORD_MAX_BYTES), condition_type, "Ready, MemoryPressure, DiskPressure, …",      \
        PART_CONDITIONS)                                                                           \
    X("status", TEXT(WORD_MAX_BYTES), condition_status, "True, False or Unknown", PART_CONDITIONS) \
    X("lastTransitionTime", TIME, condition_changed, "when its status changed last", PART_DETAILS) \
    REFUSED(X, "lastHeartbeatTime", "heartbeats change all the time and are not kept")
SCHEMA_RECORD(schema_condition, "Condition", CONDITION);

GET_ITEM(Image, image_names, schema_strings(run, item->names, item->n_names))
GET_ITEM(Image, image_size, cel_int(item->size))

#define IMAGE(X)                                                                                   \
    X("names", VALUE(schema_strings_type, NODE_IMAGE_NAMES_MAX), image_names,                      \
        "tags and digests, as the node lists them", PART_REST)                                     \
    X("sizeBytes", INT, image_size, "its size in bytes", PART_REST)
SCHEMA_RECORD(schema_image, "Image", IMAGE);

GET_ITEM(Address, address_type, schema_text(address_type_name(item->type)))
GET_ITEM(Address, address_text, schema_text(item->text))

#define ADDRESS(X)                                                                                 \
    X("type", TEXT(WORD_MAX_BYTES), address_type, "InternalIP, ExternalIP or Hostname", PART_REST) \
    X("address", TEXT(NAME_MAX_BYTES), address_text, "the address", PART_REST)
SCHEMA_RECORD(schema_address, "NodeAddress", ADDRESS);

GET_ITEM(Str, attached_name, schema_text(*item))

#define ATTACHED(X) X("name", TEXT(NAME_MAX_BYTES), attached_name, "its name", PART_DETAILS)
SCHEMA_RECORD(schema_attached_volume, "AttachedVolume", ATTACHED);

GET_ITEM(NodeDetails, info_architecture, schema_text(item->architecture))
GET_ITEM(NodeDetails, info_system, schema_text(item->operating_system))
GET_ITEM(NodeDetails, info_image, schema_text(item->os_image))
GET_ITEM(NodeDetails, info_kernel, schema_text(item->kernel_version))
GET_ITEM(NodeDetails, info_runtime, schema_text(item->container_runtime_version))
GET_ITEM(NodeDetails, info_kubelet, schema_text(item->kubelet_version))

#define INFO(X)                                                                                    \
    X("architecture", TEXT(WORD_MAX_BYTES), info_architecture, "amd64, arm64, …", PART_DETAILS)    \
    X("operatingSystem", TEXT(WORD_MAX_BYTES), info_system, "linux or windows", PART_DETAILS)      \
    X("osImage", TEXT(NAME_MAX_BYTES), info_image, "the distribution and its version",             \
        PART_DETAILS)                                                                              \
    X("kernelVersion", TEXT(NAME_MAX_BYTES), info_kernel, "as uname -r prints it", PART_DETAILS)   \
    X("containerRuntimeVersion", TEXT(NAME_MAX_BYTES), info_runtime, "containerd://2.1.4",         \
        PART_DETAILS)                                                                              \
    X("kubeletVersion", TEXT(WORD_MAX_BYTES), info_kubelet, "v1.34.1", PART_DETAILS)
SCHEMA_RECORD(schema_node_info, "NodeSystemInfo", INFO);

SCHEMA_LIST_TYPE(addresses_type, &schema_address.of);
SCHEMA_LIST_TYPE(attached_type, &schema_attached_volume.of);
SCHEMA_LIST_TYPE(taints_type, &schema_taint.of);
SCHEMA_LIST_TYPE(conditions_type, &schema_condition.of);
SCHEMA_LIST_TYPE(images_type, &schema_image.of);

/* --- metadata, spec, status ---------------------------------------------------------------- */

GET_NODE(metadata, metadata_name, schema_text(node->name))
GET_NODE(metadata, metadata_uid, schema_text(node->uid))
GET_NODE(metadata, metadata_labels, schema_labels(run, &node->labels))
GET_NODE(metadata, metadata_annotations, schema_labels(run, &node->annotations))
GET_NODE(metadata, metadata_created, schema_time(node->created_at))

#define METADATA(X)                                                                                \
    X("name", TEXT(NAME_MAX_BYTES), metadata_name, "its name")                                     \
    X("uid", TEXT(WORD_MAX_BYTES), metadata_uid, "its UID", PART_REST)                             \
    X("labels", VALUE(schema_labels_type, LABELS_ASSUMED), metadata_labels,                        \
        "its labels; labels[?'key'] where one may be missing", PART_LABELS)                        \
    X("annotations", VALUE(schema_labels_type, NODE_ANNOTATIONS_MAX), metadata_annotations,        \
        "its annotations; those with a value over 4 KiB are left out", PART_REST)                  \
    X("creationTimestamp", TIME, metadata_created, "when it was created", PART_REST)
SCHEMA_RECORD(schema_node_metadata, "NodeMetadata", METADATA);

static CelValue taints(CelRun *run, const Taints *all) {
    return schema_items(run, &schema_taint, all->items, all->n, sizeof(*all->items));
}

GET_NODE(spec, spec_unschedulable, cel_bool(node->is_unschedulable))
GET_NODE(spec, spec_taints, taints(run, &node->taints))
GET_NODE(spec, spec_provider, schema_text(details_of(node)->provider_id))
GET_NODE(spec, spec_cidrs, texts(run, &details_of(node)->pod_cidrs))

#define SPEC(X)                                                                                    \
    X("unschedulable", BOOL, spec_unschedulable, "it is cordoned")                                 \
    X("taints", VALUE(taints_type, TAINTS_MAX), spec_taints, "its taints; see pod.tolerates()",    \
        PART_TAINTS)                                                                               \
    X("providerID", TEXT(NAME_MAX_BYTES), spec_provider, "its ID at the cloud provider",           \
        PART_DETAILS)                                                                              \
    X("podCIDRs", VALUE(schema_strings_type, NODE_POD_CIDRS_MAX), spec_cidrs,                      \
        "addresses of its pods", PART_DETAILS)
SCHEMA_RECORD(schema_node_spec, "NodeSpec", SPEC);

static CelValue conditions(CelRun *run, const Node *node) {
    return schema_items(
        run, &schema_condition, node->conditions, node->n_conditions, sizeof(Condition));
}

static CelValue images(CelRun *run, const Node *node) {
    return schema_items(run, &schema_image, node->images, node->n_images, sizeof(Image));
}

static CelValue addresses(CelRun *run, const Node *node) {
    return schema_items(run, &schema_address, node->addresses, node->n_addresses, sizeof(Address));
}

static CelValue attached(CelRun *run, const TextList *list) {
    return schema_items(run, &schema_attached_volume, list->items, list->n, sizeof(*list->items));
}

static CelValue info(CelRun *run, const NodeDetails *details) {
    return schema_item(run, &schema_node_info, details);
}

GET_NODE(status, status_capacity, schema_quantities_of(run, &details_of(node)->capacity))
GET_NODE(status, status_info, info(run, details_of(node)))
GET_NODE(status, status_addresses, addresses(run, node))
GET_NODE(status, status_in_use, texts(run, &details_of(node)->volumes_in_use))
GET_NODE(status, status_attached, attached(run, &details_of(node)->volumes_attached))
GET_NODE(status, status_allocatable, schema_quantities_of(run, &node->allocatable))
GET_NODE(status, status_conditions, conditions(run, node))
GET_NODE(status, status_images, images(run, node))

#define STATUS(X)                                                                                  \
    X("allocatable", VALUE(schema_quantities_type, RESOURCES_MAX), status_allocatable,             \
        "what it offers, as quantities; a resource that is not there is an error. "                \
        "node.allocatable has numbers",                                                            \
        PART_ALLOCATABLE)                                                                          \
    X("conditions", VALUE(conditions_type, NODE_CONDITIONS_MAX), status_conditions,                \
        "its conditions", PART_CONDITIONS)                                                         \
    X("images", VALUE(images_type, NODE_IMAGES_MAX), status_images,                                \
        "images on it; by default kubelets list the 50 largest", PART_REST)                        \
    X("capacity", VALUE(schema_quantities_type, RESOURCES_MAX), status_capacity,                   \
        "all that it has, as quantities; node.capacity has numbers", PART_DETAILS)                 \
    X("nodeInfo", VALUE(schema_node_info.of, 0), status_info, "its system and versions",           \
        PART_DETAILS)                                                                              \
    X("addresses", VALUE(addresses_type, NODE_ADDRESSES_MAX), status_addresses,                    \
        "its addresses; other types are not kept", PART_REST)                                      \
    X("volumesInUse", VALUE(schema_strings_type, NODE_VOLUMES_MAX), status_in_use,                 \
        "unique names of volumes that it mounts", PART_DETAILS)                                    \
    X("volumesAttached", VALUE(attached_type, NODE_VOLUMES_MAX), status_attached,                  \
        "volumes that are attached to it", PART_DETAILS)
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
GET(node_capacity, schema_plain_amounts_of(run, &details_of(value_of(record)->node)->capacity))
GET(node_pod_list, pods(run, value_of(record)))

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define NODE(X)                                                                                    \
    X("metadata", VALUE(schema_node_metadata.of, 0), node_metadata, "its metadata")                \
    X("spec", VALUE(schema_node_spec.of, 0), node_spec, "its spec")                                \
    X("status", VALUE(schema_node_status.of, 0), node_status, "its status")                        \
    X("ready", BOOL, node_ready, "its condition Ready is True", PART_CONDITIONS)                   \
    X("free", AMOUNTS, node_free,                                                                  \
        "allocatable less requested, as numbers: cpu in cores, 0.0 for what it does not offer; "   \
        "below 0 when it is overcommitted; milliCPU is cpu in thousandths",                        \
        PART_ALLOCATABLE)                                                                          \
    X("requested", AMOUNTS, node_requested, "sum of the requests of its pods", PART_ALLOCATABLE)   \
    X("allocatable", AMOUNTS, node_allocatable, "allocatable amounts, as numbers",                 \
        PART_ALLOCATABLE)                                                                          \
    X("capacity", AMOUNTS, node_capacity,                                                          \
        "all that it has, also for the system and the kubelet, as numbers", PART_DETAILS)          \
    X("pods", VALUE(schema_pods_type, SCHEMA_PODS_ASSUMED), node_pod_list,                         \
        "pods on it that have not ended, with those that berth bound recently")
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
