#include "kube/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/test-folder.h"
#include "kube/test-server.h"

/* --- a server that does as the path says --- */

typedef struct World {
    atomic_uint n_requests, n_posts;
    char word[64];   /* the Authorization that /auth wants */
    Folder *rotated; /* where the token "new" appears when the first is refused */
    pthread_mutex_t mutex;
} World;

static void send_many(TestPeer *peer, const char *start, size_t n, const char *line) {
    _cleanup_(buf_done) Buf out = BUF_INIT((size_t)1 << 20);

    buf_append(&out, str_from_c(start));
    for (size_t i = 0; i < n; i++)
        buf_append(&out, str_from_c(line));
    test_send(peer, buf_str(&out));
}

static bool echo(TestPeer *peer, const TestRequest *request) {
    static const char *const names[] = {"Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
        "Content-Type",
        "Expect",
        "Cookie",
        "Authorization"};
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);

    buf_printf(&out, "%.*s %.*s\n", STR_FMT(request->method), STR_FMT(request->path));
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (test_header(request, names[i]).len > 0)
            buf_printf(&out, "%s: %.*s\n", names[i], STR_FMT(test_header(request, names[i])));
    buf_append(&out, request->body);
    test_answer(peer, "200 OK", "Content-Type: text/plain; charset=x\r\n", buf_str(&out));
    return true;
}

static bool say_number(TestPeer *peer) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", test_peer_number(peer));
    test_answer(peer, "200 OK", "", str_from_c(text));
    return true;
}

static void rotate(World *world) {
    pthread_mutex_lock(&world->mutex);
    if (world->rotated)
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
    {"/gzip",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
        KEEP},
    {"/te", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", KEEP},
    {"/identity",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: identity\r\n\r\nok",
        KEEP},
    {"/busy", "HTTP/1.1 429 Too Many\r\nContent-Length: 4\r\nRetry-After: 7\r\n\r\nbusy", KEEP},
    {"/date",
        "HTTP/1.1 503 No\r\nContent-Length: 0\r\nRetry-After: Fri, 31 Dec 1999\r\n\r\n",
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
        send_many(peer,
            "HTTP/1.1 200 OK\r\n",
            1000,
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

    (void)snprintf(text,
        sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: '%s://127.0.0.1:%u', %s}}]\n"
        "users: [{name: u, user: {%s}}]\n",
        scheme,
        port,
        cluster,
        user);
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

static void start(Client *client, Seen *seen, const char *path);

static void act(Seen *seen, bool cancels) {
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

static bool may_send(void *context) {
    const Seen *seen = context;

    return !seen->forbids;
}

static void on_head(void *context, const CallHead *head) {
    Seen *seen = context;

    assert_int_equal(seen->n_data + seen->n_done, 0);
    seen->n_heads++;
    seen->head = *head;
    (void)snprintf(
        seen->content_type, sizeof(seen->content_type), "%.*s", STR_FMT(head->content_type));
    act(seen, seen->cancels_in_head);
}

static bool on_data(void *context, Str bytes) {
    Seen *seen = context;

    assert_int_equal(seen->n_heads, 1);
    assert_int_equal(seen->n_done, 0);
    seen->n_data++;
    buf_append(&seen->body, bytes);
    act(seen, seen->cancels_in_data);
    return !seen->ends_in_data;
}

static void on_done(void *context, const CallResult *result) {
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

static const CallHandler *handler_of(Seen *seen, CallHandler *handler) {
    seen->body = BUF_INIT((size_t)1 << 20);
    *handler = (CallHandler){
        .context = seen, .may_send = may_send, .head = on_head, .data = on_data, .done = on_done};
    return handler;
}

static void start_with(Client *client, Seen *seen, const CallOptions *options) {
    CallHandler handler;

    seen->call = client_call(client, options, handler_of(seen, &handler));
    assert_non_null(seen->call);
    assert_int_equal(seen->n_done, 0); /* never from within client_call() */
}

static void start(Client *client, Seen *seen, const char *path) {
    start_with(client, seen, &(CallOptions){.method = "GET", .path = path});
}

static void seen_done(Seen *seen) {
    buf_done(&seen->body);
}

#define TURNS_MAX 2000 /* of 100 ms; a test that needs more hangs */

static void finish(Client *client, const Seen *seen) {
    for (int i = 0; i < TURNS_MAX && seen->n_done == 0; i++)
        assert_int_equal(client_wait(client, 100), 0);
    assert_int_equal(seen->n_done, 1);
}

static void run(Client *client, Seen *seen, const CallOptions *options) {
    start_with(client, seen, options);
    finish(client, seen);
}

static void get(Client *client, Seen *seen, const char *path) {
    run(client, seen, &(CallOptions){.method = "GET", .path = path});
}

/* --- what it asks --- */

static void test_requests(void **state) {
    static const struct {
        const char *name;
        CallOptions options;
        const char *says;
    } cases[] = {
        {"get", {.method = "GET", .path = "/a/b?watch=1&x=%20"}, "GET /a/b?watch=1&x=%20\n"},
        {"dots", {.method = "GET", .path = "/a/../b/./c"}, "GET /a/../b/./c\n"},
        {"post",
            {.method = "POST", .path = "/p", .content_type = "application/json", .body = STR("{}")},
            "POST /p\n"},
        {"patch",
            {.method = "PATCH",
                .path = "/p",
                .content_type = "application/merge-patch+json",
                .body = STR("{\"a\":1}")},
            "PATCH /p\n"},
        {"empty post", {.method = "POST", .path = "/p", .content_type = "text/plain"}, "POST /p\n"},
        {"delete", {.method = "DELETE", .path = "/p"}, "DELETE /p\n"},
    };
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "token: not-over-plain-http");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};
        char want[512];

        run(setup.client, &seen, &cases[i].options);
        assert_case(cases[i].name, seen.result.outcome == CALL_DONE && seen.result.status == 200);
        assert_case(cases[i].name, seen.n_heads == 1 && seen.head.status == 200);
        assert_text(cases[i].name, str_from_c(seen.content_type), "text/plain");
        (void)snprintf(want,
            sizeof(want),
            "%sHost: 127.0.0.1:%u\nUser-Agent: berth/0.1.0\nAccept: application/json\n%s%s%s%.*s",
            cases[i].says,
            test_server_port(setup.server),
            cases[i].options.content_type ? "Content-Type: " : "",
            cases[i].options.content_type ? cases[i].options.content_type : "",
            cases[i].options.content_type ? "\n" : "",
            STR_FMT(cases[i].options.body));
        assert_text(cases[i].name, buf_str(&seen.body), want);
    }
    setup_done(&setup);
}

