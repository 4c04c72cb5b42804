#include "http/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/test-client.h"

/* Counts and values recorded by the callbacks. */
typedef struct Seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    HttpOutcome outcomes[16];
    size_t n_outcomes;
    Str slices[3];
    char path[64], query[64];
    bool has_body; /* of the request admitted last */
} Seen;

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    static const Str text = STR("not here\n");
    Seen *seen = context;

    seen->has_body = request->body_size > 0;
    assert_true(str_is_empty(request->body));
    assert_true(request->is_authenticated);
    if (str_is(request->path, "/limited"))
        reply->body_max = 5;
    if (!str_is(request->path, "/forbidden"))
        return true;
    *reply = (HttpReply){.status = 404,
        .content_type = "text/plain",
        .allow = "POST",
        .slices = &text,
        .n_slices = 1,
        .tag = 7};
    return false;
}

#define LARGE ((size_t)8 * 1024 * 1024) /* more than the kernel buffers for one socket */

/* Replies with LARGE bytes of the arena. */
static void handle_large(const HttpRequest *request, HttpReply *reply) {
    Str *slice = ARENA_NEW(request->arena, Str);

    assert_non_null(slice);
    *slice = str_of(arena_zalloc(request->arena, 1, LARGE), LARGE);
    assert_non_null(slice->ptr);
    *reply = (HttpReply){.status = 200, .slices = slice, .n_slices = 1, .tag = 42};
}

/* Replies with the body in brackets. */
static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    Seen *seen = context;

    if (str_is(request->path, "/large")) {
        handle_large(request, reply);
        return;
    }
    (void)snprintf(seen->path, sizeof(seen->path), "%.*s", STR_FMT(request->path));
    (void)snprintf(seen->query, sizeof(seen->query), "%.*s", STR_FMT(request->query));
    seen->slices[0] = STR("[");
    seen->slices[1] = arena_copy(request->arena, request->body);
    seen->slices[2] = STR("]");
    *reply = (HttpReply){.status = 200,
        .content_type = "text/plain",
        .slices = seen->slices,
        .n_slices = 3,
        .tag = 42,
        .waited_nsec = 5};
}

