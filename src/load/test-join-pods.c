#include <stdio.h>

#include "load/join.h"
#include "load/test-scene.h"

static void load_pod(Scene *scene, const char *namespace, const char *name, const char *node,
    const char *labels, const char *owner) {
    char text[1024];

    (void)snprintf(text, sizeof(text),
        "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"%s-%s\",\"labels\":{%s}%s},"
        "\"spec\":{\"nodeName\":\"%s\"},\"status\":{\"phase\":\"%s\"}}",
        namespace, name, namespace, name, labels, owner, node,
        strcmp(name, "done") == 0 ? "Succeeded" : "Running");
    test_load_pod(scene->store, str_from_c(text));
}

#define OWNER(kind, name)                                                                          \
    ",\"ownerReferences\":[{\"controller\":true,\"kind\":\"" kind "\",\"name\":\"" name            \
    "\",\"uid\":\"u\"}]"
#define HASH(value) "\"pod-template-hash\":\"" value "\""

static int setup(void **state) {
    static Scene scene;

    scene_begin(&scene);
    scene.gauge.is_of_pods = true;
    load_pod(
        &scene, "s", "web-1", "node-a", HASH("x1") ",\"t\":\"w\"", OWNER("ReplicaSet", "web-x1"));
    load_pod(&scene, "s", "web-2", "node-a", HASH("x2"), OWNER("ReplicaSet", "web-x2"));
    load_pod(&scene, "s", "web-3", "node-b", HASH("x2"), OWNER("ReplicaSet", "web-x2"));
    load_pod(&scene, "t", "web-1", "node-b", "", OWNER("DaemonSet", "log"));
    load_pod(&scene, "t", "alone", "node-c", "", "");
    load_pod(&scene, "t", "done", "node-c", "", "");
    load_pod(&scene, "t", "pending", "", "", "");
    scene_publish(&scene);
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

static double workload(const Scene *scene, const char *key) {
    return measurement_workload(scene->measurement, str_from_c(key));
}

#define ALL                                                                                        \
    "namespace=s,pod=web-1 1", "namespace=s,pod=web-2 2", "namespace=s,pod=web-3 4",               \
        "namespace=t,pod=web-1 8", "namespace=t,pod=alone 16"

static void test_aggregates(void **state) {
    static const struct {
        GaugeAggregate aggregate;
        double a, b, c, web, log;
    } cases[] = {
        {GAUGE_SUM, 3, 12, 16, 7, 8},
        {GAUGE_MAX, 2, 8, 16, 4, 8},
        {GAUGE_AVG, 1.5, 6, 16, 7.0 / 3, 8},
    };
    Scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scene->gauge.aggregate = scene->gauge.workload_aggregate = cases[i].aggregate;
        SCENE_JOIN(scene, ALL);
        assert_value(scene, "node-a", cases[i].a);
        assert_value(scene, "node-b", cases[i].b);
        assert_value(scene, "node-c", cases[i].c);
        assert_true(workload(scene, "s/Deployment/web") == cases[i].web);
        assert_true(workload(scene, "t/DaemonSet/log") == cases[i].log);
        assert_true(isnan(workload(scene, "t/Deployment/web")));
    }
    assert_int_equal(scene->report.n_pods, 5);
    assert_int_equal(scene->report.n_workloads, 2);
    assert_int_equal(scene->report.n_covered, 3);
    assert_string_equal(scene->report.error, "");
    assert_says(scene->report.how, "labels namespace, pod are a pod's namespace and name");
}

static void test_selects_pods_by_namespace_and_label(void **state) {
    static const Str namespaces[] = {STR("t"), STR("u")};
    static const Str values[] = {STR("w")};
    static const Requirement requirement = {
        .key = STR("t"), .op = SELECTOR_IN, .values = values, .n_values = 1};
    Scene *scene = *state;

    scene->gauge.namespaces = namespaces;
    scene->gauge.n_namespaces = 2;
    SCENE_JOIN(scene, ALL);
    assert_absent(scene, "node-a");
    assert_value(scene, "node-b", 8);
    assert_int_equal(scene->report.n_pods, 2);
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        assert_int_equal(scene->report.n_dropped[i], 0);

    scene->gauge.n_namespaces = 0;
    scene->gauge.selector = (Selector){.items = &requirement, .n = 1};
    SCENE_JOIN(scene, ALL);
    assert_value(scene, "node-a", 1);
    assert_absent(scene, "node-b");
    assert_int_equal(scene->report.n_workloads, 1);

    scene->gauge.namespaces = &STR("elsewhere");
    scene->gauge.n_namespaces = 1;
    SCENE_JOIN(scene, ALL);
    assert_int_equal(scene->report.n_covered, 0);
    assert_says(scene->report.error, "none of the pods that have series is one that counts");
}