/* --- how answers end --- */

static void test_outcomes(void **state) {
    static const struct {
        const char *path;
        CallOutcome outcome;
        unsigned status;
        const char *body;
        const char *says; /* part of the error */
        uint64_t bytes_max;
    } cases[] = {
        {"/nothing", CALL_BROKEN, 0, "", "http://127.0.0.1:", 0},
        {"/garbage", CALL_BROKEN, 0, "", "HTTP/0.9", 0},
        {"/cut", CALL_BROKEN, 200, "only this", "transfer closed", 0},
        {"/cut-head", CALL_BROKEN, 0, "", "ended in its headers", 0},
        {"/cut-chunk", CALL_BROKEN, 200, "hello", "transfer closed", 0},
        {"/gzip", CALL_BROKEN, 0, "", "encoded (gzip), which was not asked for", 0},
        {"/te", CALL_BROKEN, 0, "", "encoded (gzip, chunked), which was not asked for", 0},
        {"/identity", CALL_DONE, 200, "ok", NULL, 0},
        {"/headers", CALL_BROKEN, 0, "", "headers of the answer are larger than 64 KiB", 0},
        {"/long-header", CALL_BROKEN, 0, "", "the headers of the answer are too long", 0},
        {"/switch", CALL_BROKEN, 0, "", "switches to another protocol", 0},
        {"/busy", CALL_DONE, 429, "busy", NULL, 0},
        {"/interim", CALL_DONE, 200, "ok", NULL, 0},
        {"/moved", CALL_DONE, 302, "", NULL, 0},
        {"/chunks", CALL_DONE, 200, "onetwo", NULL, 0},
        {"/chunks", CALL_DONE, 200, "onetwo", NULL, 6},
        {"/to-the-end", CALL_DONE, 200, "all of it", NULL, 0},
        {"/empty", CALL_DONE, 204, "", NULL, 0},
        {"/large", CALL_TOO_LARGE, 200, NULL, "the answer is larger than 99999 bytes", 99999},
        {"/large", CALL_DONE, 200, NULL, NULL, 100000},
    };
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};

        run(setup.client,
            &seen,
            &(CallOptions){
                .method = "GET", .path = cases[i].path, .bytes_max = cases[i].bytes_max});
        if (seen.result.outcome != cases[i].outcome)
            print_error("%s\n", seen.error);
        assert_case(cases[i].path, seen.result.outcome == cases[i].outcome);
        assert_case(cases[i].path, seen.result.status == cases[i].status);
        assert_case(cases[i].path, seen.n_heads == (cases[i].status > 0));
        if (cases[i].body)
            assert_text(cases[i].path, buf_str(&seen.body), cases[i].body);
        if (cases[i].says && !strstr(seen.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].path, cases[i].says, seen.error);
    }
    setup_done(&setup);
}

