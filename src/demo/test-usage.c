#include "demo/usage.h"

#include <math.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "cluster/test-load.h"

#define NOW_SEC INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define NOW (NOW_SEC * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)

/* --- meaning of a query ----------------------------------------------------------------- */

static void test_words_of_a_query_select_the_value(void **state) {
    static const struct {
        const char *query;
        Usage expected;
    } cases[] = {
        {"1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"}[2m]))",
            {USAGE_USED, TABLE_CPU, GAUGE_FRACTION, 2 * MINUTE}},
        {"100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"}[5m])))",
            {USAGE_USED, TABLE_CPU, GAUGE_PERCENT, 5 * MINUTE}},
        {"sum by (instance) (rate(node_cpu_seconds_total{mode!~\"idle|iowait\"}[1m]))",
            {USAGE_USED, TABLE_CPU, GAUGE_AMOUNT, MINUTE}},
        {"node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes",
            {USAGE_USED, TABLE_MEMORY, GAUGE_AMOUNT, 0}},
        {"1 - avg_over_time(node_memory_MemAvailable_bytes[15m]) / node_memory_MemTotal_bytes",
            {USAGE_USED, TABLE_MEMORY, GAUGE_FRACTION, 15 * MINUTE}},
        {"100 * node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes",
            {USAGE_FREE, TABLE_MEMORY, GAUGE_PERCENT, 0}},
        {"stddev_over_time(node_memory_MemAvailable_bytes[15m]) / node_memory_MemTotal_bytes",
            {USAGE_DEVIATION, TABLE_MEMORY, GAUGE_FRACTION, 15 * MINUTE}},
        {"max by (instance) (node_hwmon_temp_celsius)",
            {USAGE_TEMPERATURE, TABLE_CPU, GAUGE_AMOUNT, 0}},
        {"node_load1", {USAGE_QUEUE, TABLE_CPU, GAUGE_AMOUNT, 0}},
        {"up", {USAGE_OTHER, TABLE_CPU, GAUGE_AMOUNT, 0}},
        {"", {USAGE_OTHER, TABLE_CPU, GAUGE_AMOUNT, 0}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Usage usage = usage_of_query(str_from_c(cases[i].query));

        assert_case(cases[i].query, usage.kind == cases[i].expected.kind);
        assert_case(cases[i].query, usage.resource == cases[i].expected.resource);
        assert_case(cases[i].query, usage.unit == cases[i].expected.unit);
        assert_case(cases[i].query, usage.range_nsec == cases[i].expected.range_nsec);
    }
}

static void test_gauges_select_the_value(void **state) {
    const Gauge annotation = {.source = GAUGE_ANNOTATION, .annotation = STR("mem_usage_avg_5m")};
    const Gauge resources = {.source = GAUGE_RESOURCES, .resource = STR("memory")};
    const Gauge given = {.query = STR("my_rule"),
        .placements = {.is_counted = true, .resource = STR("memory"), .unit = GAUGE_PERCENT}};
    Usage usage;

    (void)state;
    usage = usage_of_gauge(&annotation);
    assert_int_equal(usage.resource, TABLE_MEMORY);
    assert_int_equal(usage.unit, GAUGE_FRACTION);
    assert_int_equal(usage.range_nsec, 5 * MINUTE);
    usage = usage_of_gauge(&resources);
    assert_int_equal(usage.resource, TABLE_MEMORY);
    assert_int_equal(usage.unit, GAUGE_AMOUNT);
    usage = usage_of_gauge(&given); /* the policy's unit decides */
    assert_int_equal(usage.kind, USAGE_USED);
    assert_int_equal(usage.resource, TABLE_MEMORY);
    assert_int_equal(usage.unit, GAUGE_PERCENT);
}

/* --- numbers ------------------------------------------------------------------------------ */

#define NODE(name, status)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":" \
    "\"16Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status "\"}]}}"

static void add_pod(Store *store, const char *name, int64_t placed_sec) {
    const Resource amounts[] = {{STR("cpu"), 2000}, {STR("memory"), INT64_C(4) << 30}};
    const Pod pod = {
        .name = str_from_c(name),
        .namespace = STR("shop"),
        .uid = str_from_c(name),
        .owner_kind = STR("ReplicaSet"),
        .owner_name = STR("web"),
        .node_name = STR("busy"),
        .scheduled_at = placed_sec,
        .requests = {.items = (Resource *)(uintptr_t)amounts, .n = ELEMENTS_OF(amounts)},
    };

    assert_true(store_apply_pod(store, &pod) >= 0);
}

