/* Decodes a PodRequest from the JSON of a Pod. */

#include "scheduler/pod-request.h"

#include "base/quantity.h"
#include "base/vec.h"
#include "cluster/object-text.h"
#include "model/pod-requests.h"
#include "json/fields.h"

#define KEY_MAX ((size_t)1024 * 1024)
#define NONZERO_CPU "100m"
#define NONZERO_MEMORY "200Mi"
#define ALL_ADDRESSES STR("0.0.0.0")

typedef struct Draft {
    PodRequests requests;
    VEC(HostPort) ports;
    VEC(Str) images;
    Str selector, affinity, tolerations; /* as text, for the keys */
    Str host_users;
} Draft;

static const char *const unmodelled_names[UNMODELLED_MAX] = {
    [UNMODELLED_NAMESPACES] = "pod affinity by namespaceSelector, without Namespaces in the files",
    [UNMODELLED_TERMS] = "pod affinity or topology spread beside too many other terms",
    [UNMODELLED_VOLUMES] = "volumes that bind to nodes",
    [UNMODELLED_VOLUME_LIMITS] = "volumes that nodes limit in number",
    [UNMODELLED_CLAIMS] = "resourceClaims",
    [UNMODELLED_NODE_FEATURES] = "features that nodes must declare",
};

const char *unmodelled_name(UnmodelledFeature unmodelled) {
    return unmodelled_names[unmodelled];
}

/* @inner reads a part of the text of @reader: its error becomes that of @reader, at its place. */
static void pass_error(JsonReader *reader, const JsonReader *inner) {
    if (json_error(inner) == JSON_OK || json_error(reader) != JSON_OK)
        return;
    json_fail(reader, json_error(inner), inner->error_text);
    reader->error_at = (size_t)(inner->data - reader->data) + inner->error_at;
}

/* --- ports -------------------------------------------------------------- */

static void decode_port(JsonReader *reader, Arena *arena, Draft *draft) {
    static const JsonField fields[] = {
        {"hostPort", JSON_FIELD_INT, offsetof(HostPort, port), NULL},
        {"hostIP", JSON_FIELD_TEXT, offsetof(HostPort, ip), NULL},
        {"protocol", JSON_FIELD_TEXT, offsetof(HostPort, protocol), NULL},
    };
    HostPort port = {.ip = ALL_ADDRESSES, .protocol = STR("TCP")};
    HostPort *kept;

    JSON_READ_FIELDS(reader, arena, fields, &port);
    if (port.port <= 0)
        return;
    if (str_is_empty(port.ip))
        port.ip = ALL_ADDRESSES;
    kept = draft->ports.n < POD_REQUEST_PORTS_MAX ? VEC_PUSH(&draft->ports, arena) : NULL;
    if (kept)
        *kept = port;
    else
        json_fail(reader, JSON_E_RANGE, "too many host ports");
}

static bool same_port(const HostPort *a, const HostPort *b) {
    return a->port == b->port && str_eq(a->protocol, b->protocol) &&
           (str_eq(a->ip, b->ip) || str_eq(a->ip, ALL_ADDRESSES) || str_eq(b->ip, ALL_ADDRESSES));
}

bool ports_conflict(const HostPorts *ports, const HostPorts *used) {
    for (size_t i = 0; i < ports->n; i++)
        for (size_t k = 0; k < used->n; k++)
            if (same_port(&ports->items[i], &used->items[k]))
                return true;
    return false;
}

/* --- containers and volumes --------------------------------------------- */

/* Nodes list images with a tag. */
static Str tagged_image(JsonReader *reader, Arena *arena, Str image) {
    size_t colon = str_find_last(image, ':'), slash = str_find_last(image, '/');
    bool has_tag = colon != SIZE_MAX && (slash == SIZE_MAX || colon > slash);
    Str tagged;

    if (has_tag)
        return image;
    tagged = arena_printf(arena, "%.*s:latest", STR_FMT(image));
    if (!tagged.ptr)
        json_fail(reader, JSON_E_MEMORY, "too many images");
    return tagged;
}

