/*
 * Nodes as values. Like PodValue, one structure has the heads of a node and of its metadata, spec
 * and status. Columns are read from the table, the rest from the Node; a row without a node reads
 * as an empty node.
 */

#include "schema/schema-internal.h"

#include "schema/amounts.h"

/* Declares the variables for fields of the node or of its @part. */
#define NODE_VALUE(part)                                                                           \
    const NodeValue *value = OBJECT_OF(record, NodeValue, part);                                   \
    const Node *node = value->node

/* The details; empty if they are not kept because no policy reads them (kube/cluster-watcher.h). */
static const NodeDetails *details_of(const Node *node) {
    static const NodeDetails none;

    return node->details ? node->details : &none;
}

static CelValue texts(CelRun *run, const TextList *list) {
    return schema_strings(run, list->items, list->n);
}

/* The taint as kubectl writes it. A function of this one string, unlike one of three, is computed
 * once for all nodes with the same taint. */
static CelValue taint_text(CelRun *run, const Taint *taint) {
    bool has_value = !str_is_empty(taint->value);
    Str text = arena_printf(run->arena, "%.*s%s%.*s:%.*s", STR_FMT(taint->key),
        has_value ? "=" : "", STR_FMT(taint->value), STR_FMT(taint_effect_word(taint->effect)));

    return text.ptr ? cel_string(text) : cel_no_memory(run);
}

#define TAINT(X)                                                                                   \
    X(key, KEY(item->key), "its key", PART_TAINTS)                                                 \
    X(value, WORD(item->value), "its value; may be empty", PART_TAINTS)                            \
    X(effect, WORD(taint_effect_word(item->effect)),                                               \
        "NoSchedule, PreferNoSchedule or NoExecute; Unknown: any other effect, which repels no "   \
        "pod",                                                                                     \
        PART_TAINTS)                                                                               \
    X(text, TEXT(KEY_MAX_BYTES + 2 * WORD_MAX_BYTES), taint_text(run, item),                       \
        "all three, as kubectl writes them: `gpu=true:NoSchedule`, `gpu:NoSchedule`", PART_TAINTS)
SCHEMA_RECORD(schema_taint, "Taint", ITEM(Taint), TAINT);

#define CONDITION(X)                                                                               \
    X(type, WORD(item->type), "Ready, MemoryPressure, DiskPressure, …", PART_CONDITIONS)           \
    X(status, WORD(item->status), "True, False or Unknown", PART_CONDITIONS)                       \
    X(lastTransitionTime, SECONDS(item->changed_at), "when its status changed last", PART_DETAILS) \
    REFUSED(X, lastHeartbeatTime, "heartbeats change all the time and are not kept")
SCHEMA_RECORD(schema_condition, "Condition", ITEM(Condition), CONDITION);

#define IMAGE(X)                                                                                   \
    X(names, STRINGS(NODE_IMAGE_NAMES_MAX, item->names, item->n_names),                            \
        "tags and digests, as the node lists them", PART_REST)                                     \
    X(sizeBytes, NUMBER(item->size), "its size in bytes", PART_REST)
SCHEMA_RECORD(schema_image, "Image", ITEM(Image), IMAGE);

#define ADDRESS(X)                                                                                 \
    X(type, WORD(address_type_name(item->type)), "InternalIP, ExternalIP or Hostname", PART_REST)  \
    X(address, NAME(item->text), "the address", PART_REST)
SCHEMA_RECORD(schema_address, "NodeAddress", ITEM(Address), ADDRESS);

#define ATTACHED(X) X(name, NAME(*item), "its name", PART_DETAILS)
SCHEMA_RECORD(schema_attached_volume, "AttachedVolume", ITEM(Str), ATTACHED);

