#include "extender/score.h"

#include "base/test-assert.h"
#include "policy/policy.h"

/* Scores are limited to the range that is sent; halves are rounded up. */
static void test_scores_are_rounded_and_limited(void **state) {
    static const struct {
        double score;
        unsigned wire, wide; /* the score sent with a maximum of 10, and of 100 */
    } cases[] = {
        {0, 0, 0},
        {0.5, 0, 1},
        {4.9, 0, 5},
        {5, 1, 5},
        {14.99, 1, 15},
        {15, 2, 15},
        {94.9, 9, 95},
        {95, 10, 95},
        {100, 10, 100},
        {-1, 0, 0},
        {-1e300, 0, 0},
        {1e300, 10, 100},
        {__builtin_inf(), 10, 100},
        {-__builtin_inf(), 0, 0},
        {__builtin_nan(""), 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_int_equal(score_to_wire(cases[i].score, WIRE_MAX_DEFAULT), cases[i].wire);
        assert_int_equal(score_to_wire(cases[i].score, 100), cases[i].wide);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores_are_rounded_and_limited)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