static Snapshot *make_cluster(int64_t placed_sec) {
    _cleanup_(store_freep) Store *store = store_new();

    assert_non_null(store);
    test_load_node(store, STR(NODE("busy", "True")));
    test_load_node(store, STR(NODE("idle", "True")));
    test_load_node(store, STR(NODE("gone", "Unknown")));
    add_pod(store, "a", placed_sec);
    add_pod(store, "b", placed_sec);
    return test_load_publish(store);
}

static double measure(Snapshot *snapshot, const Usage *usage, const char *node, int64_t now) {
    const NodeTable *table = snapshot_table(snapshot);

    return usage_measure(usage, table, table_find(table, str_from_c(node)), now);
}

static void test_units_agree(void **state) {
    Snapshot *cluster = make_cluster(NOW_SEC - 3600);
    Usage fraction = {.resource = TABLE_MEMORY, .unit = GAUGE_FRACTION};
    Usage percent = {.resource = TABLE_MEMORY, .unit = GAUGE_PERCENT};
    Usage bytes = {.resource = TABLE_MEMORY, .unit = GAUGE_AMOUNT};
    Usage rest = {.kind = USAGE_FREE, .resource = TABLE_MEMORY, .unit = GAUGE_FRACTION};
    double share = measure(cluster, &fraction, "busy", NOW);

    (void)state;
    assert_true(share > 0.2 && share < 0.6); /* of two pods that request a quarter each */
    assert_true(fabs(measure(cluster, &percent, "busy", NOW) - share * 100) < 1e-9);
    assert_true(fabs(measure(cluster, &bytes, "busy", NOW) - share * 0x400000000) < 1);
    assert_true(fabs(measure(cluster, &rest, "busy", NOW) - (1 - share)) < 1e-9);
    assert_true(measure(cluster, &fraction, "idle", NOW) < 0.1);
    assert_true(isnan(measure(cluster, &fraction, "gone", NOW)));
    snapshot_unref(cluster);
}

/* An average includes a pod in proportion to its age. */
static void test_averages_show_new_pods_by_age(void **state) {
    Snapshot *old = make_cluster(NOW_SEC - 3600), *half = make_cluster(NOW_SEC - 60),
             *new = make_cluster(NOW_SEC);
    Usage usage = {.resource = TABLE_MEMORY, .unit = GAUGE_AMOUNT, .range_nsec = 2 * MINUTE};
    Usage at_once = {.resource = TABLE_MEMORY, .unit = GAUGE_AMOUNT};
    double without = measure(new, &usage, "busy", NOW), with = measure(old, &usage, "busy", NOW);

    (void)state;
    assert_true(with > without + 0x80000000);
    assert_true(fabs(measure(half, &usage, "busy", NOW) - (with + without) / 2) < 1);
    assert_true(fabs(measure(new, &at_once, "busy", NOW) - with) < 1);
    snapshot_unref(old);
    snapshot_unref(half);
    snapshot_unref(new);
}

/* Usage changes gradually; a node never exceeds its capacity. */
static void test_usage_varies_over_time(void **state) {
    Snapshot *cluster = make_cluster(NOW_SEC - 3600);
    Usage usage = {.resource = TABLE_CPU, .unit = GAUGE_FRACTION};
    double least = INFINITY, most = -INFINITY, before = measure(cluster, &usage, "busy", NOW);

    (void)state;
    assert_true(before == measure(cluster, &usage, "busy", NOW));
    for (int64_t sec = 1; sec <= 600; sec++) {
        double value = measure(cluster, &usage, "busy", NOW + sec * NSEC_PER_SEC);

        assert_true(value >= 0 && value < 1);
        assert_true(fabs(value - before) < 0.1);
        least = fmin(least, value);
        most = fmax(most, value);
        before = value;
    }
    assert_true(most - least > 0.1);
    snapshot_unref(cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_a_query_select_the_value),
        cmocka_unit_test(test_gauges_select_the_value),
        cmocka_unit_test(test_units_agree),
        cmocka_unit_test(test_averages_show_new_pods_by_age),
        cmocka_unit_test(test_usage_varies_over_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