#define INFO(X)                                                                                    \
    X(architecture, WORD(item->architecture), "amd64, arm64, …", PART_DETAILS)                     \
    X(operatingSystem, WORD(item->operating_system), "linux or windows", PART_DETAILS)             \
    X(osImage, NAME(item->os_image), "the distribution and its version", PART_DETAILS)             \
    X(kernelVersion, NAME(item->kernel_version), "as uname -r prints it", PART_DETAILS)            \
    X(containerRuntimeVersion, NAME(item->container_runtime_version), "containerd://2.1.4",        \
        PART_DETAILS)                                                                              \
    X(kubeletVersion, WORD(item->kubelet_version), "v1.34.1", PART_DETAILS)
SCHEMA_RECORD(schema_node_info, "NodeSystemInfo", ITEM(NodeDetails), INFO);

SCHEMA_LIST_TYPE(addresses_type, &schema_address.of);
SCHEMA_LIST_TYPE(attached_type, &schema_attached_volume.of);
SCHEMA_LIST_TYPE(taints_type, &schema_taint.of);
SCHEMA_LIST_TYPE(conditions_type, &schema_condition.of);
SCHEMA_LIST_TYPE(images_type, &schema_image.of);

#define METADATA(X)                                                                                \
    X(name, NAME(node->name), "its name")                                                          \
    X(uid, WORD(node->uid), "its UID", PART_REST)                                                  \
    X(labels, LABELS(node->labels), "its labels; labels[?'key'] where one may be missing",         \
        PART_LABELS)                                                                               \
    X(annotations, VALUE(schema_labels_type, ANNOTATIONS_MAX),                                     \
        schema_labels(run, &node->annotations),                                                    \
        "its annotations; those with a value over 4 KiB are left out", PART_REST)                  \
    X(creationTimestamp, SECONDS(node->created_at), "when it was created", PART_REST)
SCHEMA_RECORD(schema_node_metadata, "NodeMetadata", NODE_VALUE(metadata), METADATA);

#define SPEC(X)                                                                                    \
    X(unschedulable, FLAG(node->is_unschedulable), "it is cordoned")                               \
    X(taints, VALUE(taints_type, TAINTS_MAX),                                                      \
        ITEMS(schema_taint, node->taints.items, node->taints.n),                                   \
        "its taints; see pod.tolerates()", PART_TAINTS)                                            \
    X(providerID, NAME(details_of(node)->provider_id), "its ID at the cloud provider",             \
        PART_DETAILS)                                                                              \
    X(podCIDRs, VALUE(schema_strings_type, NODE_POD_CIDRS_MAX),                                    \
        texts(run, &details_of(node)->pod_cidrs), "addresses of its pods", PART_DETAILS)
SCHEMA_RECORD(schema_node_spec, "NodeSpec", NODE_VALUE(spec), SPEC);

static CelValue attached(CelRun *run, const TextList *list) {
    return ITEMS(schema_attached_volume, list->items, list->n);
}

#define STATUS(X)                                                                                  \
    X(allocatable, VALUE(schema_quantities_type, RESOURCES_MAX),                                   \
        schema_quantities_of(run, &node->allocatable),                                             \
        "what it offers, as quantities; a resource that is not there is an error. "                \
        "node.allocatable has numbers",                                                            \
        PART_ALLOCATABLE)                                                                          \
    X(conditions, VALUE(conditions_type, NODE_CONDITIONS_MAX),                                     \
        ITEMS(schema_condition, node->conditions, node->n_conditions), "its conditions",           \
        PART_CONDITIONS)                                                                           \
    X(images, VALUE(images_type, NODE_IMAGES_MAX),                                                 \
        ITEMS(schema_image, node->images, node->n_images),                                         \
        "images on it; by default kubelets list the 50 largest", PART_REST)                        \
    X(capacity, VALUE(schema_quantities_type, RESOURCES_MAX),                                      \
        schema_quantities_of(run, &details_of(node)->capacity),                                    \
        "all that it has, as quantities; node.capacity has numbers", PART_DETAILS)                 \
    X(nodeInfo, RECORD(schema_node_info, details_of(node)), "its system and versions",             \
        PART_DETAILS)                                                                              \
    X(addresses, VALUE(addresses_type, NODE_ADDRESSES_MAX),                                        \
        ITEMS(schema_address, node->addresses, node->n_addresses),                                 \
        "its addresses; other types are not kept", PART_REST)                                      \
    X(volumesInUse, VALUE(schema_strings_type, NODE_VOLUMES_MAX),                                  \
        texts(run, &details_of(node)->volumes_in_use), "unique names of volumes that it mounts",   \
        PART_DETAILS)                                                                              \
    X(volumesAttached, VALUE(attached_type, NODE_VOLUMES_MAX),                                     \
        attached(run, &details_of(node)->volumes_attached), "volumes that are attached to it",     \
        PART_DETAILS)
