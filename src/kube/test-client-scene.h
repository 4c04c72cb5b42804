#pragma once

/* A client in front of a server that does as the path says, and a handler that writes down what it
 * sees. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/test-folder.h"
#include "kube/client.h"
#include "kube/test-server.h"

/* --- a server that does as the path says --- */

typedef struct World {
    atomic_uint n_requests, n_posts;
    char word[64];   /* the Authorization that /auth wants */
    Folder *rotated; /* where the token "new" appears when the first is refused */
    bool vanishes;   /* ... or none is any more */
    pthread_mutex_t mutex;
} World;

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

static inline bool say_number(TestPeer *peer) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", test_peer_number(peer));
    test_answer(peer, "200 OK", "", str_from_c(text));
    return true;
}

static void rotate(World *world) {
    pthread_mutex_lock(&world->mutex);
    if (world->rotated && world->vanishes)
        (void)unlink(folder_path(world->rotated, "token"));
    else if (world->rotated)
        (void)folder_replace(world->rotated, "token", "new\n");
    world->rotated = NULL;
    pthread_mutex_unlock(&world->mutex);
}

static bool check_word(World *world, TestPeer *peer, const TestRequest *request) {
    if (str_is(test_header(request, "Authorization"), world->word))
        test_answer(peer, "200 OK", "", STR("welcome"));
    else {
        rotate(world);
        test_answer(peer, "401 Unauthorized", "", STR("{\"kind\":\"Status\"}"));
    }
    return true;
}

/* What is sent, and whether the connection stays. */
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
    World *world = context;
    Str path = request->path;

    atomic_fetch_add(&world->n_requests, 1);
    if (str_is(request->method, "POST"))
        atomic_fetch_add(&world->n_posts, 1);
    for (size_t i = 0; i < ELEMENTS_OF(scripts); i++)
        if (str_is(path, scripts[i].path)) {
            test_send(peer, str_from_c(scripts[i].bytes));
            if (scripts[i].then == LINGER)
                test_linger(peer);
            return scripts[i].then == KEEP;
        }
    if (str_is(path, "/number"))
        return say_number(peer);
    if (str_is(path, "/die"))
        return test_peer_number(peer) > 1 && say_number(peer);
    if (str_is(path, "/auth"))
        return check_word(world, peer, request);
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

/* --- a client of it --- */

typedef struct Setup {
    Folder folder;
    World world;
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

/* Plain HTTP, which sends no credentials, unless @pair is there. */
static void setup_init(
    Setup *setup, const TestPair *pair, const TestPair *client_ca, const char *user) {
    char cluster[256] = "";

    *setup = (Setup){.world.mutex = PTHREAD_MUTEX_INITIALIZER};
    folder_init(&setup->folder);
    setup->server = test_server_new(&(TestServerOptions){
        .handler = answer, .context = &setup->world, .pair = pair, .client_ca = client_ca});
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

/* What the handler of one call has seen. */
typedef struct Seen {
    unsigned n_heads, n_data, n_done;
    CallHead head;
    char content_type[64];
    Buf body;
    CallResult result;
    char error[CLIENT_ERROR_MAX];

    /* What it does. */
    Call *call;
    bool forbids; /* it to be sent */
    bool ends_in_data;
    bool cancels_in_head, cancels_in_data, cancels_in_done;
    struct Seen *other; /* cancelled together with it */
    Client *client;     /* starts /echo from each callback when set */
    struct Seen *started;
} Seen;

static inline void start(Client *client, Seen *seen, const char *path);

static inline void act(Seen *seen, bool cancels) {
    if (seen->client) {
        Client *client = seen->client;

        seen->client = NULL;
        start(client, seen->started, "/echo");
    }
    if (!cancels)
        return;
    if (seen->other)
        call_cancel(seen->other->call);
    call_cancel(seen->call);
}

static inline bool may_send(void *context) {
    const Seen *seen = context;

    return !seen->forbids;
}

static inline void on_head(void *context, const CallHead *head) {
    Seen *seen = context;

    assert_int_equal(seen->n_data + seen->n_done, 0);
    seen->n_heads++;
    seen->head = *head;
    (void)snprintf(
        seen->content_type, sizeof(seen->content_type), "%.*s", STR_FMT(head->content_type));
    act(seen, seen->cancels_in_head);
}

static inline bool on_data(void *context, Str bytes) {
    Seen *seen = context;

    assert_int_equal(seen->n_heads, 1);
    assert_int_equal(seen->n_done, 0);
    seen->n_data++;
    buf_append(&seen->body, bytes);
    act(seen, seen->cancels_in_data);
    return !seen->ends_in_data;
}

static inline void on_done(void *context, const CallResult *result) {
    Seen *seen = context;

    seen->n_done++;
    seen->result = *result;
    if (result->outcome != CALL_DONE) {
        assert_non_null(result->error);
        assert_true(result->error[0] != '\0');
        (void)snprintf(seen->error, sizeof(seen->error), "%s", result->error);
    }
    act(seen, seen->cancels_in_done);
}

static inline const CallHandler *handler_of(Seen *seen, CallHandler *handler) {
    seen->body = BUF_INIT((size_t)1 << 20);
    *handler = (CallHandler){
        .context = seen, .may_send = may_send, .head = on_head, .data = on_data, .done = on_done};
    return handler;
}

static inline void start_with(Client *client, Seen *seen, const CallOptions *options) {
    CallHandler handler;

    seen->call = client_call(client, options, handler_of(seen, &handler));
    assert_non_null(seen->call);
    assert_int_equal(seen->n_done, 0); /* never from within client_call() */
}

static inline void start(Client *client, Seen *seen, const char *path) {
    start_with(client, seen, &(CallOptions){.method = "GET", .path = path});
}

static inline void seen_done(Seen *seen) {
    buf_done(&seen->body);
}

#define TURNS_MAX 2000 /* of 100 ms; a test that needs more hangs */

static inline void finish(Client *client, const Seen *seen) {
    for (int i = 0; i < TURNS_MAX && seen->n_done == 0; i++)
        assert_int_equal(client_wait(client, 100), 0);
    assert_int_equal(seen->n_done, 1);
}

static inline void run(Client *client, Seen *seen, const CallOptions *options) {
    start_with(client, seen, options);
    finish(client, seen);
}

static inline void get(Client *client, Seen *seen, const char *path) {
    run(client, seen, &(CallOptions){.method = "GET", .path = path});
}
