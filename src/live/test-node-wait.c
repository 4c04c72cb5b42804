#include "live/current.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "policy/test-scene.h"

#define POLICY "policy: {filters: [{name: pool, nodeLabels: {pool: blue}}]}\n"
#define LONG (600 * NSEC_PER_SEC)
#define SHORT NSEC_PER_MSEC

typedef struct Fixture {
    TestScene old, new;
    Current current;
    View *view; /* over the old cluster */
    Arena *arena;
    NodeWait wait;
} Fixture;

static int setup(void **state) {
    Fixture *fixture = test_calloc(1, sizeof(*fixture));
    char error[256];

    scene_init_text(&fixture->old, POLICY "nodes: {red: {}}\n");
    scene_init_text(&fixture->new, POLICY "nodes: {red: {}, blue: {labels: {pool: blue}}}\n");
    fixture->current = CURRENT_INIT;
    assert_int_equal(current_begin(&fixture->current, fixture->old.snapshot, fixture->old.program,
                         NULL, /* load= */ NULL, error, sizeof(error)),
        0);
    fixture->view = current_view(&fixture->current);
    fixture->arena = arena_new(1 << 20);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    view_unref(fixture->view);
    current_done(&fixture->current);
    scene_done(&fixture->old);
    scene_done(&fixture->new);
    arena_free(fixture->arena);
    test_free(fixture);
    return 0;
}

static Answer filter(Fixture *fixture, const View *view, const char *names) {
    RequestTime time = {.now_nsec = clock_wall_nsec()};
    Answer answer;
    char body[256];

    (void)snprintf(
        body, sizeof(body), "{\"Pod\":{\"metadata\":{\"name\":\"a\"}},\"NodeNames\":[%s]}", names);
    extender_filter(
        view, &time, arena_copy(fixture->arena, str_from_c(body)), fixture->arena, &answer);
    assert_true(str_is_empty(answer.decision.error));
    return answer;
}

static View *wait_for(Fixture *fixture, const Answer *answer, int64_t limit_nsec) {
    return node_wait(
        &fixture->wait, &fixture->current, fixture->view, &answer->decision, limit_nsec);
}

static void *publish(void *context) {
    Fixture *fixture = context;

    /* First a view without the node: it must not end the wait. */
    assert_int_equal(current_set_snapshot(&fixture->current, fixture->old.snapshot), 0);
    assert_int_equal(current_set_snapshot(&fixture->current, fixture->new.snapshot), 0);
    return NULL;
}

static void test_waits_for_a_new_node(void **state) {
    Fixture *fixture = *state;
    Answer answer = filter(fixture, fixture->view, "\"red\",\"blue\"");
    _cleanup_(view_unrefp) View *newer = NULL;
    pthread_t thread;

    assert_int_equal(answer.decision.summary.n_unknown, 1);
    assert_int_equal(pthread_create(&thread, NULL, publish, fixture), 0);
    newer = wait_for(fixture, &answer, LONG);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(newer);
    answer = filter(fixture, newer, "\"red\",\"blue\"");
    assert_int_equal(answer.decision.summary.n_out, 1);
    assert_int_equal(answer.decision.summary.n_unknown, 0);
    /* The wait succeeded, so the next request may wait without a pause. */
    assert_int_equal(atomic_load(&fixture->wait.not_before_nsec), 0);
}

static void test_pauses_after_a_wait_without_result(void **state) {
    Fixture *fixture = *state;
    Answer answer = filter(fixture, fixture->view, "\"blue\"");

    assert_null(wait_for(fixture, &answer, SHORT));
    /* No second wait during the pause: with LONG it would hang. */
    assert_true(atomic_load(&fixture->wait.not_before_nsec) > clock_monotonic_nsec());
    assert_null(wait_for(fixture, &answer, LONG));
}

static void test_does_not_wait_if_all_nodes_are_known(void **state) {
    Fixture *fixture = *state;
    Answer known = filter(fixture, fixture->view, "\"red\"");
    Answer none = filter(fixture, fixture->view, "");

    assert_int_equal(known.decision.summary.n_out, 0);
    assert_null(wait_for(fixture, &known, LONG));
    assert_null(wait_for(fixture, &none, LONG));
}

static void test_does_not_wait_if_a_node_passes(void **state) {
    Fixture *fixture = *state;
    Answer answer;

    assert_int_equal(current_set_snapshot(&fixture->current, fixture->new.snapshot), 0);
    view_unref(fixture->view);
    fixture->view = current_view(&fixture->current);
    answer = filter(fixture, fixture->view, "\"blue\",\"green\"");
    assert_int_equal(answer.decision.summary.n_out, 1);
    assert_int_equal(answer.decision.summary.n_unknown, 1);
    assert_null(wait_for(fixture, &answer, LONG));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_waits_for_a_new_node, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pauses_after_a_wait_without_result, setup, teardown),
        cmocka_unit_test_setup_teardown(test_does_not_wait_if_all_nodes_are_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_does_not_wait_if_a_node_passes, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
