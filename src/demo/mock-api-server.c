/*
 * Requests are answered by the server's worker, changes are told by the thread that shows them: one
 * lock is over the cluster, its version and the list of watches, so that a watch misses nothing
 * between its beginning and the next change.
 */

#include "demo/mock-api-server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "base/arena.h"
#include "base/buf.h"
#include "cluster/delta.h"
#include "cluster/object-text.h"
#include "demo/mock-server.h"
#include "json/read.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define ARENA_MAX ((size_t)128 * 1024 * 1024)
#define WATCHES_MAX SERVER_STREAMS_MAX

typedef enum Kind {
    KIND_NODES,
    KIND_PODS,
    _KIND_MAX,
} Kind;

static const struct {
    const char *path, *list;
} kinds[_KIND_MAX] = {
    [KIND_NODES] = {"/api/v1/nodes", "NodeList"},
    [KIND_PODS] = {"/api/v1/pods", "PodList"},
};

typedef struct Watch {
    HttpStream *stream; /* NULL: a free place */
    Kind kind;
} Watch;

struct MockApiServer {
    MockServer mock;

    pthread_mutex_t lock; /* of what follows */
    Snapshot *snapshot;   /* NULL: none yet */
    uint64_t version;     /* grows with every one */
    Watch watches[WATCHES_MAX];
};

/* --- objects ---------------------------------------------------------------------------------- */

/* Appends @object, whose metadata get the version that all objects of an API server have. */
static void append_versioned(Buf *out, Str object, uint64_t version) {
    static const Str start = STR("\"metadata\":{");
    const char *found = memmem(object.ptr, object.len, start.ptr, start.len);
    size_t at = found ? (size_t)(found - object.ptr) + start.len : object.len;

    buf_append(out, str_take(object, at));
    buf_printf(out, "\"resourceVersion\":\"%" PRIu64 "\",", version);
    buf_append(out, str_skip(object, at));
}

static void append_node(Buf *out, const Node *node, uint64_t version) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);

    object_write_node(&writer, node);
    append_versioned(out, buf_str(&text), version);
}

static void append_pod(Buf *out, const Pod *pod, uint64_t version) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);

    object_write_pod(&writer, pod, pod->node_name);
    append_versioned(out, buf_str(&text), version);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void append_items(Buf *out, const NodeTable *cluster, Kind kind, uint64_t version) {
    const char *comma = "";

    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const Node *node = table_node(cluster, row);
        const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

        if (kind == KIND_NODES && node) {
            buf_append(out, str_from_c(comma));
            append_node(out, node, version);
            comma = ",";
        }
        for (uint32_t i = 0; kind == KIND_PODS && pods && i < pods->n; i++) {
            buf_append(out, str_from_c(comma));
            append_pod(out, pods->items[i], version);
            comma = ",";
        }
    }
}

static void append_list(Buf *out, const MockApiServer *api, Kind kind) {
    buf_printf(out,
        "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%" PRIu64
        "\"},\"items\":[",
        kinds[kind].list,
        api->version);
    if (api->snapshot)
        append_items(out, snapshot_table(api->snapshot), kind, api->version);
    buf_append(out, STR("]}\n"));
}

/* --- changes ---------------------------------------------------------------------------------- */

/* What happened between two snapshots. 0, or -ENOMEM. */
static int find_changes(const Snapshot *before, const Snapshot *after, Arena *arena, Delta *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);
    JsonReader reader;
    Str copy, key;
    int r;

    json_write_object(&writer);
    r = delta_write(&writer, before, after, NULL);
    json_write_end_object(&writer);
    copy = arena_copy(arena, buf_str(&text));
    if (r < 0 || buf_error(&text) < 0 || !copy.ptr)
        return -ENOMEM;
    json_reader_init(&reader, copy);
    json_object(&reader);
    while (json_key(&reader, &key))
        if (!delta_read(ret, &reader, arena, key))
            json_skip(&reader, NULL);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM; /* we wrote it */
}

