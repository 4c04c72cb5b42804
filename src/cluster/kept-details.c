/*
 * Copies details of pods by a table of their fields: every text and every array is a part of the
 * pool, so that equal ones have one address, and equal details are equal bytes.
 */

#include "cluster/kept-details.h"

typedef struct DetailType DetailType;

typedef struct DetailField {
    uint16_t offset;
    uint16_t size;        /* of a plain value; 0: a text or an array */
    uint16_t count;       /* of an array: where its number of elements is */
    const DetailType *of; /* its elements; NULL: no array */
    uint32_t parts;       /* kept with one of these; 0: always */
} DetailField;

struct DetailType {
    size_t size;
    const DetailField *fields;
    size_t n_fields;
    BlockRelease release; /* of an array of such */
};

/* --- fields of each type ----------------------------------------------------------------- */

#define TEXT(type, member, its_parts)                                                              \
    { .offset = offsetof(type, member), .parts = (its_parts) }
#define PLAIN(type, member, its_parts)                                                             \
    { .offset = offsetof(type, member), .size = sizeof(((type *)0)->member), .parts = (its_parts) }
#define ARRAY(type, member, n_member, its_type, its_parts)                                         \
    {                                                                                              \
        .offset = offsetof(type, member), .count = offsetof(type, n_member), .of = &(its_type),    \
        .parts = (its_parts)                                                                       \
    }
#define LABELS(type, member, its_parts) ARRAY(type, member.items, member.n, label_type, its_parts)
#define AMOUNTS(type, member, its_parts)                                                           \
    ARRAY(type, member.items, member.n, amount_type, its_parts),                                   \
        PLAIN(type, member.is_given, its_parts), PLAIN(type, member.is_cut, its_parts)