static void test_counts_series_without_pod(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "namespace=s,pod=web-1 1", "namespace=t,pod=done 1",
        "namespace=t,pod=pending 1", "namespace=u,pod=web-1 1", "pod=web-1 1",
        "namespace=s,pod=web-2 NaN");
    assert_value(scene, "node-a", 1);
    assert_int_equal(scene->report.n_covered, 1);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 3);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_LABEL], 1);
    assert_int_equal(scene->report.n_dropped[JOIN_NAN], 1);
    assert_string_equal(scene->report.unmatched[0], "t/done");
    assert_string_equal(scene->report.unmatched[2], "u/web-1");
}

static void test_duplicates(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "container=a,namespace=s,pod=web-1 1", "container=b,namespace=s,pod=web-1 1",
        "container=a,namespace=s,pod=web-2 2");
    assert_value(scene, "node-a", 2);
    assert_true(workload(scene, "s/Deployment/web") == 2);
    assert_int_equal(scene->report.n_dropped[JOIN_DUPLICATE], 2);
    assert_says(scene->report.how, "sum by (namespace, pod)");
}

static void test_labels(void **state) {
    Scene *scene = *state;

    scene->gauge.namespace_label = STR("exported_namespace");
    scene->gauge.pod_label = STR("exported_pod");
    SCENE_JOIN(scene, "exported_namespace=s,exported_pod=web-1,namespace=m,pod=ksm 1");
    assert_value(scene, "node-a", 1);
    SCENE_JOIN(scene, "namespace=m,pod=ksm 1");
    assert_says(scene->report.error, "no series has the label \"exported_pod\"");
    SCENE_JOIN(scene, "exported_namespace=s,exported_pod=ksm 1");
    assert_says(
        scene->report.error, "no pod on a node has the value of label \"exported_pod\": \"ksm\"");
    SCENE_JOIN(scene, " 1");
    assert_says(scene->report.error, "add by (namespace, pod)");
    scene->gauge.source = GAUGE_RESOURCES;
    SCENE_JOIN(scene, "namespace=s,pod=web-1 3");
    assert_value(scene, "node-a", 3);
}

/* The oldest value gives the node's age; expired values are not summed. */
static void test_node_has_age_of_oldest_value(void **state) {
    Scene *scene = *state;
    const NodeTable *table = snapshot_table(scene->snapshot);

    SCENE_JOIN(scene, "namespace=s,pod=web-1 1 1700000000", "namespace=s,pod=web-2 2 1699999970",
        "namespace=s,pod=web-3 4 1699999000");
    assert_value(scene, "node-a", 3);
    assert_absent(scene, "node-b");
    assert_true(workload(scene, "s/Deployment/web") == 3);
    assert_int_equal(
        scene->measurement->lags_nsec[table_find(table, STR("node-a"))], 30 * SCENE_SEC);
    assert_int_equal(scene->report.n_dropped[JOIN_TOO_OLD], 1);
}

/* A sum that overflows a double is no value. */
static void test_overflow(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "namespace=s,pod=web-1 1.7e308", "namespace=s,pod=web-2 1.7e308");
    assert_absent(scene, "node-a");
    assert_true(isnan(workload(scene, "s/Deployment/web")));
}

/* More pods than one prefetch covers. */
static void test_joins_more_pods_than_one_prefetch(void **state) {
    enum { N = 500 };
    static char texts[N][64];
    static const char *pointers[N];
    Scene *scene = *state;
    double sum = 0;

    for (int i = 0; i < N; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "p%d", i);
        load_pod(scene, i % 3 ? "m" : "n", name, "node-c", "", "");
        (void)snprintf(
            texts[i], sizeof(texts[i]), "namespace=%s,pod=p%d %d", i % 3 ? "m" : "n", i, i);
        pointers[N - 1 - i] = texts[i];
        sum += i;
    }
    scene_publish(scene);
    scene_answer(scene, pointers, N);
    scene_join(scene);
    assert_value(scene, "node-c", sum);
    assert_int_equal(scene->report.n_pods, N);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_aggregates),
        TEST(test_selects_pods_by_namespace_and_label),
        TEST(test_counts_series_without_pod),
        TEST(test_duplicates),
        TEST(test_labels),
        TEST(test_node_has_age_of_oldest_value),
        TEST(test_overflow),
        TEST(test_joins_more_pods_than_one_prefetch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
