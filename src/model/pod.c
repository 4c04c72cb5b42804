#include "model/pod.h"

#include "model/pod-requests.h"
#include "model/time.h"

/* False: some tolerations were left out. */
static bool decode_spec(JsonReader *reader, Arena *arena, Pod *pod, PodRequests *requests) {
    bool has_room = true;
    Str key;

    requests->spec = (PodSpecRequests){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (pod_requests_decode_spec(requests, reader, arena, key))
            continue;
        if (json_key_is(reader, key, STR("tolerations")))
            has_room = tolerations_decode(reader, arena, &pod->tolerations);
        else if (json_key_is(reader, key, STR("nodeName")))
            json_string(reader, arena, &pod->node_name);
        else if (json_key_is(reader, key, STR("schedulerName")))
            json_string(reader, arena, &pod->scheduler_name);
        else if (json_key_is(reader, key, STR("priority")))
            json_int64(reader, &pod->priority);
        else
            json_skip(reader, NULL);
    }
    return has_room;
}

static void decode_owner(JsonReader *reader, Arena *arena, Pod *pod) {
    Str kind = STR_NULL, name = STR_NULL, uid = STR_NULL, key;
    bool is_controller = false;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("kind")))
            json_string(reader, arena, &kind);
        else if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &name);
        else if (json_key_is(reader, key, STR("uid")))
            json_string(reader, arena, &uid);
        else if (json_key_is(reader, key, STR("controller")))
            json_bool(reader, &is_controller);
        else
            json_skip(reader, NULL);
    }
    if (is_controller && str_is_empty(pod->owner_kind)) {
        pod->owner_kind = kind;
        pod->owner_name = name;
        pod->owner_uid = uid;
    }
}

static void decode_owners(JsonReader *reader, Arena *arena, Pod *pod) {
    pod->owner_kind = pod->owner_name = pod->owner_uid = STR_NULL;
    json_array(reader);
    while (json_element(reader))
        decode_owner(reader, arena, pod);
}

static void decode_metadata(JsonReader *reader, Arena *arena, Pod *pod) {
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
        else if (json_key_is(reader, key, STR("ownerReferences")))
            decode_owners(reader, arena, pod);
        else if (json_key_is(reader, key, STR("deletionTimestamp")))
            json_string(reader, arena, &deletion);
        else
            json_skip(reader, NULL);
    }
    pod->is_terminating = !str_is_empty(deletion);
}

static void decode_status(JsonReader *reader, Arena *arena, Pod *pod, PodRequests *requests) {
    Str phase = STR_NULL, key;

    requests->status = (PodStatusRequests){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (pod_requests_decode_status(requests, reader, arena, key))
            continue;
        if (json_key_is(reader, key, STR("phase")))
            json_string(reader, arena, &phase);
        else if (json_key_is(reader, key, STR("nominatedNodeName")))
            json_string(reader, arena, &pod->nominated_node_name);
        else if (json_key_is(reader, key, STR("startTime")))
            time_decode(reader, arena, &pod->started_at);
        else
            json_skip(reader, NULL);
    }
    pod->is_terminal = str_eq(phase, STR("Succeeded")) || str_eq(phase, STR("Failed"));
}

void pod_decode(JsonReader *reader, Arena *arena, Pod *ret) {
    PodRequests requests = {0};
    bool has_room = true;
    Str key;

    *ret = (Pod){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            decode_metadata(reader, arena, ret);
        else if (json_key_is(reader, key, STR("spec")))
            has_room = decode_spec(reader, arena, ret, &requests);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, ret, &requests);
        else
            json_skip(reader, NULL);
    }
    has_room &= pod_requests_sum(&requests, reader, arena, &ret->requests);
    if (!json_error(reader) && !has_room && str_is_empty(ret->node_name))
        json_fail(reader,
            JSON_E_RANGE,
            "a pod with more than 64 resources, 256 containers or 256 tolerations");
}
