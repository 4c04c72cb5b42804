#include "demo/tally.h"

#include <stdlib.h>

#include "base/test-assert.h"

static void add(Tally *tally, const WorldPod *pod, const char *node, const char *reason) {
    Placement placement = {
        .pod = pod,
        .node = str_from_c(node),
        .n_offered = 10,
        .n_reasons = reason != NULL,
        .reasons = {{str_from_c(reason), 4}},
    };

    tally_add(tally, &placement);
}

static void test_quantiles(void **state) {
    Tally *tally = calloc(1, sizeof(*tally));
    WorldPod pod = {.workload = &workloads[0], .n_attempts = 1};

    (void)state;
    assert_non_null(tally);
    assert_int_equal(tally_quantile(tally, VERB_FILTER, 500), 0);
    for (int64_t i = 2 * TALLY_SAMPLES; i > 0; i--) {
        Placement placement = {.pod = &pod, .node = STR("n")};

        placement.nsec[VERB_FILTER] = i; /* only 1 to TALLY_SAMPLES are kept */
        tally_add(tally, &placement);
    }
    assert_int_equal(tally->calls[VERB_FILTER].n, 2 * TALLY_SAMPLES);
    assert_int_equal(tally->calls[VERB_BIND].n, 0);
    assert_int_equal(tally_quantile(tally, VERB_FILTER, 0), 1);
    assert_int_equal(tally_quantile(tally, VERB_FILTER, 500), TALLY_SAMPLES / 2);
    assert_int_equal(tally_quantile(tally, VERB_FILTER, 1000), TALLY_SAMPLES);
    free(tally);
}

/* A pod is pending once, however often it is tried, and no more once it is placed. */
static void test_pending(void **state) {
    Tally *tally = calloc(1, sizeof(*tally));
    WorldPod first = {.workload = &workloads[0], .n_attempts = 1};
    WorldPod again = {.workload = &workloads[0], .n_attempts = 2};
    WorldPod other = {.workload = &workloads[1], .n_attempts = 1};

    (void)state;
    assert_non_null(tally);
    add(tally, &first, "", "too far");
    add(tally, &first, "", "too far");
    add(tally, &again, "", "too small");
    add(tally, &other, "n", NULL);
    assert_int_equal(tally->n_pods, 3);
    assert_int_equal(tally->n_retries, 1);
    assert_int_equal(tally->n_placed, 1);
    assert_int_equal(tally->n_pending, 1);
    assert_int_equal(tally->pending[0].n, 2);
    assert_string_equal(tally->pending[0].why, "4 too small");
    add(tally, &again, "n", NULL);
    assert_int_equal(tally->pending[0].n, 1);
    assert_int_equal(tally->n_placed, 2);

    tally_sort(tally);
    assert_int_equal(tally->n_reasons, 2);
    assert_string_equal(tally->reasons[0].text, "too far");
    assert_int_equal(tally->reasons[0].n_nodes, 8);
    free(tally);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