static void test_retry_after(void **state) {
    static const struct {
        const char *path;
        int seconds;
    } cases[] = {{"/busy", 7}, {"/date", -1}, {"/interim", -1}, {"/chunks", -1}};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};

        get(setup.client, &seen, cases[i].path);
        assert_case(cases[i].path, seen.head.retry_after_sec == cases[i].seconds);
        assert_case(cases[i].path, seen.result.retry_after_sec == cases[i].seconds);
    }
    setup_done(&setup);
}

static void test_refused(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    char want[128];
    uint16_t port;
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    port = test_server_port(setup.server);
    test_server_free(setup.server);
    setup.server = NULL;
    open_client(&setup);
    get(setup.client, &seen, "/");
    assert_int_equal(seen.result.outcome, CALL_REFUSED);
    assert_int_equal(seen.result.status, 0);
    (void)snprintf(want, sizeof(want), "http://127.0.0.1:%u: connection refused", port);
    assert_string_equal(seen.error, want);
    setup_done(&setup);
}

/* A TLS server that takes the connection and says nothing. */
static void open_mute(Setup *setup) {
    *setup = (Setup){0};
    folder_init(&setup->folder);
    setup->server = test_server_new(&(TestServerOptions){.is_mute = true});
    write_config(setup,
        "https",
        test_server_port(setup->server),
        "insecure-skip-tls-verify: true",
        "token: t");
    open_client(setup);
}

/* All at once, as they take their time. */
static void test_times(void **state) {
    static const struct {
        CallOptions options;
        const char *says;
    } cases[] = {
        {{.method = "GET", .path = "/never", .first_byte_sec = 1}, "no answer within 1 s"},
        {{.method = "GET", .path = "/half", .silence_sec = 1}, "nothing more came within 1 s"},
        {{.method = "GET", .path = "/half", .first_byte_sec = 3, .total_sec = 5},
            "was not answered to the end within 5 s"},
        {{.method = "GET", .path = "/never", .total_sec = 1},
            "was not answered to the end within 1 s"},
    };
    Seen seen[ELEMENTS_OF(cases)] = {0};
    _cleanup_(seen_done) Seen connecting = {0};
    Setup setup, mute;

    (void)state;
    open_mute(&mute);
    start(mute.client, &connecting, "/");
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        start_with(setup.client, &seen[i], &cases[i].options);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        while (seen[i].n_done == 0) {
            assert_int_equal(client_wait(setup.client, 50), 0);
            assert_int_equal(client_wait(mute.client, 50), 0);
        }
        assert_case(cases[i].says, seen[i].result.outcome == CALL_TIMEOUT);
        if (!strstr(seen[i].error, cases[i].says))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].says, seen[i].error);
        seen_done(&seen[i]);
    }
    finish(mute.client, &connecting);
    assert_int_equal(connecting.result.outcome, CALL_TIMEOUT);
    assert_non_null(strstr(connecting.error, "no connection within 10 s"));
    setup_done(&mute);
    setup_done(&setup);
}

/* --- connections --- */

static void test_connections_are_kept(void **state) {
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (int i = 0; i < 5; i++) {
        _cleanup_(seen_done) Seen seen = {0};

        get(setup.client, &seen, "/number");
        assert_text("the first connection", buf_str(&seen.body), "1");
    }
    assert_int_equal(test_server_connections(setup.server), 1);
    setup_done(&setup);
}

/* A kept connection that ends without an answer: what only reads is asked again, what may
 * have changed something is not. */
static void test_nothing_is_sent_twice(void **state) {
    _cleanup_(seen_done) Seen first = {0}, post = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &first, "/number");
    run(setup.client,
        &post,
        &(CallOptions){
            .method = "POST", .path = "/die", .content_type = "text/plain", .body = STR("x")});
    assert_int_equal(post.result.outcome, CALL_BROKEN);
    assert_non_null(strstr(post.error, "ended before an answer came"));
    assert_true(post.result.was_sent);
    assert_int_equal(atomic_load(&setup.world.n_posts), 1);
    setup_done(&setup);
}

/* On a new connection and on a kept one. */
static void test_what_is_too_late_is_not_sent(void **state) {
    const CallOptions options = {
        .method = "POST", .path = "/echo", .content_type = "text/plain", .body = STR("x")};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (int i = 0; i < 4; i++) {
        _cleanup_(seen_done) Seen post = {.forbids = i % 2 == 0};

        run(setup.client, &post, &options);
        assert_int_equal(post.result.outcome, post.forbids ? CALL_REFUSED : CALL_DONE);
        assert_int_equal(post.result.was_sent, !post.forbids);
        if (post.forbids)
            assert_string_equal(post.error, "it was too late to send it");
    }
    assert_int_equal(atomic_load(&setup.world.n_posts), 2);
    setup_done(&setup);
}

