#include "kube/blocking-client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "kube/test-server.h"

/* --- a server whose answer depends on the path --- */

static const char refusal[] = "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\","
                              "\"message\":\"pods is forbidden\\u001b[31m\"}";

static void send_large(TestPeer *peer) {
    static char block[65536];
    char head[128];

    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
        BLOCKING_CLIENT_BYTES_MAX + sizeof(block));
    test_send(peer, str_from_c(head));
    for (size_t sent = 0; sent < BLOCKING_CLIENT_BYTES_MAX + sizeof(block); sent += sizeof(block))
        test_send(peer, str_of(block, sizeof(block)));
}

static bool answer(void *context, TestPeer *peer, const TestRequest *request) {
    if (str_is(request->path, "/echo?a=b")) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%.*s %.*s %.*s", STR_FMT(request->method),
            STR_FMT(test_header(request, "Content-Type")), STR_FMT(request->body));
        test_answer(
            peer, "201 Created", "Date: Thu, 01 Jan 1970 00:01:40 GMT\r\n", str_from_c(text));
    } else if (str_is(request->path, "/forbidden")) {
        test_answer(peer, "403 Forbidden", "", STR(refusal));
    } else if (str_is(request->path, "/unauthorized")) {
        test_answer(peer, "401 Unauthorized", "", STR("{}"));
    } else if (str_is(request->path, "/large")) {
        send_large(peer);
    } else if (str_is(request->path, "/never")) {
        test_linger(peer);
    } else {
        test_answer(peer, "500 Oh", "", STR("not JSON"));
    }
    return true;
}

typedef struct Setup {
    TestServer *server;
    Access *access;
    Arena *arena;
} Setup;

static int setup(void **state) {
    Setup *setup = calloc(1, sizeof(*setup));

    assert_non_null(setup);
    setup->arena = arena_new(4 * BLOCKING_CLIENT_BYTES_MAX);
    setup->server = test_server_new(&(TestServerOptions){.handler = answer});
    setup->access = test_server_access(setup->server);
    *state = setup;
    return 0;
}

static int teardown(void **state) {
    Setup *setup = *state;

    access_free(setup->access);
    test_server_free(setup->server);
    arena_free(setup->arena);
    free(setup);
    return 0;
}

static void test_returns_status_date_and_body(void **state) {
    static const struct {
        BlockingRequest request;
        unsigned status;
        int64_t date_sec;
        const char *body, *complaint;
    } cases[] = {
        {{.path = "/echo?a=b"}, 201, 100, "GET  ", "the API server answered 201"},
        {{.method = "POST", .path = "/echo?a=b", .body = STR("{\"a\":1}")}, 201, 100,
            "POST application/json {\"a\":1}", "the API server answered 201"},
        {{.path = "/forbidden"}, 403, 0, refusal,
            "the API server answered 403: pods is forbidden\\x1b[31m"},
        {{.path = "/else"}, 500, 0, "not JSON", "the API server answered 500"},
    };
    Setup *setup = *state;
    char error[BLOCKING_CLIENT_ERROR_MAX];

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        BlockingReply reply;

        assert_int_equal(
            blocking_client_request(setup->access, &cases[i].request, setup->arena, &reply, error),
            0);
        assert_int_equal(reply.status, cases[i].status);
        assert_int_equal(reply.date_sec, cases[i].date_sec);
        assert_text(cases[i].request.path, reply.body, cases[i].body);
        blocking_client_explain(&reply, setup->arena, error);
        assert_string_equal(error, cases[i].complaint);
    }
}

static void test_missing_answer_has_a_reason(void **state) {
    static const struct {
        BlockingRequest request;
        const char *word; /* part of the message */
    } cases[] = {
        {{.path = "/large"}, "larger than"},
        {{.path = "/never", .total_sec = 1}, "1 s"},
        {{.path = "/unauthorized"}, "401"},
    };
    Setup *setup = *state;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_int_equal(
            blocking_client_request(setup->access, &cases[i].request, setup->arena, &reply, error),
            1);
        if (!strstr(error, cases[i].word))
            fail_msg("%s: %s", cases[i].request.path, error);
    }
    test_server_free(setup->server);
    setup->server = test_server_new(&(TestServerOptions){.handler = answer}); /* another port */
    assert_int_equal(blocking_client_request(setup->access, &(BlockingRequest){.path = "/"},
                         setup->arena, &reply, error),
        1);
    assert_non_null(strstr(error, "127.0.0.1"));
}

static void test_client_keeps_its_connection(void **state) {
    Setup *setup = *state;
    Client *client = client_new(setup->access);
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    for (int i = 0; i < 5; i++)
        assert_int_equal(blocking_client_request_with(client,
                             &(BlockingRequest){.path = "/forbidden"}, setup->arena, &reply, error),
            0);
    assert_int_equal(test_server_connections(setup->server), 1);
    client_free(client);
}

static void test_small_arena_is_out_of_memory(void **state) {
    Setup *setup = *state;
    Arena *arena = arena_new(16);
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    assert_int_equal(blocking_client_request(setup->access,
                         &(BlockingRequest){.path = "/forbidden"}, arena, &reply, error),
        -ENOMEM);
    arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_returns_status_date_and_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_answer_has_a_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_keeps_its_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_arena_is_out_of_memory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