static void finished(void *context, const HttpOutcome *outcome) {
    Seen *seen = context;

    pthread_mutex_lock(&seen->lock);
    assert_true(seen->n_outcomes < 16);
    seen->outcomes[seen->n_outcomes++] = *outcome;
    pthread_cond_signal(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

static HttpOutcome wait_for_outcome(Seen *seen, size_t n) {
    HttpOutcome outcome;

    pthread_mutex_lock(&seen->lock);
    while (seen->n_outcomes <= n)
        pthread_cond_wait(&seen->changed, &seen->lock);
    outcome = seen->outcomes[n];
    pthread_mutex_unlock(&seen->lock);
    return outcome;
}

static Server *start(Seen *seen, ServerOptions options) {
    const ServerCallbacks callbacks = {
        .context = seen, .admit = admit, .handle = handle, .finished = finished};
    Server *server = NULL;

    *seen = (Seen){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &server), 0);
    assert_int_not_equal(server_port(server), 0);
    return server;
}

static int connect_to(const Server *server) {
    return client_connect(server_port(server), /* buffer= */ 0);
}

/* Sends @request on its own connection and checks the reply. @allow: its Allow header; NULL:
 * none. */
static void ask_allow(
    const Server *server, Str request, const char *status, const char *allow, const char *end) {
    char reply[4096];
    size_t len;
    int fd = connect_to(server);

    client_send(fd, request);
    len = client_read_all(fd, reply, sizeof(reply));
    (void)close(fd);
    assert_true(str_has_prefix(str_of(reply, len), str_from_c(status)));
    assert_true(str_has_suffix(str_of(reply, len), str_from_c(end)));
    assert_null(strstr(reply, "chunked"));
    assert_non_null(strstr(reply, "Content-Length: "));
    assert_non_null(strstr(reply, "Cache-Control: no-store\r\n"));
    assert_null(strstr(reply, "\r\nRetry-After: 0"));
    assert_true((strstr(reply, "\r\nAllow: ") != NULL) == (allow != NULL));
    assert_true(!allow || strstr(reply, allow));
}

static void ask(const Server *server, Str request, const char *status, const char *end) {
    ask_allow(server, request, status, /* allow= */ NULL, end);
}

#define LAST "Host: a\r\nConnection: close\r\n"

static void test_answers(void **state) {
    Seen seen;
    _cleanup_(server_freep) Server *server = start(&seen, server_default_options());
    HttpOutcome outcome;
    ServerFigures figures;

    ask(server, STR("POST /a%41/b?c=%20&d+e HTTP/1.1\r\n" LAST "Content-Length: 3\r\n\r\nxyz"),
        "HTTP/1.1 200 ", "\r\n\r\n[xyz]");
    assert_string_equal(seen.path, "/a%41/b");
    assert_string_equal(seen.query, "c=%20&d+e");
    outcome = wait_for_outcome(&seen, 0);
    assert_int_equal(outcome.tag, 42);
    assert_int_equal(outcome.status, 200);
    assert_int_equal(outcome.bytes_in, 3);
    assert_int_equal(outcome.bytes_out, 5);
    assert_int_equal(outcome.waited_nsec, 5);
    assert_true(outcome.read_nsec > 0 && outcome.handle_nsec > 0);
    assert_true(outcome.duration_nsec >= outcome.read_nsec + outcome.handle_nsec);

    ask(server, STR("GET / HTTP/1.1\r\n" LAST "\r\n"), "HTTP/1.1 200 ", "\r\n\r\n[]");
    ask(server, STR("HEAD / HTTP/1.1\r\n" LAST "\r\n"), "HTTP/1.1 200 ", "\r\n\r\n");
    assert_int_equal(wait_for_outcome(&seen, 2).status, 200);
    server_figures(server, &figures);
    assert_int_equal(figures.connections_total, 3);
    assert_int_equal(figures.memory, 0);
}

static void test_refuses(void **state) {
    Seen seen;
    ServerOptions options = server_default_options();
    _cleanup_(server_freep) Server *server = NULL;
    HttpOutcome outcome;
    ServerFigures figures;

    options.body_max = 10;
    server = start(&seen, options);
    ask_allow(server, STR("GET /forbidden HTTP/1.1\r\n" LAST "\r\n"), "HTTP/1.1 404 ",
        "\r\nAllow: POST\r\n", "not here\n");
    ask_allow(server, STR("POST /forbidden HTTP/1.1\r\n" LAST "Content-Length: 3\r\n\r\nxyz"),
        "HTTP/1.1 404 ", "\r\nAllow: POST\r\n", "not here\n");
    for (size_t i = 0; i < 2; i++) {
        outcome = wait_for_outcome(&seen, i);
        assert_int_equal(outcome.tag, 7);
        assert_int_equal(outcome.status, 404);
        assert_int_equal(outcome.bytes_out, 9);
        assert_int_equal(outcome.read_nsec + outcome.handle_nsec, 0);
    }

    ask(server, STR("POST / HTTP/1.1\r\n" LAST "Content-Length: 11\r\n\r\nhello world"),
        "HTTP/1.1 413 ", "\n");
    ask(server,
        STR("POST / HTTP/1.1\r\n" LAST "Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n"),
        "HTTP/1.1 501 ", "\n");
    ask(server, STR("\x16\x03\x01\x02"), "HTTP/1.1 400 ", "\n");
    ask(server, STR("GET / HTTP/1.1\r\n" LAST "X : y\r\n\r\n"), "HTTP/1.1 400 ", "\n");
    ask(server, STR("GET / HTTP/1.1\r\n" LAST "Content-Encoding: gzip\r\n\r\n"), "HTTP/1.1 415 ",
        "\n");
    ask_allow(server, STR("OPTIONS * HTTP/1.1\r\n" LAST "\r\n"), "HTTP/1.1 405 ",
        "\r\nAllow: GET, HEAD, POST\r\n", "\n");
    for (size_t i = 2; i < 8; i++)
        assert_int_equal(wait_for_outcome(&seen, i).tag, -1);
    assert_int_equal(wait_for_outcome(&seen, 2).status, 413);
    server_figures(server, &figures);
    assert_int_equal(figures.refused[SERVER_REFUSED_BODY_SIZE], 1);
    assert_int_equal(figures.refused[SERVER_REFUSED_HEADERS], 3);
    assert_int_equal(figures.refused[SERVER_REFUSED_ENCODING], 2);
    assert_int_equal(figures.memory, 0);
}

/* The client shuts down its output in the middle of a request. */
static void test_refuses_incomplete_requests(void **state) {
    static const char *const requests[] = {"GET / HT", "GET / HTTP/1.1\r\n" LAST,
        "POST / HTTP/1.1\r\n" LAST "Content-Length: 3\r\n\r\nxy"};
    Seen seen;
    _cleanup_(server_freep) Server *server = start(&seen, server_default_options());

    for (size_t i = 0; i < ELEMENTS_OF(requests); i++) {
        char reply[4096];
        int fd = connect_to(server);
        Str text;

        client_send(fd, str_from_c(requests[i]));
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        text = str_of(reply, client_read_all(fd, reply, sizeof(reply)));
        (void)close(fd);
        assert_case(requests[i], str_has_prefix(text, STR("HTTP/1.1 400 ")));
        assert_case(requests[i], str_has_suffix(text, STR("the request is not complete\n")));
    }
}

/* admit() may set a lower limit than the options. */
static void test_admit_may_lower_the_limit_of_bodies(void **state) {
    Seen seen;
    _cleanup_(server_freep) Server *server = start(&seen, server_default_options());

    ask(server, STR("POST /limited HTTP/1.1\r\n" LAST "Content-Length: 5\r\n\r\nhello"),
        "HTTP/1.1 200 ", "[hello]");
    ask(server, STR("POST /limited HTTP/1.1\r\n" LAST "Content-Length: 6\r\n\r\nhello!"),
        "HTTP/1.1 413 ", "\n");
    ask(server, STR("POST / HTTP/1.1\r\n" LAST "Content-Length: 6\r\n\r\nhello!"), "HTTP/1.1 200 ",
        "[hello!]");
}

/* --- browsers --- */

static bool reply_with_headers_seen(void *context, const HttpRequest *request, HttpReply *reply) {
    static const HttpHeader headers[] = {{"X-One", "1"}, {"X-Two", "2"}};
    Str *slice = ARENA_NEW(request->arena, Str);

    (void)context;
    assert_non_null(slice);
    *slice = arena_printf(request->arena, "%s%s%s%s%s|%.*s|%.*s", request->has_origin ? "O" : "",
        request->is_same_origin ? "S" : "", request->is_misaddressed ? "M" : "",
        request->accepts_html ? "H" : "", request->accepts_gzip ? "G" : "",
        STR_FMT(request->if_none_match), STR_FMT(request->content_type));
    *reply = (HttpReply){.status = 200,
        .cache_control = "max-age=1",
        .headers = headers,
        .n_headers = ELEMENTS_OF(headers),
        .slices = slice,
        .n_slices = 1};
    return false;
}

static void test_headers_of_browsers(void **state) {
    static const struct {
        Str lines;
        const char *seen;
    } cases[] = {
        {STR("Host: 127.0.0.1:1\r\n"), "||"},
        {STR("Host: evil\r\n"), "M||"},
        {STR("Host: good.example:80\r\n"), "||"},
        {STR("Host: GOOD.example\r\n"), "||"},
        {STR("Host: good.example.evil\r\n"), "M||"},
        {STR("Host: a\r\nOrigin: http://a\r\n"), "OSM||"},
        {STR("Host: localhost:1\r\nOrigin: http://localhost:1\r\n"), "OS||"},
        {STR("Host: localhost:1\r\nOrigin: https://LOCALHOST:1\r\n"), "OS||"},
        {STR("Host: localhost:1\r\nOrigin: http://localhost:2\r\n"), "O||"},
        {STR("Host: localhost\r\nOrigin: localhost\r\n"), "O||"},
        {STR("Host: localhost\r\nOrigin: null\r\n"), "O||"},
        {STR("Host: localhost\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n"), "HG||"},
        {STR("Host: localhost\r\nIf-None-Match: \"x\"\r\nContent-Type: a/b\r\n"), "|\"x\"|a/b"},
    };
    const Str hosts[] = {STR("other"), STR("good.example")};
    const ServerCallbacks callbacks = {.admit = reply_with_headers_seen};
    _cleanup_(server_freep) Server *server = NULL;
    ServerOptions options = server_default_options();

    options.port = 0;
    options.hosts = hosts;
    options.n_hosts = ELEMENTS_OF(hosts);
    assert_int_equal(server_new(&options, &callbacks, &server), 0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char request[512], reply[1024];
        int fd = connect_to(server);

        (void)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n%.*sConnection: close\r\n\r\n",
            STR_FMT(cases[i].lines));
        client_send(fd, str_from_c(request));
        (void)client_read_all(fd, reply, sizeof(reply));
        (void)close(fd);
        assert_non_null(strstr(reply, "\r\n\r\n"));
        assert_string_equal(strstr(reply, "\r\n\r\n") + 4, cases[i].seen);
        assert_non_null(strstr(reply, "Cache-Control: max-age=1\r\n"));
        assert_non_null(strstr(reply, "X-One: 1\r\n"));
        assert_non_null(strstr(reply, "X-Two: 2\r\n"));
    }
}

