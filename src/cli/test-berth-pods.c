/* Tests which pods of a list are berths, and where their pages and tokens are. */

#include "cli/berth-pods.h"

#include "base/test-assert.h"

#define BUDGET ((size_t)1024 * 1024)

#define PORTS                                                                                      \
    "\"ports\": [{\"name\": \"verbs\", \"containerPort\": 8443},"                                  \
    "{\"name\": \"pages\", \"containerPort\": 8444}]"
#define BERTH                                                                                      \
    "{\"name\": \"berth\", " PORTS ", \"livenessProbe\": {\"httpGet\": {\"scheme\": \"HTTPS\"}}}"
#define POD(name, more, containers, volumes, status)                                               \
    "{\"metadata\": {\"namespace\": \"berth-system\", \"name\": \"" name "\"" more ", \"labels\":" \
    "{\"app.kubernetes.io/name\": \"berth\", \"app.kubernetes.io/instance\": \"one\"}},"           \
    "\"spec\": {\"containers\": [" containers "], \"volumes\": [" volumes "]},"                    \
    "\"status\": {\"phase\": \"" status "\"}}"
#define LIST(items) "{\"kind\": \"PodList\", \"items\": [" items "]}"

static void test_finds_berths(void **state) {
    static const char list[] = LIST(POD("b", "", "{\"name\": \"kube-scheduler\"}," BERTH,
        "{\"name\": \"pages\", \"secret\": {\"secretName\": \"mine\"}},"
        "{\"name\": \"viewer\", \"secret\": {\"secretName\": \"theirs\"}},"
        "{\"name\": \"tls\", \"secret\": {\"secretName\": \"server\"}}",
        "Running") "," POD("a", "", "{\"name\": \"berth\", " PORTS "}", "",
        "Running") "," POD("not-running", "", BERTH, "", "Pending") "," POD("ending",
        ", \"deletionTimestamp\": \"2026-01-01T00:00:00Z\"", BERTH, "",
        "Running") "," POD("scheduler", "", "{\"name\": \"kube-scheduler\"}", "",
        "Running") "," POD("other", "", "{\"name\": \"proxy\", " PORTS "}", "", "Running"));
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    BerthPods pods;

    (void)state;
    assert_true(berth_pods_read(str_from_c(list), arena, &pods));
    assert_int_equal(pods.n, 2);
    assert_int_equal(pods.n_others, 2);
    assert_true(str_is(pods.items[0].name, "a"));
    assert_false(pods.items[0].is_tls);
    assert_true(str_is_empty(pods.items[0].token_secret));
    assert_true(str_is(pods.items[1].instance, "one"));
    assert_true(str_is(pods.items[1].token_secret, "mine"));
    assert_true(str_is(pods.items[1].viewer_secret, "theirs"));
    assert_true(str_is(berth_pod_proxy_path(&pods.items[0], arena),
        "/api/v1/namespaces/berth-system/pods/http:a:8444/proxy"));
    assert_true(str_is(berth_pod_proxy_path(&pods.items[1], arena),
        "/api/v1/namespaces/berth-system/pods/https:b:8444/proxy"));
}

static void test_rejects_other_json(void **state) {
    static const char *const texts[] = {"", "[]", "{\"items\": 1}", "{\"items\": [{}]", "null"};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    BerthPods pods;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        assert_case(texts[i], !berth_pods_read(str_from_c(texts[i]), arena, &pods));
    assert_true(berth_pods_read(STR("{\"items\": null}"), arena, &pods));
    assert_int_equal(pods.n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_berths),
        cmocka_unit_test(test_rejects_other_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
