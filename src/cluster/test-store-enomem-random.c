/*
 * A store whose allocations sometimes fail, compared with the model: an operation that returns
 * -ENOMEM has changed nothing. test-store-enomem.c tests each operation by itself.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "base/test-failing-malloc.h"
#include "cluster/test-measured.h"
#include "cluster/test-model.h"

/* An event makes a few allocations, a list or a snapshot many. */
static void arm(unsigned rng) {
    countdown = rng < 16 ? rng % 4 + 1 : rng < 48 ? rng - 15 : 0;
}

static void disarm(void) {
    countdown = 0;
}

static void test_failing(void **state) {
    static const ModelOptions options[] = {
        {4, 12, 3, 10, 3, 8, 40000, arm, disarm},
        {40, 120, 40, 110, 16, 20, 40000, arm, disarm},
        {140, 300, 140, 300, 200, 40, 20000, arm, disarm},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(options); i++) {
        ModelRng rng = {.rng = {10 + i}};
        ModelTally tally;
        const char *problem = model_run(&options[i], &rng, &tally);

        disarm();
        if (problem)
            print_error("seed %zu: %s\n", 10 + i, problem);
        assert_null(problem);
        assert_true(tally.n_failed > 1000);
        assert_true(tally.n_published > 100 && tally.n_lists > 100);
    }
}

/* A measurement of everything, or NULL. */
static Measurement *sample(NodeNames *names) {
    _cleanup_(measurement_unrefp) Measurement *measurement = measurement_new(names, NOW, UPTIME);

    if (!measurement || measurement_set(measurement, 0, 1, SEC) < 0 ||
        measurement_reserve_workloads(measurement, 1) < 0 ||
        measurement_set_workload(measurement, STR("n/Job/j"), 2) < 0)
        return NULL;
    return TAKE_PTR(measurement);
}

/* Replaces the loads by the next ones; 0 or -ENOMEM. */
static int renew_loads(LoadsFixture *fixture) {
    _cleanup_(measurements_unrefp) Measurements *made = measurements_new(1, FIXTURE_GAUGES);
    Loads next;
    int r;

    if (!made)
        return -ENOMEM;
    made->items[0] = sample((NodeNames *)(uintptr_t)fixture_table(fixture)->names);
    if (!made->items[0])
        return -ENOMEM;
    fixture->input.measurements = made;
    r = loads_build(&fixture->input, fixture_table(fixture),
        &(KnownLoads){fixture_table(fixture), &fixture->loads}, fixture->arena, &next);
    fixture->input.measurements = NULL;
    if (r < 0) {
        loads_release(&next);
        return r;
    }
    loads_release(&fixture->loads);
    fixture->loads = next;
    return 0;
}

/* Whichever allocation fails, the old state stays, without leaks. */
static void test_failing_loads(void **state) {
    unsigned n_failed = 0;
    char name[16];
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    for (unsigned i = 0; i < 3 * CHUNK_ROWS; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        fixture_add_node(&fixture, name);
    }
    fixture_publish(&fixture);
    fixture_build(&fixture);
    for (unsigned at = 1; at < 100; at++) {
        int r;

        countdown = at;
        r = renew_loads(&fixture);
        disarm();
        assert_true(r == 0 || r == -ENOMEM);
        if (r == 0)
            break;
        n_failed++;
        assert_number(loads_value(&fixture.loads, 0, LOAD_VALUE, 0), NAN); /* unchanged */
    }
    assert_in_range(n_failed, 6, 90);
    assert_number(loads_value(&fixture.loads, 0, LOAD_VALUE, 0), 1);
    assert_number(loads_workload(&fixture.loads, 0, STR("n/Job/j")), 2);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_failing_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
