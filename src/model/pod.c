#include "model/pod.h"

#include "model/amounts.h"
#include "model/time.h"

/* What the parts of a spec ask for. Collected while it is read, because the parts
 * may come in any order; put together at the end. */
typedef struct Asked {
    Amounts containers; /* all of them together */
    Amounts sidecars;   /* restartable init containers together: they stay */
    Amounts init_peak;  /* the most that is needed while init containers run */
    Amounts pod_requests, pod_limits, overhead;
} Asked;

static void require_room(JsonReader *reader, bool has_room) {
    if (!has_room)
        json_fail(reader, JSON_E_RANGE, "a pod with more than 64 resources");
}

static void decode_requirements(
    JsonReader *reader, Arena *arena, Amounts *ret_requests, Amounts *ret_limits) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("requests")))
            amounts_decode(reader, arena, ret_requests);
        else if (json_key_is(reader, key, STR("limits")))
            amounts_decode(reader, arena, ret_limits);
        else
            json_skip(reader, NULL);
    }
}

/* A limit without a request is the request, as the API server has it. */
static void apply_limits(JsonReader *reader, Amounts *requests, const Amounts *limits) {
    for (size_t i = 0; i < limits->n; i++)
        if (!amounts_find(requests, limits->items[i].name))
            require_room(reader, amounts_set(requests, limits->items[i]));
}

static void decode_container(
    JsonReader *reader, Arena *arena, Amounts *ret_requests, bool *ret_restarts) {
    Amounts limits = {0};
    Str restart_policy = STR_NULL, key;

    ret_requests->n = 0;
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("resources")))
            decode_requirements(reader, arena, ret_requests, &limits);
        else if (json_key_is(reader, key, STR("restartPolicy")))
            json_string(reader, arena, &restart_policy);
        else
            json_skip(reader, NULL);
    }
    apply_limits(reader, ret_requests, &limits);
    *ret_restarts = str_eq(restart_policy, STR("Always"));
}

static void decode_containers(JsonReader *reader, Arena *arena, Amounts *ret) {
    Amounts requests;
    bool restarts;

    ret->n = 0;
    json_array(reader);
    while (json_element(reader)) {
        decode_container(reader, arena, &requests, &restarts);
        require_room(reader, amounts_add_all(ret, &requests));
    }
}

/* They run one after the other, except that the restartable ones go on running. */
static void decode_init_containers(JsonReader *reader, Arena *arena, Asked *asked) {
    Amounts requests;
    bool restarts;

    asked->sidecars.n = asked->init_peak.n = 0;
    json_array(reader);
    while (json_element(reader)) {
        decode_container(reader, arena, &requests, &restarts);
        if (restarts) {
            require_room(reader, amounts_add_all(&asked->sidecars, &requests));
            requests = asked->sidecars;
        } else {
            require_room(reader, amounts_add_all(&requests, &asked->sidecars));
        }
        require_room(reader, amounts_max_all(&asked->init_peak, &requests));
    }
}

static bool is_hugepages(Str name) {
    return str_has_prefix(name, STR("hugepages-"));
}

/* The pod's own amounts replace those of its containers, where a pod may have
 * them. A pod's limit without a request is the request, too, unless containers say
 * what they need; huge pages cannot be overcommitted, so there the limit stands. */
static void apply_pod_level(JsonReader *reader, const Asked *asked, Amounts *total) {
    Amounts requests = asked->pod_requests;

    for (size_t i = 0; i < asked->pod_limits.n; i++) {
        Amount limit = asked->pod_limits.items[i];
        bool is_said = amounts_find(total, limit.name) && !is_hugepages(limit.name);

        if (!is_said && !amounts_find(&requests, limit.name))
            require_room(reader, amounts_set(&requests, limit));
    }
    for (size_t i = 0; i < requests.n; i++) {
        Str name = requests.items[i].name;

        if (str_eq(name, STR("cpu")) || str_eq(name, STR("memory")) || is_hugepages(name))
            require_room(reader, amounts_set(total, requests.items[i]));
    }
}

static void sum_up(JsonReader *reader, Arena *arena, const Asked *asked, Resources *ret) {
    Amounts total = asked->containers;

    require_room(reader, amounts_add_all(&total, &asked->sidecars));
    require_room(reader, amounts_max_all(&total, &asked->init_peak));
    apply_pod_level(reader, asked, &total);
    require_room(reader, amounts_add_all(&total, &asked->overhead));
    if (!json_error(reader) && amounts_round(&total, arena, ret) < 0)
        json_fail(reader, JSON_E_MEMORY, "too many resources");
}

static void decode_spec(JsonReader *reader, Arena *arena, Pod *pod) {
    Asked asked = {0};
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("containers")))
            decode_containers(reader, arena, &asked.containers);
        else if (json_key_is(reader, key, STR("initContainers")))
            decode_init_containers(reader, arena, &asked);
        else if (json_key_is(reader, key, STR("resources")))
            decode_requirements(reader, arena, &asked.pod_requests, &asked.pod_limits);
        else if (json_key_is(reader, key, STR("overhead")))
            amounts_decode(reader, arena, &asked.overhead);
        else if (json_key_is(reader, key, STR("tolerations")))
            tolerations_decode(reader, arena, &pod->tolerations);
        else if (json_key_is(reader, key, STR("nodeName")))
            json_string(reader, arena, &pod->node_name);
        else if (json_key_is(reader, key, STR("schedulerName")))
            json_string(reader, arena, &pod->scheduler_name);
        else if (json_key_is(reader, key, STR("priority")))
            json_int64(reader, &pod->priority);
        else
            json_skip(reader, NULL);
    }
    sum_up(reader, arena, &asked, &pod->requests);
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

static void decode_status(JsonReader *reader, Arena *arena, Pod *pod) {
    Str phase = STR_NULL, key;

    json_object(reader);
    while (json_key(reader, &key)) {
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
    Str key;

    *ret = (Pod){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            decode_metadata(reader, arena, ret);
        else if (json_key_is(reader, key, STR("spec")))
            decode_spec(reader, arena, ret);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, ret);
        else
            json_skip(reader, NULL);
    }
}
