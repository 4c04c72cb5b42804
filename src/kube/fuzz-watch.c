/*
 * A reflector and a store get any bytes from an API server.
 *
 * The first byte is the length of the pieces, the second chooses the status of each answer. Nothing
 * crashes, memory stays below its limits, the store can be published at any time, and the reflector
 * always has a next time to be called.
 */

#include "base/clock.h"
#include "base/fuzz.h"
#include "cluster/store.h"
#include "kube/backoff.h"
#include "kube/reflector.h"
#include "model/node.h"
#include "model/pod.h"
#include "test-fake-client.h"

static Arena *arena;
static Store *store;
static bool is_nodes;
static int64_t now;

int64_t clock_monotonic_nsec(void) {
    return now;
}

static void sink_begin(void *context) {
    store_list_begin(store, is_nodes ? STORE_NODES : STORE_PODS);
}

/* Like on_item() and on_apply() of the watcher, without notices. */
static int put(Str object, bool is_item) {
    JsonReader reader;
    Node node;
    Pod pod;

    arena_reset(arena);
    json_reader_init(&reader, object);
    if (is_nodes)
        node_decode(&reader, arena, &node);
    else
        pod_decode(&reader, arena, &pod);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK)
        return json_error(&reader) == JSON_E_TYPE ? SINK_UNFIT : SINK_MALFORMED;
    if (!is_nodes && str_is_empty(pod.name))
        return SINK_UNFIT;
    if (is_nodes)
        require((is_item ? store_list_node : store_apply_node)(store, &node) >= 0);
    else
        require((is_item ? store_list_pod : store_apply_pod)(store, &pod) >= 0);
    return 0;
}

static int sink_item(void *context, Str object) {
    return put(object, true);
}

static int sink_end(void *context) {
    return store_list_end(store, is_nodes ? STORE_NODES : STORE_PODS);
}

static int sink_apply(void *context, WatchEventType type, const ObjectMeta *meta, Str object) {
    if (type != EVENT_DELETED)
        return put(object, false);
    if (is_nodes)
        store_remove_node(store, meta->name);
    else
        store_remove_pod(store, meta->namespace, meta->name, meta->uid);
    return 0;
}

static void sink_notice(void *context, ReflectorNotice what, const char *why, int64_t retry) {
    require(what != REFLECTOR_LOST || (why[0] != '\0' && retry >= 0));
}

static void check(const Reflector *reflector) {
    Snapshot *snapshot = NULL;

    require(reflector_held(reflector) <= (size_t)512 * 1024);
    require(store_publish(store, &snapshot) == 0);
    snapshot_unref(snapshot);
}

/* Begins the answer to call @n. */
static void begin(Client *client, size_t n, unsigned how) {
    static const unsigned statuses[] = {200, 200, 200, 422, 410, 429, 500, 403};

    fake_head(client, n, statuses[(how + n) % 8], how % 16 == 15 ? "text/html" : "application/json",
        how % 4 == 3 ? 5 : -1);
}

/* Lets time pass until a call runs; returns its number. */
static size_t next_call(Reflector *reflector, Client *client, unsigned how) {
    for (;;) {
        size_t n = fake_n_calls(client);
        int64_t at;

        if (n > 0 && !fake_call(client, n - 1).is_over)
            return n - 1;
        at = reflector_tick(reflector, now);
        if (fake_n_calls(client) > n) {
            begin(client, n, how);
            continue;
        }
        require(at > now && at != INT64_MAX);
        now = at;
    }
}

static void feed(Reflector *reflector, Client *client, Str input, size_t piece, unsigned how) {
    while (input.len > 0 && fake_n_calls(client) < 64) {
        size_t n = next_call(reflector, client, how);
        Str bytes = str_take(input, piece);

        fake_data(client, n, bytes);
        if (str_find(bytes, '\f') != SIZE_MAX) /* a byte that JSON never has ends the call */
            fake_done(client, n, (CallOutcome)(how % 3));
        (void)client_wait(client, 0);
        check(reflector);
        input = str_skip(input, piece);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ReflectorOptions options = {
        .path = "/api/v1/pods",
        .resource = "pods",
        .seed = 1,
        .silence_sec = 150,
        .sink =
            {
                .begin = sink_begin,
                .item = sink_item,
                .end = sink_end,
                .apply = sink_apply,
                .notice = sink_notice,
            },
    };
    Client *client;
    Reflector *reflector;

    if (size < 2 || size > 65536)
        return 0;
    if (!arena)
        arena = arena_new((size_t)1 << 24);
    now = NSEC_PER_SEC;
    is_nodes = data[0] % 2;
    store = store_new();
    client = client_new(NULL);
    reflector = reflector_new(client, &options);
    require(arena && store && client && reflector);
    feed(reflector, client, str_of((const char *)data + 2, size - 2), 16u + 8u * data[0], data[1]);
    reflector_free(reflector);
    client_free(client);
    store_free(store);
    return 0;
}
