/* The sink of a reflector: decodes objects into the store, PlacementPolicies into PolicyObjects.
 * Objects that cannot be decoded, or are too many, are skipped, and notices are limited. Invalid
 * JSON makes the reflector list again. */

#include "base/clock.h"
#include "kube/cluster-watcher-internal.h"
#include "model/node.h"
#include "json/read.h"

/* One object, decoded: a node, a pod, or an object that pods refer to. */
typedef struct Object {
    Node node;
    Pod pod;
    RelatedObject related;
    Str name;
} Object;

static bool is_related(const WatchedResource *resource) {
    return resource->kind >= _WATCHER_KINDS && resource->kind != WATCHER_POLICIES;
}

static RelatedKind related_kind(const WatchedResource *resource) {
    return (RelatedKind)(resource->kind - _WATCHER_KINDS);
}

static void notify_skipped(WatchedResource *resource, Str name, const char *why) {
    if (watcher_may_notify(&resource->skipped_reported_at))
        watcher_notify(resource->watcher,
            (WatcherNotice){
                .event = WATCHER_OBJECT_SKIPPED, .kind = resource->kind, .name = name, .why = why});
}

/* 0, SINK_UNFIT or SINK_MALFORMED. */
static int decode(WatchedResource *resource, Str text, Object *ret) {
    JsonReader reader;
    char why[256];

    arena_reset(resource->watcher->arena);
    json_reader_init(&reader, text);
    if (is_related(resource)) {
        related_object_decode(
            related_kind(resource), &reader, resource->watcher->arena, &ret->related);
        ret->name = ret->related.name;
    } else if (resource->kind == WATCHER_NODES) {
        if (resource->watcher->keeping->node_details)
            node_decode(&reader, resource->watcher->arena, &ret->node);
        else
            node_decode_parts(
                &reader, resource->watcher->arena, &node_parts_but_details, &ret->node);
        ret->name = ret->node.name;
    } else {
        pod_decode_resized(
            &reader, resource->watcher->arena, resource->watcher->version.rule, &ret->pod);
        ret->name = ret->pod.name;
    }
    json_end(&reader);
    if (json_error(&reader) == JSON_OK && str_is_empty(ret->name))
        json_fail(&reader, JSON_E_TYPE, "an object without a name");
    switch (json_error(&reader)) {
    case JSON_OK:
        return 0;
    case JSON_E_SYNTAX:
    case JSON_E_UTF8:
    case JSON_E_END:
    case JSON_E_TRAILING:
        return SINK_MALFORMED;
    case JSON_E_DEPTH:
    case JSON_E_TYPE:
    case JSON_E_RANGE:
    case JSON_E_MEMORY:
        break;
    }
    json_describe(&reader, why, sizeof(why));
    notify_skipped(resource, ret->name, why);
    return SINK_UNFIT;
}

/* Converts a result of the store to one of the sink. */
static int taken(WatchedResource *resource, const Object *object, int r) {
    if (r == STORE_FULL) {
        notify_skipped(resource, object->name, "there are too many");
        return SINK_UNFIT;
    }
    return r < 0 ? r : 0;
}

static void note_list(const WatchedResource *resource, bool has_ended) {
    const WatcherCallbacks *callbacks = &resource->watcher->callbacks;

    if (resource->kind == WATCHER_PODS && callbacks->pods_listed)
        callbacks->pods_listed(callbacks->context, has_ended);
}

static void note_pod(const WatchedResource *resource, const Pod *pod, Str text) {
    const WatcherCallbacks *callbacks = &resource->watcher->callbacks;

    if (resource->kind == WATCHER_PODS && callbacks->pod_seen)
        callbacks->pod_seen(callbacks->context, pod, text);
}

static StoreKind store_kind(const WatchedResource *resource) {
    return resource->kind == WATCHER_NODES ? STORE_NODES : STORE_PODS;
}

static void on_begin(void *context) {
    WatchedResource *resource = context;
    Store *store = resource->watcher->store;

    note_list(resource, /* has_ended= */ false);
    resource->list_began_at = clock_monotonic_nsec();
    resource->listing = resource->watcher->keeping_version;
    if (resource->kind == WATCHER_POLICIES)
        policy_objects_begin(resource->watcher->options.policies);
    else if (is_related(resource))
        store_list_related_begin(store, related_kind(resource));
    else
        store_list_begin(store, store_kind(resource));
}

static int on_item(void *context, Str text) {
    WatchedResource *resource = context;
    Store *store = resource->watcher->store;
    Object object;
    int r;

    if (resource->kind == WATCHER_POLICIES)
        return policy_objects_item(resource->watcher->options.policies, text);
    r = decode(resource, text, &object);
    if (r != 0)
        return r;
    if (is_related(resource))
        r = store_list_related(store, related_kind(resource), &object.related);
    else
        r = resource->kind == WATCHER_NODES ? store_list_node(store, &object.node)
                                            : store_list_pod(store, &object.pod);
    note_pod(resource, &object.pod, text);
    return taken(resource, &object, r);
}

static int on_end(void *context) {
    WatchedResource *resource = context;
    Store *store = resource->watcher->store;
    int r;

    if (resource->kind == WATCHER_POLICIES)
        return policy_objects_end(resource->watcher->options.policies);
    r = is_related(resource) ? store_list_related_end(store, related_kind(resource))
                             : store_list_end(store, store_kind(resource));
    if (r == 0) {
        resource->listed = resource->listing;
        note_list(resource, /* has_ended= */ true);
    }
    return r;
}

