/*
 * The history can be recorded and replayed with equal results, on random clusters. Its memory is
 * counted, and freed in time.
 */

#include "history/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "history/saved-views.h"
#include "history/test-random-decisions.h"

#define SEEDS 8u

static void test_replay_gives_equal_decisions(void **state) {
    size_t n_narrowed = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        WhatIfReport report;
        FoundDecision found[1];
        RandomCluster cluster;
        size_t n;

        random_cluster_open(&cluster, seed, 100 + 20 * (unsigned)seed);
        n = decide_steps(decisions, &cluster, DECIDE_STEPS);
        replay_all(decisions, cluster.program, 1000, arena, &report);
        assert_int_equal(report.n, n);
        assert_int_equal(report.n_changes[WHAT_IF_EQUAL], n);
        assert_int_equal(report.n_pods, DECIDE_STEPS / 2);
        assert_int_equal(report.n_moved, 0);
        assert_int_equal(report.n_cases, 0);
        assert_int_equal(report.n_rules, 0);
        assert_int_equal(report.n_nodes, 0);
        assert_null(report.skipped_why);
        assert_true(report.is_whole);
        for (uint64_t below = 0; decisions_read(decisions, below, found, 1) == 1;) {
            below = found[0].past->id;
            n_narrowed += found[0].past->summary.n_narrowed;
            found_done(&found[0]);
            if (below == 1)
                break;
        }
        random_cluster_close(&cluster);
    }
    assert_true(n_narrowed > 100);
}

/* --- contents of a recording ------------------------------------------------------------------ */

/* Each pod text and view is saved once, and a reload does not drop them. */
static void test_views_and_texts_are_saved_once(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    FoundDecision found[4];
    DecisionsFigures figures;
    Recording recording;
    RandomCluster cluster;

    random_cluster_open(&cluster, 1, 100);
    (void)decide_steps(decisions, &cluster, 2); /* one pod, two views, perhaps a bind */
    decisions_figures(decisions, &figures);
    assert_int_equal(figures.n_saved_views, 2);
    assert_int_equal(figures.n_replayable, 4);
    assert_true(decisions_find(decisions, 1, &found[0]));
    assert_true(decisions_find(decisions, 2, &found[1]));
    assert_true(decisions_find(decisions, 3, &found[2]));
    assert_ptr_equal(found[0].saved_view, found[1].saved_view);
    assert_ptr_not_equal(found[0].saved_view, found[2].saved_view);
    assert_ptr_equal(found[0].pod_text, found[1].pod_text);
    assert_ptr_equal(found[0].pod_text, found[2].pod_text);
    for (size_t i = 0; i < 3; i++)
        found_done(&found[i]);
    found_done(&found[0]); /* may be called again */

    assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
    assert_int_equal(recording.n_saved_views, 2);
    assert_ptr_equal(recording.decisions[0].pod_text.ptr, recording.decisions[2].pod_text.ptr);
    assert_ptr_equal(recording.decisions[0].saved_view, recording.saved_views[0]);
    assert_int_equal(recording.decisions[0].id, 1);
    recording_done(&recording);
    recording_done(&recording);
    random_cluster_close(&cluster);
}

/* Records one decision by its id, and none for an unknown id. */
static void test_record_one(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Recording recording;
    RandomCluster cluster;

    random_cluster_open(&cluster, 1, 80);
    (void)decide_steps(decisions, &cluster, 4);
    assert_int_equal(decisions_record(decisions, 2, 0, arena, &recording), 0);
    assert_int_equal(recording.n, 1);
    assert_int_equal(recording.n_saved_views, 1);
    assert_int_equal(recording.decisions[0].id, 2);
    assert_null(recorded_obstacle(&recording.decisions[0]));
    recording_done(&recording);
    assert_int_equal(decisions_record(decisions, 1000, 0, arena, &recording), 0);
    assert_int_equal(recording.n, 0);
    recording_done(&recording);
    random_cluster_close(&cluster);
}

