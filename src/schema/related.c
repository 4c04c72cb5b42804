/* The namespace and the PersistentVolumeClaims of the pod to be placed as values, and whether an
 * expression reads them. A claim has the fields of its volume, too. Labels and annotations are an
 * error if namespaces are not known. */

#include "schema/schema-internal.h"

typedef struct NamespaceValue {
    CelRecord head, metadata;
    const Pod *pod;
} NamespaceValue;

/* @labels: the offset of the member in Namespace. */
static CelValue labels_at(CelRun *run, const Pod *pod, size_t labels) {
    const Related *related = pod->related;

    if (!related || !related->knows_namespaces)
        return cel_fail(run, "namespaces are not known: no API server, no right to list them, or "
                             "none in the --cluster file");
    if (!related->namespace)
        return cel_fail(run, "namespace \"%.*s\" is not known", STR_FMT(pod->namespace));
    return schema_labels(run, (const Labels *)((const char *)related->namespace + labels));
}

#define METADATA(X)                                                                                \
    X(name, WORD(pod->namespace), "pod.metadata.namespace")                                        \
    X(labels, VALUE(schema_labels_type, LABELS_ASSUMED),                                           \
        labels_at(run, pod, offsetof(Namespace, labels)),                                          \
        "its labels; labels[?'key'] where one may be missing")                                     \
    X(annotations, VALUE(schema_labels_type, ANNOTATIONS_MAX),                                     \
        labels_at(run, pod, offsetof(Namespace, annotations)),                                     \
        "its annotations; those with a value over 4 KiB are left out")
SCHEMA_RECORD(schema_namespace_metadata, "NamespaceMetadata",
    const Pod *pod = OBJECT_OF(record, NamespaceValue, metadata)->pod, METADATA);

#define NAMESPACE(X)                                                                               \
    X(metadata, VALUE(schema_namespace_metadata.of, 0), cel_record(&value->metadata),              \
        "its metadata; needs get, list and watch on namespaces")
SCHEMA_RECORD(schema_namespace_record, "Namespace",
    const NamespaceValue *value = OBJECT_OF(record, NamespaceValue, head), NAMESPACE);

CelValue schema_namespace(const Pod *pod, Arena *arena) {
    const NamespaceValue value = {.head = {.type = &schema_namespace_record.type},
        .metadata = {.type = &schema_namespace_metadata.type},
        .pod = pod};

    return schema_keep(arena, &value, sizeof(value));
}

/* Whether the claim is bound to a volume that is not known: its zones are not known then. */
static bool is_volume_unknown(const VolumeClaim *claim) {
    return claim->volume_name.len > 0 && claim->volume.name.len == 0;
}

static CelValue volume_unknown(CelRun *run, const VolumeClaim *claim) {
    return cel_fail(run, "volume \"%.*s\" is not known", STR_FMT(claim->volume_name));
}

static CelValue zones_of(CelRun *run, const VolumeClaim *claim) {
    return is_volume_unknown(claim)
               ? volume_unknown(run, claim)
               : schema_strings(run, claim->volume.zones, claim->volume.n_zones);
}

#define CLAIM(X)                                                                                   \
    X(name, NAME(item->name), "its name")                                                          \
    X(storageClassName, NAME(item->storage_class), "its StorageClass")                             \
    X(phase, WORD(item->phase),                                                                    \
        "Pending, Bound or Lost; empty: there is no such claim, or berth has not seen it yet")     \
    X(volumeName, NAME(item->volume_name),                                                         \
        "the PersistentVolume that it is bound to; empty: none yet")                               \
    X(requested, &cel_double_type, ALWAYS, 0, cel_double((double)item->requested),                 \
        "requested storage in bytes")                                                              \
    X(capacity, &cel_double_type, ALWAYS, 0, cel_double((double)item->capacity),                   \
        "capacity of the bound volume in bytes; 0.0: it is not bound")                             \
    X(accessModes, STRINGS(CLAIM_ACCESS_MODES_MAX, item->access_modes, item->n_access_modes),      \
        "ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod")                          \
    X(zones, VALUE(schema_strings_type, CLAIM_ZONES_MAX), zones_of(run, item),                     \
        "zones of the bound volume, by its node affinity (keys that end in /zone) and its zone "   \
        "label; empty: any, or it is not bound. See selects()")
SCHEMA_RECORD(schema_claim, "PersistentVolumeClaim", ITEM(VolumeClaim), CLAIM);
SCHEMA_LIST_TYPE(schema_claims_type, &schema_claim.of);

static bool has_claims(const Pod *pod) {
    for (size_t i = 0; pod->details && i < pod->details->n_volumes; i++)
        if (!str_is_empty(pod->details->volumes[i].claim_name))
            return true;
    return false;
}

CelValue schema_claims(CelRun *run, const Pod *pod) {
    static const Related none = {.knows_claims = true};
    const Related *related = pod->related;

    if (!has_claims(pod)) /* not an error even if claims are not known */
        related = related && related->knows_claims ? related : &none;
    if (!related || !related->knows_claims)
        return cel_fail(run, "claims are not known: no API server, no right to list them, or none "
                             "in the --cluster file");
    return ITEMS(schema_claim, related->claims, related->n_claims);
}

CelValue schema_call_claim_selects(CelRun *run, const CelValue *args, const void *prepared) {
    const VolumeClaim *claim = item_of(args[0].record);
    const Node *node = node_value_of(args[1])->node;

    if (is_volume_unknown(claim))
        return volume_unknown(run, claim);
    if (!cel_charge(run, 1 + claim->volume.terms.n))
        return cel_exhausted(run);
    return cel_bool(terms_hold(&claim->volume.terms, node->name, &node->labels));
}

/* Whether node @i reads pod.claims, or a field `claims` of a value of type dyn. */
static bool reads_claims(const CelChecked *checked, uint32_t i) {
    const CelNode *node = &checked->tree->nodes[i];
    const CelType *of;

    if (i == 0 || (node->kind != CEL_NODE_SELECT && node->kind != CEL_NODE_TEST &&
                      node->kind != CEL_NODE_OPT_SELECT))
        return false;
    of = checked->infos[i - 1].type; /* an operand comes right before its selection */
    while (of->kind == CEL_T_OPTIONAL)
        of = cel_type_param(of, 0);
    return str_is(node->name, "claims") &&
           (of->kind == CEL_T_DYN || schema_record_of(of) == &schema_pod_record);
}

unsigned schema_related(const Schema *schema, const CelChecked *checked) {
    unsigned related = 0;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *info = &checked->infos[i];

        if (info->ref == CEL_REF_VARIABLE && info->variable->slot == schema->namespace_slot)
            related |= RELATED_BIT(RELATED_NAMESPACES);
        if (reads_claims(checked, i))
            related |= RELATED_BIT(RELATED_CLAIMS) | RELATED_BIT(RELATED_VOLUMES);
    }
    return related;
}
