/* Reads from an API server over a real connection: the readable cluster, and one pod. */

#include "kube/fetch.h"

#include <errno.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "kube/test-server.h"

#define NODES                                                                                      \
    "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["                  \
    "{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"1\"}}]}"
#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"u\","                        \
    "\"resourceVersion\":\"2\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[]}}"
#define PODS "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"8\"},\"items\":[" POD "]}"

#define JSON "Content-Type: application/json\r\n"

typedef struct Path {
    const char *start; /* of the request's path */
    const char *status, *body;
} Path;

static const Path readable[] = {
    {"/api/v1/nodes?limit=", "200 OK", NODES},
    {"/api/v1/pods?limit=", "200 OK", PODS},
    {"/api/v1/namespaces/shop/pods/web", "200 OK", POD},
    {"/api/v1/namespaces/shop/pods/odd", "200 OK", "[]"},
    {"/api/v1/namespaces/shop/pods/secret", "403 Forbidden", "{}"},
    {"", "404 Not Found", "{}"},
};

/* Pods cannot be listed. */
static const Path forbidden[] = {
    {"/api/v1/nodes?limit=", "200 OK", NODES},
    {"/api/v1/pods?limit=", "403 Forbidden",
        "{\"kind\":\"Status\",\"code\":403,\"message\":\"pods is forbidden\"}"},
    {"", "404 Not Found", "{}"},
};

static bool has(Str text, Str part) {
    return memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

/* A server without streamed lists; its watches send nothing. */
static bool answer(void *context, TestPeer *peer, const TestRequest *request) {
    const Path *path = context;

    if (has(request->path, STR("sendInitialEvents"))) {
        test_answer(peer, "422 Unprocessable Entity", JSON, STR("{}"));
        return true;
    }
    if (has(request->path, STR("watch=1"))) {
        test_linger(peer);
        return false;
    }
    while (!str_has_prefix(request->path, str_from_c(path->start)))
        path++;
    test_answer(peer, path->status, JSON, str_from_c(path->body));
    return true;
}

static TestServer *serve(const Path *paths) {
    return test_server_new(
        &(TestServerOptions){.handler = answer, .context = (void *)(uintptr_t)paths});
}

static void test_fetches_the_cluster(void **state) {
    TestServer *server = serve(readable);
    char error[FETCH_ERROR_MAX] = "";
    Snapshot *snapshot = NULL;
    const NodeTable *table;
    uint32_t row;

    (void)state;
    assert_int_equal(
        fetch_cluster(test_server_access(server), /* related= */ 0, &snapshot, error), 0);
    table = snapshot_table(snapshot);
    row = table_find(table, STR("n1"));
    assert_int_equal(table->names->n_nodes, 1);
    assert_int_equal(table_chunk(table, row)->n_pods[table_slot(row)], 1);
    snapshot_unref(snapshot);
    test_server_free(server);
}

/* Gives up after a few failures, because a user waits. */
static void test_gives_up_if_pods_cannot_be_listed(void **state) {
    TestServer *server = serve(forbidden);
    char error[FETCH_ERROR_MAX] = "", want[256];
    Snapshot *snapshot = NULL;

    (void)state;
    (void)snprintf(want, sizeof(want),
        "http://127.0.0.1:%u: pods cannot be listed: HTTP 403: pods is forbidden (needs the rights "
        "list and watch on pods)",
        test_server_port(server));
    assert_int_equal(
        fetch_cluster(test_server_access(server), /* related= */ 0, &snapshot, error), -ETIMEDOUT);
    assert_string_equal(error, want);
    assert_null(snapshot);
    test_server_free(server);
}

static void test_fetches_a_pod(void **state) {
    static const struct {
        const char *name;
        int r;
        const char *error;
    } cases[] = {
        {"web", 0, NULL},
        {"odd", -EBADMSG, "the API server's answer is no pod"},
        {"secret", -EACCES, "pod shop/secret: the API server answered 403"},
        {"nobody", -ENOENT, "there is no pod shop/nobody"},
    };
    TestServer *server = serve(readable);
    Access *access = test_server_access(server);
    Arena *arena = arena_new((size_t)1 << 20);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char error[FETCH_ERROR_MAX] = "";
        Pod pod = {0};

        assert_int_equal(
            fetch_pod(access, STR("shop"), str_from_c(cases[i].name), arena, &pod, error),
            cases[i].r);
        if (cases[i].error)
            assert_text(cases[i].name, str_from_c(error), cases[i].error);
        else
            assert_text(cases[i].name, pod.node_name, "n1");
    }
    arena_free(arena);
    access_free(access);
    test_server_free(server);
}

static void test_missing_server_is_explained(void **state) {
    TestServer *server = serve(readable);
    Access *access = test_server_access(server);
    Arena *arena = arena_new((size_t)1 << 20);
    char error[FETCH_ERROR_MAX] = "", want[128];
    Snapshot *snapshot = NULL;
    Pod pod;

    (void)state;
    (void)snprintf(
        want, sizeof(want), "http://127.0.0.1:%u: connection refused", test_server_port(server));
    test_server_free(server);
    assert_int_equal(fetch_pod(access, STR("shop"), STR("web"), arena, &pod, error), -EHOSTUNREACH);
    assert_string_equal(error, want);
    assert_int_equal(fetch_cluster(access, /* related= */ 0, &snapshot, error), -ETIMEDOUT);
    assert_non_null(strstr(error, "nodes cannot be listed: "));
    assert_non_null(strstr(error, want));
    arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetches_the_cluster),
        cmocka_unit_test(test_gives_up_if_pods_cannot_be_listed),
        cmocka_unit_test(test_fetches_a_pod),
        cmocka_unit_test(test_missing_server_is_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
