/* Decodes the fields of a pod's spec that only matter while it is placed. */

#include "model/pod-details.h"

/* The storage class in the template of an ephemeral volume. */
static const JsonField ephemeral_fields[] = {
    JSON_MEMBER("volumeClaimTemplate.spec.storageClassName", TEXT, PodVolume, storage_class),
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
        if (reader->escaped) { /* no field of the API needs escapes */
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

/* The API server adds this volume to every pod, with a random suffix. */
static bool is_token(const PodVolume *volume) {
    return str_has_prefix(volume->name, STR("kube-api-access-"));
}

void pod_volumes_decode(JsonReader *reader, Arena *arena, void *target) {
    PodDetails *details = target;
    VEC(PodVolume) volumes = {0};

    json_array(reader);
    while (json_element(reader)) {
        PodVolume volume;

        decode_volume(reader, arena, &volume);
        if (volumes.n < POD_VOLUMES_MAX && !is_token(&volume))
            JSON_ADD(reader, arena, &volumes, "too many volumes", volume);
    }
    details->volumes = volumes.items;
    details->n_volumes = volumes.n;
}

void pod_resource_claim_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, PodResourceClaim, name),
        JSON_MEMBER("resourceClaimName", TEXT, PodResourceClaim, claim_name),
        JSON_MEMBER("resourceClaimTemplateName", TEXT, PodResourceClaim, template_name),
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

/* Sums of cpu and memory; other resources do not count. */
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
