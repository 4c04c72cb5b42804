/* Decodes the objects that a pod refers to. */

#include "model/related.h"

#include "base/quantity.h"
#include "model/pod-details.h"

void namespace_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, Namespace, name),
        JSON_CUSTOM("metadata.labels", Namespace, labels, labels_decode),
        JSON_CUSTOM("metadata.annotations", Namespace, annotations, annotations_decode),
    };

    *(Namespace *)target = (Namespace){0};
    JSON_READ_FIELDS(reader, arena, fields, target);
}

#define ZONE_LABEL "topology.kubernetes.io/zone"
#define OLD_ZONE_LABEL "failure-domain.beta.kubernetes.io/zone"

typedef VEC(Str) TextVec;

static void add_zone(TextVec *zones, Arena *arena, Str zone) {
    if (zones->n < CLAIM_ZONES_MAX && !str_is_empty(zone) &&
        !str_is_one_of(zone, zones->items, zones->n))
        (void)VEC_ADD(zones, arena, zone);
}

static void add_zones_of_label(TextVec *zones, Arena *arena, Str label) {
    while (label.len > 0) {
        const char *next = memmem(label.ptr, label.len, "__", 2);
        size_t at = next ? (size_t)(next - label.ptr) : label.len;

        add_zone(zones, arena, str_take(label, at));
        label = str_skip(label, at + 2);
    }
}

/* Each driver has a key of its own: topology.ebs.csi.aws.com/zone, topology.gke.io/zone. */
static void add_zones_of_terms(TextVec *zones, Arena *arena, const NodeTerms *terms) {
    for (size_t i = 0; i < terms->n; i++)
        for (size_t k = 0; k < terms->items[i].labels.n; k++) {
            const Requirement *of = &terms->items[i].labels.items[k];
            bool is_zone = of->op == SELECTOR_IN && str_has_suffix(of->key, STR("/zone"));

            for (size_t v = 0; is_zone && v < of->n_values; v++)
                add_zone(zones, arena, of->values[v]);
        }
}

static void read_is_limited(JsonReader *reader, Arena *arena, void *target) {
    *(bool *)target |= json_peek(reader) != JSON_NULL;
    json_skip(reader, NULL);
}

#define LIMITED(field) JSON_CUSTOM("spec." field, PersistentVolume, is_limited, read_is_limited)

void persistent_volume_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, PersistentVolume, name),
        JSON_MEMBER("metadata.labels." ZONE_LABEL, TEXT, PersistentVolume, zone_label),
        JSON_MEMBER("metadata.labels." OLD_ZONE_LABEL, TEXT, PersistentVolume, zone_label),
        JSON_CUSTOM("spec.nodeAffinity.required", PersistentVolume, terms, terms_decode_required),
        LIMITED("csi"),
        LIMITED("awsElasticBlockStore"),
        LIMITED("gcePersistentDisk"),
        LIMITED("azureDisk"),
        LIMITED("cinder"),
        LIMITED("vsphereVolume"),
    };
    PersistentVolume *ret = target;
    TextVec zones = {0};

    *ret = (PersistentVolume){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
    if (json_error(reader))
        return;
    add_zones_of_terms(&zones, arena, &ret->terms);
    add_zones_of_label(&zones, arena, ret->zone_label);
    if (arena_has_failed(arena))
        json_fail(reader, JSON_E_MEMORY, "a volume");
    ret->zones = zones.items;
    ret->n_zones = zones.n;
}

/* Reads the amount of "storage"; an invalid amount leaves the target as it is. */
static void read_storage(JsonReader *reader, Arena *arena, void *target) {
    Quantity quantity;
    Str key, text = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        bool is_text = json_peek(reader) == JSON_STRING;

        if (!json_key_is(reader, key, STR("storage")))
            json_skip(reader, NULL);
        else if (is_text)
            json_string(reader, arena, &text);
        else
            json_skip(reader, &text);
    }
    if (!json_error(reader) && quantity_parse(text, &quantity))
        *(int64_t *)target = quantity_value(quantity);
}

void volume_claim_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, VolumeClaim, name),
        JSON_MEMBER("metadata.namespace", TEXT, VolumeClaim, namespace),
        JSON_MEMBER("spec.storageClassName", TEXT, VolumeClaim, storage_class),
        JSON_MEMBER("spec.volumeName", TEXT, VolumeClaim, volume_name),
        JSON_LIST("spec.accessModes", VolumeClaim, access_modes, n_access_modes,
            CLAIM_ACCESS_MODES_MAX, json_read_text),
        JSON_CUSTOM("spec.resources.requests", VolumeClaim, requested, read_storage),
        JSON_MEMBER("status.phase", TEXT, VolumeClaim, phase),
        JSON_CUSTOM("status.capacity", VolumeClaim, capacity, read_storage),
        JSON_CUSTOM("volume", VolumeClaim, volume, persistent_volume_decode),
    };

    *(VolumeClaim *)target = (VolumeClaim){0};
    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void read_namespace(JsonReader *reader, Arena *arena, void *target) {
    Namespace *namespace = ARENA_NEW(arena, Namespace);

    if (!namespace) {
        json_fail(reader, JSON_E_MEMORY, "a namespace");
        return;
    }
    namespace_decode(reader, arena, namespace);
    *(const Namespace **)target = namespace;
}

static void read_claims(JsonReader *reader, Arena *arena, void *target) {
    Related *related = target;

    related->knows_claims = true;
    JSON_READ_ITEMS(
        reader, arena, POD_VOLUMES_MAX, volume_claim_decode, related->claims, &related->n_claims);
}

void related_decode(JsonReader *reader, Arena *arena, Related *ret) {
    static const JsonField fields[] = {
        JSON_CUSTOM("namespace", Related, namespace, read_namespace),
        {"claims", JSON_FIELD_CUSTOM, 0, read_claims},
    };

    *ret = (Related){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
    ret->knows_namespaces = ret->namespace != NULL;
}
