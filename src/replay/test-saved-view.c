/*
 * A view that is restored answers with the same bytes: random clusters that change, metrics with
 * their ages and placements, nominated and assumed pods.
 */

#include "replay/saved-view.h"

#include "extender/test-reply.h"
#include "replay/test-random-cluster.h"

#define SEEDS 12u
#define STEPS 12u
#define NODES 150u

/* Counts of results, to prove that the test covers them. */
typedef struct Seen {
    size_t n_rejected, n_passed;
} Seen;

static void assert_same_answers(
    RandomCluster *cluster, const View *then, const View *again, unsigned pod, Seen *seen) {
    static const Verb verbs[] = {VERB_FILTER, VERB_PRIORITIZE};
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Str body = random_cluster_request(cluster, pod, arena);

    for (size_t i = 0; i < ELEMENTS_OF(verbs); i++) {
        int64_t now = then->measured.now_nsec + RANDOM_SEC / 3;
        Answer first, second;

        random_request_answer(then, verbs[i], now, body, arena, &first);
        random_request_answer(again, verbs[i], now, body, arena, &second);
        assert_true(str_eq(reply_text(&first.body, arena), reply_text(&second.body, arena)));
        if (verbs[i] == VERB_FILTER) {
            seen->n_passed += first.decision.summary.n_out;
            seen->n_rejected += first.decision.summary.n_in - first.decision.summary.n_out;
        }
    }
}

static void test_restored_view_gives_the_same_answers(void **state) {
    Seen seen = {0};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        _cleanup_(view_unrefp) View *before = NULL;
        RandomCluster cluster;

        random_cluster_open(&cluster, seed, NODES);
        for (unsigned step = 0; step < STEPS; step++) {
            _cleanup_(saved_view_unrefp) SavedView *whole = saved_view_new(cluster.view);
            _cleanup_(saved_view_unrefp) SavedView *bare = saved_view_without_program(whole);
            const SavedView *scene = step % 2 ? whole : bare;
            _cleanup_(view_unrefp) View *alone = NULL;
            View *shared = NULL;
            size_t n_unmeasured = 7;

            assert_non_null(scene);
            assert_ptr_equal(scene->program, step % 2 ? cluster.program : NULL);
            assert_true(saved_view_is_of(scene, cluster.view));
            assert_int_equal(saved_view_restore(scene, cluster.program, &(RestoreOptions){0}, NULL,
                                 &alone, &n_unmeasured),
                0);
            assert_int_equal(n_unmeasured, 0);
            assert_int_equal(alone->generation, cluster.view->generation);
            assert_int_equal(saved_view_restore(scene, cluster.program, &(RestoreOptions){0},
                                 before, &shared, NULL),
                0);
            view_unref(before);
            before = shared;
            assert_same_answers(&cluster, cluster.view, alone, step, &seen);
            assert_same_answers(&cluster, cluster.view, shared, step, &seen);
            random_cluster_step(&cluster);
            assert_false(saved_view_is_of(scene, cluster.view));
        }
        random_cluster_close(&cluster);
    }
    assert_true(seen.n_rejected > 1000 && seen.n_passed > 1000);
}

/* Back in time: a value that had expired in a later view is present again. */
static void test_restores_values_that_expired_later(void **state) {
    Seen seen = {0};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        View *then[STEPS], *before = NULL;
        SavedView *scenes[STEPS];
        RandomCluster cluster;

        random_cluster_open(&cluster, seed, NODES);
        for (unsigned step = 0; step < STEPS; step++) {
            then[step] = view_ref(cluster.view);
            scenes[step] = saved_view_new(cluster.view);
            assert_non_null(scenes[step]);
            random_cluster_step(&cluster);
        }
        for (unsigned step = STEPS; step-- > 0;) {
            View *again = NULL;

            assert_int_equal(saved_view_restore(scenes[step], cluster.program, &(RestoreOptions){0},
                                 before, &again, NULL),
                0);
            assert_same_answers(&cluster, then[step], again, step, &seen);
            view_unref(before);
            before = again;
            view_unref(then[step]);
            saved_view_unref(scenes[step]);
        }
        view_unref(before);
        random_cluster_close(&cluster);
    }
    assert_true(seen.n_rejected > 1000 && seen.n_passed > 1000);
}

