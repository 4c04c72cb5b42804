#include "monitor/expiry.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "live/gauge-state.h"
#include "policy/test-scene.h"

#define METRIC(name, query, age)                                                                   \
    "        - {name: " name ", prometheus: {query: " query "}, maxAge: " age "}\n"

static const char text_of_two[] = "policies:\n"
                                  "  warm:\n"
                                  "    metrics:\n" METRIC("load", "a", "60s")
                                      METRIC("quiet", "b", "60s") "nodes: {n1: {}, n2: {}}\n"
                                                                  "measured: {load: {n1: 0.5}}\n";

/* The same gauge with another name and number. */
static const char text_of_others[] = "policies:\n"
                                     "  other:\n"
                                     "    metrics:\n" METRIC("new", "c", "60s")
                                         METRIC("heat", "a", "60s") "nodes: {n1: {}, n2: {}}\n";

typedef struct Told {
    size_t n;
    char metric[64];
    ChangeKind kind;
} Told;

/* Checks expiry @after seconds after the measurement. */
static Told look(
    Expiry *expiry, const TestScene *scene, Measurements *measurements, int64_t after) {
    ViewParts parts = {
        .snapshot = scene->snapshot,
        .program = scene->program,
        .measurements = measurements,
        .now_nsec = scene->now + after * NSEC_PER_SEC,
        .uptime_nsec = SCENE_UPTIME + after * NSEC_PER_SEC,
    };
    _cleanup_(view_unrefp) View *view = NULL;
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Changes *changes = changes_new();
    Change list[4];
    Told told = {0};

    assert_non_null(changes);
    assert_int_equal(view_new(&parts, /* before= */ NULL, &view), 0);
    expiry_look(expiry, view, changes, /* live= */ NULL);
    told.n = changes_read(changes, arena, list, ELEMENTS_OF(list));
    if (told.n > 0) {
        told.kind = list[0].kind;
        (void)snprintf(told.metric, sizeof(told.metric), "%.*s", STR_FMT(list[0].what));
    }
    changes_free(changes);
    return told;
}

static void assert_told(Told told, const char *metric, ChangeKind kind) {
    assert_int_equal(told.n, 1);
    assert_string_equal(told.metric, metric);
    assert_int_equal(told.kind, kind);
}

static void test_reports_each_gauge_once(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    TestScene scene;

    scene_init_text(&scene, text_of_two);
    assert_int_equal(look(&expiry, &scene, /* measurements= */ NULL, 0).n, 0); /* none yet */
    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0);
    assert_int_equal(look(&expiry, &scene, scene.measurements, 59).n, 0);
    assert_told(look(&expiry, &scene, scene.measurements, 61), "metric load of policy warm",
        CHANGE_METRIC_OLD);
    assert_int_equal(look(&expiry, &scene, scene.measurements, 62).n, 0);
    assert_told(look(&expiry, &scene, scene.measurements, 1), "metric load of policy warm",
        CHANGE_METRIC_BACK);
    assert_int_equal(look(&expiry, &scene, scene.measurements, 2).n, 0);
    assert_told(look(&expiry, &scene, scene.measurements, 61), "metric load of policy warm",
        CHANGE_METRIC_OLD);
    scene_done(&scene);
}

static void test_no_report_without_nodes(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    TestScene scene, empty;

    scene_init_text(&scene, text_of_two);
    empty = scene;
    empty.snapshot = NULL;
    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0);
    assert_int_equal(look(&expiry, &empty, scene.measurements, 0).n, 0);
    scene_done(&scene);
}

/* The source reports an answer without series: no value has expired. */
static void test_empty_answer_is_not_expiry(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    _cleanup_(measurements_unrefp) Measurements *empty = NULL;
    const Measurement *full;
    TestScene scene;

    scene_init_text(&scene, text_of_two);
    full = scene.measurements->items[0];
    empty = measurements_new(1, 2);
    assert_non_null(empty);
    empty->items[0] = measurement_new(
        full->names, full->at_nsec + NSEC_PER_SEC, full->uptime_nsec + NSEC_PER_SEC);
    assert_non_null(empty->items[0]);

    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0);
    assert_int_equal(look(&expiry, &scene, empty, 1).n, 0);
    assert_int_equal(look(&expiry, &scene, empty, 100).n, 0); /* no value, so none expires */
    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0); /* and none returns */
    assert_told(look(&expiry, &scene, scene.measurements, 61), "metric load of policy warm",
        CHANGE_METRIC_OLD);
    assert_int_equal(look(&expiry, &scene, empty, 62).n, 0);
    assert_told(look(&expiry, &scene, scene.measurements, 0), "metric load of policy warm",
        CHANGE_METRIC_BACK);
    scene_done(&scene);
}

