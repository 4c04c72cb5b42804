#include "cluster/measurement.h"

#include <math.h>
#include <stdio.h>

#include "base/test-assert.h"

static NodeNames *names_of(const Str *list, size_t n, const NodeNames *before) {
    NodeNames *names = NULL;

    assert_int_equal(names_new(list, n, before, &names), 0);
    return names;
}

static const Str three[] = {STR("a"), STR("b"), STR("c")};

static void test_values(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = names_of(three, 3, NULL);
    _cleanup_(measurement_unrefp) Measurement *measurement = measurement_new(names, 7, 9);

    (void)state;
    assert_ptr_equal(measurement->names, names);
    assert_true(measurement->at_nsec == 7 && measurement->uptime_nsec == 9);
    for (size_t i = 0; i < 3; i++)
        assert_true(isnan(measurement->values[i]));
    assert_int_equal(measurement_set(measurement, 1, 2.5, 0), 0);
    assert_null(measurement->lags_nsec); /* none is older: no ages are kept */
    assert_int_equal(measurement_set(measurement, 2, 3.5, 11), 0);
    assert_int_equal(measurement_set(measurement, 0, INFINITY, -5), 0);
    assert_true(measurement->values[1] == 2.5 && measurement->values[2] == 3.5);
    assert_true(isnan(measurement->values[0]));
    assert_int_equal(measurement->lags_nsec[0], 0); /* the future does not count */
    assert_int_equal(measurement->lags_nsec[1], 0);
    assert_int_equal(measurement->lags_nsec[2], 11);
    assert_int_equal(measurement_set(measurement, 2, -1, 0), 0); /* again: the last value counts */
    assert_true(measurement->values[2] == -1 && measurement->lags_nsec[2] == 0);
}

static void test_names_live_as_long(void **state) {
    NodeNames *names = names_of(three, 3, NULL);
    Measurement *measurement = measurement_new(names, 0, 0);

    (void)state;
    names_unref(names);
    assert_text("name", measurement->names->names[2], "c");
    assert_ptr_equal(measurement_ref(measurement), measurement);
    assert_null(measurement_unref(measurement));
    assert_text("name", measurement->names->names[2], "c");
    assert_null(measurement_unref(measurement));
    assert_null(measurement_unref(NULL));
}

/* Names in an arena are not reference-counted. */
static void test_names_of_an_arena(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    NodeNames names;
    Measurement *measurement;

    (void)state;
    assert_int_equal(names_init_in(arena, three, 3, &names), 0);
    measurement = measurement_new(&names, 0, 0);
    assert_int_equal(measurement_set(measurement, 2, 1, 0), 0);
    assert_null(measurement_unref(measurement));
}

static void test_workloads(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = names_of(NULL, 0, NULL);
    _cleanup_(measurement_unrefp) Measurement *measurement = measurement_new(names, 0, 0);
    char key[64];

    (void)state;
    assert_true(isnan(measurement_workload(measurement, STR("n/Job/0"))));
    assert_int_equal(measurement_reserve_workloads(measurement, 900), 0);
    for (int i = 0; i < 900; i++) {
        (void)snprintf(key, sizeof(key), "n/Job/%d", i);
        assert_int_equal(measurement_set_workload(measurement, str_from_c(key), i), 0);
    }
    memset(key, 'x', sizeof(key)); /* keys are copied */
    assert_int_equal(measurement_reserve_workloads(measurement, 2), 0);
    assert_int_equal(measurement_set_workload(measurement, STR("late"), 1.5), 0);
    assert_int_equal(measurement_set_workload(measurement, STR("odd"), -INFINITY), 0);
    assert_int_equal(measurement_set_workload(measurement, STR("n/Job/7"), 70), 0); /* once more */
    assert_int_equal(measurement->n_workloads, 902);
    assert_true(measurement_workload(measurement, STR("n/Job/7")) == 70);
    assert_true(measurement_workload(measurement, STR("n/Job/0")) == 0);
    assert_true(measurement_workload(measurement, STR("n/Job/899")) == 899);
    assert_true(measurement_workload(measurement, STR("late")) == 1.5);
    assert_true(isnan(measurement_workload(measurement, STR("odd"))));
    assert_true(isnan(measurement_workload(measurement, STR("n/Job/900"))));
}

/* Maps rows of the current table to rows of the measured one. */
static void test_rows(void **state) {
    static const Str later[] = {STR("a"), STR("new"), STR_NULL, STR("b"), STR("newer")};
    _cleanup_(names_unrefp) NodeNames *then = names_of(three, 3, NULL);
    _cleanup_(names_unrefp) NodeNames *now = names_of(later, 5, then);
    _cleanup_(measurement_unrefp) Measurement *measurement = measurement_new(then, 0, 0);

    (void)state;
    assert_int_equal(measurement_row(measurement, then, 1, STR("b")), 1);
    assert_int_equal(measurement_row(measurement, now, 0, STR("a")), 0);
    assert_int_equal(measurement_row(measurement, now, 1, STR("new")), 3); /* in b's row */
    assert_int_equal(measurement_row(measurement, now, 2, STR_NULL), 3);
    assert_int_equal(measurement_row(measurement, now, 3, STR("b")), 1);
    assert_int_equal(measurement_row(measurement, now, 4, STR("newer")), 3);
    assert_int_equal(measurement_row(measurement, then, 3, STR_NULL), 3); /* the unknown node */
}

static void test_measurements(void **state) {
    _cleanup_(names_unrefp) NodeNames *names = names_of(three, 3, NULL);
    Measurements *measurements = measurements_new(5, 2);

    (void)state;
    assert_true(measurements->owner == 5 && measurements->n == 2);
    assert_null(measurements->items[0]);
    measurements->items[1] = measurement_new(names, 0, 0);
    assert_ptr_equal(measurements_ref(measurements), measurements);
    assert_null(measurements_unref(measurements));
    assert_int_equal(measurement_set(measurements->items[1], 0, 1, 0), 0);
    assert_null(measurements_unref(measurements));
    assert_null(measurements_unref(NULL));
    assert_null(measurements_unref(measurements_new(0, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names_live_as_long),
        cmocka_unit_test(test_names_of_an_arena),
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_measurements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