static void add_image(JsonReader *reader, Arena *arena, Str image, Draft *draft) {
    Str *kept = draft->images.n < POD_REQUEST_IMAGES_MAX ? VEC_PUSH(&draft->images, arena) : NULL;

    if (kept)
        *kept = tagged_image(reader, arena, image);
    else
        json_fail(reader, JSON_E_RANGE, "too many images");
}

/* Of an array of objects: whether one has @member; with @value, as this text. Such pods need nodes
 * that declare the feature. */
static void flag_features(
    JsonReader *reader, Arena *arena, const char *member, const char *value, PodRequest *request) {
    json_array(reader);
    while (json_element(reader)) {
        Str key, text = STR_NULL;

        json_object(reader);
        while (json_key(reader, &key)) {
            if (!json_key_is(reader, key, str_from_c(member)))
                json_skip(reader, NULL);
            else if (value)
                json_string(reader, arena, &text);
            else
                json_skip(reader, &text);
        }
        if (value ? str_is(text, value) : text.len > 2) /* not [] */
            request->unmodelled |= 1u << UNMODELLED_NODE_FEATURES;
    }
}

/* Ports of containers and of sidecars (init containers with restartPolicy Always). */
static void decode_containers(
    JsonReader *reader, Arena *arena, bool is_init, PodRequest *request, Draft *draft) {
    json_array(reader);
    while (json_element(reader)) {
        Str restart = STR_NULL, key, ports = STR_NULL;
        JsonReader inner;

        json_object(reader);
        while (json_key(reader, &key)) {
            if (json_key_is(reader, key, STR("restartPolicy")))
                json_string(reader, arena, &restart);
            else if (json_key_is(reader, key, STR("ports")))
                json_skip(reader, &ports);
            else if (json_key_is(reader, key, STR("restartPolicyRules")))
                flag_features(reader, arena, "action", "RestartAllContainers", request);
            else if (json_key_is(reader, key, STR("volumeMounts")))
                flag_features(reader, arena, "bindMountOptions", NULL, request);
            else
                json_skip(reader, NULL);
        }
        if (str_is_empty(ports) || (is_init && !str_is(restart, "Always")))
            continue;
        json_reader_init(&inner, ports);
        json_array(&inner);
        while (json_element(&inner))
            decode_port(&inner, arena, draft);
        pass_error(reader, &inner);
    }
}

/* Whether volumes of this type restrict nodes, apart from claims. */
static bool binds_to_nodes(JsonReader *reader, Str key) {
    static const char *const sorts[] = {
        "awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "iscsi", "rbd", "ephemeral"};

    for (size_t i = 0; i < ELEMENTS_OF(sorts); i++)
        if (json_key_is(reader, key, str_from_c(sorts[i])))
            return true;
    return false;
}

static void decode_volumes(JsonReader *reader, Arena *arena, PodRequest *request, Draft *draft) {
    Str key;

    json_array(reader);
    while (json_element(reader)) {
        json_object(reader);
        while (json_key(reader, &key)) {
            if (json_key_is(reader, key, STR("image"))) {
                Str reference = STR_NULL;

                json_string_member(reader, arena, STR("reference"), &reference);
                if (!str_is_empty(reference))
                    add_image(reader, arena, reference, draft);
                continue;
            }
            if (binds_to_nodes(reader, key))
                request->unmodelled |= 1u << UNMODELLED_VOLUMES;
            if (json_key_is(reader, key, STR("csi")))
                request->unmodelled |= 1u << UNMODELLED_VOLUME_LIMITS;
            json_skip(reader, NULL);
        }
    }
}

/* --- affinity ----------------------------------------------------------- */

static void decode_preferred(JsonReader *reader, Arena *arena, void *target) {
    NodeTerms *ret = target;

    terms_decode_preferred(reader, arena, ret);
    if (ret->is_too_large)
        json_fail(reader, JSON_E_RANGE, "a node affinity is too large");
}

static void decode_affinity(JsonReader *reader, Arena *arena, PodRequest *request) {
    static const JsonField fields[] = {
        {"nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", JSON_FIELD_CUSTOM,
            offsetof(PodRequest, preferred), decode_preferred},
    };

    JSON_READ_FIELDS(reader, arena, fields, request);
}

/* --- the spec ------------------------------------------------------------ */

/* 1 or 0. */
static uint32_t has_elements(JsonReader *reader) {
    uint32_t has = 0;

    json_array(reader);
    while (json_element(reader)) {
        json_skip(reader, NULL);
        has = 1;
    }
    return has;
}

static void decode_part(
    JsonReader *reader, Arena *arena, Str key, PodRequest *request, Draft *draft) {
    if (json_key_is(reader, key, STR("resourceClaims")))
        request->unmodelled |= has_elements(reader) << UNMODELLED_CLAIMS;
    else if (json_key_is(reader, key, STR("volumes")))
        decode_volumes(reader, arena, request, draft);
    else if (json_key_is(reader, key, STR("hostUsers")))
        json_skip(reader, &draft->host_users);
    else if (json_key_is(reader, key, STR("nodeSelector")))
        json_skip(reader, &draft->selector);
    else if (json_key_is(reader, key, STR("tolerations")))
        json_skip(reader, &draft->tolerations);
    else
        json_skip(reader, NULL);
}

/* Containers and affinity are read twice: decoded here, and by pod_requests or as text. */
static void decode_spec(JsonReader *reader, Arena *arena, PodRequest *request, Draft *draft) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        bool is_init = json_key_is(reader, key, STR("initContainers"));
        JsonReader again = *reader;

        if (is_init || json_key_is(reader, key, STR("containers"))) {
            decode_containers(&again, arena, is_init, request, draft);
            pass_error(reader, &again);
        }
        if (json_key_is(reader, key, STR("affinity"))) {
            decode_affinity(&again, arena, request);
            pass_error(reader, &again);
            json_skip(reader, &draft->affinity);
        } else if (!pod_requests_decode_spec(&draft->requests, reader, arena, key)) {
            decode_part(reader, arena, key, request, draft);
        }
    }
}