static void append_gone_node(Buf *out, Str name, uint64_t version) {
    buf_printf(out,
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"%.*s\","
        "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
        STR_FMT(name),
        version);
}

static void append_gone_pod(Buf *out, const DeltaPodName *pod, uint64_t version) {
    buf_printf(out,
        "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"namespace\":\"%.*s\",\"name\":\"%.*s\","
        "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
        STR_FMT(pod->namespace),
        STR_FMT(pod->name),
        version);
}

/* Names are the world's own and need no escapes. */
static void append_events(Buf *out, const Delta *delta, Kind kind, uint64_t version) {
    if (kind == KIND_NODES) {
        for (size_t i = 0; i < delta->removed_nodes.n; i++)
            append_gone_node(out, delta->removed_nodes.items[i], version);
        for (size_t i = 0; i < delta->nodes.n; i++) {
            bool is_new = delta->nodes.items[i].row != DELTA_NO_ROW;

            buf_printf(out, "{\"type\":\"%s\",\"object\":", is_new ? "ADDED" : "MODIFIED");
            append_node(out, &delta->nodes.items[i].node, version);
            buf_append(out, STR("}\n"));
        }
        return;
    }
    for (size_t i = 0; i < delta->removed_pods.n; i++)
        append_gone_pod(out, &delta->removed_pods.items[i], version);
    for (size_t i = 0; i < delta->pods.n; i++) {
        buf_append(out, STR("{\"type\":\"ADDED\",\"object\":"));
        append_pod(out, &delta->pods.items[i].pod, version);
        buf_append(out, STR("}\n"));
    }
}

/* Who watches hears of it, also of nothing: that is what versions go on by. */
static int tell(MockApiServer *api, const Delta *delta) {
    for (size_t i = 0; i < ELEMENTS_OF(api->watches); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
        Watch *watch = &api->watches[i];

        if (!watch->stream)
            continue;
        append_events(&text, delta, watch->kind, api->version);
        buf_printf(&text,
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%" PRIu64
            "\"}}}\n",
            api->version);
        if (buf_error(&text) < 0)
            return -ENOMEM;
        if (!stream_send(watch->stream, buf_str(&text)))
            watch->stream = stream_close(watch->stream);
    }
    return 0;
}

int mock_api_server_show(MockApiServer *api, Snapshot *snapshot) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_MAX);
    Delta delta = {0};
    Snapshot *before = api->snapshot;
    int r = arena ? 0 : -ENOMEM;

    mock_server_tick(&api->mock);
    if (before == snapshot)
        return 0;
    if (r == 0)
        r = find_changes(before, snapshot, arena, &delta);
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&api->lock);
    api->snapshot = snapshot_ref(snapshot);
    api->version++;
    r = tell(api, &delta);
    (void)pthread_mutex_unlock(&api->lock);
    snapshot_unref(before);
    return r;
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(unsigned status, const char *message, Buf *out, HttpReply *reply) {
    reply->status = status;
    buf_printf(out,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"%s\","
        "\"code\":%u}\n",
        message,
        status);
}

/* A place for one more watch; NULL: there is none. */
static Watch *find_place(MockApiServer *api) {
    for (size_t i = 0; i < ELEMENTS_OF(api->watches); i++)
        if (!api->watches[i].stream)
            return &api->watches[i];
    return NULL;
}

/* True: the reply goes on, and nothing else is to be sent. */
static bool begin_watch(MockApiServer *api, Kind kind, Str version, const HttpRequest *request,
    Buf *out, HttpReply *reply) {
    Watch *place = find_place(api);
    char newest[24];

    (void)snprintf(newest, sizeof(newest), "%" PRIu64, api->version);
    if (!str_is(version, newest)) {
        refuse(410, "too old resource version", out, reply);
        return false;
    }
    if (place)
        place->stream = server_stream(request, 0);
    if (!place || !place->stream) {
        refuse(503, "too many watches", out, reply);
        return false;
    }
    place->kind = kind;
    return true;
}

