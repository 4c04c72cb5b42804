/* Recordings of two replicas become one. */

#include "base/test-assert.h"
#include "replay/recording.h"

#define BUDGET ((size_t)1024 * 1024)

static void test_merges_by_time(void **state) {
    static const Str first_names[] = {STR("a"), STR("b")}, second_names[] = {STR("b"), STR("c")};
    static const RecordedNode nodes[] = {{.name = 0}, {.name = 1}};
    const RecordedDecision first[] = {
        {.id = 1, .now_nsec = 10, .nodes = nodes, .n_nodes = 2},
        {.id = 2, .now_nsec = 30, .nodes = nodes, .n_nodes = 2},
    };
    const RecordedDecision second[] = {
        {.id = 1, .now_nsec = 20, .nodes = nodes, .n_nodes = 2},
        {.id = 2, .now_nsec = 20, .verb = VERB_PRIORITIZE}, /* its nodes are not kept */
    };
    SavedView old = {.ref = REF_ONE, .made_at_nsec = 1},
              young = {.ref = REF_ONE, .made_at_nsec = 2};
    SavedView *first_views[] = {&young}, *second_views[] = {&old};
    const Recording parts[] = {
        {first, 2, first_names, 2, first_views, 1},
        {second, 2, second_names, 2, second_views, 1},
    };
    static const uint64_t ids[] = {1, 1, 2, 2};
    static const int64_t times[] = {10, 20, 20, 30};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Recording merged;

    (void)state;
    assert_int_equal(recording_merge(parts, 2, arena, &merged), 0);
    assert_int_equal(merged.n, 4);
    for (size_t i = 0; i < merged.n; i++) {
        assert_int_equal(merged.decisions[i].id, ids[i]);
        assert_int_equal(merged.decisions[i].now_nsec, times[i]);
    }
    assert_int_equal(merged.n_names, 3);
    assert_true(str_is(merged.names[merged.decisions[0].nodes[1].name], "b"));
    assert_true(str_is(merged.names[merged.decisions[1].nodes[0].name], "b"));
    assert_true(str_is(merged.names[merged.decisions[1].nodes[1].name], "c"));
    assert_null(merged.decisions[2].nodes);
    assert_int_equal(merged.n_saved_views, 2);
    assert_ptr_equal(merged.saved_views[0], &old);
    assert_ptr_equal(merged.saved_views[1], &young);
    recording_done(&merged); /* takes its own references only */
    assert_int_equal(old.made_at_nsec, 1);
}

static void test_merges_nothing(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Recording merged, empty = {0};

    (void)state;
    assert_int_equal(recording_merge(&empty, 1, arena, &merged), 0);
    assert_int_equal(merged.n, 0);
    recording_done(&merged);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges_by_time),
        cmocka_unit_test(test_merges_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