static void decode_status(JsonReader *reader, Arena *arena, Draft *draft) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key))
        if (!pod_requests_decode_status(&draft->requests, reader, arena, key))
            json_skip(reader, NULL);
}

/* --- nonzero requests ---------------------------------------------------- */

static bool names(const AmountList *list, Str name) {
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i].name, name))
            return true;
    return false;
}

static void fill_in(JsonReader *reader, Arena *arena, Str name, Str amount, AmountList *list) {
    Amount *items;

    if (names(list, name))
        return;
    items = ARENA_RAW(arena, Amount, list->n + 1);
    if (!items) {
        json_fail(reader, JSON_E_MEMORY, "too many containers");
        return;
    }
    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof(*items));
    items[list->n] = (Amount){.name = name};
    (void)quantity_parse(amount, &items[list->n].quantity);
    list->items = items;
    list->n++;
    list->is_given = true;
}

static void fill_in_all(
    JsonReader *reader, Arena *arena, Str name, Str amount, PodSpecRequests *spec) {
    for (size_t i = 0; i < spec->n_containers; i++)
        fill_in(reader, arena, name, amount, &spec->containers[i].requests);
    for (size_t i = 0; i < spec->n_init_containers; i++)
        fill_in(reader, arena, name, amount, &spec->init_containers[i].requests);
}

static NonzeroRequests sum_nonzero(JsonReader *reader, Arena *arena, PodRequests *requests) {
    Resources sum = {0};
    bool is_whole = pod_requests_sum(requests, RESIZE_BY_POD, reader, arena, &sum);

    (void)is_whole; /* pod_decode() has checked it */
    return (NonzeroRequests){
        .cpu = resources_get(&sum, STR("cpu")), .memory = resources_get(&sum, STR("memory"))};
}

static bool has_pod_level(const AmountList *list) {
    for (size_t i = 0; i < list->n; i++)
        if (pod_level_covers(list->items[i].name))
            return true;
    return false;
}

/* Containers without requests count as 100m and 200Mi, so that a node full of them does not look
 * empty. On its node a pod with pod-level requests (limits become such) counts these for a resource
 * only if nothing requests it; the scorer of NodeResourcesFit ignores pod-level requests and the
 * status of the pod to be placed. */
