/* Requests, the ways in which answers end, time limits, and connections. */

#include "kube/client.h"

#include <signal.h>

#include "kube/test-client-scene.h"
#include "version.h"

/* --- requests ------- */

static void test_sends_method_path_headers_and_body(void **state) {
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
        _cleanup_(record_done) CallRecord record = {0};
        char want[512];

        run(setup.client, &record, &cases[i].options);
        assert_case(
            cases[i].name, record.result.outcome == CALL_DONE && record.result.status == 200);
        assert_case(cases[i].name, record.n_heads == 1 && record.head.status == 200);
        assert_text(cases[i].name, str_from_c(record.content_type), "text/plain");
        (void)snprintf(want, sizeof(want),
            "%sHost: 127.0.0.1:%u\nUser-Agent: berth/" BERTH_VERSION
            "\nAccept: application/json\n%s%s%s%.*s",
            cases[i].says, test_server_port(setup.server),
            cases[i].options.content_type ? "Content-Type: " : "",
            cases[i].options.content_type ? cases[i].options.content_type : "",
            cases[i].options.content_type ? "\n" : "", STR_FMT(cases[i].options.body));
        assert_text(cases[i].name, buf_str(&record.body), want);
    }
    setup_done(&setup);
}

/* --- ends of answers --- */

static void test_each_answer_has_its_outcome(void **state) {
    static const struct {
        const char *path;
        CallOutcome outcome;
        unsigned status;
        const char *body;
        const char *says; /* part of the error */
        uint64_t bytes_max;
    } cases[] = {
        {"/nothing", CALL_BROKEN, 0, "", "the connection ended before an answer came", 0},
        {"/garbage", CALL_BROKEN, 0, "", "its answer is not HTTP/1.1", 0},
        {"/cut", CALL_BROKEN, 200, "only this", "ended in the middle of the answer", 0},
        {"/cut-head", CALL_BROKEN, 0, "", "ended in its headers", 0},
        {"/cut-chunk", CALL_BROKEN, 200, "hello", "ended in the middle of the answer", 0},
        {"/gzip", CALL_BROKEN, 0, "", "encoded (gzip), which was not requested", 0},
        {"/te", CALL_BROKEN, 0, "", "which was not requested", 0},
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
        _cleanup_(record_done) CallRecord record = {0};

        run(setup.client, &record,
            &(CallOptions){
                .method = "GET", .path = cases[i].path, .bytes_max = cases[i].bytes_max});
        if (record.result.outcome != cases[i].outcome)
            print_error("%s\n", record.error);
        assert_case(cases[i].path, record.result.outcome == cases[i].outcome);
        assert_case(cases[i].path, record.result.status == cases[i].status);
        assert_case(cases[i].path, record.n_heads == (cases[i].status > 0));
        if (cases[i].body)
            assert_text(cases[i].path, buf_str(&record.body), cases[i].body);
        if (cases[i].says && !strstr(record.error, cases[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].path, cases[i].says, record.error);
    }
    setup_done(&setup);
}

static void test_reads_retry_after(void **state) {
    static const struct {
        const char *path;
        int seconds;
    } cases[] = {{"/busy", 7}, {"/date", -1}, {"/interim", -1}, {"/chunks", -1}};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(record_done) CallRecord record = {0};

        get(setup.client, &record, cases[i].path);
        assert_case(cases[i].path, record.head.retry_after_sec == cases[i].seconds);
        assert_case(cases[i].path, record.result.retry_after_sec == cases[i].seconds);
    }
    setup_done(&setup);
}

static void test_refused_connection_is_explained(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    char want[128];
    uint16_t port;
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    port = test_server_port(setup.server);
    test_server_free(setup.server);
    setup.server = NULL;
    open_client(&setup);
    get(setup.client, &record, "/");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_int_equal(record.result.status, 0);
    (void)snprintf(want, sizeof(want), "http://127.0.0.1:%u: connection refused", port);
    assert_string_equal(record.error, want);
    setup_done(&setup);
}

/* Connecting to a broadcast address fails without sending a packet. */
static void test_missing_route_is_explained(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    char error[ACCESS_ERROR_MAX];
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    assert_int_equal(
        access_for_server(
            &(AccessServer){.name = "x", .url = "http://255.255.255.255:1"}, &setup.access, error),
        0);
    setup.client = client_new(setup.access);
    assert_non_null(setup.client);
    get(setup.client, &record, "/");
    assert_int_equal(record.result.outcome, CALL_REFUSED);
    assert_string_equal(record.error, "http://255.255.255.255:1: no route to it");
    setup_done(&setup);
}

/* A TLS server that accepts the connection and sends nothing. */
static void open_silent_server(Setup *setup) {
    *setup = (Setup){0};
    folder_init(&setup->folder);
    setup->server = test_server_new(&(TestServerOptions){.is_mute = true});
    write_config(setup, "https", test_server_port(setup->server), "insecure-skip-tls-verify: true",
        "token: t");
    open_client(setup);
}