/* libcurl connects anew when a kept connection ends without an answer. That nobody answers
 * there does not mean that nothing was sent. */
static void test_what_was_sent_stays_sent(void **state) {
    _cleanup_(seen_done) Seen first = {0}, post = {0}, later = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &first, "/number");
    test_server_deafen(setup.server);
    run(setup.client,
        &post,
        &(CallOptions){
            .method = "POST", .path = "/die", .content_type = "text/plain", .body = STR("x")});
    assert_int_not_equal(post.result.outcome, CALL_DONE);
    assert_true(post.result.was_sent);
    assert_int_equal(atomic_load(&setup.world.n_posts), 1);
    get(setup.client, &later, "/number");
    assert_int_equal(later.result.outcome, CALL_REFUSED);
    assert_false(later.result.was_sent);
    setup_done(&setup);
}

static void test_reading_is_tried_again(void **state) {
    _cleanup_(seen_done) Seen first = {0}, again = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &first, "/number");
    get(setup.client, &again, "/die");
    assert_int_equal(again.result.outcome, CALL_DONE);
    assert_text("another connection", buf_str(&again.body), "2");
    setup_done(&setup);
}

static void test_many_at_a_time(void **state) {
    enum { N = 40 };
    Seen seen[N] = {0}, streams[2] = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < 2; i++)
        start(setup.client, &streams[i], "/stream");
    for (size_t i = 0; i < N; i++)
        start(setup.client, &seen[i], "/large");
    for (size_t i = 0; i < N; i++) {
        finish(setup.client, &seen[i]);
        assert_int_equal(seen[i].result.outcome, CALL_DONE);
        assert_int_equal(seen[i].body.len, 100000);
        seen_done(&seen[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        while (streams[i].n_data == 0)
            assert_int_equal(client_wait(setup.client, 100), 0);
        assert_int_equal(streams[i].n_done, 0); /* stays open; ends with the client */
    }
    client_free(setup.client);
    setup.client = NULL;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(streams[i].n_done, 0);
        seen_done(&streams[i]);
    }
    setup_done(&setup);
}

/* --- handlers that start, end and cancel --- */

static void test_data_ends(void **state) {
    _cleanup_(seen_done) Seen seen = {.ends_in_data = true}, after = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &seen, "/stream");
    assert_int_equal(seen.result.outcome, CALL_ENDED);
    assert_int_equal(seen.result.status, 200);
    assert_text("what came", buf_str(&seen.body), "first");
    get(setup.client, &after, "/echo");
    assert_int_equal(after.result.outcome, CALL_DONE);
    setup_done(&setup);
}