/* 0, or -ENOMEM if the object could not be removed. */
static int remove_object(WatchedResource *resource, const ObjectMeta *meta) {
    Store *store = resource->watcher->store;
    int r = 0;

    if (is_related(resource))
        r = store_remove_related(store, related_kind(resource), meta->namespace, meta->name);
    else if (resource->kind == WATCHER_NODES)
        store_remove_node(store, meta->name);
    else
        store_remove_pod(store, meta->namespace, meta->name, meta->uid);
    return r < 0 ? r : 0;
}

static int on_apply(void *context, WatchEventType type, const ObjectMeta *meta, Str text) {
    WatchedResource *resource = context;
    ClusterWatcher *watcher = resource->watcher;
    Object object;
    int r, removed;

    if (resource->kind == WATCHER_POLICIES)
        return policy_objects_apply(watcher->options.policies, type, meta, text);
    if (type == EVENT_DELETED) {
        r = remove_object(resource, meta);
        if (resource->kind == WATCHER_PODS && watcher->callbacks.pod_deleted)
            watcher->callbacks.pod_deleted(watcher->callbacks.context, meta);
        return r;
    }
    r = decode(resource, text, &object);
    if (r != 0) { /* remove it, as a list would */
        removed = remove_object(resource, meta);
        return removed < 0 ? removed : r;
    }
    if (is_related(resource))
        return taken(resource, &object,
            store_apply_related(watcher->store, related_kind(resource), &object.related));
    if (resource->kind == WATCHER_NODES)
        return taken(resource, &object, store_apply_node(watcher->store, &object.node));
    r = store_apply_pod(watcher->store, &object.pod);
    note_pod(resource, &object.pod, text);
    if (r == STORE_BOUND && type == EVENT_MODIFIED && watcher->callbacks.pod_bound)
        watcher->callbacks.pod_bound(watcher->callbacks.context, &object.pod);
    return taken(resource, &object, r);
}

/* Called each turn: if the rate limit drops the notice, it is sent later, so that the last notice
 * shows the current state. */
static void notify_connected(WatchedResource *resource) {
    if (!resource->is_connected || resource->has_reported_connected ||
        !watcher_may_notify(&resource->connected_reported_at))
        return;
    resource->has_reported_connected = true;
    watcher_notify(
        resource->watcher, (WatcherNotice){.event = WATCHER_CONNECTED, .kind = resource->kind});
}

static size_t count_objects(WatchedResource *resource) {
    StoreFigures figures;

    if (resource->kind == WATCHER_POLICIES)
        return policy_objects_count(resource->watcher->options.policies);
    if (is_related(resource))
        return store_count_related(resource->watcher->store, related_kind(resource));
    store_figures(resource->watcher->store, &figures);
    return resource->kind == WATCHER_NODES ? figures.n_nodes : figures.n_pods;
}

static void on_notice(void *context, ReflectorNotice what, const char *why, int64_t retry_nsec) {
    WatchedResource *resource = context;
    WatcherNotice notice = {.kind = resource->kind, .why = why};

    switch (what) {
    case REFLECTOR_CONNECTED:
        resource->is_connected = true;
        notify_connected(resource);
        return;
    case REFLECTOR_SYNCED:
        notice.event = WATCHER_LISTED;
        notice.n = count_objects(resource);
        notice.msec = (clock_monotonic_nsec() - resource->list_began_at) / NSEC_PER_MSEC;
        break;
    case REFLECTOR_EXPIRED:
        notice.event = WATCHER_RELISTING;
        break;
    case REFLECTOR_LOST:
        resource->is_connected = false;
        if (!watcher_may_notify(&resource->lost_reported_at))
            return;
        resource->has_reported_connected = false;
        notice.event = WATCHER_LOST;
        notice.msec = retry_nsec / NSEC_PER_MSEC;
        break;
    }
    watcher_notify(resource->watcher, notice);
}

bool watched_resource_init(ClusterWatcher *watcher, WatcherKind kind, uint64_t seed) {
    WatchedResource *resource = &watcher->resources[kind];
    static const char *const paths[] = {
        [WATCHER_NODES] = "/api/v1/nodes",
        [WATCHER_PODS] = "/api/v1/pods",
        [_WATCHER_KINDS + RELATED_NAMESPACES] = "/api/v1/namespaces",
        [_WATCHER_KINDS + RELATED_CLAIMS] = "/api/v1/persistentvolumeclaims",
        [_WATCHER_KINDS + RELATED_VOLUMES] = "/api/v1/persistentvolumes",
        [WATCHER_POLICIES] = POLICY_OBJECTS_PATH,
        [_WATCHER_KINDS + RELATED_SERVICES] = "/api/v1/services",
    };
    const ReflectorOptions options = {
        .path = paths[kind],
        .resource = watcher_kind_name(kind),
        .seed = seed,
        .silence_sec =
            watcher->options.silence_sec ? watcher->options.silence_sec : WATCHER_SILENCE_SEC,
        .sink = {resource, on_begin, on_item, on_end, on_apply, on_notice},
    };

    resource->watcher = watcher;
    resource->kind = kind;
    resource->reflector = reflector_new(watcher->client, &options);
    return resource->reflector != NULL;
}

void watched_resource_done(WatchedResource *resource) {
    Store *store = resource->watcher->store;
    RelatedKind kind = related_kind(resource);

    reflector_free(resource->reflector);
    *resource = (WatchedResource){0};
    store_forget_related(store, kind);
}

int64_t watched_resource_tick(WatchedResource *resource, int64_t now_nsec) {
    int64_t next_at = reflector_tick(resource->reflector, now_nsec);

    notify_connected(resource);
    return next_at;
}