/* In parallel, because each takes seconds. */
static void test_each_time_limit_ends_a_call(void **state) {
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
    CallRecord record[ELEMENTS_OF(cases)] = {0};
    _cleanup_(record_done) CallRecord connecting = {0};
    Setup setup, mute;

    (void)state;
    open_silent_server(&mute);
    start(mute.client, &connecting, "/");
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        start_with(setup.client, &record[i], &cases[i].options);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        while (record[i].n_done == 0) {
            assert_int_equal(client_wait(setup.client, 50), 0);
            assert_int_equal(client_wait(mute.client, 50), 0);
        }
        assert_case(cases[i].says, record[i].result.outcome == CALL_TIMEOUT);
        if (!strstr(record[i].error, cases[i].says))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].says, record[i].error);
        record_done(&record[i]);
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
        _cleanup_(record_done) CallRecord record = {0};

        get(setup.client, &record, "/number");
        assert_text("the first connection", buf_str(&record.body), "1");
    }
    assert_int_equal(test_server_connections(setup.server), 1);
    setup_done(&setup);
}

/* A kept connection ends without an answer: a request that may have changed something is not sent
 * again. */
static void test_post_is_not_sent_twice(void **state) {
    _cleanup_(record_done) CallRecord first = {0}, post = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &first, "/number");
    run(setup.client, &post,
        &(CallOptions){
            .method = "POST", .path = "/die", .content_type = "text/plain", .body = STR("x")});
    assert_int_equal(post.result.outcome, CALL_BROKEN);
    assert_non_null(strstr(post.error, "ended before an answer came"));
    assert_true(post.result.was_sent);
    assert_int_equal(atomic_load(&setup.state.n_posts), 1);
    setup_done(&setup);
}

/* On new and kept connections. */
static void test_late_request_is_not_sent(void **state) {
    const CallOptions options = {
        .method = "POST", .path = "/echo", .content_type = "text/plain", .body = STR("x")};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (int i = 0; i < 4; i++) {
        _cleanup_(record_done) CallRecord post = {.forbids = i % 2 == 0};

        run(setup.client, &post, &options);
        assert_int_equal(post.result.outcome, post.forbids ? CALL_REFUSED : CALL_DONE);
        assert_int_equal(post.result.was_sent, !post.forbids);
        if (post.forbids)
            assert_string_equal(post.error, "it was too late to send the request");
    }
    assert_int_equal(atomic_load(&setup.state.n_posts), 2);
    setup_done(&setup);
}

/* libcurl connects again when a kept connection ends without an answer. If that connection is
 * refused, the first request may still have been sent. */
static void test_request_may_have_been_sent_after_refused_connection(void **state) {
    _cleanup_(record_done) CallRecord first = {0}, post = {0}, later = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &first, "/number");
    test_server_deafen(setup.server);
    run(setup.client, &post,
        &(CallOptions){
            .method = "POST", .path = "/die", .content_type = "text/plain", .body = STR("x")});
    assert_int_not_equal(post.result.outcome, CALL_DONE);
    assert_true(post.result.was_sent);
    assert_int_equal(atomic_load(&setup.state.n_posts), 1);
    get(setup.client, &later, "/number");
    assert_int_equal(later.result.outcome, CALL_REFUSED);
    assert_false(later.result.was_sent);
    setup_done(&setup);
}

static void test_get_is_repeated_on_a_new_connection(void **state) {
    _cleanup_(record_done) CallRecord first = {0}, again = {0};
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

static void test_many_concurrent_calls(void **state) {
    enum { N = 40 };
    CallRecord record[N] = {0}, streams[2] = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    for (size_t i = 0; i < 2; i++)
        start(setup.client, &streams[i], "/stream");
    for (size_t i = 0; i < N; i++)
        start(setup.client, &record[i], "/large");
    for (size_t i = 0; i < N; i++) {
        finish(setup.client, &record[i]);
        assert_int_equal(record[i].result.outcome, CALL_DONE);
        assert_int_equal(record[i].body.len, 100000);
        record_done(&record[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        while (streams[i].n_data == 0)
            assert_int_equal(client_wait(setup.client, 100), 0);
        assert_int_equal(streams[i].n_done, 0); /* stays open until the client is freed */
    }
    client_free(setup.client);
    setup.client = NULL;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(streams[i].n_done, 0);
        record_done(&streams[i]);
    }
    setup_done(&setup);
}

static int ignore_pipes(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_method_path_headers_and_body),
        cmocka_unit_test(test_each_answer_has_its_outcome),
        cmocka_unit_test(test_reads_retry_after),
        cmocka_unit_test(test_refused_connection_is_explained),
        cmocka_unit_test(test_missing_route_is_explained),
        cmocka_unit_test(test_each_time_limit_ends_a_call),
        cmocka_unit_test(test_connections_are_kept),
        cmocka_unit_test(test_post_is_not_sent_twice),
        cmocka_unit_test(test_late_request_is_not_sent),
        cmocka_unit_test(test_request_may_have_been_sent_after_refused_connection),
        cmocka_unit_test(test_get_is_repeated_on_a_new_connection),
        cmocka_unit_test(test_many_concurrent_calls),
    };

    return cmocka_run_group_tests(tests, ignore_pipes, NULL);
}
