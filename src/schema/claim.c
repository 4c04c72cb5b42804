/* PersistentVolumeClaims of the pod to be placed as values: flat, with the volume that each is
 * bound to. */

#include "schema/schema-internal.h"

/* A volume that it is bound to must be known to say where it is. */
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

    if (!has_claims(pod)) /* then nothing needs to be known */
        related = related && related->knows_claims ? related : &none;
    if (!related || !related->knows_claims)
        return cel_fail(run, "claims are not known: no API server, no right to list them, or none "
                             "in the --cluster file");
    return ITEMS(schema_claim, related->claims, related->n_claims);
}

CelValue schema_call_claim_selects(CelRun *run, const CelValue *args, const void *prepared) {
    const VolumeClaim *claim = item_of(args[0].record);
    const NodeValue *at = node_value_of(args[1]);
    const Node *node = table_node(at->table, at->row);
    static const Labels none;

    if (is_volume_unknown(claim))
        return volume_unknown(run, claim);
    if (!cel_charge(run, 1 + claim->volume.terms.n))
        return cel_exhausted(run);
    return cel_bool(terms_hold(
        &claim->volume.terms, node ? node->name : STR_NULL, node ? &node->labels : &none));
}