/* With callbacks that are NULL everything is read and dropped. */
static void test_no_callbacks(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    assert_non_null(client_call(setup.client,
        &(CallOptions){.method = "GET", .path = "/large"},
        &(CallHandler){.context = &seen, .done = on_done}));
    finish(setup.client, &seen);
    assert_int_equal(seen.result.outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_cancels(void **state) {
    static const struct {
        const char *name;
        Seen seen;
        bool is_done; /* done() is called, before the cancellation */
    } cases[] = {
        {"in head", {.cancels_in_head = true}, false},
        {"in data", {.cancels_in_data = true}, false},
        {"in data that ends", {.cancels_in_data = true, .ends_in_data = true}, false},
        {"in done", {.cancels_in_done = true}, true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = cases[i].seen, other = {0}, started = {0};
        Setup setup;

        setup_init(&setup, NULL, NULL, "");
        open_client(&setup);
        seen.client = setup.client; /* starts one call, too */
        seen.started = &started;
        seen.other = &other;
        start(setup.client, &other, "/stream");
        start(setup.client, &seen, "/large");
        finish(setup.client, &started);
        for (int k = 0; k < 3; k++)
            assert_int_equal(client_wait(setup.client, 10), 0);
        assert_case(cases[i].name, started.result.outcome == CALL_DONE);
        assert_case(cases[i].name, seen.n_done == cases[i].is_done);
        assert_case(cases[i].name, other.n_done == 0);
        setup_done(&setup);
    }
}

static void test_cancel_outside(void **state) {
    Seen before = {0}, during = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    start(setup.client, &before, "/echo");
    call_cancel(before.call); /* was never begun */
    start(setup.client, &during, "/stream");
    while (during.n_data == 0)
        assert_int_equal(client_wait(setup.client, 100), 0);
    call_cancel(during.call);
    call_cancel(NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(client_wait(setup.client, 10), 0);
    assert_int_equal(before.n_heads + before.n_done + during.n_done, 0);
    assert_int_equal(during.n_data, 1);
    seen_done(&before);
    seen_done(&during);
    setup_done(&setup);
}

/* A name is looked up on a thread of its own; taking the call back does not wait for it. */
static void test_host_name(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    char text[512];
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    (void)snprintf(text,
        sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {server: 'http://localhost:%u'}}]\n",
        test_server_port(setup.server));
    (void)folder_replace(&setup.folder, "config", text);
    open_client(&setup);
    for (int i = 0; i < 10; i++) {
        Seen cancelled = {0};

        start(setup.client, &cancelled, "/never");
        assert_int_equal(client_wait(setup.client, 0), 0);
        call_cancel(cancelled.call);
        seen_done(&cancelled);
    }
    get(setup.client, &seen, "/echo");
    assert_int_equal(seen.result.outcome, CALL_DONE);
    setup_done(&setup);
}

/* --- waking --- */

typedef struct Waker {
    Client *client;
    atomic_bool is_awake;
} Waker;

static void *wake(void *context) {
    Waker *waker = context;

    while (!atomic_load(&waker->is_awake)) {
        client_wake(waker->client);
        (void)usleep(1000);
    }
    return NULL;
}

/* Without a wake-up this would wait for an hour. */
static void test_wake(void **state) {
    Waker waker = {0};
    pthread_t thread;
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    waker.client = setup.client;
    assert_int_equal(pthread_create(&thread, NULL, wake, &waker), 0);
    assert_int_equal(client_wait(setup.client, 3600 * 1000), 0);
    assert_int_equal(client_wait(setup.client, 3600 * 1000), 0);
    atomic_store(&waker.is_awake, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    setup_done(&setup);
}

/* --- TLS --- */

static unsigned n_trusted_folders;

/* In the place of GnuTLS's own: whether libcurl, too, trusts the system's folder of CAs. */
int gnutls_certificate_set_x509_trust_dir(
    gnutls_certificate_credentials_t credentials, const char *path, gnutls_x509_crt_fmt_t format) {
    n_trusted_folders++;
    return 0;
}

static TestPair ca, other_ca, loopback, named, expired, client_pair, other_client;

static int make_pairs(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    ca = test_pair_new(&(TestWish){.common_name = "ca", .is_ca = true});
    other_ca = test_pair_new(&(TestWish){.common_name = "other ca", .is_ca = true});
    loopback =
        test_pair_new(&(TestWish){.common_name = "api", .is_for_loopback = true, .issuer = &ca});
    named =
        test_pair_new(&(TestWish){.common_name = "x", .dns = "kubernetes.example", .issuer = &ca});
    expired = test_pair_new(&(TestWish){
        .common_name = "old", .is_for_loopback = true, .has_expired = true, .issuer = &ca});
    client_pair =
        test_pair_new(&(TestWish){.common_name = "berth", .is_for_clients = true, .issuer = &ca});
    other_client = test_pair_new(
        &(TestWish){.common_name = "berth", .is_for_clients = true, .issuer = &other_ca});
    return 0;
}

static int drop_pairs(void **state) {
    TestPair *pairs[] = {&ca, &other_ca, &loopback, &named, &expired, &client_pair, &other_client};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(pairs); i++)
        test_pair_done(pairs[i]);
    return 0;
}

static void write_certificate(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_certificate(pair);

    (void)folder_replace(&setup->folder, name, pem);
    free(pem);
}

static void write_key(Setup *setup, const char *name, const TestPair *pair) {
    char *pem = test_pair_key(pair);

    (void)folder_replace(&setup->folder, name, pem);
    free(pem);
}

#define BY_FILE "certificate-authority: ca.pem"

static void test_server_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *server, *ca;
        const char *cluster;
        CallOutcome outcome;
        const char *says;
    } cases[] = {
        {"good", &loopback, &ca, BY_FILE, CALL_DONE, NULL},
        {"another CA",
            &loopback,
            &other_ca,
            BY_FILE,
            CALL_REFUSED,
            "its certificate is not signed by the CA of context c of /tmp/"},
        {"the system's CAs", &loopback, &ca, "", CALL_REFUSED, "its certificate is not signed by"},
        {"another name", &named, &ca, BY_FILE, CALL_REFUSED, "does not match target host name"},
        {"expired", &expired, &ca, BY_FILE, CALL_REFUSED, "its certificate has expired"},
        {"not looked at", &named, &ca, "insecure-skip-tls-verify: true", CALL_DONE, NULL},
        {"a name of its own",
            &named,
            &ca,
            BY_FILE ", tls-server-name: kubernetes.example",
            CALL_DONE,
            NULL},
        {"a wrong name of its own",
            &loopback,
            &ca,
            BY_FILE ", tls-server-name: kubernetes.example",
            CALL_REFUSED,
            "does not match target host name 'kubernetes.example'"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};
        char host[64];
        Setup setup;

        setup_init(&setup, cases[i].server, NULL, "");
        write_certificate(&setup, "ca.pem", cases[i].ca);
        write_config(
            &setup, "https", test_server_port(setup.server), cases[i].cluster, "token: opensesame");
        open_client(&setup);
        n_trusted_folders = 0;
        get(setup.client, &seen, "/echo");
        if (seen.result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].name, seen.error);
        if (cases[i].says && !strstr(seen.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].name, cases[i].says, seen.error);
        assert_null(strstr(seen.error, "opensesame"));
        assert_case(cases[i].name, (n_trusted_folders > 0) == !strstr(cases[i].cluster, BY_FILE));
        if (cases[i].outcome == CALL_DONE) {
            (void)snprintf(
                host, sizeof(host), "Host: 127.0.0.1:%u\n", test_server_port(setup.server));
            buf_append_char(&seen.body, '\0');
            assert_non_null(strstr(seen.body.data, host));
            assert_non_null(strstr(seen.body.data, "Authorization: Bearer opensesame\n"));
        }
        setup_done(&setup);
    }
}

