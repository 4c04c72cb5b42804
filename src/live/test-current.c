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

typedef struct Stage {
    TestScene scene;
    Current current;
    Measuring *measuring;
    LiveOptions live;
    size_t n_changes;
} Stage;

static View *view_of(void *context) {
    return current_view(&((Stage *)context)->current);
}

static void take_measured(void *context, Measurements *measurements) {
    assert_int_equal(current_set_measured(&((Stage *)context)->current, measurements), 0);
}

static void note_change(void *context, const View *before, const View *after) {
    Stage *stage = context;

    assert_ptr_not_equal(before, after);
    stage->n_changes++;
}

static int setup(void **state) {
    Stage *stage = test_calloc(1, sizeof(*stage));
    const MeasuringOptions options = {.live = &stage->live, .has_cluster = true};
    const MeasuringCallbacks callbacks = {
        .context = stage, .view = view_of, .publish = take_measured};
    char error[256];

    scene_init_text(&stage->scene, text);
    stage->current = CURRENT_INIT;
    stage->current.context = stage;
    stage->current.changed = note_change;
    assert_int_equal(
        current_begin(&stage->current, stage->scene.snapshot, stage->scene.program, NULL), 0);
    assert_int_equal(
        measuring_new(&options, &callbacks, &stage->measuring, error, sizeof(error)), 0);
    stage->current.measuring = stage->measuring;
    assert_int_equal(
        current_set_program(&stage->current, stage->scene.program, error, sizeof(error)), 0);
    stage->n_changes = 0;
    *state = stage;
    return 0;
}

static int teardown(void **state) {
    Stage *stage = *state;

    assert_true(measuring_stop(stage->measuring, NSEC_PER_SEC));
    measuring_free(stage->measuring);
    current_done(&stage->current);
    scene_done(&stage->scene);
    test_free(stage);
    return 0;
}

/* One value, so old. */
static Measurements *measure(const Stage *stage, uint64_t owner, int64_t age_nsec) {
    Measurements *measurements = measurements_new(owner, 1);

    assert_non_null(measurements);
    measurements->items[0] = measurement_new(
        (NodeNames *)(uintptr_t)snapshot_table(stage->scene.snapshot)->names, /* to be counted */
        clock_wall_nsec() - age_nsec, clock_monotonic_nsec() - age_nsec);
    assert_non_null(measurements->items[0]);
    assert_int_equal(measurement_set(measurements->items[0], 0, 0.5, 0), 0);
    return measurements;
}

static double value(Stage *stage) {
    _cleanup_(view_unrefp) View *view = current_view(&stage->current);

    return loads_value(view->table->loads, 0, LOAD_VALUE, 0);
}

static void test_measured(void **state) {
    Stage *stage = *state;
    uint64_t owner = stage->current.owner;
    _cleanup_(measurements_unrefp) Measurements *mine = measure(stage, owner, 0);
    _cleanup_(measurements_unrefp) Measurements *others = measure(stage, owner + 1, 0);

    assert_true(isnan(value(stage)));
    assert_int_equal(current_set_measured(&stage->current, others), 0);
    assert_int_equal(stage->n_changes, 0);
    assert_int_equal(current_set_measured(&stage->current, mine), 0);
    assert_int_equal(stage->n_changes, 1);
    assert_float_equal(value(stage), 0.5, 0);
    assert_int_equal(current_set_snapshot(&stage->current, stage->scene.snapshot), 0);
    assert_int_equal(stage->n_changes, 2);
    assert_float_equal(value(stage), 0.5, 0);
}

/* Numbers of a program that is gone do not come back, not even when it does. */
static void test_program(void **state) {
    Stage *stage = *state;
    uint64_t owner = stage->current.owner;
    _cleanup_(measurements_unrefp) Measurements *late = measure(stage, owner, 0);
    char error[256];
    TestScene other;

    scene_init_text(&other, text_of_nothing);
    assert_int_equal(current_set_program(&stage->current, other.program, error, sizeof(error)), 0);
    assert_int_not_equal(stage->current.owner, owner);
    assert_int_equal(
        current_set_program(&stage->current, stage->scene.program, error, sizeof(error)), 0);
    assert_int_equal(stage->n_changes, 2);
    assert_int_equal(current_set_measured(&stage->current, late), 0);
    assert_int_equal(stage->n_changes, 2);
    assert_true(isnan(value(stage)));
    scene_done(&other);
}

static void test_refresh(void **state) {
    Stage *stage = *state;
    _cleanup_(measurements_unrefp) Measurements *measurements =
        measure(stage, stage->current.owner, MAX_AGE - NSEC_PER_SEC / 5);
    int64_t until;

    assert_int_equal(current_set_measured(&stage->current, measurements), 0);
    assert_float_equal(value(stage), 0.5, 0);
    until = stage->current.view->loads.until_nsec;
    assert_int_equal(current_refresh(&stage->current, until - 1), 0);
    assert_int_equal(stage->n_changes, 1);
    while (clock_monotonic_nsec() <= until)
        (void)poll(NULL, 0, 10);
    assert_int_equal(current_refresh(&stage->current, clock_monotonic_nsec()), 0);
    assert_int_equal(stage->n_changes, 2);
    assert_true(isnan(value(stage)));
    assert_int_equal(current_refresh(&stage->current, clock_monotonic_nsec()), 0);
    assert_int_equal(stage->n_changes, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_measured),
        TEST(test_program),
        TEST(test_refresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
