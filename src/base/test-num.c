#include "base/num.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_limits(void **state) {
    static const struct {
        const char *name;
        int64_t a, b, sum, difference;
    } cases[] = {
        {"small", 3, -5, -2, 8},
        {"up", INT64_MAX, 1, INT64_MAX, INT64_MAX - 1},
        {"down", INT64_MIN, -1, INT64_MIN, INT64_MIN + 1},
        {"up by a difference", INT64_MAX, -1, INT64_MAX - 1, INT64_MAX},
        {"down by a difference", INT64_MIN, 1, INT64_MIN + 1, INT64_MIN},
        {"least of all", 0, INT64_MIN, INT64_MIN, INT64_MAX},
        {"ends", INT64_MAX, INT64_MIN, -1, INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_case(cases[i].name, num_add_sat(cases[i].a, cases[i].b) == cases[i].sum);
        assert_case(cases[i].name, num_sub_sat(cases[i].a, cases[i].b) == cases[i].difference);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
