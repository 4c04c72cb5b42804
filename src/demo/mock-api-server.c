/*
 * The server's worker answers requests, and the thread that sets a new cluster sends events. One
 * lock protects the cluster, its version and the watches, so that a watch misses nothing between
 * its start and the next change.
 */

#include "demo/mock-api-server.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "base/buf.h"
#include "cluster/object-text.h"
#include "demo/json-put.h"
#include "demo/mock-server.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
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
    HttpStream *stream; /* NULL: a free slot */
    Kind kind;
} Watch;

struct MockApiServer {
    MockServer mock;

    pthread_mutex_t lock; /* of the next fields */
    Snapshot *snapshot;   /* NULL: none yet */
    uint64_t version;     /* incremented for each cluster */
    Watch watches[WATCHES_MAX];
};

/* --- objects ---------------------------------------------------------------------------------- */

/* Appends @object with the cluster's version as its resourceVersion. */
static void append_versioned(Buf *out, Str object, uint64_t version) {
    static const Str start = STR("\"metadata\":{");
    const char *found = memmem(object.ptr, object.len, start.ptr, start.len);
    size_t at = found ? (size_t)(found - object.ptr) + start.len : object.len;

    buf_append(out, str_take(object, at));
    buf_printf(out, "\"resourceVersion\":\"%" PRIu64 "\",", version);
    buf_append(out, str_skip(object, at));
}

/* Appends @node or, if NULL, @pod. */
static void append_object(Buf *out, const Node *node, const Pod *pod, uint64_t version) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);

    if (node)
        object_write_node(&writer, node);
    else
        object_write_pod(&writer, pod, pod->node_name);
    append_versioned(out, buf_str(&text), version);
}

/* --- lists and events ------------------------------------------------------------------------- */

/* All objects of a kind, each between @before and @after, separated by @comma. */
static void append_objects(Buf *out, const MockApiServer *api, Kind kind, const char *comma,
    const char *before, const char *after) {
    const NodeTable *cluster = snapshot_table(api->snapshot);
    size_t n = 0;

    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const Node *node = table_node(cluster, row);
        const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

        if (kind == KIND_NODES && node) {
            buf_printf(out, "%s%s", n++ > 0 ? comma : "", before);
            append_object(out, node, NULL, api->version);
            buf_append(out, str_from_c(after));
        }
        for (uint32_t i = 0; kind == KIND_PODS && pods && i < pods->n; i++) {
            buf_printf(out, "%s%s", n++ > 0 ? comma : "", before);
            append_object(out, NULL, pods->items[i], api->version);
            buf_append(out, str_from_c(after));
        }
    }
}

static void append_list(Buf *out, const MockApiServer *api, Kind kind) {
    json_put(out,
        "{'kind':'%s','apiVersion':'v1','metadata':{'resourceVersion':'%" PRIu64 "'},'items':[",
        kinds[kind].list, api->version);
    if (api->snapshot)
        append_objects(out, api, kind, ",", "", "");
    buf_append(out, STR("]}\n"));
}

static bool has_pod(const NodeTable *cluster, Str uid) {
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

        for (uint32_t i = 0; pods && i < pods->n; i++)
            if (str_eq(pods->items[i]->uid, uid))
                return true;
    }
    return false;
}

static void append_deleted(
    Buf *out, const NodeTable *before, const NodeTable *after, uint64_t version) {
    for (uint32_t row = 0; row < before->n_rows; row++) {
        const PodList *pods = table_chunk(before, row)->pods[table_slot(row)];

        for (uint32_t i = 0; pods && i < pods->n; i++)
            if (!has_pod(after, pods->items[i]->uid))
                json_put(out,
                    "{'type':'DELETED','object':{'metadata':{'namespace':'%.*s','name':'%.*s',"
                    "'resourceVersion':'%" PRIu64 "'}}}\n",
                    STR_FMT(pods->items[i]->namespace), STR_FMT(pods->items[i]->name), version);
    }
}

/* Every object is sent as modified: scenarios have small clusters. Nodes are never deleted. The
 * bookmark sends the version even for a kind without objects. */
static int send_events(MockApiServer *api, const Snapshot *before) {
    for (size_t i = 0; i < ELEMENTS_OF(api->watches); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
        Watch *watch = &api->watches[i];

        if (!watch->stream)
            continue;
        if (watch->kind == KIND_PODS && before)
            append_deleted(
                &text, snapshot_table(before), snapshot_table(api->snapshot), api->version);
        append_objects(&text, api, watch->kind, "", "{\"type\":\"MODIFIED\",\"object\":", "}\n");
        json_put(&text,
            "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'%" PRIu64 "'}}}\n",
            api->version);
        if (buf_error(&text) < 0)
            return -ENOMEM;
        if (!stream_send(watch->stream, buf_str(&text)))
            watch->stream = stream_close(watch->stream);
    }
    return 0;
}

int mock_api_server_show(MockApiServer *api, Snapshot *snapshot) {
    Snapshot *before = api->snapshot;
    int r;

    mock_server_tick(&api->mock);
    if (before == snapshot)
        return 0;
    (void)pthread_mutex_lock(&api->lock);
    api->snapshot = snapshot_ref(snapshot);
    api->version++;
    r = send_events(api, before);
    (void)pthread_mutex_unlock(&api->lock);
    snapshot_unref(before);
    return r;
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(unsigned status, const char *message, Buf *out, HttpReply *reply) {
    reply->status = status;
    json_put(out,
        "{'kind':'Status','apiVersion':'v1','status':'Failure','message':'%s','code':%u}\n",
        message, status);
}

/* A free slot; NULL: none. */
static Watch *find_slot(MockApiServer *api) {
    for (size_t i = 0; i < ELEMENTS_OF(api->watches); i++)
        if (!api->watches[i].stream)
            return &api->watches[i];
    return NULL;
}

/* True: the reply continues, and nothing else is sent. */
static bool begin_watch(MockApiServer *api, Kind kind, Str version, const HttpRequest *request,
    Buf *out, HttpReply *reply) {
    Watch *slot = find_slot(api);
    char newest[24];

    (void)snprintf(newest, sizeof(newest), "%" PRIu64, api->version);
    if (!str_is(version, newest)) {
        refuse(410, "too old resource version", out, reply);
        return false;
    }
    if (slot)
        slot->stream = server_stream(request, 0);
    if (!slot || !slot->stream) {
        refuse(503, "too many watches", out, reply);
        return false;
    }
    slot->kind = kind;
    return true;
}

/* The same. */
static bool answer_kind(
    MockApiServer *api, Kind kind, const HttpRequest *request, Buf *out, HttpReply *reply) {
    static const Str names[] = {STR("watch"), STR("resourceVersion"), STR("resourceVersionMatch"),
        STR("sendInitialEvents"), STR("allowWatchBookmarks"), STR("timeoutSeconds"), STR("limit"),
        STR("continue"), STR("fieldSelector"), STR("labelSelector")};
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

/* --- start and stop --------------------------------------------------------------------------- */

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
    (void)snprintf(ret, MOCK_API_SERVER_KUBECONFIG_MAX,
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
    return api->mock.server;
}