#define DETAIL_TYPE(variable, type)                                                                \
    static void variable##_release(void *block, size_t size);                                      \
    static const DetailType variable = {.size = sizeof(type),                                      \
        .fields = variable##_fields,                                                               \
        .n_fields = sizeof(variable##_fields) / sizeof(variable##_fields[0]),                      \
        .release = variable##_release};                                                            \
    static void variable##_release(void *block, size_t size) {                                     \
        release_items(&(variable), block, size / sizeof(type));                                    \
    }

static void release_items(const DetailType *type, const void *items, size_t n);

static const DetailField text_type_fields[] = {{.offset = 0}};
DETAIL_TYPE(text_type, Str)

static const DetailField label_type_fields[] = {TEXT(Label, key, 0), TEXT(Label, value, 0)};
DETAIL_TYPE(label_type, Label)

static const DetailField amount_type_fields[] = {TEXT(Amount, name, 0), PLAIN(Amount, quantity, 0)};
DETAIL_TYPE(amount_type, Amount)

static const DetailField port_type_fields[] = {
    TEXT(ContainerPort, name, 0),
    TEXT(ContainerPort, protocol, 0),
    TEXT(ContainerPort, host_ip, 0),
    PLAIN(ContainerPort, port, 0),
    PLAIN(ContainerPort, host_port, 0),
};
DETAIL_TYPE(port_type, ContainerPort)

#define NAMES POD_BIT(POD_CONTAINER_NAMES)
#define ANY_AMOUNTS (POD_BIT(POD_CONTAINER_AMOUNTS) | POD_BIT(POD_AMOUNTS))
static const DetailField container_type_fields[] = {
    TEXT(PodContainer, name, NAMES),
    TEXT(PodContainer, image, NAMES),
    TEXT(PodContainer, restart_policy, 0),
    AMOUNTS(PodContainer, requests, ANY_AMOUNTS),
    AMOUNTS(PodContainer, limits, ANY_AMOUNTS),
    ARRAY(PodContainer, ports, n_ports, port_type, POD_BIT(POD_CONTAINER_PORTS)),
    ARRAY(PodContainer, env, n_env, text_type, POD_BIT(POD_CONTAINER_ENV)),
};
DETAIL_TYPE(container_type, PodContainer)

static const DetailField owner_type_fields[] = {
    TEXT(PodOwner, api_version, 0),
    TEXT(PodOwner, kind, 0),
    TEXT(PodOwner, name, 0),
    TEXT(PodOwner, uid, 0),
    PLAIN(PodOwner, is_controller, 0),
    PLAIN(PodOwner, blocks_deletion, 0),
};
DETAIL_TYPE(owner_type, PodOwner)

static const DetailField volume_type_fields[] = {
    TEXT(PodVolume, name, 0),
    TEXT(PodVolume, kind, 0),
    TEXT(PodVolume, claim_name, 0),
    TEXT(PodVolume, storage_class, 0),
};
DETAIL_TYPE(volume_type, PodVolume)

static const DetailField claim_type_fields[] = {
    TEXT(PodResourceClaim, name, 0),
    TEXT(PodResourceClaim, claim_name, 0),
    TEXT(PodResourceClaim, template_name, 0),
};
DETAIL_TYPE(claim_type, PodResourceClaim)

static const DetailField expression_type_fields[] = {
    TEXT(MatchExpression, key, 0),
    TEXT(MatchExpression, operator, 0),
    ARRAY(MatchExpression, values, n_values, text_type, 0),
};
DETAIL_TYPE(expression_type, MatchExpression)

#define SELECTOR(type, member)                                                                     \
    PLAIN(type, member.is_given, 0), LABELS(type, member.labels, 0),                               \
        ARRAY(type, member.expressions, member.n_expressions, expression_type, 0)

static const DetailField node_term_type_fields[] = {
    PLAIN(NodeSelectorTerm, weight, 0),
    ARRAY(NodeSelectorTerm, expressions, n_expressions, expression_type, 0),
    ARRAY(NodeSelectorTerm, fields, n_fields, expression_type, 0),
};
DETAIL_TYPE(node_term_type, NodeSelectorTerm)

static const DetailField pod_term_type_fields[] = {
    PLAIN(PodAffinityTerm, weight, 0),
    TEXT(PodAffinityTerm, topology_key, 0),
    SELECTOR(PodAffinityTerm, selector),
    SELECTOR(PodAffinityTerm, namespace_selector),
    ARRAY(PodAffinityTerm, namespaces, n_namespaces, text_type, 0),
    ARRAY(PodAffinityTerm, match_keys, n_match_keys, text_type, 0),
    ARRAY(PodAffinityTerm, mismatch_keys, n_mismatch_keys, text_type, 0),
};
DETAIL_TYPE(pod_term_type, PodAffinityTerm)

static const DetailField affinity_type_fields[] = {
    PLAIN(PodAffinity, is_node_required, 0),
    ARRAY(PodAffinity, node_required, n_node_required, node_term_type, 0),
    ARRAY(PodAffinity, node_preferred, n_node_preferred, node_term_type, 0),
    ARRAY(PodAffinity, pods.required, pods.n_required, pod_term_type, 0),
    ARRAY(PodAffinity, pods.preferred, pods.n_preferred, pod_term_type, 0),
    ARRAY(PodAffinity, anti.required, anti.n_required, pod_term_type, 0),
    ARRAY(PodAffinity, anti.preferred, anti.n_preferred, pod_term_type, 0),
};
DETAIL_TYPE(affinity_type, PodAffinity)

static const DetailField spread_type_fields[] = {
    TEXT(SpreadConstraint, topology_key, 0),
    TEXT(SpreadConstraint, when_unsatisfiable, 0),
    TEXT(SpreadConstraint, node_affinity_policy, 0),
    TEXT(SpreadConstraint, node_taints_policy, 0),
    PLAIN(SpreadConstraint, max_skew, 0),
    PLAIN(SpreadConstraint, min_domains, 0),
    SELECTOR(SpreadConstraint, selector),
    ARRAY(SpreadConstraint, match_keys, n_match_keys, text_type, 0),
};
DETAIL_TYPE(spread_type, SpreadConstraint)

/* Required terms of the node affinity only matter while a pod is placed. */
#define CONTAINERS (POD_BIT(POD_CONTAINERS) | POD_BIT(POD_AMOUNTS))
static const DetailField details_type_fields[] = {
    LABELS(PodDetails, annotations, 0),
    LABELS(PodDetails, node_selector, POD_BIT(POD_NODE_SELECTOR)),
    ARRAY(PodDetails, containers, n_containers, container_type, CONTAINERS),
    ARRAY(PodDetails, init_containers, n_init_containers, container_type, CONTAINERS),
    TEXT(PodDetails, priority_class_name, POD_BIT(POD_PRIORITY_CLASS)),
    TEXT(PodDetails, runtime_class_name, POD_BIT(POD_RUNTIME_CLASS)),
    TEXT(PodDetails, preemption_policy, POD_BIT(POD_PREEMPTION_POLICY)),
    TEXT(PodDetails, service_account_name, POD_BIT(POD_SERVICE_ACCOUNT)),
    PLAIN(PodDetails, host_network, POD_BIT(POD_HOST_NETWORK)),
    PLAIN(PodDetails, has_status_amounts, 0),
    AMOUNTS(PodDetails, requests, POD_BIT(POD_AMOUNTS)),
    AMOUNTS(PodDetails, limits, POD_BIT(POD_AMOUNTS)),
    AMOUNTS(PodDetails, overhead, POD_BIT(POD_AMOUNTS)),
    ARRAY(
        PodDetails, scheduling_gates, n_scheduling_gates, text_type, POD_BIT(POD_SCHEDULING_GATES)),
    ARRAY(PodDetails, volumes, n_volumes, volume_type, POD_BIT(POD_VOLUMES)),
    ARRAY(PodDetails, resource_claims, n_resource_claims, claim_type, POD_BIT(POD_RESOURCE_CLAIMS)),
    ARRAY(PodDetails, affinity, n_affinity, affinity_type, POD_BIT(POD_AFFINITY)),
    ARRAY(PodDetails, spread, n_spread, spread_type, POD_BIT(POD_SPREAD)),
    ARRAY(PodDetails, owners, n_owners, owner_type, POD_BIT(POD_OWNERS)),
};
DETAIL_TYPE(details_type, PodDetails)

/* --- reading fields ---------------------------------------------------------------------- */

static const void *field_at(const DetailField *field, const void *item) {
    return (const char *)item + field->offset;
}

static const void *array_at(const DetailField *field, const void *item) {
    return *(const void *const *)field_at(field, item);
}

static size_t count_at(const DetailField *field, const void *item) {
    return *(const size_t *)(const void *)((const char *)item + field->count);
}

static bool is_text(const DetailField *field) {
    return !field->of && field->size == 0;
}

static void release_items(const DetailType *type, const void *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const void *item = (const char *)items + i * type->size;

        for (size_t k = 0; k < type->n_fields; k++) {
            const DetailField *field = &type->fields[k];

            if (is_text(field))
                text_drop(*(const Str *)field_at(field, item));
            else if (field->of)
                block_drop((void *)(uintptr_t)array_at(field, item));
        }
    }
}

