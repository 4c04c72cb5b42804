#include "live/current.h"

#include <math.h>
#include <poll.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "policy/test-scene.h"

#define MAX_AGE (60 * NSEC_PER_SEC)

static const char text[] =
    "policy: {metrics: [{name: load, prometheus: {query: a}, maxAge: 60s, placements: none}]}\n"
    "nodes: {n1: {}}\n";

static const char text_of_nothing[] = "policy: {}\n";

typedef struct Fixture {
    TestScene scene;
    Current current;
    Measuring *measuring;
    LiveOptions live;
    size_t n_changes;
} Fixture;

static void note_change(void *context, const View *before, const View *after) {
    Fixture *fixture = context;

    assert_ptr_not_equal(before, after);
    fixture->n_changes++;
}

static int setup(void **state) {
    Fixture *fixture = test_calloc(1, sizeof(*fixture));
    const MeasuringOptions options = {.live = &fixture->live, .has_cluster = true};
    char error[256];

    scene_init_text(&fixture->scene, text);
    fixture->current = CURRENT_INIT;
    fixture->current.context = fixture;
    fixture->current.changed = note_change;
    assert_int_equal(
        current_begin(&fixture->current, fixture->scene.snapshot, fixture->scene.program, NULL,
            /* load= */ NULL, error, sizeof(error)),
        0);
    assert_int_equal(
        measuring_new(&options, &fixture->current, &fixture->measuring, error, sizeof(error)), 0);
    fixture->current.measuring = fixture->measuring;
    assert_int_equal(current_set_program(&fixture->current, fixture->scene.program,
                         /* load= */ NULL, error, sizeof(error)),
        0);
    fixture->n_changes = 0;
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    assert_true(measuring_stop(fixture->measuring, NSEC_PER_SEC));
    measuring_free(fixture->measuring);
    current_done(&fixture->current);
    scene_done(&fixture->scene);
    test_free(fixture);
    return 0;
}

/* A measurement with one value of this age. */
static Measurements *measure(const Fixture *fixture, uint64_t owner, int64_t age_nsec) {
    Measurements *measurements = measurements_new(owner, 1);

    assert_non_null(measurements);
    measurements->items[0] =
        measurement_new((NodeNames *)(uintptr_t)snapshot_table(fixture->scene.snapshot)
                            ->names, /* it counts references */
            clock_wall_nsec() - age_nsec, clock_monotonic_nsec() - age_nsec);
    assert_non_null(measurements->items[0]);
    assert_int_equal(measurement_set(measurements->items[0], 0, 0.5, 0), 0);
    return measurements;
}

static double value(Fixture *fixture) {
    _cleanup_(view_unrefp) View *view = current_view(&fixture->current);

    return loads_value(view->table->loads, 0, LOAD_VALUE, 0);
}

static void test_uses_values_of_its_own_program(void **state) {
    Fixture *fixture = *state;
    uint64_t owner = fixture->current.owner;
    _cleanup_(measurements_unrefp) Measurements *mine = measure(fixture, owner, 0);
    _cleanup_(measurements_unrefp) Measurements *others = measure(fixture, owner + 1, 0);

    assert_true(isnan(value(fixture)));
    assert_int_equal(current_set_measured(&fixture->current, others), 0);
    assert_int_equal(fixture->n_changes, 0);
    assert_int_equal(current_set_measured(&fixture->current, mine), 0);
    assert_int_equal(fixture->n_changes, 1);
    assert_float_equal(value(fixture), 0.5, 0);
    assert_int_equal(current_set_snapshot(&fixture->current, fixture->scene.snapshot), 0);
    assert_int_equal(fixture->n_changes, 2);
    assert_float_equal(value(fixture), 0.5, 0);
}

/* Values measured for a replaced program are not used, not even when the program returns. */
static void test_drops_values_of_a_replaced_program(void **state) {
    Fixture *fixture = *state;
    uint64_t owner = fixture->current.owner;
    _cleanup_(measurements_unrefp) Measurements *late = measure(fixture, owner, 0);
    char error[256];
    TestScene other;

    scene_init_text(&other, text_of_nothing);
    assert_int_equal(current_set_program(
                         &fixture->current, other.program, /* load= */ NULL, error, sizeof(error)),
        0);
    assert_int_not_equal(fixture->current.owner, owner);
    assert_int_equal(current_set_program(&fixture->current, fixture->scene.program,
                         /* load= */ NULL, error, sizeof(error)),
        0);
    assert_int_equal(fixture->n_changes, 2);
    assert_int_equal(current_set_measured(&fixture->current, late), 0);
    assert_int_equal(fixture->n_changes, 2);
    assert_true(isnan(value(fixture)));
    scene_done(&other);
}

static void test_refresh_drops_expired_values(void **state) {
    Fixture *fixture = *state;
    _cleanup_(measurements_unrefp) Measurements *measurements =
        measure(fixture, fixture->current.owner, MAX_AGE - NSEC_PER_SEC / 5);
    int64_t until;

    assert_int_equal(current_set_measured(&fixture->current, measurements), 0);
    assert_float_equal(value(fixture), 0.5, 0);
    until = fixture->current.view->loads.until_nsec;
    assert_int_equal(current_refresh(&fixture->current, until - 1), 0);
    assert_int_equal(fixture->n_changes, 1);
    while (clock_monotonic_nsec() <= until)
        (void)poll(NULL, 0, 10);
    assert_int_equal(current_refresh(&fixture->current, clock_monotonic_nsec()), 0);
    assert_int_equal(fixture->n_changes, 2);
    assert_true(isnan(value(fixture)));
    assert_int_equal(current_refresh(&fixture->current, clock_monotonic_nsec()), 0);
    assert_int_equal(fixture->n_changes, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_uses_values_of_its_own_program),
        TEST(test_drops_values_of_a_replaced_program),
        TEST(test_refresh_drops_expired_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
