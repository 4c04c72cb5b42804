/* Decodes Pods: the fields that policies read. */

#include "model/pod.h"

#include "base/vec.h"
#include "model/time.h"

/* The results of pod_decode(). */
typedef struct Decoding {
    Pod *pod;
    PodDetails *details;
    PodRequests requests;
} Decoding;

static void decode_affinity(JsonReader *reader, Arena *arena, NodeTerms *ret) {
    Str key;

    *ret = (NodeTerms){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (!json_key_is(reader, key, STR("nodeAffinity"))) {
            json_skip(reader, NULL);
            continue;
        }
        *ret = (NodeTerms){0};
        json_object(reader);
        while (json_key(reader, &key)) {
            if (json_key_is(reader, key, STR("requiredDuringSchedulingIgnoredDuringExecution")))
                terms_decode_required(reader, arena, ret);
            else
                json_skip(reader, NULL);
        }
    }
}

/* As written, before the same text is read for its required terms. */
static void keep_affinity(JsonReader *reader, Arena *arena, PodDetails *details) {
    JsonReader again = *reader;
    PodAffinity *affinity = ARENA_NEW(arena, PodAffinity);

    if (!affinity) {
        json_fail(reader, JSON_E_MEMORY, "an affinity");
        return;
    }
    pod_affinity_decode(&again, arena, affinity);
    if (json_error(&again))
        *reader = again;
    details->affinity = affinity;
    details->n_affinity = 1;
}

/* False: some tolerations, or parts of the node affinity, were left out. */
static bool decode_spec(JsonReader *reader, Arena *arena, Decoding *decoding) {
    Pod *pod = decoding->pod;
    bool has_room = true;
    Str key;

    decoding->requests.spec = (PodSpecRequests){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (pod_requests_decode_spec(&decoding->requests, reader, arena, key))
            continue;
        if (json_key_is(reader, key, STR("tolerations")))
            has_room = tolerations_decode(reader, arena, &pod->tolerations);
        else if (json_key_is(reader, key, STR("nodeName")))
            json_string(reader, arena, &pod->node_name);
        else if (json_key_is(reader, key, STR("schedulerName")))
            json_string(reader, arena, &pod->scheduler_name);
        else if (json_key_is(reader, key, STR("priority")))
            json_int64(reader, &pod->priority);
        else if (json_key_is(reader, key, STR("affinity"))) {
            keep_affinity(reader, arena, decoding->details);
            decode_affinity(reader, arena, &decoding->details->required_terms);
        } else if (!pod_details_decode(decoding->details, reader, arena, key))
            json_skip(reader, NULL);
    }
    return has_room && !decoding->details->required_terms.is_too_large;
}

static void decode_owner(JsonReader *reader, Arena *arena, PodOwner *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("kind")))
            json_string(reader, arena, &ret->kind);
        else if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->name);
        else if (json_key_is(reader, key, STR("uid")))
            json_string(reader, arena, &ret->uid);
        else if (json_key_is(reader, key, STR("apiVersion")))
            json_string(reader, arena, &ret->api_version);
        else if (json_key_is(reader, key, STR("controller")))
            json_bool(reader, &ret->is_controller);
        else if (json_key_is(reader, key, STR("blockOwnerDeletion")))
            json_bool(reader, &ret->blocks_deletion);
        else
            json_skip(reader, NULL);
    }
}

/* The first controller counts, however many owners come before it. */
static void decode_owners(JsonReader *reader, Arena *arena, Decoding *decoding) {
    VEC(PodOwner) owners = {0};
    Pod *pod = decoding->pod;

    pod->owner_kind = pod->owner_name = pod->owner_uid = STR_NULL;
    json_array(reader);
    while (json_element(reader)) {
        PodOwner owner = {0}, *kept;

        decode_owner(reader, arena, &owner);
        if (owner.is_controller && str_is_empty(pod->owner_kind)) {
            pod->owner_kind = owner.kind;
            pod->owner_name = owner.name;
            pod->owner_uid = owner.uid;
        }
        if (owners.n == POD_OWNERS_MAX)
            continue;
        kept = VEC_PUSH(&owners, arena);
        if (kept)
            *kept = owner;
        else
            json_fail(reader, JSON_E_MEMORY, "too many owners");
    }
    decoding->details->owners = owners.items;
    decoding->details->n_owners = owners.n;
}

