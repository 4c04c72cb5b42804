#include "history/nomination-log.h"

#include <stdio.h>

#include "base/test-assert.h"

static NominationRecord make(Arena *arena, unsigned number, const char *node) {
    return (NominationRecord){
        .namespace = STR("team"),
        .name = arena_printf(arena, "pod-%u", number),
        .uid = arena_printf(arena, "uid-%u", number),
        .node = str_from_c(node),
        .at_nsec = number,
        .n_feasible = 5,
        .n_best = 2,
    };
}

static void test_finds_the_newest_of_a_pod(void **state) {
    NominationLog *log = nomination_log_new();
    Arena *arena = arena_new((size_t)1024 * 1024);
    NominationRecord record = make(arena, 1, "n1"), found;

    (void)state;
    assert_false(nomination_log_find(log, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    assert_false(nomination_log_find(NULL, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    nomination_log_add(NULL, &record);
    nomination_log_add(log, &record);
    record.node = STR("n2");
    record.uid = STR("later");
    nomination_log_add(log, &record);
    assert_true(nomination_log_find(log, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    assert_true(str_is(found.node, "n2"));
    assert_true(str_is(found.uid, "later"));
    assert_true(nomination_log_find(log, STR_NULL, STR("pod-1"), STR("uid-1"), arena, &found));
    assert_true(str_is(found.node, "n1"));
    assert_int_equal(found.n_feasible, 5);
    assert_false(nomination_log_find(log, STR("other"), STR("pod-1"), STR_NULL, arena, &found));
    assert_false(nomination_log_find(log, STR("team"), STR("pod-1"), STR("x"), arena, &found));
    arena_free(arena);
    nomination_log_free(log);
}

static void test_keeps_the_first_outcome(void **state) {
    NominationLog *log = nomination_log_new();
    Arena *arena = arena_new((size_t)1024 * 1024);
    NominationRecord record = make(arena, 1, "n1"), found;

    (void)state;
    nomination_log_add(log, &record);
    nomination_log_end(NULL, STR("uid-1"), NOMINATION_USED);
    nomination_log_end(log, STR("uid-2"), NOMINATION_USED);
    assert_true(nomination_log_find(log, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    assert_int_equal(found.outcome, NOMINATION_OUTSTANDING);
    nomination_log_end(log, STR("uid-1"), NOMINATION_EXPIRED);
    nomination_log_end(log, STR("uid-1"), NOMINATION_DROPPED);
    assert_true(nomination_log_find(log, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    assert_int_equal(found.outcome, NOMINATION_EXPIRED);
    arena_free(arena);
    nomination_log_free(log);
}

static void test_replaces_the_oldest(void **state) {
    NominationLog *log = nomination_log_new();
    Arena *arena = arena_new((size_t)16 * 1024 * 1024);
    NominationRecord found;

    (void)state;
    for (unsigned i = 0; i <= NOMINATION_LOG_MAX; i++) {
        NominationRecord record = make(arena, i, "n1");

        nomination_log_add(log, &record);
    }
    assert_false(nomination_log_find(log, STR("team"), STR("pod-0"), STR_NULL, arena, &found));
    assert_true(nomination_log_find(log, STR("team"), STR("pod-1"), STR_NULL, arena, &found));
    assert_int_equal(found.at_nsec, 1);
    nomination_log_end(log, STR("uid-0"), NOMINATION_USED); /* not kept: no effect */
    arena_free(arena);
    nomination_log_free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_newest_of_a_pod),
        cmocka_unit_test(test_keeps_the_first_outcome),
        cmocka_unit_test(test_replaces_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