/* The same. */
static bool answer_kind(
    MockApiServer *api, Kind kind, const HttpRequest *request, Buf *out, HttpReply *reply) {
    static const Str names[] = {STR("watch"),
        STR("resourceVersion"),
        STR("resourceVersionMatch"),
        STR("sendInitialEvents"),
        STR("allowWatchBookmarks"),
        STR("timeoutSeconds"),
        STR("limit"),
        STR("continue"),
        STR("fieldSelector"),
        STR("labelSelector")};
    char error[QUERY_ERROR_MAX];
    Query query;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error))
        refuse(400, "a parameter is not known here", out, reply);
    else if (str_is(query_get(&query, STR("sendInitialEvents")), "true"))
        refuse(422, "sendInitialEvents is forbidden for watch", out, reply);
    else if (!str_is_empty(query_get(&query, STR("watch"))))
        return begin_watch(
            api, kind, query_get(&query, STR("resourceVersion")), request, out, reply);
    else
        append_list(out, api, kind);
    return false;
}

/* The same. */
static bool route(MockApiServer *api, const HttpRequest *request, Buf *out, HttpReply *reply) {
    for (Kind kind = 0; kind < _KIND_MAX; kind++)
        if (str_is(request->path, kinds[kind].path))
            return answer_kind(api, kind, request, out, reply);
    if (str_is(request->path, "/version"))
        buf_append(out, STR("{\"major\":\"1\",\"minor\":\"31\",\"gitVersion\":\"v1.31.0\"}\n"));
    else
        refuse(404, "there are nodes and pods here", out, reply);
    return false;
}

static bool answer(void *context, const HttpRequest *request, Buf *out, HttpReply *reply) {
    MockApiServer *api = context;
    bool is_stream;

    (void)pthread_mutex_lock(&api->lock);
    is_stream = route(api, request, out, reply);
    (void)pthread_mutex_unlock(&api->lock);
    return is_stream;
}

/* --- life ------------------------------------------------------------------------------------- */

int mock_api_server_new(MockApiServer **ret) {
    _cleanup_(mock_api_server_freep) MockApiServer *api = calloc(1, sizeof(*api));
    int r;

    if (!api)
        return -ENOMEM;
    (void)pthread_mutex_init(&api->lock, NULL);
    api->version = 1;
    api->mock = (MockServer){.answer = answer, .context = api, .reply_max = TEXT_MAX};
    r = mock_server_open(&api->mock);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(api);
    return 0;
}

MockApiServer *mock_api_server_free(MockApiServer *api) {
    if (!api)
        return NULL;
    mock_api_server_stop(api);
    mock_server_done(&api->mock);
    snapshot_unref(api->snapshot);
    (void)pthread_mutex_destroy(&api->lock);
    free(api);
    return NULL;
}

void mock_api_server_kubeconfig(
    const MockApiServer *api, char ret[static MOCK_API_SERVER_KUBECONFIG_MAX]) {
    (void)snprintf(ret,
        MOCK_API_SERVER_KUBECONFIG_MAX,
        "apiVersion: v1\n"
        "kind: Config\n"
        "current-context: demo\n"
        "contexts:\n"
        "  - {name: demo, context: {cluster: demo, user: berth}}\n"
        "clusters:\n"
        "  - {name: demo, cluster: {server: \"%s\"}}\n"
        "users:\n"
        "  - {name: berth, user: {}}\n",
        api->mock.url);
}

int mock_api_server_resume(MockApiServer *api) {
    return mock_server_resume(&api->mock);
}

void mock_api_server_stop(MockApiServer *api) {
    (void)pthread_mutex_lock(&api->lock);
    for (size_t i = 0; i < ELEMENTS_OF(api->watches); i++)
        if (api->watches[i].stream)
            api->watches[i].stream = stream_close(api->watches[i].stream);
    (void)pthread_mutex_unlock(&api->lock);
    mock_server_stop(&api->mock);
}

bool mock_api_server_is_up(const MockApiServer *api) {
    return mock_server_is_up(&api->mock);
}
