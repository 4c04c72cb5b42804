/* Normalizes the values of a request's candidates to 0..100. */

#include <math.h>

#include "base/test-assert.h"
#include "columnar/column.h"
#include "judge/judge-internal.h"

#define ON_ERROR 7.0
#define FAILED (-123456.0) /* marks a value in @cases as failed */

typedef struct Case {
    const char *name;
    size_t n;
    double values[6], min_max[6], rank[6];
} Case;

static const Case cases[] = {
    {"no values", 0, {0}, {0}, {0}},
    {"one", 1, {42}, {100}, {100}},
    {"equal", 3, {5, 5, 5}, {100, 100, 100}, {0, 0, 0}},
    {"even", 3, {0, 5, 10}, {0, 50, 100}, {0, 50, 100}},
    {"below 0", 3, {-10, 0, -5}, {0, 100, 50}, {0, 100, 50}},
    {"a tie", 4, {1, 2, 2, 9}, {0, 12.5, 12.5, 100}, {0, 100.0 / 3, 100.0 / 3, 100}},
    {"one failed", 3, {FAILED, 1, 3}, {7, 0, 100}, {7, 0, 100}},
    {"not finite", 4, {NAN, INFINITY, 1, 3}, {7, 7, 0, 100}, {7, 7, 0, 100}},
    {"all failed", 2, {FAILED, NAN}, {7, 7}, {7, 7}},
    {"as near as can be", 3, {0, 4e-324, 8e-324}, {0, 50, 100}, {0, 50, 100}},
    {"far apart", 3, {-1e308, 0, 1e308}, {0, 50, 100}, {0, 50, 100}},
};

static void check(const Case *test, Normalize mode, const double *want) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    double values[6];
    uint8_t states[6] = {0};

    for (size_t i = 0; i < test->n; i++) {
        values[i] = test->values[i];
        states[i] = test->values[i] == FAILED ? COLUMN_ERROR : COLUMN_OK;
    }
    assert_int_equal(normalize(mode, ON_ERROR, /* least= */ 0, states, test->n, arena, values), 0);
    for (size_t i = 0; i < test->n; i++)
        assert_case(test->name, fabs(values[i] - want[i]) < 1e-9);
}

static void test_values_are_normalized(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        check(&cases[i], NORMALIZE_MIN_MAX, cases[i].min_max);
        check(&cases[i], NORMALIZE_RANK, cases[i].rank);
    }
}

/* The lowest known value stays ahead of a candidate without a value, which gets 0. */
static void test_lowest_value_stays_ahead_of_missing_ones(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    double values[] = {0, 2, 4};
    const uint8_t states[] = {COLUMN_ERROR, COLUMN_OK, COLUMN_OK};

    (void)state;
    assert_int_equal(normalize(NORMALIZE_MIN_MAX, 0, NORMALIZE_LEAST, states, 3, arena, values), 0);
    for (size_t i = 0; i < 3; i++) {
        static const double want[] = {0, 10, 100};

        assert_case("minMax", fabs(values[i] - want[i]) < 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_normalized),
        cmocka_unit_test(test_lowest_value_stays_ahead_of_missing_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