static void find_nonzero(JsonReader *reader, Arena *arena, Draft *draft, PodRequest *request) {
    static const struct {
        Str name, amount;
    } defaults[] = {{STR("cpu"), STR(NONZERO_CPU)}, {STR("memory"), STR(NONZERO_MEMORY)}};
    PodSpecRequests *spec = &draft->requests.spec;
    bool is_pod_level = has_pod_level(&spec->requests) || has_pod_level(&spec->limits);
    PodRequests own;

    for (size_t i = 0; i < ELEMENTS_OF(defaults); i++)
        if (!is_pod_level || !resources_find(&request->pod.requests, defaults[i].name))
            fill_in_all(reader, arena, defaults[i].name, defaults[i].amount, spec);
    request->nonzero = sum_nonzero(reader, arena, &draft->requests);
    for (size_t i = 0; i < ELEMENTS_OF(defaults); i++)
        fill_in_all(reader, arena, defaults[i].name, defaults[i].amount, spec);
    own = (PodRequests){.spec = *spec};
    own.spec.requests = own.spec.limits = (AmountList){0};
    request->scored = sum_nonzero(reader, arena, &own);
}

/* --- keys --------------------------------------------------------------- */

static Str keep_key(JsonReader *reader, Arena *arena, const Buf *key) {
    Str kept = buf_error(key) ? STR_NULL : arena_copy(arena, buf_str(key));

    if (!kept.ptr)
        json_fail(reader, JSON_E_MEMORY, "the pod is too large");
    return kept;
}

static void find_keys(JsonReader *reader, Arena *arena, const Draft *draft, PodRequest *request) {
    _cleanup_(buf_done) Buf key = BUF_INIT(KEY_MAX);
    JsonWriter writer = JSON_WRITER(&key);
    Pod pod = request->pod;

    buf_printf(&key, "%zu\x1f", request->n_containers);
    for (size_t i = 0; i < request->n_images; i++)
        buf_printf(&key, "%.*s\x1f", STR_FMT(request->images[i]));
    buf_append(&key, draft->selector);
    buf_append_char(&key, '\x1e');
    buf_append(&key, draft->affinity);
    buf_append_char(&key, '\x1e');
    buf_append(&key, draft->tolerations);
    for (size_t i = 0; i < pod.details->n_volumes; i++)
        if (!str_is_empty(pod.details->volumes[i].claim_name))
            buf_printf(&key, "\x1e%.*s/%.*s", STR_FMT(pod.namespace),
                STR_FMT(pod.details->volumes[i].claim_name));
    request->place_key = keep_key(reader, arena, &key);

    pod.name = pod.uid = pod.resource_version = STR_NULL; /* these differ between equal pods */
    pod.created_at = 0;
    object_write_pod(&writer, &pod, STR_NULL);
    request->whole_key = keep_key(reader, arena, &key);
}

/* --- the pod ------------------------------------------------------------ */

static void add_images(
    JsonReader *reader, Arena *arena, const Pod *pod, PodRequest *request, Draft *draft) {
    const PodDetails *details = pod->details;

    request->n_containers = details->n_init_containers + details->n_containers;
    for (size_t i = 0; i < details->n_init_containers; i++)
        add_image(reader, arena, details->init_containers[i].image, draft);
    for (size_t i = 0; i < details->n_containers; i++)
        add_image(reader, arena, details->containers[i].image, draft);
}

static void decode_parts(JsonReader *reader, Arena *arena, PodRequest *request, Draft *draft) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("spec")))
            decode_spec(reader, arena, request, draft);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, draft);
        else
            json_skip(reader, NULL);
    }
}

void pod_request_decode(JsonReader *reader, Arena *arena, PodRequest *ret) {
    JsonReader again = *reader;
    Draft draft = {0};

    *ret = (PodRequest){0};
    pod_decode(reader, arena, &ret->pod);
    if (json_error(reader) != JSON_OK)
        return;
    decode_parts(&again, arena, ret, &draft);
    pass_error(reader, &again);
    if (json_error(reader) != JSON_OK)
        return;
    if (str_is(draft.host_users, "false") && ret->pod.details->host_network)
        ret->unmodelled |= 1u << UNMODELLED_NODE_FEATURES;
    add_images(reader, arena, &ret->pod, ret, &draft);
    find_nonzero(reader, arena, &draft, ret);
    ret->ports = (HostPorts){.items = draft.ports.items, .n = draft.ports.n};
    ret->images = draft.images.items;
    ret->n_images = draft.images.n;
    find_keys(reader, arena, &draft, ret);
}
