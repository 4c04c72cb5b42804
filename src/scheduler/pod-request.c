/* Decodes a PodRequest from the JSON of a Pod: most of it from what pod_decode() keeps. */

#include "scheduler/pod-request.h"

#include "base/vec.h"
#include "cluster/object-text.h"
#include "model/pod-requests.h"
#include "json/fields.h"

#define KEY_MAX ((size_t)1024 * 1024)
#define ALL_ADDRESSES STR("0.0.0.0")

/* The fields that pod_decode() does not keep, or not in this form. */
typedef struct Draft {
    PodRequests requests;
    VEC(Str) images;
    Str selector, affinity, tolerations; /* as text, for the keys */
    bool has_host_users, needs_features;
} Draft;

const char *const unmodelled_names[UNMODELLED_MAX] = {
    [UNMODELLED_NAMESPACES] = "pod affinity by namespaceSelector, without Namespaces in the files",
    [UNMODELLED_TERMS] = "pod affinity or topology spread beside too many other terms",
    [UNMODELLED_VOLUMES] = "volumes that bind to nodes",
    [UNMODELLED_VOLUME_LIMITS] = "volumes that nodes limit in number",
    [UNMODELLED_CLAIMS] = "resourceClaims",
    [UNMODELLED_NODE_FEATURES] = "features that nodes must declare",
};

bool ports_conflict(const HostPorts *ports, const HostPorts *used) {
    for (size_t i = 0; i < ports->n; i++)
        for (size_t k = 0; k < used->n; k++) {
            const HostPort *a = &ports->items[i], *b = &used->items[k];

            if (a->port == b->port && str_eq(a->protocol, b->protocol) &&
                (str_eq(a->ip, b->ip) || str_eq(a->ip, ALL_ADDRESSES) ||
                    str_eq(b->ip, ALL_ADDRESSES)))
                return true;
        }
    return false;
}

/* Adds ":latest" where a tag is missing: nodes list images with a tag. */
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

static void read_volume(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"image.reference", JSON_FIELD_TEXT, 0}};
    Str reference = STR_NULL;

    JSON_READ_FIELDS(reader, arena, fields, &reference);
    if (!str_is_empty(reference))
        add_image(reader, arena, reference, target);
}

/* This action, and mount options below, need nodes that declare the feature. */
static void flag_rule(JsonReader *reader, Arena *arena, void *target) {
    Str action = STR_NULL;

    json_string_member(reader, arena, STR("action"), &action);
    *(bool *)target |= str_is(action, "RestartAllContainers");
}

static void flag_mount(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"bindMountOptions", JSON_FIELD_RAW, 0}};
    Str options = STR_NULL;

    JSON_READ_FIELDS(reader, arena, fields, &options);
    *(bool *)target |= options.len > 2; /* not [] */
}

static void flag_container(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("restartPolicyRules"), JSON_FIELD_ARRAY, 0, flag_rule},
        {JSON_NAME("volumeMounts"), JSON_FIELD_ARRAY, 0, flag_mount},
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

static void decode_spec(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("nodeSelector", RAW, Draft, selector),
        JSON_MEMBER("affinity", RAW, Draft, affinity),
        JSON_MEMBER("tolerations", RAW, Draft, tolerations),
        JSON_MEMBER("hostUsers", BOOL, Draft, has_host_users),
        {JSON_NAME("volumes"), JSON_FIELD_ARRAY, 0, read_volume},
        JSON_MEMBER("initContainers", ARRAY, Draft, needs_features, .read = flag_container),
        JSON_MEMBER("containers", ARRAY, Draft, needs_features, .read = flag_container),
    };

    JSON_READ_KEYS(reader, arena, fields, target);
}

static void decode_status(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {POD_STATUS_REQUESTS(Draft, requests.status)};

    JSON_READ_KEYS(reader, arena, fields, target);
}

/* @inner reads a part of the text of @reader: its error becomes that of @reader, at its place. */
static void pass_error(JsonReader *reader, const JsonReader *inner) {
    if (json_error(inner) == JSON_OK || json_error(reader) != JSON_OK)
        return;
    json_fail(reader, json_error(inner), inner->error_text);
    reader->error_at = (size_t)(inner->data - reader->data) + inner->error_at;
}

static void decode_preferred(JsonReader *reader, Arena *arena, Str affinity, NodeTerms *ret) {
    static const JsonField fields[] = {
        {"nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", JSON_FIELD_CUSTOM, 0,
            terms_decode_preferred},
    };
    JsonReader inner;

    if (str_is_empty(affinity))
        return;
    json_reader_init(&inner, affinity);
    JSON_READ_FIELDS(&inner, arena, fields, ret);
    if (ret->is_too_large)
        json_fail(&inner, JSON_E_RANGE, "a node affinity is too large");
    pass_error(reader, &inner);
}

static uint32_t find_unmodelled(const Draft *draft, const PodDetails *details) {
    static const Str bound_to_nodes[] = {STR("awsElasticBlockStore"), STR("gcePersistentDisk"),
        STR("azureDisk"), STR("iscsi"), STR("rbd"), STR("ephemeral")};
    uint32_t unmodelled = 0;

    if (details->n_resource_claims > 0)
        unmodelled |= 1u << UNMODELLED_CLAIMS;
    if (draft->needs_features || (!draft->has_host_users && details->host_network))
        unmodelled |= 1u << UNMODELLED_NODE_FEATURES;
    for (size_t i = 0; i < details->n_volumes; i++) {
        Str kind = details->volumes[i].kind;

        if (str_is_one_of(kind, bound_to_nodes, ELEMENTS_OF(bound_to_nodes)))
            unmodelled |= 1u << UNMODELLED_VOLUMES;
        if (str_is(kind, "csi"))
            unmodelled |= 1u << UNMODELLED_VOLUME_LIMITS;
    }
    return unmodelled;
}