/* If any part lacks memory the result is an error, even if a later, smaller part would fit. */
static void test_small_arena_is_an_error(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    RandomCluster cluster;
    int r = -ENOMEM;

    random_cluster_open(&cluster, 2, 80);
    (void)decide_steps(decisions, &cluster, 4);
    for (size_t budget = 64; r < 0; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        Recording recording;

        r = decisions_record(decisions, 0, 1000, arena, &recording);
        assert_int_equal(r, r < 0 ? -ENOMEM : 0);
        assert_int_equal(recording.n > 0, r == 0);
        recording_done(&recording);
    }
    random_cluster_close(&cluster);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The limit holds, the newest decisions can be replayed as long as any can, and no counted byte is
 * left at the end (decisions_free() checks that). */
static void test_limits_of_bytes(void **state) {
    static const size_t limits[] = {1, 4096, 65536, 300000, 1000000, 4000000};

    for (size_t i = 0; i < ELEMENTS_OF(limits); i++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(40, limits[i]);
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        DecisionsFigures figures;
        WhatIfReport report;
        RandomCluster cluster;

        random_cluster_open(&cluster, 10 + i, 200);
        for (unsigned round = 0; round < 10; round++) {
            RandomPolicy policy = random_policy(&cluster);

            (void)decide_steps(decisions, &cluster, 4);
            decisions_figures(decisions, &figures);
            if (i >= 2)
                assert_true(figures.bytes <= limits[i]);
            assert_true(figures.n_saved_views <= figures.n_replayable);
            use_policy(&cluster, &policy);
        }
        decisions_figures(decisions, &figures);
        if (i + 1 == ELEMENTS_OF(limits))
            assert_true(figures.n_replayable > 10);
        if (i == 0)
            assert_int_equal(figures.n_replayable, 0);
        replay_all(decisions, cluster.program, 1000, arena, &report);
        assert_int_equal(report.n_changes[WHAT_IF_SKIPPED] > 0, figures.n_replayable < report.n);
        random_cluster_close(&cluster);
    }
}

static size_t count_programs(Decisions *decisions) {
    const Program *seen[64];
    size_t n = 0;

    for (uint64_t id = 1; id < 1000; id++) {
        FoundDecision found;
        size_t i = 0;

        if (!decisions_find(decisions, id, &found))
            break;
        while (i < n && found.saved_view && seen[i] != found.saved_view->program)
            i++;
        if (found.saved_view && found.saved_view->program && i == n)
            seen[n++] = found.saved_view->program;
        found_done(&found);
    }
    return n;
}

/* After many reloads only the last programs are kept; a reader of an old view keeps its program. */
static void test_keeps_the_last_programs(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    FoundDecision first = {0}, again = {0};
    WhatIfReport report;
    RandomCluster cluster;

    random_cluster_open(&cluster, 21, 80);
    for (unsigned i = 0; i < 7; i++) {
        RandomPolicy policy = random_policy(&cluster);

        (void)decide_steps(decisions, &cluster, 2);
        if (i == 0)
            assert_true(decisions_find(decisions, 1, &first));
        use_policy(&cluster, &policy);
    }
    assert_int_equal(count_programs(decisions), SAVED_VIEWS_PROGRAMS_MAX);
    assert_true(decisions_find(decisions, 1, &again));
    assert_non_null(first.saved_view->program);
    assert_null(again.saved_view->program);
    assert_ptr_equal(first.saved_view->snapshot, again.saved_view->snapshot);
    replay_all(decisions, cluster.program, 1000, arena, &report);
    assert_int_equal(report.n_changes[WHAT_IF_SKIPPED], 0);
    replay_all(decisions, first.saved_view->program, 1000, arena, &report);
    assert_true(report.n_changes[WHAT_IF_EQUAL] >= 4);
    found_done(&first);
    found_done(&again);
    random_cluster_close(&cluster);
}

/* If a program is dropped, its views keep only digests of its gauges. That memory is taken from
 * other decisions. */
static void test_dropped_program_leaves_gauges(void **state) {
    enum { SCENES = 200 };
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, HISTORY_BYTES);
    FoundDecision first = {0}, second = {0};
    DecisionsFigures before, after;
    RandomCluster cluster;

    random_cluster_open(&cluster, 22, 80);
    (void)decide_steps(decisions, &cluster, SCENES);
    for (unsigned i = 0; i < SAVED_VIEWS_PROGRAMS_MAX; i++) {
        RandomPolicy policy = random_policy(&cluster);

        decisions_figures(decisions, &before);
        use_policy(&cluster, &policy);
        (void)decide_steps(decisions, &cluster, 1);
    }
    decisions_figures(decisions, &after);
    assert_int_equal(after.n_saved_views, SCENES + SAVED_VIEWS_PROGRAMS_MAX);
    assert_true(decisions_find(decisions, 1, &first));
    assert_true(decisions_find(decisions, 3, &second));
    assert_ptr_not_equal(first.saved_view, second.saved_view);
    assert_null(first.saved_view->program);
    assert_true(first.saved_view->n_gauges > 0);
    assert_true(after.inputs_bytes < before.inputs_bytes + SCENES * 1024u);
    found_done(&first);
    found_done(&second);
    random_cluster_close(&cluster);
}

/* --- threads ------------------------------------------------------------------------------ */

typedef struct Shared {
    Decisions *decisions;
    atomic_bool is_over;
} Shared;

static void *write_some(void *context) {
    Shared *shared = context;
    RandomCluster cluster;

    random_cluster_open(&cluster, 31, 80);
    for (unsigned i = 0; i < 12; i++) {
        RandomPolicy policy = random_policy(&cluster);

        (void)decide_steps(shared->decisions, &cluster, 4);
        use_policy(&cluster, &policy);
    }
    random_cluster_close(&cluster);
    return NULL;
}

static void *record_some(void *context) {
    Shared *shared = context;
    RandomPolicy policy = open_policy();
    _cleanup_(program_unrefp) Program *program = random_cluster_compile(&policy);

    while (!atomic_load(&shared->is_over)) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        WhatIfReport report;

        replay_all(shared->decisions, program, 20, arena, &report);
        assert_true(report.n <= 20);
    }
    return NULL;
}

static void test_records_beside_new_decisions(void **state) {
    Shared shared = {.decisions = decisions_new(60, 400000)};
    pthread_t writer, reader;

    assert_int_equal(pthread_create(&writer, NULL, write_some, &shared), 0);
    assert_int_equal(pthread_create(&reader, NULL, record_some, &shared), 0);
    assert_int_equal(pthread_join(writer, NULL), 0);
    atomic_store(&shared.is_over, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    decisions_free(shared.decisions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_gives_equal_decisions),
        cmocka_unit_test(test_views_and_texts_are_saved_once),
        cmocka_unit_test(test_record_one),
        cmocka_unit_test(test_small_arena_is_an_error),
        cmocka_unit_test(test_limits_of_bytes),
        cmocka_unit_test(test_keeps_the_last_programs),
        cmocka_unit_test(test_dropped_program_leaves_gauges),
        cmocka_unit_test(test_records_beside_new_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