static void test_old_tls(void **state) {
    static const struct {
        const char *priorities;
        CallOutcome outcome;
    } cases[] = {
        {"NORMAL:-VERS-ALL:+VERS-TLS1.1", CALL_REFUSED},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.2", CALL_DONE},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.3", CALL_DONE},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};
        Setup setup;

        setup_init(&setup, &loopback, NULL, "");
        test_server_free(setup.server);
        setup.server = test_server_new(&(TestServerOptions){.handler = answer,
            .context = &setup.world,
            .pair = &loopback,
            .priorities = cases[i].priorities});
        write_certificate(&setup, "ca.pem", &ca);
        write_config(&setup, "https", test_server_port(setup.server), BY_FILE, "");
        open_client(&setup);
        get(setup.client, &seen, "/echo");
        assert_case(cases[i].priorities, seen.result.outcome == cases[i].outcome);
        setup_done(&setup);
    }
}

static void test_client_certificates(void **state) {
    static const struct {
        const char *name;
        const TestPair *certificate, *key;
        CallOutcome outcome;
        const char *says;
    } cases[] = {
        {"good", &client_pair, &client_pair, CALL_DONE, NULL},
        {"of another CA",
            &other_client,
            &other_client,
            CALL_REFUSED,
            "it may not accept the client certificate of context c of /tmp/"},
        {"another key",
            &client_pair,
            &other_client,
            CALL_REFUSED,
            "the client certificate and key of context c of /tmp/"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(seen_done) Seen seen = {0};
        Setup setup;

        setup_init(&setup, &loopback, &ca, "client-certificate: c.pem, client-key: k.pem");
        write_certificate(&setup, "ca.pem", &ca);
        write_certificate(&setup, "c.pem", cases[i].certificate);
        write_key(&setup, "k.pem", cases[i].key);
        open_client(&setup);
        get(setup.client, &seen, "/echo");
        if (seen.result.outcome != cases[i].outcome)
            fail_msg("%s: %s", cases[i].name, seen.error);
        if (cases[i].says && !strstr(seen.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].name, cases[i].says, seen.error);
        setup_done(&setup);
    }
}

/* What an identity sends does not go over a connection of an older one. */
static void test_new_identity_new_connection(void **state) {
    static const char *const want[] = {"1", "1", "2", "2", "3", "3", "4", "4"};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "tokenFile: token");
    write_config(&setup, /* to libcurl every connection is like the other */
        "https",
        test_server_port(setup.server),
        "insecure-skip-tls-verify: true",
        "tokenFile: token");
    (void)folder_replace(&setup.folder, "token", "one");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        _cleanup_(seen_done) Seen seen = {0};

        if (i > 0 && i % 2 == 0) {
            char token[16];

            (void)snprintf(token, sizeof(token), "token-%zu", i);
            (void)folder_replace(&setup.folder, "token", token);
            access_reject(setup.access); /* looked at at once, not within a second */
        }
        get(setup.client, &seen, "/number");
        assert_text("connection", buf_str(&seen.body), want[i]);
    }
    setup_done(&setup);
}

/* --- 401 --- */