/* Saved views outlive everything else, and allow concurrent readers. */
static void test_saved_view_outlives_its_sources(void **state) {
    _cleanup_(saved_view_unrefp) SavedView *scene = NULL, *bare = NULL;
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    RandomCluster cluster;

    random_cluster_open(&cluster, 3, 100);
    scene = saved_view_new(cluster.view);
    random_cluster_close(&cluster);
    bare = saved_view_without_program(scene);
    assert_non_null(bare);
    assert_null(bare->program);
    assert_int_equal(bare->n_gauges, 3);
    assert_ptr_equal(bare->snapshot, scene->snapshot);
    program = program_ref(scene->program);
    scene = saved_view_unref(scene);
    assert_int_equal(saved_view_restore(bare, program, &(RestoreOptions){0}, NULL, &view, NULL), 0);
    assert_int_equal(view->table->names->n_nodes, 100);
}

/* Another program has the same values in its own order; metrics that were not measured are
 * absent. */
static void test_restores_for_another_program(void **state) {
    RandomPolicy policy = {.load_max = 50, .max_pods = 3, .has_other_metric = true};
    _cleanup_(program_unrefp) Program *program = random_cluster_compile(&policy);
    _cleanup_(saved_view_unrefp) SavedView *scene = NULL;
    _cleanup_(view_unrefp) View *view = NULL, *next = NULL;
    size_t n_unmeasured = 0, n_values = 0;
    RandomCluster cluster;

    random_cluster_open(&cluster, 5, 100);
    scene = saved_view_new(cluster.view);
    assert_int_equal(
        saved_view_restore(scene, program, &(RestoreOptions){0}, NULL, &view, &n_unmeasured), 0);
    assert_int_equal(n_unmeasured, 1);
    for (size_t i = 0; i < program->n_gauges; i++)
        for (size_t j = 0; j < cluster.program->n_gauges; j++)
            for (uint32_t row = 0; row < view->table->n_rows; row++) {
                double now = loads_value(&view->loads, i, LOAD_MEASURED, row);
                double then = loads_value(&cluster.view->loads, j, LOAD_MEASURED, row);

                if (!str_eq(program->gauges[i].name, cluster.program->gauges[j].name))
                    continue;
                assert_true(now == then || (now != now && then != then));
                n_values += now == now;
            }
    assert_true(n_values > 100);
    /* Columns are shared with the previous view, although the measurements were sorted. */
    assert_int_equal(
        saved_view_restore(scene, program, &(RestoreOptions){0}, view, &next, NULL), 0);
    assert_ptr_equal(next->measurements, view->measurements);
    assert_ptr_equal(next->loads.chunks[0], view->loads.chunks[0]);
    random_cluster_close(&cluster);
}

static void test_estimates_unshared_bytes(void **state) {
    _cleanup_(saved_view_unrefp) SavedView *first = NULL, *second = NULL, *third = NULL;
    size_t whole, none, some;
    RandomCluster cluster;

    random_cluster_open(&cluster, 9, 640);
    first = saved_view_new(cluster.view);
    random_cluster_publish(&cluster, /* is_measured= */ false);
    second = saved_view_new(cluster.view);
    random_cluster_apply_node(&cluster, 100);
    random_cluster_publish(&cluster, /* is_measured= */ false);
    third = saved_view_new(cluster.view);
    whole = saved_view_bytes(first, NULL);
    none = saved_view_bytes(first, second);
    some = saved_view_bytes(second, third);
    assert_true(whole > 640 * 1024 && whole < 640 * 8192);
    assert_true(none < 1024);
    assert_true(some > none + sizeof(NodeChunk) && some < none + 16384);
    random_cluster_close(&cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restored_view_gives_the_same_answers),
        cmocka_unit_test(test_restores_values_that_expired_later),
        cmocka_unit_test(test_saved_view_outlives_its_sources),
        cmocka_unit_test(test_restores_for_another_program),
        cmocka_unit_test(test_estimates_unshared_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
