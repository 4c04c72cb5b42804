#include <math.h>

#include "cel/test-library.h"

#define SAME "list(T).() -> list(T)"
#define SORT "list(int).() -> list(int)"

static void test_list_functions(void **state) {
    const LibraryCase cases[] = {
        {"slice", "list(T).(int, int) -> list(T)", {COUNTDOWN(5), cel_int(1), cel_int(3)},
            "[4, 3]"},
        {"slice", "list(T).(int, int) -> list(T)",
            {COUNTDOWN(5), cel_int(1), cel_int((int64_t)1 << 32)}, "error: list is length 5"},
        {"first", "list(T).() -> optional_type(T)", {EMPTY_LIST}, "optional.none()"},
        {"last", "list(T).() -> optional_type(T)", {EMPTY_LIST}, "optional.none()"},
        {"last", "list(T).() -> optional_type(T)", {COUNTDOWN(3)}, "optional.of(1)"},
        {"reverse", SAME, {COUNTDOWN(3)}, "[1, 2, 3]"},
        {"distinct", SAME, {LIST(cel_int(1), cel_double(1), cel_uint(1), text("a"), text("a"))},
            "[1, \"a\"]"},
        {"distinct", SAME,
            {LIST(cel_double(NAN), cel_double(NAN), cel_double(0), cel_double(-0.0))},
            "[double(\"NaN\"), double(\"NaN\"), 0.0]"},
        {"distinct", SAME, {LIST(LIST(cel_int(1)), cel_null(), LIST(cel_double(1)), cel_null())},
            "[[1], null]"},
        {"flatten", "list(dyn).(int) -> list(dyn)",
            {LIST(LIST(LIST(cel_int(1))), COUNTDOWN(2), EMPTY_LIST, cel_int(0)), cel_int(9)},
            "[1, 2, 1, 0]"},
        {"sort", SORT, {COUNTDOWN(9)}, "[1, 2, 3, 4, 5, 6, 7, 8, 9]"},
        {"sort", SORT, {LIST(cel_int(1), text("a"))},
            "error: list elements must have the same type"},
        {"sort", SORT, {LIST(LIST(cel_int(1)))}, "error: list elements must be comparable"},
        {"sort", SORT, {EMPTY_LIST}, "[]"},
        {"@sortByAssociatedKeys", "list(T).(list(string)) -> list(T)",
            {COUNTDOWN(3), LIST(text("b"), text("a"), text("b"))}, "[2, 3, 1]"},
        {"@sortByAssociatedKeys", "list(T).(list(int)) -> list(T)", {COUNTDOWN(3), COUNTDOWN(2)},
            "error: sortBy"},
        {"lists.range", "(int) -> list(int)", {cel_int(INT64_MAX)}, "error: out of fuel"},
        {"lists.range", "(int) -> list(int)", {cel_int(200000)}, "error: too much memory"},
        {"lists.range", "(int) -> list(int)", {cel_int(INT64_MIN)}, "error: must not be negative"},
        {"sum", "list(int).() -> int", {COUNTDOWN(4)}, "10"},
        {"sum", "list(double).() -> double", {EMPTY_LIST}, "0.0"},
        {"sum", "list(int).() -> int", {LIST(cel_double(1), cel_double(0.5))}, "1.5"},
        {"sum", "list(int).() -> int", {LIST(text("a"))}, "error: no such overload"},
        {"sum", "list(duration).() -> duration", {LIST(cel_duration(INT64_MAX), cel_duration(1))},
            "error: overflow"},
        {"min", "list(int).() -> int", {COUNTDOWN(4)}, "1"},
        {"max", "list(int).() -> int", {COUNTDOWN(4)}, "4"},
        {"max", "list(timestamp).() -> timestamp",
            {LIST(cel_timestamp(0, 999999999), cel_timestamp(0, 999999998))},
            "timestamp(\"1970-01-01T00:00:00.999999999Z\")"},
        {"isSorted", "list(int).() -> bool", {COUNTDOWN(2)}, "false"},
        {"isSorted", "list(int).() -> bool", {LIST(cel_int(1), text("a"))},
            "error: no such overload"},
        {"indexOf", "list(T).(T) -> int", {COUNTDOWN(4), cel_double(2)}, "2"},
        {"lastIndexOf", "list(T).(T) -> int", {LIST(cel_int(1), cel_int(1)), cel_int(1)}, "1"},
        {"lastIndexOf", "list(T).(T) -> int", {EMPTY_LIST, cel_int(1)}, "-1"},
    };

    (void)state;
    library_check_all(cel_lists_library, cases);
    library_starve_all(cel_lists_library, cases);
}

/* 20,000 elements with 10,007 values: neither sorting nor distinct() is quadratic. */
static void test_sort_and_distinct_are_not_quadratic(void **state) {
    static CelValue values[20000];
    const CelList list = {.n = ELEMENTS_OF(values), .depth = 1, .items = values};
    const LibraryCase sort = {"sort", SORT, {cel_list(&list)}, ""};
    const LibraryCase distinct = {"distinct", SAME, {cel_list(&list)}, ""};
    _cleanup_(arena_freep) Arena *arena = arena_new(16 << 20);
    CelRun run = CEL_RUN(arena);
    CelValue v;

    (void)state;
    for (uint32_t i = 0; i < list.n; i++)
        values[i] = cel_int(i * 7919 % 10007);
    v = library_call(&cel_lists_library, &sort, &run);
    assert_int_equal(v.kind, CEL_LIST);
    for (uint32_t i = 1; i < list.n; i++)
        assert_true(v.list->items[i - 1].i <= v.list->items[i].i);
    v = library_call(&cel_lists_library, &distinct, &run);
    assert_int_equal(v.kind, CEL_LIST);
    assert_int_equal(v.list->n, 10007);
}

/* Integers that differ but are the same double: distinct() separates them, and charges for it. */
static void test_distinct_with_equal_hashes(void **state) {
    const int64_t big = (int64_t)1 << 62;
    const LibraryCase distinct = {"distinct", SAME,
        {LIST(cel_int(big), cel_int(big + 1), cel_double((double)big), cel_int(big + 1))},
        "[4611686018427387904, 4611686018427387905]"};

    (void)state;
    library_check(&cel_lists_library, &distinct);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_functions),
        cmocka_unit_test(test_sort_and_distinct_are_not_quadratic),
        cmocka_unit_test(test_distinct_with_equal_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
