/* Decodes the fields of a pod's spec that only matter while it is placed. */

#include "model/pod-details.h"

#include "base/vec.h"
#include "model/pod-requests.h"
#include "json/fields.h"

typedef VEC(PodVolume) VolumeVec;

/* --- volumes ------------------------------------------------------------------------------- */

/* The storage class in the template of an ephemeral volume. */
static const JsonField ephemeral_fields[] = {
    {"volumeClaimTemplate.spec.storageClassName", JSON_FIELD_TEXT,
        offsetof(PodVolume, storage_class)},
};

static void decode_volume(JsonReader *reader, Arena *arena, PodVolume *ret) {
    Str key;

    *ret = (PodVolume){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name"))) {
            json_string(reader, arena, &ret->name);
            continue;
        }
        if (reader->escaped) { /* as no field of the API is written */
            json_skip(reader, NULL);
            continue;
        }
        if (json_null(reader))
            continue;
        ret->kind = key;
        if (str_eq(key, STR("persistentVolumeClaim")))
            json_string_member(reader, arena, STR("claimName"), &ret->claim_name);
        else if (str_eq(key, STR("ephemeral")))
            JSON_READ_FIELDS(reader, arena, ephemeral_fields, ret);
        else
            json_skip(reader, NULL);
    }
}

/* The API server adds one to every pod, under a name that differs. */
static bool is_token(const PodVolume *volume) {
    return str_has_prefix(volume->name, STR("kube-api-access-"));
}

static void decode_volumes(JsonReader *reader, Arena *arena, PodDetails *details) {
    VolumeVec volumes = {0};

    json_array(reader);
    while (json_element(reader)) {
        PodVolume volume, *kept;

        decode_volume(reader, arena, &volume);
        if (volumes.n == POD_VOLUMES_MAX || is_token(&volume))
            continue;
        kept = VEC_PUSH(&volumes, arena);
        if (kept)
            *kept = volume;
        else
            json_fail(reader, JSON_E_MEMORY, "too many volumes");
    }
    details->volumes = volumes.items;
    details->n_volumes = volumes.n;
}

/* --- claims and gates ---------------------------------------------------------------------- */

static void decode_claim(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(PodResourceClaim, name)},
        {"resourceClaimName", JSON_FIELD_TEXT, offsetof(PodResourceClaim, claim_name)},
        {"resourceClaimTemplateName", JSON_FIELD_TEXT, offsetof(PodResourceClaim, template_name)},
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void decode_gate(JsonReader *reader, Arena *arena, void *target) {
    json_string_member(reader, arena, STR("name"), target);
}

bool pod_details_decode(PodDetails *details, JsonReader *reader, Arena *arena, Str key) {
    if (json_key_is(reader, key, STR("nodeSelector")))
        labels_decode(reader, arena, &details->node_selector);
    else if (json_key_is(reader, key, STR("priorityClassName")))
        json_string(reader, arena, &details->priority_class_name);
    else if (json_key_is(reader, key, STR("runtimeClassName")))
        json_string(reader, arena, &details->runtime_class_name);
    else if (json_key_is(reader, key, STR("preemptionPolicy")))
        json_string(reader, arena, &details->preemption_policy);
    else if (json_key_is(reader, key, STR("serviceAccountName")))
        json_string(reader, arena, &details->service_account_name);
    else if (json_key_is(reader, key, STR("hostNetwork")))
        json_bool(reader, &details->host_network);
    else if (json_key_is(reader, key, STR("volumes")))
        decode_volumes(reader, arena, details);
    else if (json_key_is(reader, key, STR("resourceClaims")))
        JSON_READ_ITEMS(reader, arena, POD_RESOURCE_CLAIMS_MAX, decode_claim,
            details->resource_claims, &details->n_resource_claims);
    else if (json_key_is(reader, key, STR("schedulingGates")))
        JSON_READ_ITEMS(reader, arena, POD_SCHEDULING_GATES_MAX, decode_gate,
            details->scheduling_gates, &details->n_scheduling_gates);
    else if (json_key_is(reader, key, STR("topologySpreadConstraints")))
        spread_constraints_decode(reader, arena, &details->spread, &details->n_spread);
    else
        return false;
    return true;
}