static void decode_metadata(JsonReader *reader, Arena *arena, Decoding *decoding) {
    Pod *pod = decoding->pod;
    Str deletion = STR_NULL, key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &pod->name);
        else if (json_key_is(reader, key, STR("namespace")))
            json_string(reader, arena, &pod->namespace);
        else if (json_key_is(reader, key, STR("uid")))
            json_string(reader, arena, &pod->uid);
        else if (json_key_is(reader, key, STR("resourceVersion")))
            json_string(reader, arena, &pod->resource_version);
        else if (json_key_is(reader, key, STR("creationTimestamp")))
            time_decode(reader, arena, &pod->created_at);
        else if (json_key_is(reader, key, STR("labels")))
            labels_decode(reader, arena, &pod->labels);
        else if (json_key_is(reader, key, STR("annotations")))
            labels_decode_bounded(reader, arena, POD_ANNOTATIONS_MAX, POD_ANNOTATION_VALUE_MAX,
                &decoding->details->annotations);
        else if (json_key_is(reader, key, STR("ownerReferences")))
            decode_owners(reader, arena, decoding);
        else if (json_key_is(reader, key, STR("deletionTimestamp")))
            json_string(reader, arena, &deletion);
        else
            json_skip(reader, NULL);
    }
    pod->is_terminating = !str_is_empty(deletion);
}

typedef struct PodCondition {
    Str type, status, reason, changed; /* changed: lastTransitionTime, as it is written */
} PodCondition;

/* A value that is no text counts as none: an object must not be lost for a time. */
static void decode_time_text(JsonReader *reader, Arena *arena, Str *ret) {
    if (json_peek(reader) == JSON_STRING)
        json_string(reader, arena, ret);
    else
        json_skip(reader, NULL);
}

static void decode_condition(JsonReader *reader, Arena *arena, PodCondition *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &ret->type);
        else if (json_key_is(reader, key, STR("status")))
            json_string(reader, arena, &ret->status);
        else if (json_key_is(reader, key, STR("reason")))
            json_string(reader, arena, &ret->reason);
        else if (json_key_is(reader, key, STR("lastTransitionTime")))
            decode_time_text(reader, arena, &ret->changed);
        else
            json_skip(reader, NULL);
    }
}

/* 0: it is not bound, or the time is not given. */
static int64_t bound_at(const PodCondition *scheduled) {
    int64_t at = 0;

    if (!str_eq(scheduled->status, STR("True")) || !time_parse(scheduled->changed, &at))
        return 0;
    return at;
}

/* The first condition of a type decides. status.resize, which had this before 1.33, is not read, as
 * in kube-scheduler. */
static void decode_conditions(JsonReader *reader, Arena *arena, Decoding *decoding) {
    bool has_scheduled = false, has_resize = false;

    decoding->pod->scheduled_at = 0;
    decoding->requests.status.is_infeasible = false;
    json_array(reader);
    while (json_element(reader)) {
        PodCondition condition = {0};

        decode_condition(reader, arena, &condition);
        if (!has_scheduled && str_eq(condition.type, STR("PodScheduled"))) {
            has_scheduled = true;
            decoding->pod->scheduled_at = bound_at(&condition);
        } else if (!has_resize && str_eq(condition.type, STR("PodResizePending"))) {
            has_resize = true;
            decoding->requests.status.is_infeasible = str_eq(condition.reason, STR("Infeasible"));
        }
    }
}

static void decode_status(JsonReader *reader, Arena *arena, Decoding *decoding) {
    Str phase = STR_NULL, key;
    Pod *pod = decoding->pod;

    decoding->requests.status = (PodStatusRequests){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (pod_requests_decode_status(&decoding->requests, reader, arena, key))
            continue;
        if (json_key_is(reader, key, STR("phase")))
            json_string(reader, arena, &phase);
        else if (json_key_is(reader, key, STR("nominatedNodeName")))
            json_string(reader, arena, &pod->nominated_node_name);
        else if (json_key_is(reader, key, STR("startTime")))
            time_decode(reader, arena, &pod->started_at);
        else if (json_key_is(reader, key, STR("conditions")))
            decode_conditions(reader, arena, decoding);
        else
            json_skip(reader, NULL);
    }
    pod->is_terminal = str_eq(phase, STR("Succeeded")) || str_eq(phase, STR("Failed"));
}