SCHEMA_RECORD(schema_node_status, "NodeStatus", NODE_VALUE(status), STATUS);

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

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define NODE(X)                                                                                    \
    X(metadata, VALUE(schema_node_metadata.of, 0), cel_record(&value->metadata), "its metadata")   \
    X(spec, VALUE(schema_node_spec.of, 0), cel_record(&value->spec), "its spec")                   \
    X(status, VALUE(schema_node_status.of, 0), cel_record(&value->status), "its status")           \
    X(ready, FLAG(node->is_ready), "its condition Ready is True", PART_CONDITIONS)                 \
    X(free, AMOUNTS, amounts(run, value, AMOUNT_FREE),                                             \
        "allocatable less requested, as numbers: cpu in cores, 0.0 for what it does not offer; "   \
        "below 0 when it is overcommitted; milliCPU is cpu in thousandths",                        \
        PART_ALLOCATABLE)                                                                          \
    X(requested, AMOUNTS, amounts(run, value, AMOUNT_REQUESTED),                                   \
        "sum of the requests of its pods", PART_ALLOCATABLE)                                       \
    X(allocatable, AMOUNTS, amounts(run, value, AMOUNT_ALLOCATABLE),                               \
        "allocatable amounts, as numbers", PART_ALLOCATABLE)                                       \
    X(capacity, AMOUNTS, schema_plain_amounts_of(run, &details_of(node)->capacity),                \
        "all that it has, also for the system and the kubelet, as numbers", PART_DETAILS)          \
    X(pods, VALUE(schema_pods_type, SCHEMA_PODS_ASSUMED), pods(run, value),                        \
        "pods on it that have not ended, with those that berth bound recently")
SCHEMA_RECORD(schema_node_record, "Node", NODE_VALUE(head), NODE);

SCHEMA_LIST_TYPE(schema_nodes_type, &schema_node_record.of);

static NodeValue value_of(const NodeTable *table, uint32_t row) {
    return (NodeValue){.head = {.type = &schema_node_record.type},
        .metadata = {.type = &schema_node_metadata.type},
        .spec = {.type = &schema_node_spec.type},
        .status = {.type = &schema_node_status.type},
        .table = table,
        .node = schema_node_at(table, row),
        .row = row};
}

CelValue schema_node(const NodeTable *table, uint32_t row, Arena *arena) {
    const NodeValue value = value_of(table, row);

    return schema_keep(arena, &value, sizeof(value));
}

CelValue schema_row(CelRun *run, const NodeTable *table, uint32_t row) {
    const NodeValue value = value_of(table, row);

    return schema_make(run, &value, sizeof(value));
}

static CelValue row_at(const CelList *list, uint32_t i, CelRun *run) {
    const SchemaList *rows = schema_list_of(list);

    return schema_row(run, rows->of, ((const uint32_t *)rows->items)[i]);
}

CelValue schema_rows(CelRun *run, const NodeTable *table, const uint32_t *rows, size_t n) {
    return schema_list(run, row_at, rows, n, table, sizeof(*rows));
}