static const char text_of_new_nodes[] =
    "policies:\n"
    "  warm:\n"
    "    metrics:\n" METRIC("load", "a", "60s") METRIC("quiet", "b", "60s") "nodes: {n3: {}}\n";

/* Removed nodes take their values along: that is not expiry. */
static void test_removed_nodes_are_not_expiry(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    TestScene scene, next;

    scene_init_text(&scene, text_of_two);
    scene_init_text(&next, text_of_new_nodes);
    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0);
    assert_int_equal(look(&expiry, &next, scene.measurements, 1).n, 0);
    assert_int_equal(look(&expiry, &next, scene.measurements, 61).n, 0);
    scene_done(&scene);
    scene_done(&next);
}

static const char text_of_annotation[] =
    "policies:\n"
    "  noted:\n"
    "    metrics: [{name: load, annotation: {key: example.com/load}, maxAge: 60s}]\n"
    "now: 2026-01-02T03:04:05Z\n"
    "nodes: {n1: {annotations: {example.com/load: '0.5,2026-01-02T03:04:05Z'}}}\n";

/* The expiry of annotations is reported only here. */
static void test_reports_expired_annotation(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    TestScene scene;

    scene_init_text(&scene, text_of_annotation);
    assert_int_equal(look(&expiry, &scene, /* measurements= */ NULL, 0).n, 0);
    assert_told(look(&expiry, &scene, /* measurements= */ NULL, 61), "metric load of policy noted",
        CHANGE_METRIC_OLD);
    scene_done(&scene);
}

static const char text_of_namesakes[] =
    "policies:\n"
    "  one: {metrics: [{name: cpu, prometheus: {query: a}}]}\n"
    "  two: {metrics: [{name: cpu, prometheus: {query: b}}, {name: x, prometheus: {query: a}}]}\n"
    "nodes: {n1: {}}\n"
    "measured: {cpu: {n1: 0.5}}\n";

/* Two policies may use one name for different metrics: their lines must differ. */
static void test_lines_of_equal_names_differ(void **state) {
    const Program *program;
    TestScene scene;

    scene_init_text(&scene, text_of_namesakes);
    program = scene.program;
    assert_int_equal(program->n_gauges, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_text("name", program->gauges[i].name, "cpu");
        assert_text("policy", gauge_policy(program, i), i == 0 ? "one" : "two");
    }
    scene_done(&scene);
}

/* A gauge that is also in the next program keeps its state. */
static void test_reload_keeps_the_state(void **state) {
    _cleanup_(expiry_done) Expiry expiry = {0};
    _cleanup_(measurements_unrefp) Measurements *taken = NULL;
    TestScene scene, next;

    scene_init_text(&scene, text_of_two);
    scene_init_text(&next, text_of_others);
    assert_int_equal(next.program->n_gauges, 2);
    taken = measurements_new(1, 2);
    assert_non_null(taken);
    taken->items[1] = measurement_ref(scene.measurements->items[0]);
    assert_int_equal(look(&expiry, &scene, scene.measurements, 0).n, 0);
    assert_told(look(&expiry, &next, taken, 61), "metric heat of policy other", CHANGE_METRIC_OLD);
    assert_told(look(&expiry, &scene, scene.measurements, 0), "metric load of policy warm",
        CHANGE_METRIC_BACK);
    scene_done(&scene);
    scene_done(&next);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports_each_gauge_once),
        cmocka_unit_test(test_no_report_without_nodes),
        cmocka_unit_test(test_empty_answer_is_not_expiry),
        cmocka_unit_test(test_removed_nodes_are_not_expiry),
        cmocka_unit_test(test_reports_expired_annotation),
        cmocka_unit_test(test_lines_of_equal_names_differ),
        cmocka_unit_test(test_reload_keeps_the_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
