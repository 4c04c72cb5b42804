/*
 * The sink of a reflector: objects are decoded and go into the store. What cannot be read, or is
 * one too many, is passed over, and said now and then; what cannot even be told apart makes the
 * reflector list anew.
 */

#include <stdio.h>

#include "base/clock.h"
#include "kube/mirror-part.h"
#include "model/node.h"
#include "json/read.h"

/* --- objects into the store ------------------------------------------------------------- */

/* One object, decoded: a node or a pod. */
typedef struct Object {
    Node node;
    Pod pod;
    Str name;
} Object;

static void say_unfit(Side *side, Str name, const char *why) {
    if (mirror_may_say(&side->unfit_said_at))
        mirror_say(side->mirror,
            (MirrorNotice){
                .event = MIRROR_PASSED_OVER, .kind = side->kind, .name = name, .why = why});
}

/* 0, SINK_UNFIT or SINK_MALFORMED. */
static int decode(Side *side, Str text, Object *ret) {
    JsonReader reader;
    char why[256];

    arena_reset(side->mirror->arena);
    json_reader_init(&reader, text);
    if (side->kind == MIRROR_NODES) {
        node_decode(&reader, side->mirror->arena, &ret->node);
        ret->name = ret->node.name;
    } else {
        pod_decode(&reader, side->mirror->arena, &ret->pod);
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
    say_unfit(side, ret->name, why);
    return SINK_UNFIT;
}

/* The store's answer as a sink's. */
static int taken(Side *side, const Object *object, int r) {
    if (r == STORE_FULL) {
        say_unfit(side, object->name, "there are too many");
        return SINK_UNFIT;
    }
    return r < 0 ? r : 0;
}

static void on_begin(void *context) {
    Side *side = context;

    side->list_began_at = clock_monotonic_nsec();
    store_list_begin(side->mirror->store, side->kind == MIRROR_NODES ? STORE_NODES : STORE_PODS);
}

static int on_item(void *context, Str text) {
    Side *side = context;
    Store *store = side->mirror->store;
    Object object;
    int r = decode(side, text, &object);

    if (r != 0)
        return r;
    r = side->kind == MIRROR_NODES ? store_list_node(store, &object.node)
                                   : store_list_pod(store, &object.pod);
    return taken(side, &object, r);
}

static int on_end(void *context) {
    Side *side = context;

    return store_list_end(
        side->mirror->store, side->kind == MIRROR_NODES ? STORE_NODES : STORE_PODS);
}

static void remove_object(Side *side, const ObjectMeta *meta) {
    Store *store = side->mirror->store;

    if (side->kind == MIRROR_NODES)
        store_remove_node(store, meta->name);
    else
        store_remove_pod(store, meta->namespace, meta->name, meta->uid);
}

static int on_apply(void *context, EventType type, const ObjectMeta *meta, Str text) {
    Side *side = context;
    Mirror *mirror = side->mirror;
    Object object;
    int r;

    if (type == EVENT_DELETED) {
        remove_object(side, meta);
        return 0;
    }
    r = decode(side, text, &object);
    if (r != 0) { /* it counts as not there, as it would in a list */
        remove_object(side, meta);
        return r;
    }
    if (side->kind == MIRROR_NODES)
        return taken(side, &object, store_apply_node(mirror->store, &object.node));
    r = store_apply_pod(mirror->store, &object.pod);
    if (r == STORE_BOUND && type == EVENT_MODIFIED && mirror->callbacks.pod_bound)
        mirror->callbacks.pod_bound(mirror->callbacks.context, &object.pod);
    return taken(side, &object, r);
}

/* --- what people are told ------------------------------------------------------------------ */

/* Also for what was not said at once: the last word is to be the truth. */
static void say_connected(Side *side) {
    if (!side->is_connected || side->says_connected || !mirror_may_say(&side->connected_said_at))
        return;
    side->says_connected = true;
    mirror_say(side->mirror, (MirrorNotice){.event = MIRROR_CONNECTED, .kind = side->kind});
}

static void say_lost(Side *side, const char *why, int64_t retry_nsec) {
    if (!mirror_may_say(&side->lost_said_at))
        return;
    side->says_connected = false;
    mirror_say(side->mirror,
        (MirrorNotice){.event = MIRROR_LOST,
            .kind = side->kind,
            .why = why,
            .msec = retry_nsec / NSEC_PER_MSEC});
}

static void say_synced(const Side *side) {
    StoreFigures figures;

    store_figures(side->mirror->store, &figures);
    mirror_say(side->mirror,
        (MirrorNotice){.event = MIRROR_LISTED,
            .kind = side->kind,
            .n = side->kind == MIRROR_NODES ? figures.n_nodes : figures.n_pods,
            .msec = (clock_monotonic_nsec() - side->list_began_at) / NSEC_PER_MSEC});
}

static void on_notice(void *context, ReflectorNotice what, const char *why, int64_t retry_nsec) {
    Side *side = context;

    switch (what) {
    case REFLECTOR_CONNECTED:
        side->is_connected = true;
        say_connected(side);
        break;
    case REFLECTOR_SYNCED:
        say_synced(side);
        break;
    case REFLECTOR_EXPIRED:
        mirror_say(side->mirror,
            (MirrorNotice){.event = MIRROR_RELISTING, .kind = side->kind, .why = why});
        break;
    case REFLECTOR_LOST:
        side->is_connected = false;
        say_lost(side, why, retry_nsec);
        break;
    }
}

/* --- its reflector ------------------------------------------------------------------------- */

bool side_init(Side *side, Mirror *mirror, MirrorKind kind, uint64_t seed) {
    const ReflectorOptions options = {
        .path = kind == MIRROR_NODES ? "/api/v1/nodes" : "/api/v1/pods",
        .resource = mirror_kind_name(kind),
        .clock = clock_monotonic_nsec,
        .seed = seed,
        .silence_sec =
            mirror->options.silence_sec ? mirror->options.silence_sec : MIRROR_SILENCE_SEC,
        .sink =
            {
                .context = side,
                .begin = on_begin,
                .item = on_item,
                .end = on_end,
                .apply = on_apply,
                .notice = on_notice,
            },
    };

    side->mirror = mirror;
    side->kind = kind;
    side->reflector = reflector_new(mirror->client, &options);
    return side->reflector != NULL;
}

int64_t side_tick(Side *side, int64_t now_nsec) {
    int64_t next_at = reflector_tick(side->reflector, now_nsec);

    say_connected(side);
    return next_at;
}

void side_status(const Side *side, MirrorKindStatus *ret) {
    const ReflectorFigures *figures = reflector_figures(side->reflector);

    *ret = (MirrorKindStatus){
        .is_synced = figures->is_synced,
        .is_connected = figures->is_connected,
        .synced_at_nsec = figures->synced_at_nsec,
        .heard_at_nsec = figures->heard_at_nsec,
        .n_lists = figures->n_lists,
        .n_watches = figures->n_watches,
        .n_restarts = figures->n_restarts,
        .n_added = figures->n_added,
        .n_modified = figures->n_modified,
        .n_deleted = figures->n_deleted,
        .n_bookmarks = figures->n_bookmarks,
        .n_errors = figures->n_errors,
        .n_unknown = figures->n_unknown,
        .n_malformed = figures->n_malformed,
        .n_unfit = figures->n_unfit,
        .n_bytes = figures->n_bytes,
        .n_failures = figures->n_failures,
    };
    (void)snprintf(ret->last_error, sizeof(ret->last_error), "%s", figures->last_error);
}
