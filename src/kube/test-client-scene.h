#pragma once

/* A server whose answer depends on the path, a client, and a handler that records its callbacks. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/test-folder.h"
#include "kube/client.h"
#include "kube/test-server.h"

/* --- a server whose answer depends on the path --- */

typedef struct ServerState {
    atomic_uint n_requests, n_posts;
    char authorization[64]; /* the Authorization header that /auth requires */
    Folder *rotated;        /* folder of the token, replaced by "new" after the first 401 */
    bool vanishes;          /* delete the token instead */
    pthread_mutex_t mutex;
} ServerState;

static inline void send_many(TestPeer *peer, const char *start, size_t n, const char *line) {
    _cleanup_(buf_done) Buf out = BUF_INIT((size_t)1 << 20);

    buf_append(&out, str_from_c(start));
    for (size_t i = 0; i < n; i++)
        buf_append(&out, str_from_c(line));
    test_send(peer, buf_str(&out));
}

static inline bool echo(TestPeer *peer, const TestRequest *request) {
    static const char *const names[] = {"Host", "User-Agent", "Accept", "Accept-Encoding",
        "Content-Type", "Expect", "Cookie", "Authorization"};
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);

    buf_printf(&out, "%.*s %.*s\n", STR_FMT(request->method), STR_FMT(request->path));
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (test_header(request, names[i]).len > 0)
            buf_printf(&out, "%s: %.*s\n", names[i], STR_FMT(test_header(request, names[i])));
    buf_append(&out, request->body);
    test_answer(peer, "200 OK", "Content-Type: text/plain; charset=x\r\n", buf_str(&out));
    return true;
}

static inline bool send_number(TestPeer *peer) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", test_peer_number(peer));
    test_answer(peer, "200 OK", "", str_from_c(text));
    return true;
}

static void rotate(ServerState *state) {
    pthread_mutex_lock(&state->mutex);
    if (state->rotated && state->vanishes)
        (void)unlink(folder_path(state->rotated, "token"));
    else if (state->rotated)
        (void)folder_replace(state->rotated, "token", "new\n");
    state->rotated = NULL;
    pthread_mutex_unlock(&state->mutex);
}

static bool check_authorization(ServerState *state, TestPeer *peer, const TestRequest *request) {
    if (str_is(test_header(request, "Authorization"), state->authorization))
        test_answer(peer, "200 OK", "", STR("welcome"));
    else {
        rotate(state);
        test_answer(peer, "401 Unauthorized", "", STR("{\"kind\":\"Status\"}"));
    }
    return true;
}