static void test_admit_knows_whether_there_is_a_body(void **state) {
    static const struct {
        const char *request;
        bool has_body;
    } cases[] = {
        {"GET / HTTP/1.1\r\n" LAST "\r\n", false},
        {"GET / HTTP/1.1\r\n" LAST "Content-Length: 0\r\n\r\n", false},
        {"GET / HTTP/1.1\r\n" LAST "Content-Length: 1\r\n\r\nx", true},
    };
    Seen seen;
    _cleanup_(server_freep) Server *server = start(&seen, server_default_options());

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask(server, str_from_c(cases[i].request), "HTTP/1.1 200 ", "]");
        assert_int_equal(seen.has_body, cases[i].has_body);
    }
}

static size_t memory_of(const Server *server) {
    ServerFigures figures;

    server_figures(server, &figures);
    return figures.memory;
}

/* A reply that the client has not read counts towards memory_max. */
static void test_counts_replies(void **state) {
    static const char large[] = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
    Seen seen;
    ServerOptions options = server_default_options();
    _cleanup_(server_freep) Server *server = NULL;
    ServerFigures figures;
    HttpOutcome outcome;
    int fd;

    options.memory_max = LARGE + LARGE / 2;
    options.body_max = LARGE / 4;
    server = start(&seen, options);
    fd = connect_to(server);
    client_send(fd, str_from_c(large));
    while (memory_of(server) < LARGE)
        (void)usleep(10 * 1000);

    ask(server, STR("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 503 ", "at once\n");
    outcome = wait_for_outcome(&seen, 0);
    assert_int_equal(outcome.status, 503);
    assert_int_equal(outcome.tag, -1);
    server_figures(server, &figures);
    assert_int_equal(figures.refused[SERVER_REFUSED_MEMORY], 1);
    assert_true(figures.memory >= LARGE && figures.memory <= options.memory_max);
    ask(server, STR("GET / HTTP/1.1\r\n" LAST "\r\n"), "HTTP/1.1 200 ", "\r\n\r\n[]");

    (void)close(fd);
    while (memory_of(server) > 0)
        (void)usleep(10 * 1000);
    fd = connect_to(server);
    client_send(fd, str_from_c(large));
    while (memory_of(server) < LARGE)
        (void)usleep(10 * 1000);
    (void)close(fd);
}

static void test_broken_and_late_requests(void **state) {
    Seen seen;
    ServerOptions options = server_default_options();
    _cleanup_(server_freep) Server *server = start(&seen, options);
    static const char half[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nx";
    int fd = connect_to(server);
    ServerFigures figures;
    char reply[512];

    client_send(fd, str_from_c(half));
    (void)usleep(100 * 1000);
    (void)close(fd);
    assert_int_equal(wait_for_outcome(&seen, 0).status, 0);

    fd = connect_to(server);
    client_send(fd, str_from_c(half));
    (void)usleep(100 * 1000);
    server_tick(server, clock_monotonic_nsec()); /* not late yet */
    server_figures(server, &figures);
    assert_int_equal(figures.refused[SERVER_REFUSED_BODY_TIME], 0);
    assert_true(figures.memory > 0);
    server_tick(server, clock_monotonic_nsec() + 100 * NSEC_PER_SEC);
    assert_true(recv(fd, reply, sizeof(reply), 0) > 12);
    assert_memory_equal(reply, "HTTP/1.1 408", 12);
    (void)close(fd);
    assert_int_equal(wait_for_outcome(&seen, 1).status, 408);
    assert_int_equal(wait_for_outcome(&seen, 1).tag, -1);
    server_figures(server, &figures);
    assert_int_equal(figures.refused[SERVER_REFUSED_BODY_TIME], 1);
}

static void test_refuses_unusable_addresses(void **state) {
    Seen seen;
    ServerOptions options = server_default_options();
    const ServerCallbacks callbacks = {.context = &seen, .admit = admit, .handle = handle};
    _cleanup_(server_freep) Server *first = start(&seen, options), *second = NULL;

    options.port = server_port(first);
    assert_int_equal(server_new(&options, &callbacks, &second), -EADDRINUSE);
    assert_null(second);
    options.address = "localhost";
    assert_int_equal(server_new(&options, &callbacks, &second), -EINVAL);
    options.address = "::1";
    options.port = 0;
    assert_int_equal(server_new(&options, &callbacks, &second), 0);
}

static void test_drain_closes_idle_connections(void **state) {
    Seen seen;
    _cleanup_(server_freep) Server *server = start(&seen, server_default_options());
    int fd = connect_to(server);
    char byte;

    for (int i = 0; server_drain(server) > 0 && i < 1000; i++)
        (void)usleep(10 * 1000);
    assert_int_equal(server_drain(server), 0);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    (void)close(fd);
}

static void test_every_refusal_has_a_name(void **state) {
    for (ServerRefusal i = 0; i < _SERVER_REFUSED_MAX; i++)
        assert_non_null(server_refusal_names[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_incomplete_requests),
        cmocka_unit_test(test_admit_may_lower_the_limit_of_bodies),
        cmocka_unit_test(test_headers_of_browsers),
        cmocka_unit_test(test_admit_knows_whether_there_is_a_body),
        cmocka_unit_test(test_counts_replies),
        cmocka_unit_test(test_broken_and_late_requests),
        cmocka_unit_test(test_refuses_unusable_addresses),
        cmocka_unit_test(test_drain_closes_idle_connections),
        cmocka_unit_test(test_every_refusal_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