static void test_unauthorized(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "token: wrong");
    write_certificate(&setup, "ca.pem", &ca);
    (void)snprintf(setup.world.word, sizeof(setup.world.word), "Bearer right");
    open_client(&setup);
    get(setup.client, &seen, "/auth");
    assert_int_equal(seen.result.outcome, CALL_UNAUTHORIZED);
    assert_int_equal(seen.result.status, 401);
    assert_int_equal(seen.n_heads + seen.n_data, 0);
    assert_int_equal(atomic_load(&setup.world.n_requests), 1); /* nothing new to try */
    assert_non_null(strstr(seen.error, "does not accept the credentials of context c of"));
    assert_null(strstr(seen.error, "wrong"));
    setup_done(&setup);
}

static void test_basic(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "username: jane, password: pa:ss");
    write_certificate(&setup, "ca.pem", &ca);
    (void)snprintf(setup.world.word, sizeof(setup.world.word), "Basic amFuZTpwYTpzcw==");
    open_client(&setup);
    get(setup.client, &seen, "/auth");
    assert_int_equal(seen.result.outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_401_without_end(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "token: wrong");
    write_certificate(&setup, "ca.pem", &ca);
    open_client(&setup);
    get(setup.client, &seen, "/401-without-end");
    assert_int_equal(seen.result.outcome, CALL_UNAUTHORIZED);
    setup_done(&setup);
}

/* A token that was replaced: the old one is refused, the new one is found without a word
 * to anybody. Also for several calls at once. */
static void test_fresh_token(void **state) {
    Seen seen[3] = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "tokenFile: token");
    write_certificate(&setup, "ca.pem", &ca);
    (void)folder_replace(&setup.folder, "token", "old\n");
    (void)snprintf(setup.world.word, sizeof(setup.world.word), "Bearer new");
    open_client(&setup);
    setup.world.rotated = &setup.folder;
    for (size_t i = 0; i < ELEMENTS_OF(seen); i++)
        start(setup.client, &seen[i], "/auth");
    for (size_t i = 0; i < ELEMENTS_OF(seen); i++) {
        finish(setup.client, &seen[i]);
        assert_int_equal(seen[i].result.outcome, CALL_DONE);
        assert_int_equal(seen[i].n_heads, 1);
        assert_text("of the second answer only", buf_str(&seen[i].body), "welcome");
        seen_done(&seen[i]);
    }
    assert_int_equal(atomic_load(&setup.world.n_requests), 2 * ELEMENTS_OF(seen));
    setup_done(&setup);
}

/* No credentials to be had: reported through done(), from client_wait(). */
static void test_no_credentials(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    Setup setup;

    (void)state;
    setup_init(&setup,
        &loopback,
        NULL,
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
    write_certificate(&setup, "ca.pem", &ca);
    (void)folder_write_script(&setup.folder, "plugin", "echo no luck >&2; exit 3");
    open_client(&setup);
    get(setup.client, &seen, "/echo");
    assert_int_equal(seen.result.outcome, CALL_UNAUTHORIZED);
    assert_int_equal(seen.result.status, 0);
    assert_non_null(strstr(seen.error, "exit code 3: no luck"));
    assert_int_equal(atomic_load(&setup.world.n_requests), 0);
    setup_done(&setup);
}

typedef struct Stubborn {
    Client *client;
    unsigned n_done;
} Stubborn;

/* Starts the next call at once. */
static void try_again(void *context, const CallResult *result) {
    Stubborn *stubborn = context;

    stubborn->n_done++;
    assert_int_equal(result->outcome, CALL_UNAUTHORIZED);
    assert_non_null(client_call(stubborn->client,
        &(CallOptions){.method = "GET", .path = "/"},
        &(CallHandler){.context = stubborn, .done = try_again}));
}

/* Calls that fail before they begin, again and again: client_wait() returns all the same. */
static void test_no_spinning(void **state) {
    Stubborn stubborn = {0};
    Setup setup;

    (void)state;
    setup_init(&setup,
        &loopback,
        NULL,
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}");
    write_certificate(&setup, "ca.pem", &ca);
    (void)folder_write_script(&setup.folder, "plugin", "exit 1");
    open_client(&setup);
    stubborn.client = setup.client;
    assert_non_null(client_call(setup.client,
        &(CallOptions){.method = "GET", .path = "/"},
        &(CallHandler){.context = &stubborn, .done = try_again}));
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(client_wait(setup.client, 1000), 0);
        assert_int_equal(stubborn.n_done, i);
    }
    setup_done(&setup);
}

/* --- proxies --- */

/* What a proxy is asked for, and nothing else: it refuses. */
static bool refuse_tunnel(void *context, TestPeer *peer, const TestRequest *request) {
    Buf *asked = context;

    buf_append(asked, request->head);
    test_answer(peer, "403 Forbidden", "", STR("no"));
    return false;
}

