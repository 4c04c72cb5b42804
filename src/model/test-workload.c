#include "model/workload.h"

#include "base/test-assert.h"

/* The workload of a pod: "" for none. */
static void test_workloads(void **state) {
    static const struct {
        const char *kind, *owner, *hash, *want;
    } cases[] = {
        {"", "", NULL, ""},
        {"StatefulSet", "", NULL, ""},
        {"", "web", NULL, ""},
        {"Node", "n1", NULL, ""},
        {"StatefulSet", "web", NULL, "shop/StatefulSet/web"},
        {"DaemonSet", "agent-12345678", NULL, "shop/DaemonSet/agent-12345678"},
        {"ReplicaSet", "web-5d4f8", NULL, "shop/ReplicaSet/web-5d4f8"},
        {"ReplicaSet", "web-5d4f8", "5d4f8", "shop/Deployment/web"},
        {"ReplicaSet", "a-web-5d4f8", "5d4f8", "shop/Deployment/a-web"},
        {"ReplicaSet", "web-5d4f8", "", "shop/ReplicaSet/web-5d4f8"},
        {"ReplicaSet", "web-5d4f8", "4f8", "shop/ReplicaSet/web-5d4f8"}, /* no '-' before it */
        {"ReplicaSet", "web-5d4f8", "other", "shop/ReplicaSet/web-5d4f8"},
        {"ReplicaSet", "-5d4f8", "5d4f8", "shop/ReplicaSet/-5d4f8"}, /* the rest is empty */
        {"ReplicaSet", "5d4f8", "5d4f8", "shop/ReplicaSet/5d4f8"},
        {"ReplicaSet", "8", "5d4f8", "shop/ReplicaSet/8"},
        {"StatefulSet", "web-5d4f8", "5d4f8", "shop/StatefulSet/web-5d4f8"},
        {"Job", "import", NULL, "shop/Job/import"},
        {"Job", "import-1234567", NULL, "shop/Job/import-1234567"},
        {"Job", "import-28934567", NULL, "shop/CronJob/import"},
        {"Job", "import-1767323045", NULL, "shop/CronJob/import"},
        {"Job", "import-28934567x", NULL, "shop/Job/import-28934567x"},
        {"Job", "import28934567", NULL, "shop/Job/import28934567"},
        {"Job", "-28934567", NULL, "shop/Job/-28934567"},
        {"Job", "28934567", NULL, "shop/Job/28934567"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(4096);
        const Label label = {
            STR("pod-template-hash"), str_from_c(cases[i].hash ? cases[i].hash : "")};
        const Pod pod = {.namespace = STR("shop"),
            .name = STR("p"),
            .owner_kind = str_from_c(cases[i].kind),
            .owner_name = str_from_c(cases[i].owner),
            .labels = {.items = &label, .n = cases[i].hash != NULL}};
        Str key = workload_of(&pod, arena);
        WorkloadName workload;

        assert_text(cases[i].owner, key, cases[i].want);
        assert_case(cases[i].owner, key.ptr);
        assert_case(cases[i].owner, workload_find(&pod, &workload) == (key.len > 0));
    }
}

static void test_memory(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(16);
    const Pod pod = {.namespace = STR("a-namespace-that-is-longer-than-that"),
        .owner_kind = STR("StatefulSet"),
        .owner_name = STR("web")};

    (void)state;
    assert_null(workload_of(&pod, arena).ptr);
    assert_non_null(workload_of(&(Pod){0}, arena).ptr);
}

static void test_print(void **state) {
    const WorkloadName workload = {STR("shop"), STR("Job"), STR("j")};
    char out[11] = "..........";

    (void)state;
    assert_int_equal(workload_print(&workload, out, 9), 10);
    assert_int_equal(out[9], '.');
    assert_int_equal(workload_print(&workload, out, 10), 10);
    assert_string_equal(out, "shop/Job/j");
    assert_int_equal(workload_print(&workload, out, 0), 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