/* --- copying ------------------------------------------------------------------------------ */

typedef struct DetailCopy {
    RecordPool *pool;
    uint32_t parts;
} DetailCopy;

static void *copy_items(
    const DetailCopy *copy, const DetailType *type, const void *items, size_t n);

/* @to is zeroed. Recursive: arrays are five deep at most. */
static bool copy_field(
    const DetailCopy *copy, const DetailField *field, const void *from, void *to) {
    void *at = (char *)to + field->offset;

    if (field->parts != 0 && !(field->parts & copy->parts))
        return true;
    if (is_text(field))
        return text_take(copy->pool, *(const Str *)field_at(field, from), at);
    if (!field->of) {
        memcpy(at, field_at(field, from), field->size);
        return true;
    }
    if (count_at(field, from) == 0)
        return true;
    *(void **)at = copy_items(copy, field->of, array_at(field, from), count_at(field, from));
    *(size_t *)(void *)((char *)to + field->count) = count_at(field, from);
    return *(void **)at;
}

/* An array of @n items as a part; NULL when out of memory. */
static void *copy_items(
    const DetailCopy *copy, const DetailType *type, const void *items, size_t n) {
    char *block = block_new(n * type->size, type->release);

    if (!block)
        return NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < type->n_fields; k++)
            if (!copy_field(copy, &type->fields[k], (const char *)items + i * type->size,
                    block + i * type->size)) {
                block_drop(block);
                return NULL;
            }
    return block_share(copy->pool, block);
}