/* The bytes sent for a path, and whether the connection stays open. */
static const struct {
    const char *path, *bytes;
    enum { KEEP, CLOSE, LINGER } then;
} scripts[] = {
    {"/never", "", LINGER},
    {"/nothing", "", CLOSE},
    {"/garbage", "SSH-2.0-OpenSSH\r\n", CLOSE},
    {"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", CLOSE},
    {"/cut-head", "HTTP/1.1 200 OK\r\nContent-", CLOSE},
    {"/cut-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", CLOSE},
    {"/half", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", LINGER},
    {"/gzip", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
        KEEP},
    {"/te", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", KEEP},
    {"/identity", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: identity\r\n\r\nok",
        KEEP},
    {"/busy", "HTTP/1.1 429 Too Many\r\nContent-Length: 4\r\nRetry-After: 7\r\n\r\nbusy", KEEP},
    {"/date", "HTTP/1.1 503 No\r\nContent-Length: 0\r\nRetry-After: Fri, 31 Dec 1999\r\n\r\n",
        KEEP},
    {"/interim",
        "HTTP/1.1 100 Continue\r\nRetry-After: 3\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        KEEP},
    {"/switch",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello",
        CLOSE},
    {"/moved",
        "HTTP/1.1 302 Found\r\nLocation: /echo\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n",
        KEEP},
    {"/chunks",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n"
        "0\r\nX-Trailer: yes\r\n\r\n",
        KEEP},
    {"/stream", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", LINGER},
    {"/to-the-end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it", CLOSE},
    {"/empty", "HTTP/1.1 204 No Content\r\n\r\n", KEEP},
};

static bool answer(void *context, TestPeer *peer, const TestRequest *request) {
    ServerState *state = context;
    Str path = request->path;

    atomic_fetch_add(&state->n_requests, 1);
    if (str_is(request->method, "POST"))
        atomic_fetch_add(&state->n_posts, 1);
    for (size_t i = 0; i < ELEMENTS_OF(scripts); i++)
        if (str_is(path, scripts[i].path)) {
            test_send(peer, str_from_c(scripts[i].bytes));
            if (scripts[i].then == LINGER)
                test_linger(peer);
            return scripts[i].then == KEEP;
        }
    if (str_is(path, "/number"))
        return send_number(peer);
    if (str_is(path, "/die"))
        return test_peer_number(peer) > 1 && send_number(peer);
    if (str_is(path, "/auth"))
        return check_authorization(state, peer, request);
    if (str_is(path, "/headers")) {
        send_many(peer, "HTTP/1.1 200 OK\r\n", 1000,
            "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
        return false;
    }
    if (str_is(path, "/long-header")) {
        send_many(peer, "HTTP/1.1 200 OK\r\nX-Long: ", 30000, "0123456789");
        return false;
    }
    if (str_is(path, "/large")) {
        send_many(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", 10000, "0123456789");
        return true;
    }
    if (str_is(path, "/401-without-end")) {
        send_many(peer, "HTTP/1.1 401 No\r\n\r\n", 20000, "0123456789");
        test_linger(peer);
        return false;
    }
    return echo(peer, request);
}

/* --- a client --------- */

typedef struct Setup {
    Folder folder;
    ServerState state;
    TestServer *server;
    Access *access;
    Client *client;
} Setup;

static void write_config(
    Setup *setup, const char *scheme, uint16_t port, const char *cluster, const char *user) {
    char text[16384];

    (void)snprintf(text, sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: '%s://127.0.0.1:%u', %s}}]\n"
        "users: [{name: u, user: {%s}}]\n",
        scheme, port, cluster, user);
    (void)folder_replace(&setup->folder, "config", text);
}

static void open_client(Setup *setup) {
    char error[ACCESS_ERROR_MAX] = "";

    if (access_from_kubeconfig(folder_path(&setup->folder, "config"), NULL, &setup->access, error) <
        0)
        fail_msg("%s", error);
    setup->client = client_new(setup->access);
    assert_non_null(setup->client);
}

/* @pair NULL: plain HTTP. */
static void setup_init(
    Setup *setup, const TestPair *pair, const TestPair *client_ca, const char *user) {
    char cluster[256] = "";

    *setup = (Setup){.state.mutex = PTHREAD_MUTEX_INITIALIZER};
    folder_init(&setup->folder);
    setup->server = test_server_new(&(TestServerOptions){
        .handler = answer, .context = &setup->state, .pair = pair, .client_ca = client_ca});
    if (pair)
        (void)snprintf(cluster, sizeof(cluster), "certificate-authority: ca.pem");
    write_config(setup, pair ? "https" : "http", test_server_port(setup->server), cluster, user);
}

static void setup_done(Setup *setup) {
    client_free(setup->client);
    access_free(setup->access);
    test_server_free(setup->server);
    folder_done(&setup->folder);
}

/* The callbacks of one call. */
typedef struct CallRecord {
    unsigned n_heads, n_data, n_done;
    CallHead head;
    char content_type[64];
    Buf body;
    CallResult result;
    char error[CLIENT_ERROR_MAX];

    /* Reactions of the handler. */
    Call *call;
    bool forbids; /* may_send() returns false */
    bool ends_in_data;
    bool cancels_in_head, cancels_in_data, cancels_in_done;
    struct CallRecord *other; /* cancelled together with it */
    Client *client;           /* starts /echo from each callback when set */
    struct CallRecord *started;
} CallRecord;

static inline void start(Client *client, CallRecord *record, const char *path);

static inline void act(CallRecord *record, bool cancels) {
    if (record->client) {
        Client *client = record->client;

        record->client = NULL;
        start(client, record->started, "/echo");
    }
    if (!cancels)
        return;
    if (record->other)
        call_cancel(record->other->call);
    call_cancel(record->call);
}

static inline bool may_send(void *context) {
    const CallRecord *record = context;

    return !record->forbids;
}

static inline void on_head(void *context, const CallHead *head) {
    CallRecord *record = context;

    assert_int_equal(record->n_data + record->n_done, 0);
    record->n_heads++;
    record->head = *head;
    (void)snprintf(
        record->content_type, sizeof(record->content_type), "%.*s", STR_FMT(head->content_type));
    act(record, record->cancels_in_head);
}

static inline bool on_data(void *context, Str bytes) {
    CallRecord *record = context;

    assert_int_equal(record->n_heads, 1);
    assert_int_equal(record->n_done, 0);
    record->n_data++;
    buf_append(&record->body, bytes);
    act(record, record->cancels_in_data);
    return !record->ends_in_data;
}

static inline void on_done(void *context, const CallResult *result) {
    CallRecord *record = context;

    record->n_done++;
    record->result = *result;
    if (result->outcome != CALL_DONE) {
        assert_non_null(result->error);
        assert_true(result->error[0] != '\0');
        (void)snprintf(record->error, sizeof(record->error), "%s", result->error);
    }
    act(record, record->cancels_in_done);
}

static inline const CallHandler *handler_of(CallRecord *record, CallHandler *handler) {
    record->body = BUF_INIT((size_t)1 << 20);
    *handler = (CallHandler){
        .context = record, .may_send = may_send, .head = on_head, .data = on_data, .done = on_done};
    return handler;
}

static inline void start_with(Client *client, CallRecord *record, const CallOptions *options) {
    CallHandler handler;

    record->call = client_call(client, options, handler_of(record, &handler));
    assert_non_null(record->call);
    assert_int_equal(record->n_done, 0); /* done() is never called from within client_call() */
}

static inline void start(Client *client, CallRecord *record, const char *path) {
    start_with(client, record, &(CallOptions){.method = "GET", .path = path});
}

static inline void record_done(CallRecord *record) {
    buf_done(&record->body);
}

#define TURNS_MAX 2000 /* of 100 ms; then the test has failed */

static inline void finish(Client *client, const CallRecord *record) {
    for (int i = 0; i < TURNS_MAX && record->n_done == 0; i++)
        assert_int_equal(client_wait(client, 100), 0);
    assert_int_equal(record->n_done, 1);
}

static inline void run(Client *client, CallRecord *record, const CallOptions *options) {
    start_with(client, record, options);
    finish(client, record);
}

static inline void get(Client *client, CallRecord *record, const char *path) {
    run(client, record, &(CallOptions){.method = "GET", .path = path});
}