/* The containers of @list, in order. */
static const PodContainer *keep_containers(
    JsonReader *reader, Arena *arena, const Container *list, size_t *ret_n) {
    PodContainer *containers;
    size_t n = 0;

    *ret_n = 0;
    for (const Container *at = list; at; at = at->next)
        n++;
    containers = ARENA_RAW(arena, PodContainer, n);
    if (!containers) {
        json_fail(reader, JSON_E_MEMORY, "too many containers");
        return NULL;
    }
    for (const Container *at = list; at; at = at->next)
        containers[(*ret_n)++] = at->of;
    return containers;
}

/* Kubernetes names the claim of an ephemeral volume so; a pod without a name has yet to get one. */
static void name_ephemeral_claims(
    JsonReader *reader, Arena *arena, const Pod *pod, const PodDetails *details) {
    for (size_t i = 0; i < details->n_volumes && !str_is_empty(pod->name); i++) {
        PodVolume *volume = &details->volumes[i];

        if (!str_eq(volume->kind, STR("ephemeral")))
            continue;
        volume->claim_name =
            arena_printf(arena, "%.*s-%.*s", STR_FMT(pod->name), STR_FMT(volume->name));
        if (!volume->claim_name.ptr)
            json_fail(reader, JSON_E_MEMORY, "too many volumes");
    }
}

static void decode_details(JsonReader *reader, Arena *arena, Decoding *decoding) {
    const PodSpecRequests *spec = &decoding->requests.spec;
    const PodStatusRequests *status = &decoding->requests.status;
    PodDetails *details = decoding->details;

    details->containers = keep_containers(reader, arena, spec->containers, &details->n_containers);
    details->init_containers =
        keep_containers(reader, arena, spec->init_containers, &details->n_init_containers);
    details->requests = spec->requests;
    details->limits = spec->limits;
    details->overhead = spec->overhead;
    details->has_status_amounts = status->has_amounts || status->has_resources ||
                                  status->allocated.is_given || status->is_infeasible;
    name_ephemeral_claims(reader, arena, decoding->pod, details);
    decoding->pod->details = details;
}

static const Related *decode_related(JsonReader *reader, Arena *arena) {
    Related *related = ARENA_NEW(arena, Related);

    if (related)
        related_decode(reader, arena, related);
    else
        json_fail(reader, JSON_E_MEMORY, "a pod");
    return related;
}

void pod_decode_resized(JsonReader *reader, Arena *arena, ResizeRule rule, Pod *ret) {
    Decoding decoding = {.pod = ret, .details = ARENA_NEW(arena, PodDetails)};
    bool has_room = true;
    Str key;

    *ret = (Pod){0};
    if (!decoding.details) {
        json_fail(reader, JSON_E_MEMORY, "a pod");
        return;
    }
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            decode_metadata(reader, arena, &decoding);
        else if (json_key_is(reader, key, STR("spec")))
            has_room = decode_spec(reader, arena, &decoding);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, &decoding);
        else if (json_key_is(reader, key, STR(RELATED_KEY)))
            ret->related = decode_related(reader, arena);
        else
            json_skip(reader, NULL);
    }
    has_room &= pod_requests_sum(&decoding.requests, rule, reader, arena, &ret->requests);
    if (!json_error(reader))
        decode_details(reader, arena, &decoding);
    if (!json_error(reader) && !has_room && str_is_empty(ret->node_name))
        json_fail(reader, JSON_E_RANGE,
            "a pod with more than 64 resources, 256 containers, 256 tolerations or 256 node "
            "affinity terms");
}

void pod_decode(JsonReader *reader, Arena *arena, Pod *ret) {
    pod_decode_resized(reader, arena, RESIZE_BY_POD, ret);
}

bool pod_selects(const Pod *pod, Str node_name, const Labels *node_labels) {
    const PodDetails *details = pod->details;

    for (size_t i = 0; details && i < details->node_selector.n; i++) {
        const Label *wanted = &details->node_selector.items[i];
        const Str *value = labels_find(node_labels, wanted->key);

        if (!value || !str_eq(*value, wanted->value))
            return false;
    }
    return !details || terms_hold(&details->required_terms, node_name, node_labels);
}