/* --- limits -------------------------------------------------------------------------------- */

static void put(Amounts *amounts, const AmountList *list, AmountsRule rule) {
    (void)amounts_put(amounts, list->items, list->n, rule);
}

/* As pod-requests.c adds requests. */
static void add_containers(const PodDetails *details, Amounts *ret) {
    Amounts sidecars = {0}, peak = {0}, now;

    for (size_t i = 0; i < details->n_containers; i++)
        put(ret, &details->containers[i].limits, AMOUNTS_ADD);
    for (size_t i = 0; i < details->n_init_containers; i++) {
        const PodContainer *container = &details->init_containers[i];

        if (pod_container_is_sidecar(container)) {
            put(&sidecars, &container->limits, AMOUNTS_ADD);
            continue;
        }
        now = sidecars;
        put(&now, &container->limits, AMOUNTS_ADD);
        (void)amounts_put(&peak, now.items, now.n, AMOUNTS_MAX);
    }
    (void)amounts_put(ret, sidecars.items, sidecars.n, AMOUNTS_ADD);
    (void)amounts_put(ret, peak.items, peak.n, AMOUNTS_MAX);
}

int pod_limits(const PodDetails *details, Arena *arena, Resources *ret) {
    Amounts total = {0};

    add_containers(details, &total);
    for (size_t i = 0; i < details->limits.n; i++)
        if (pod_level_covers(details->limits.items[i].name))
            (void)amounts_set(&total, details->limits.items[i]);
    for (size_t i = 0; i < details->overhead.n; i++) {
        const Amount *limit = amounts_find(&total, details->overhead.items[i].name);

        if (limit && limit->quantity.nano != 0)
            (void)amounts_put(&total, &details->overhead.items[i], 1, AMOUNTS_ADD);
    }
    return amounts_round(&total, arena, ret);
}

/* --- quality of service -------------------------------------------------------------------- */

/* cpu and memory, which alone count. */
typedef struct QosSums {
    __int128 requests[2], limits[2];
    bool is_guaranteed;
} QosSums;

static __int128 qos_amount(const AmountList *list, size_t i) {
    static const Str names[] = {STR("cpu"), STR("memory")};
    const Amount *amount = amount_list_find(list, names[i]);

    return amount && amount->quantity.nano > 0 ? amount->quantity.nano : 0;
}

static void add_qos(QosSums *sums, const AmountList *requests, const AmountList *limits) {
    for (size_t i = 0; i < 2; i++) {
        __int128 limit = qos_amount(limits, i);

        sums->requests[i] =
            quantity_add((Quantity){sums->requests[i]}, (Quantity){qos_amount(requests, i)}).nano;
        sums->limits[i] = quantity_add((Quantity){sums->limits[i]}, (Quantity){limit}).nano;
        sums->is_guaranteed &= limit > 0;
    }
}

Str pod_qos_class(const PodDetails *details) {
    QosSums sums = {.is_guaranteed = true};
    bool is_empty = true;

    if (details->requests.is_given || details->limits.is_given) {
        add_qos(&sums, &details->requests, &details->limits);
    } else {
        for (size_t i = 0; i < details->n_containers; i++)
            add_qos(&sums, &details->containers[i].requests, &details->containers[i].limits);
        for (size_t i = 0; i < details->n_init_containers; i++)
            add_qos(
                &sums, &details->init_containers[i].requests, &details->init_containers[i].limits);
    }
    for (size_t i = 0; i < 2; i++) {
        is_empty &= sums.requests[i] == 0 && sums.limits[i] == 0;
        sums.is_guaranteed &= sums.requests[i] == sums.limits[i];
    }
    return is_empty ? STR("BestEffort") : sums.is_guaranteed ? STR("Guaranteed") : STR("Burstable");
}