static bool add_ports(Arena *arena, const PodContainer *container, HostPorts *list) {
    for (size_t i = 0; i < container->n_ports; i++) {
        const ContainerPort *port = &container->ports[i];

        if (port->host_port <= 0)
            continue;
        if (list->n == POD_REQUEST_PORTS_MAX ||
            !VEC_ADD(list, arena,
                (HostPort){.ip = str_is_empty(port->host_ip) ? ALL_ADDRESSES : port->host_ip,
                    .protocol = str_is_empty(port->protocol) ? STR("TCP") : port->protocol,
                    .port = port->host_port}))
            return false;
    }
    return true;
}

bool host_ports_find(const PodDetails *details, Arena *arena, HostPorts *ret) {
    bool has_room = true;

    *ret = (HostPorts){0};
    for (size_t i = 0; has_room && i < details->n_init_containers; i++)
        has_room = !pod_container_is_sidecar(&details->init_containers[i]) ||
                   add_ports(arena, &details->init_containers[i], ret);
    for (size_t i = 0; has_room && i < details->n_containers; i++)
        has_room = add_ports(arena, &details->containers[i], ret);
    return has_room;
}

/* Gives @amount to containers that do not request that resource. */
static void fill_in(Arena *arena, PodContainer *containers, size_t n, const Amount *amount) {
    for (size_t i = 0; i < n; i++) {
        AmountList *list = &containers[i].requests;
        Amount *items =
            amount_list_find(list, amount->name) ? NULL : ARENA_RAW(arena, Amount, list->n + 1);

        if (!items)
            continue;
        if (list->n > 0)
            memcpy(items, list->items, list->n * sizeof(*items));
        items[list->n++] = *amount;
        list->items = items;
        list->is_given = true;
    }
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
 * empty. In the sums of its node, a pod with pod-level requests (limits become requests) counts
 * these defaults only for a resource that nothing requests. The scorer of NodeResourcesFit ignores
 * pod-level requests and the status of the pod to be placed. */
static void find_nonzero(JsonReader *reader, Arena *arena, Draft *draft, PodRequest *request) {
    const PodDetails *details = request->pod.details;
    size_t n_init = details->n_init_containers, n = n_init + details->n_containers;
    PodContainer *all = ARENA_ARRAY(arena, PodContainer, n + 1);
    const Amount defaults[] = {{STR("cpu"), resource_quantity_of(STR("cpu"), NONZERO_CPU)},
        {STR("memory"), resource_quantity_of(STR("memory"), NONZERO_MEMORY)}};
    bool is_pod_level = has_pod_level(&details->requests) || has_pod_level(&details->limits);
    PodSpecRequests *spec = &draft->requests.spec;

    if (!all) {
        json_fail(reader, JSON_E_MEMORY, "too many containers");
        return;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = i < n_init ? details->init_containers[i] : details->containers[i - n_init];
    *spec = (PodSpecRequests){
        .init_containers = all,
        .containers = all + n_init,
        .n_init_containers = n_init,
        .n_containers = details->n_containers,
        .requests = details->requests,
        .limits = details->limits,
        .overhead = details->overhead,
    };
    for (size_t i = 0; i < ELEMENTS_OF(defaults); i++)
        if (!is_pod_level || !resources_find(&request->pod.requests, defaults[i].name))
            fill_in(arena, all, n, &defaults[i]);
    request->nonzero = sum_nonzero(reader, arena, &draft->requests);
    for (size_t i = 0; i < ELEMENTS_OF(defaults); i++)
        fill_in(arena, all, n, &defaults[i]);
    spec->requests = spec->limits = (AmountList){0};
    draft->requests.status = (PodStatusRequests){0};
    request->scored = sum_nonzero(reader, arena, &draft->requests);
    if (arena_has_failed(arena))
        json_fail(reader, JSON_E_MEMORY, "too many containers");
}

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

void pod_request_decode(JsonReader *reader, Arena *arena, PodRequest *ret) {
    static const JsonField fields[] = {
        {JSON_NAME("spec"), JSON_FIELD_CUSTOM, 0, decode_spec},
        {JSON_NAME("status"), JSON_FIELD_CUSTOM, 0, decode_status},
    };
    Draft draft = {.has_host_users = true};
    JsonReader again = *reader;
    const PodDetails *details;

    *ret = (PodRequest){0};
    pod_decode(reader, arena, &ret->pod);
    if (json_error(reader) != JSON_OK)
        return;
    JSON_READ_KEYS(&again, arena, fields, &draft);
    pass_error(reader, &again);
    decode_preferred(reader, arena, draft.affinity, &ret->preferred);
    details = ret->pod.details;
    for (size_t i = 0; i < details->n_init_containers; i++)
        add_image(reader, arena, details->init_containers[i].image, &draft);
    for (size_t i = 0; i < details->n_containers; i++)
        add_image(reader, arena, details->containers[i].image, &draft);
    if (!host_ports_find(details, arena, &ret->ports))
        json_fail(reader, JSON_E_RANGE, "too many host ports");
    if (json_error(reader) != JSON_OK)
        return;
    ret->unmodelled = find_unmodelled(&draft, details);
    ret->n_containers = details->n_init_containers + details->n_containers;
    find_nonzero(reader, arena, &draft, ret);
    ret->images = draft.images.items;
    ret->n_images = draft.images.n;
    find_keys(reader, arena, &draft, ret);
}
