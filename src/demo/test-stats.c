#include "demo/printer.h"

#include <stdlib.h>

#include "base/test-assert.h"

static const Workload workloads[] = {{.number = 0}, {.number = 1}};

static void add(PlacementStats *stats, const DemoPod *pod, const char *node, const char *reason) {
    Placement placement = {
        .pod = pod,
        .node = str_from_c(node),
        .n_candidates = 10,
        .n_reasons = reason != NULL,
        .reasons = {{str_from_c(reason), 4}},
    };

    stats_add(stats, &placement);
}

static void test_quantiles_of_the_last_calls(void **state) {
    PlacementStats *stats = calloc(1, sizeof(*stats));
    DemoPod pod = {.workload = &workloads[0], .n_attempts = 1};

    (void)state;
    assert_non_null(stats);
    assert_int_equal(stats_quantile(stats, VERB_FILTER, 500), 0);
    for (int64_t i = 2 * STATS_SAMPLES; i > 0; i--) {
        Placement placement = {.pod = &pod, .node = STR("n")};

        placement.nsec[VERB_FILTER] = i; /* only 1 to STATS_SAMPLES are kept */
        stats_add(stats, &placement);
    }
    assert_int_equal(stats->calls[VERB_FILTER].n, 2 * STATS_SAMPLES);
    assert_int_equal(stats->calls[VERB_BIND].n, 0);
    assert_int_equal(stats_quantile(stats, VERB_FILTER, 0), 1);
    assert_int_equal(stats_quantile(stats, VERB_FILTER, 500), STATS_SAMPLES / 2);
    assert_int_equal(stats_quantile(stats, VERB_FILTER, 1000), STATS_SAMPLES);
    free(stats);
}

/* A pod counts once, however often it is tried. */
static void test_counts_pods_once(void **state) {
    PlacementStats *stats = calloc(1, sizeof(*stats));
    DemoPod first = {.workload = &workloads[0], .n_attempts = 1};
    DemoPod again = {.workload = &workloads[0], .n_attempts = 2};
    DemoPod other = {.workload = &workloads[1], .n_attempts = 1};

    (void)state;
    assert_non_null(stats);
    add(stats, &first, "", "too far");
    add(stats, &first, "", "too far");
    add(stats, &again, "", "too small");
    add(stats, &other, "n", NULL);
    assert_int_equal(stats->n_pods, 3);
    assert_int_equal(stats->n_retries, 1);
    assert_int_equal(stats->n_placed, 1);
    assert_string_equal(stats->pending[0], "4 too small");
    add(stats, &again, "n", NULL);
    assert_int_equal(stats->n_pods, 3);
    assert_int_equal(stats->n_placed, 2);

    reasons_sort(stats->reasons, stats->n_reasons);
    assert_int_equal(stats->n_reasons, 2);
    assert_true(str_is(stats->reasons[0].text, "too far"));
    assert_int_equal(stats->reasons[0].n_nodes, 8);
    free(stats);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_of_the_last_calls),
        cmocka_unit_test(test_counts_pods_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
