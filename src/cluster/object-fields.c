/*
 * The fields of objects, and their copies: every text and every array is a part of the pool, so
 * that equal ones have one address, and equal arrays are equal bytes.
 */

#include "cluster/object-fields.h"

#include "cluster/table-dictionary.h"

#define FIELD(type, member, its_kind, its_key, ...)                                                \
    { .key = (its_key), .kind = FIELD_##its_kind, .offset = offsetof(type, member), __VA_ARGS__ }
#define TEXT(type, member, its_key, its_sort, ...)                                                 \
    FIELD(type, member, TEXT, its_key, .sort = SORT_##its_sort, __VA_ARGS__)
#define PLAIN(type, member, its_kind, its_key, ...)                                                \
    FIELD(type, member, its_kind, its_key, .size = sizeof(((type *)0)->member), __VA_ARGS__)
#define LIST(type, member, n_member, its_key, its_type, ...)                                       \
    FIELD(type, member, LIST, its_key, .count = offsetof(type, n_member), .of = &(its_type),       \
        __VA_ARGS__)
#define ITEMS(type, member, its_key, its_type, ...)                                                \
    LIST(type, member.items, member.n, its_key, its_type, __VA_ARGS__)
#define STRUCT(type, member, its_key, its_type, ...)                                               \
    FIELD(type, member, STRUCT, its_key, .of = &(its_type), __VA_ARGS__)
#define POINTER(type, member, its_type) FIELD(type, member, POINTER, NULL, .of = &(its_type))
#define GROUP(its_key, its_type)                                                                   \
    { .key = (its_key), .kind = FIELD_STRUCT, .of = &(its_type) }

/* A structure with these fields. */
#define TYPE(structure, ...)                                                                       \
    {                                                                                              \
        .size = sizeof(structure), .fields = (const ObjectField[]){__VA_ARGS__},                   \
        .n_fields = ELEMENTS_OF(((const ObjectField[]){__VA_ARGS__}))                              \
    }
#define TEXT_TYPE(its_key, its_sort)                                                               \
    TYPE(Str, {.kind = FIELD_TEXT, .key = (its_key), .sort = SORT_##its_sort})
#define LABEL_TYPE(value_sort, ...)                                                                \
    TYPE(Label, TEXT(Label, key, NULL, KEY), TEXT(Label, value, NULL, value_sort, __VA_ARGS__))

/* --- elements that several types have ----------------------------------------------------- */

static const ObjectType name_type = TEXT_TYPE(NULL, NAME);
static const ObjectType key_type = TEXT_TYPE(NULL, KEY);
static const ObjectType image_name_type = TEXT_TYPE(NULL, IMAGE);
static const ObjectType named_type = TEXT_TYPE("name", NAME); /* {"name": …} */
static const ObjectType named_key_type = TEXT_TYPE("name", KEY);

const ObjectType label_type = LABEL_TYPE(NAME);
const ObjectType annotation_type = LABEL_TYPE(TEXT);
const ObjectType node_annotation_type = LABEL_TYPE(TEXT, .is_own = true);
const ObjectType resource_type =
    TYPE(Resource, TEXT(Resource, name, NULL, KEY), PLAIN(Resource, amount, PLAIN, NULL));

static const ObjectType amount_type =
    TYPE(Amount, TEXT(Amount, name, NULL, KEY), PLAIN(Amount, quantity, PLAIN, NULL));

const ObjectType amount_list_type = TYPE(AmountList, LIST(AmountList, items, n, NULL, amount_type),
    PLAIN(AmountList, is_given, PLAIN, NULL), PLAIN(AmountList, is_cut, PLAIN, NULL));

_Static_assert(offsetof(PodContainer, limits) ==
                   offsetof(PodContainer, requests) + offsetof(ResourceRequirements, limits),
    "side by side");
_Static_assert(offsetof(PodDetails, limits) ==
                   offsetof(PodDetails, requests) + offsetof(ResourceRequirements, limits),
    "side by side");
static const ObjectType requirements_type =
    TYPE(ResourceRequirements, STRUCT(ResourceRequirements, requests, "requests", amount_list_type),
        STRUCT(ResourceRequirements, limits, "limits", amount_list_type));

/* --- nodes ------------------------------------------------------------------------------- */

const ObjectType taint_type = TYPE(Taint, TEXT(Taint, key, NULL, KEY),
    TEXT(Taint, value, NULL, NAME), PLAIN(Taint, effect, PLAIN, NULL));

const ObjectType condition_type = TYPE(Condition, TEXT(Condition, type, "type", CONDITION),
    TEXT(Condition, status, "status", NAME),
    PLAIN(Condition, changed_at, TIME, "lastTransitionTime"));

const ObjectType image_type = TYPE(Image, LIST(Image, names, n_names, "names", image_name_type),
    PLAIN(Image, size, NUMBER, "sizeBytes"));

const ObjectType address_type = TYPE(Address, PLAIN(Address, type, PLAIN, NULL),
    TEXT(Address, text, "address", NAME, .is_own = true));

const ObjectType node_spec_details_type =
    TYPE(NodeDetails, TEXT(NodeDetails, provider_id, "providerID", NAME),
        ITEMS(NodeDetails, pod_cidrs, "podCIDRs", name_type));

/* Words of the API, and versions of Kubernetes, which rules compare as such, are not anonymized. */
static const ObjectType node_info_type =
    TYPE(NodeDetails, TEXT(NodeDetails, architecture, "architecture", WORD),
        TEXT(NodeDetails, operating_system, "operatingSystem", WORD),
        TEXT(NodeDetails, os_image, "osImage", NAME),
        TEXT(NodeDetails, kernel_version, "kernelVersion", NAME),
        TEXT(NodeDetails, container_runtime_version, "containerRuntimeVersion", NAME),
        TEXT(NodeDetails, kubelet_version, "kubeletVersion", WORD));

const ObjectType node_status_details_type =
    TYPE(NodeDetails, ITEMS(NodeDetails, capacity, "capacity", resource_type),
        ITEMS(NodeDetails, volumes_in_use, "volumesInUse", name_type),
        ITEMS(NodeDetails, volumes_attached, "volumesAttached", named_type),
        GROUP("nodeInfo", node_info_type));

static const ObjectType node_details_type =
    TYPE(NodeDetails, GROUP(NULL, node_spec_details_type), GROUP(NULL, node_status_details_type));

const ObjectType node_metadata_type = TYPE(Node, TEXT(Node, name, "name", NAME, .is_own = true),
    TEXT(Node, uid, "uid", NAME, .is_own = true),
    FIELD(Node, resource_version, VERSION, "resourceVersion", .is_own = true),
    PLAIN(Node, created_at, TIME, "creationTimestamp"),
    ITEMS(Node, labels, "labels", label_type, .is_own = true),
    ITEMS(Node, annotations, "annotations", node_annotation_type, .is_own = true));

/* Lists of a node are not shared. Their texts and the lists of an image's names are: many nodes
 * have pulled the same image. */
const ObjectType node_type = TYPE(Node, GROUP(NULL, node_metadata_type),
    ITEMS(Node, taints, NULL, taint_type, .is_own = true),
    PLAIN(Node, is_unschedulable, PLAIN, NULL), PLAIN(Node, is_ready, PLAIN, NULL),
    LIST(Node, conditions, n_conditions, NULL, condition_type, .is_own = true),
    ITEMS(Node, allocatable, NULL, resource_type, .is_own = true),
    LIST(Node, images, n_images, NULL, image_type, .is_own = true),
    LIST(Node, addresses, n_addresses, NULL, address_type, .is_own = true),
    POINTER(Node, details, node_details_type));

static const ObjectType taints_type = TYPE(Taints, LIST(Taints, items, n, NULL, taint_type));

const ObjectType table_dictionary_type =
    TYPE(TableDictionary, LIST(TableDictionary, resources, n_resources, NULL, key_type),
        LIST(TableDictionary, taint_sets, n_taint_sets, NULL, taints_type),
        PLAIN(TableDictionary, n_left_out, PLAIN, NULL));

/* --- details of pods --------------------------------------------------------------------- */

static const ObjectType port_type = TYPE(ContainerPort, TEXT(ContainerPort, name, "name", NAME),
    PLAIN(ContainerPort, port, NUMBER, "containerPort"),
    PLAIN(ContainerPort, host_port, NONZERO, "hostPort"),
    TEXT(ContainerPort, protocol, "protocol", WORD), TEXT(ContainerPort, host_ip, "hostIP", NAME));

#define NAMES .parts = POD_BIT(POD_CONTAINER_NAMES)
#define ANY_AMOUNTS .parts = POD_BIT(POD_CONTAINER_AMOUNTS) | POD_BIT(POD_AMOUNTS)
static const ObjectType container_type = TYPE(PodContainer,
    TEXT(PodContainer, name, "name", NAME, NAMES), TEXT(PodContainer, image, "image", IMAGE, NAMES),
    TEXT(PodContainer, restart_policy, "restartPolicy", WORD),
    STRUCT(PodContainer, requests, "resources", requirements_type, ANY_AMOUNTS),
    LIST(PodContainer, ports, n_ports, "ports", port_type, .parts = POD_BIT(POD_CONTAINER_PORTS)),
    LIST(PodContainer, env, n_env, "env", named_type, .parts = POD_BIT(POD_CONTAINER_ENV)));

const ObjectType owner_type = TYPE(PodOwner, TEXT(PodOwner, api_version, "apiVersion", API_VERSION),
    TEXT(PodOwner, kind, "kind", OWNER_KIND), TEXT(PodOwner, name, "name", NAME),
    TEXT(PodOwner, uid, "uid", NAME), PLAIN(PodOwner, is_controller, BOOL, "controller"),
    PLAIN(PodOwner, blocks_deletion, BOOL, "blockOwnerDeletion"));

const ObjectType pod_volume_type =
    TYPE(PodVolume, TEXT(PodVolume, name, NULL, NAME), TEXT(PodVolume, kind, NULL, WORD),
        TEXT(PodVolume, claim_name, NULL, NAME), TEXT(PodVolume, storage_class, NULL, NAME));

static const ObjectType resource_claim_type =
    TYPE(PodResourceClaim, TEXT(PodResourceClaim, name, "name", NAME),
        TEXT(PodResourceClaim, claim_name, "resourceClaimName", NAME),
        TEXT(PodResourceClaim, template_name, "resourceClaimTemplateName", NAME));

/* Keys of fields are words of the API. */
#define EXPRESSION_TYPE(key_sort)                                                                  \
    TYPE(MatchExpression, TEXT(MatchExpression, key, "key", key_sort),                             \
        TEXT(MatchExpression, operator, "operator", WORD),                                         \
        LIST(MatchExpression, values, n_values, "values", name_type))
static const ObjectType expression_type = EXPRESSION_TYPE(KEY);
static const ObjectType field_expression_type = EXPRESSION_TYPE(WORD);

const ObjectType selector_type = TYPE(LabelSelector, PLAIN(LabelSelector, is_given, PLAIN, NULL),
    ITEMS(LabelSelector, labels, "matchLabels", label_type),
    LIST(LabelSelector, expressions, n_expressions, "matchExpressions", expression_type));

const ObjectType node_term_type =
    TYPE(NodeSelectorTerm, PLAIN(NodeSelectorTerm, weight, PLAIN, NULL),
        LIST(NodeSelectorTerm, expressions, n_expressions, "matchExpressions", expression_type),
        LIST(NodeSelectorTerm, fields, n_fields, "matchFields", field_expression_type));

const ObjectType pod_term_type = TYPE(PodAffinityTerm, PLAIN(PodAffinityTerm, weight, PLAIN, NULL),
    STRUCT(PodAffinityTerm, selector, "labelSelector", selector_type),
    STRUCT(PodAffinityTerm, namespace_selector, "namespaceSelector", selector_type),
    LIST(PodAffinityTerm, namespaces, n_namespaces, "namespaces", name_type),
    TEXT(PodAffinityTerm, topology_key, "topologyKey", KEY),
    LIST(PodAffinityTerm, match_keys, n_match_keys, "matchLabelKeys", key_type),
    LIST(PodAffinityTerm, mismatch_keys, n_mismatch_keys, "mismatchLabelKeys", key_type));

const ObjectType affinity_type =
    TYPE(PodAffinity, PLAIN(PodAffinity, is_node_required, PLAIN, NULL),
        LIST(PodAffinity, node_required, n_node_required, NULL, node_term_type),
        LIST(PodAffinity, node_preferred, n_node_preferred, NULL, node_term_type),
        LIST(PodAffinity, pods.required, pods.n_required, NULL, pod_term_type),
        LIST(PodAffinity, pods.preferred, pods.n_preferred, NULL, pod_term_type),
        LIST(PodAffinity, anti.required, anti.n_required, NULL, pod_term_type),
        LIST(PodAffinity, anti.preferred, anti.n_preferred, NULL, pod_term_type));

static const ObjectType spread_type =
    TYPE(SpreadConstraint, PLAIN(SpreadConstraint, max_skew, NUMBER, "maxSkew"),
        TEXT(SpreadConstraint, topology_key, "topologyKey", KEY),
        TEXT(SpreadConstraint, when_unsatisfiable, "whenUnsatisfiable", WORD),
        STRUCT(SpreadConstraint, selector, "labelSelector", selector_type),
        PLAIN(SpreadConstraint, min_domains, NONZERO, "minDomains"),
        TEXT(SpreadConstraint, node_affinity_policy, "nodeAffinityPolicy", WORD),
        TEXT(SpreadConstraint, node_taints_policy, "nodeTaintsPolicy", WORD),
        LIST(SpreadConstraint, match_keys, n_match_keys, "matchLabelKeys", key_type));

/* Fields in the order of a written spec; annotations and owners are metadata. Required terms of
 * the node affinity only matter while a pod is placed. */
#define PART(part) .parts = POD_BIT(POD_##part)
#define CONTAINERS .parts = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_AMOUNTS)
const ObjectType pod_details_type =
    TYPE(PodDetails, ITEMS(PodDetails, annotations, NULL, annotation_type),
        LIST(PodDetails, owners, n_owners, NULL, owner_type, PART(OWNERS)),
        PLAIN(PodDetails, has_status_amounts, PLAIN, NULL),
        LIST(PodDetails, containers, n_containers, "containers", container_type, CONTAINERS),
        LIST(PodDetails, init_containers, n_init_containers, "initContainers", container_type,
            CONTAINERS),
        STRUCT(PodDetails, requests, "resources", requirements_type, PART(AMOUNTS)),
        STRUCT(PodDetails, overhead, "overhead", amount_list_type, PART(AMOUNTS)),
        TEXT(PodDetails, priority_class_name, "priorityClassName", PRIORITY_CLASS,
            PART(PRIORITY_CLASS)),
        TEXT(PodDetails, runtime_class_name, "runtimeClassName", NAME, PART(RUNTIME_CLASS)),
        TEXT(PodDetails, preemption_policy, "preemptionPolicy", WORD, PART(PREEMPTION_POLICY)),
        TEXT(PodDetails, service_account_name, "serviceAccountName", NAME, PART(SERVICE_ACCOUNT)),
        PLAIN(PodDetails, host_network, BOOL, "hostNetwork", PART(HOST_NETWORK)),
        LIST(PodDetails, scheduling_gates, n_scheduling_gates, "schedulingGates", named_key_type,
            PART(SCHEDULING_GATES)),
        LIST(PodDetails, volumes, n_volumes, "volumes", pod_volume_type, PART(VOLUMES)),
        LIST(PodDetails, resource_claims, n_resource_claims, "resourceClaims", resource_claim_type,
            PART(RESOURCE_CLAIMS)),
        ITEMS(PodDetails, node_selector, "nodeSelector", label_type, PART(NODE_SELECTOR)),
        FIELD(PodDetails, affinity, SINGLE, "affinity", .count = offsetof(PodDetails, n_affinity),
            .of = &affinity_type, PART(AFFINITY)),
        LIST(PodDetails, spread, n_spread, "topologySpreadConstraints", spread_type, PART(SPREAD)));

/* --- pods -------------------------------------------------------------------------------- */

const ObjectType toleration_type =
    TYPE(Toleration, TEXT(Toleration, key, NULL, KEY), TEXT(Toleration, value, NULL, NAME),
        PLAIN(Toleration, exists, PLAIN, NULL), PLAIN(Toleration, effect, PLAIN, NULL));

const ObjectType pod_metadata_type =
    TYPE(Pod, TEXT(Pod, name, "name", NAME), TEXT(Pod, namespace, "namespace", NAME),
        TEXT(Pod, uid, "uid", NAME), FIELD(Pod, resource_version, VERSION, "resourceVersion"),
        PLAIN(Pod, created_at, TIME, "creationTimestamp"));

/* The fields that several pods may have in common, except namespace and details. The owner's name
 * is a WORD here because bundle/anonymous.c handles its parts. */
const ObjectType pod_shared_type = TYPE(Pod, TEXT(Pod, owner_kind, NULL, OWNER_KIND),
    TEXT(Pod, owner_name, NULL, WORD), TEXT(Pod, owner_uid, NULL, NAME),
    TEXT(Pod, scheduler_name, NULL, SCHEDULER), TEXT(Pod, node_name, NULL, NAME),
    TEXT(Pod, nominated_node_name, NULL, NAME), PLAIN(Pod, priority, PLAIN, NULL),
    PLAIN(Pod, started_at, PLAIN, NULL), PLAIN(Pod, scheduled_at, PLAIN, NULL),
    PLAIN(Pod, is_terminal, PLAIN, NULL), PLAIN(Pod, is_terminating, PLAIN, NULL),
    PLAIN(Pod, is_guessed, PLAIN, NULL), ITEMS(Pod, labels, NULL, label_type),
    ITEMS(Pod, requests, NULL, resource_type), ITEMS(Pod, tolerations, NULL, toleration_type));

/* Related objects are not kept. */
const ObjectType pod_type = TYPE(Pod, GROUP(NULL, pod_metadata_type), GROUP(NULL, pod_shared_type),
    POINTER(Pod, details, pod_details_type));

/* --- what a pod refers to ---------------------------------------------------------------- */

const ObjectType namespace_type = TYPE(Namespace, TEXT(Namespace, name, "name", NAME),
    ITEMS(Namespace, labels, "labels", label_type),
    ITEMS(Namespace, annotations, "annotations", annotation_type));

static const ObjectType requirement_type = TYPE(Requirement, TEXT(Requirement, key, NULL, KEY),
    LIST(Requirement, values, n_values, NULL, name_type));

static const ObjectType name_test_type = TYPE(NameTest, TEXT(NameTest, value, NULL, NAME));

static const ObjectType term_type = TYPE(NodeTerm, ITEMS(NodeTerm, labels, NULL, requirement_type),
    LIST(NodeTerm, names, n_names, NULL, name_test_type));

/* Zones are not a field: a reader derives them from the label and the terms. */
static const ObjectType claim_type = TYPE(VolumeClaim, TEXT(VolumeClaim, name, NULL, NAME),
    TEXT(VolumeClaim, namespace, NULL, NAME), TEXT(VolumeClaim, storage_class, NULL, NAME),
    TEXT(VolumeClaim, volume_name, NULL, NAME), TEXT(VolumeClaim, volume.name, NULL, NAME),
    TEXT(VolumeClaim, volume.zone_label, NULL, ZONES),
    ITEMS(VolumeClaim, volume.terms, NULL, term_type));

const ObjectType related_type = TYPE(Related, POINTER(Related, namespace, namespace_type),
    LIST(Related, claims, n_claims, NULL, claim_type));

/* --- reading fields ---------------------------------------------------------------------- */

const void *field_items(const ObjectField *field, const void *item) {
    return *(const void *const *)field_at(field, item);
}

size_t field_count(const ObjectField *field, const void *item) {
    if (field->kind == FIELD_POINTER)
        return field_items(field, item) != NULL;
    return *(const size_t *)(const void *)((const char *)item + field->count);
}

static const void *item_at(const ObjectType *type, const void *items, size_t i) {
    return (const char *)items + i * type->size;
}

static bool field_equal(const ObjectField *field, const void *a, const void *b) {
    const void *x = field_at(field, a), *y = field_at(field, b);

    switch (field->kind) {
    case FIELD_VERSION:
        return true;
    case FIELD_TEXT:
        return str_eq(*(const Str *)x, *(const Str *)y);
    case FIELD_STRUCT:
        return object_equal(field->of, x, y);
    case FIELD_LIST:
    case FIELD_SINGLE:
    case FIELD_POINTER:
        return object_items_equal(field->of, field_items(field, a), field_count(field, a),
            field_items(field, b), field_count(field, b));
    default:
        return memcmp(x, y, field->size) == 0;
    }
}

bool object_equal(const ObjectType *type, const void *a, const void *b) {
    for (size_t i = 0; a != b && i < type->n_fields; i++)
        if (!field_equal(&type->fields[i], a, b))
            return false;
    return true;
}

bool object_items_equal(
    const ObjectType *type, const void *a, size_t n_a, const void *b, size_t n_b) {
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!object_equal(type, item_at(type, a, i), item_at(type, b, i)))
            return false;
    return true;
}

/* --- copying ------------------------------------------------------------------------------ */

/* Copies an array to a part. Its texts are shared in @pool; the array only if @is_shared. */
static void *take_items(RecordPool *pool, const ObjectType *type, uint32_t parts, const void *items,
    size_t n, bool is_shared) {
    char *block = block_new(n * type->size, type);

    if (!block)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!object_take(pool, type, parts, item_at(type, items, i), block + i * type->size)) {
            block_drop(block);
            return NULL;
        }
    return is_shared ? block_share(pool, block) : block;
}

static bool take_field(
    RecordPool *pool, const ObjectField *field, uint32_t parts, const void *from, void *to) {
    void *at = field_at(field, to);
    const void *given = field_at(field, from);

    if (field->parts != 0 && !(field->parts & parts))
        return true;
    if (field->kind <= FIELD_VERSION)
        return text_take(field->is_own ? NULL : pool, *(const Str *)given, at);
    if (field->kind == FIELD_STRUCT)
        return object_take(pool, field->of, parts, given, at);
    if (field->kind >= FIELD_PLAIN) {
        memcpy(at, given, field->size);
        return true;
    }
    if (field_count(field, from) == 0)
        return true;
    *(void **)at = take_items(
        pool, field->of, parts, field_items(field, from), field_count(field, from), !field->is_own);
    if (field->kind != FIELD_POINTER)
        *(size_t *)(void *)((char *)to + field->count) = field_count(field, from);
    return *(void **)at;
}

/* Recursive: arrays are five deep at most. */
bool object_take(
    RecordPool *pool, const ObjectType *type, uint32_t parts, const void *from, void *to) {
    for (size_t i = 0; i < type->n_fields; i++)
        if (!take_field(pool, &type->fields[i], parts, from, to))
            return false;
    return true;
}

void *object_take_block(
    RecordPool *pool, const ObjectType *type, uint32_t parts, const void *item) {
    return take_items(pool, type, parts, item, 1, /* is_shared= */ true);
}

void object_drop(const ObjectType *type, const void *item) {
    for (size_t i = 0; i < type->n_fields; i++) {
        const ObjectField *field = &type->fields[i];

        if (field->kind <= FIELD_VERSION)
            text_drop(*(const Str *)field_at(field, item));
        else if (field->kind == FIELD_STRUCT)
            object_drop(field->of, field_at(field, item));
        else if (field->kind < FIELD_STRUCT)
            block_drop(field_items(field, item));
    }
}