static Labels choose_annotations(const Labels *all, const PodParts *parts, Label *room) {
    size_t n = 0;

    for (size_t i = 0; i < all->n && n < ANNOTATIONS_MAX; i++)
        if (pod_parts_has_annotation(parts, all->items[i].key))
            room[n++] = all->items[i];
    return (Labels){.items = room, .n = n};
}

static const PodDetails *copy_details(
    RecordPool *pool, const PodDetails *details, const PodParts *parts) {
    const DetailCopy copy = {.pool = pool, .parts = parts->fields};
    Label annotations[ANNOTATIONS_MAX];
    PodDetails chosen = *details;

    chosen.annotations = choose_annotations(&details->annotations, parts, annotations);
    chosen.has_status_amounts |= !(parts->fields & POD_BIT(POD_AMOUNTS));
    return copy_items(&copy, &details_type, &chosen, 1);
}

bool kept_details_take(
    RecordPool *pool, const PodDetails *details, const PodParts *parts, const PodDetails **ret) {
    *ret = NULL;
    if (!details || pod_parts_is_empty(parts))
        return true;
    *ret = copy_details(pool, details, parts);
    return *ret;
}

void kept_details_drop(const PodDetails *kept) {
    block_drop((void *)(uintptr_t)kept);
}

/* --- comparing ---------------------------------------------------------------------------- */

static bool items_equal(const DetailType *type, const void *a, const void *b, size_t n);

static bool field_equal(const DetailField *field, const void *a, const void *b) {
    if (is_text(field))
        return str_eq(*(const Str *)field_at(field, a), *(const Str *)field_at(field, b));
    if (!field->of)
        return memcmp(field_at(field, a), field_at(field, b), field->size) == 0;
    return count_at(field, a) == count_at(field, b) &&
           items_equal(field->of, array_at(field, a), array_at(field, b), count_at(field, a));
}

static bool items_equal(const DetailType *type, const void *a, const void *b, size_t n) {
    if (a == b)
        return true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < type->n_fields; k++)
            if (!field_equal(&type->fields[k], (const char *)a + i * type->size,
                    (const char *)b + i * type->size))
                return false;
    return true;
}

bool kept_details_equal(const PodDetails *a, const PodDetails *b) {
    return a && b ? items_equal(&details_type, a, b, 1) : a == b;
}

#define PART_COST 32u /* of a text or an array: a count, and malloc's share */

static size_t items_size(const DetailType *type, const void *items, size_t n) {
    size_t size = PART_COST + n * type->size;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < type->n_fields; k++) {
            const DetailField *field = &type->fields[k];
            const void *item = (const char *)items + i * type->size;

            if (is_text(field))
                size += PART_COST + ((const Str *)field_at(field, item))->len;
            else if (field->of)
                size += items_size(field->of, array_at(field, item), count_at(field, item));
        }
    return size;
}

size_t kept_details_size(const PodDetails *kept) {
    return kept ? items_size(&details_type, kept, 1) : 0;
}