static void test_proxy(void **state) {
    _cleanup_(buf_done) Buf asked = BUF_INIT(4096);
    _cleanup_(seen_done) Seen seen = {0};
    TestServer *proxy =
        test_server_new(&(TestServerOptions){.handler = refuse_tunnel, .context = &asked});
    char cluster[256];
    Setup setup;

    (void)state;
    setup_init(&setup, &loopback, NULL, "");
    write_certificate(&setup, "ca.pem", &ca);
    (void)snprintf(cluster,
        sizeof(cluster),
        BY_FILE ", proxy-url: 'http://me:hidden@127.0.0.1:%u'",
        test_server_port(proxy));
    write_config(&setup, "https", test_server_port(setup.server), cluster, "token: opensesame");
    open_client(&setup);
    get(setup.client, &seen, "/echo");
    assert_int_equal(seen.result.outcome, CALL_REFUSED);
    assert_int_equal(seen.result.status, 0);
    assert_int_equal(seen.n_heads, 0);
    assert_null(strstr(seen.error, "hidden"));
    test_server_free(proxy);
    buf_append_char(&asked, '\0');
    assert_ptr_equal(strstr(asked.data, "CONNECT 127.0.0.1:"), asked.data);
    assert_non_null(strstr(asked.data, "Proxy-Authorization: Basic "));
    assert_null(strstr(asked.data, "opensesame")); /* only the API server sees it */
    assert_int_equal(atomic_load(&setup.world.n_requests), 0);
    setup_done(&setup);
}

/* --- several servers --- */

/* Two clients of one loop: one wait is for both, and freeing one leaves the other alone. */
static void test_loop(void **state) {
    _cleanup_(seen_done) Seen here = {0}, there = {0}, stuck = {0}, last = {0};
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    Client *first, *second;
    Setup setups[2];

    (void)state;
    assert_non_null(loop);
    for (size_t i = 0; i < 2; i++) {
        setup_init(&setups[i], NULL, NULL, "");
        open_client(&setups[i]);
    }
    first = client_new_in(loop, setups[0].access);
    second = client_new_in(loop, setups[1].access);
    assert_true(first && second);

    start(first, &here, "/echo");
    start(second, &there, "/echo");
    while (here.n_done + there.n_done < 2)
        assert_int_equal(client_loop_wait(loop, 10000), 0);
    assert_int_equal(here.result.status, 200);
    assert_int_equal(there.result.status, 200);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&setups[i].world.n_requests), 1);

    start(first, &stuck, "/never");
    assert_int_equal(client_loop_wait(loop, 10), 0);
    client_free(first);
    get(second, &last, "/echo");
    assert_int_equal(stuck.n_done, 0);
    client_free(second);
    for (size_t i = 0; i < 2; i++)
        setup_done(&setups[i]);
}

/* What a redirect names is behind the host, whatever path the access has. */
static void test_from_root(void **state) {
    _cleanup_(seen_done) Seen seen = {0};
    char url[64], error[ACCESS_ERROR_MAX];
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/sub", test_server_port(setup.server));
    assert_int_equal(
        access_for_server(&(AccessServer){.name = "x", .url = url}, &setup.access, error), 0);
    setup.client = client_new(setup.access);
    assert_non_null(setup.client);
    run(setup.client,
        &seen,
        &(CallOptions){.method = "GET", .path = "/echo", .is_from_root = true});
    assert_int_equal(seen.result.status, 200);
    assert_true(str_has_prefix(buf_str(&seen.body), STR("GET /echo\n")));
    setup_done(&setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_connections_are_kept),
        cmocka_unit_test(test_nothing_is_sent_twice),
        cmocka_unit_test(test_what_is_too_late_is_not_sent),
        cmocka_unit_test(test_what_was_sent_stays_sent),
        cmocka_unit_test(test_reading_is_tried_again),
        cmocka_unit_test(test_many_at_a_time),
        cmocka_unit_test(test_data_ends),
        cmocka_unit_test(test_no_callbacks),
        cmocka_unit_test(test_cancels),
        cmocka_unit_test(test_cancel_outside),
        cmocka_unit_test(test_host_name),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_server_certificates),
        cmocka_unit_test(test_old_tls),
        cmocka_unit_test(test_client_certificates),
        cmocka_unit_test(test_new_identity_new_connection),
        cmocka_unit_test(test_unauthorized),
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_401_without_end),
        cmocka_unit_test(test_fresh_token),
        cmocka_unit_test(test_no_credentials),
        cmocka_unit_test(test_no_spinning),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_from_root),
    };

    return cmocka_run_group_tests(tests, make_pairs, drop_pairs);
}
