#include <math.h>

#include "cel/test-library.h"

#define PAIR "(list(T), list(T)) -> bool"

static void test_set_functions(void **state) {
    const CelValue mixed = LIST(cel_int(1), text("a"), LIST(cel_int(2)), cel_null());
    const LibraryCase cases[] = {
        {"sets.contains", PAIR, {EMPTY_LIST, EMPTY_LIST}, "true"},
        {"sets.contains", PAIR, {EMPTY_LIST, COUNTDOWN(1)}, "false"},
        {"sets.contains", PAIR, {COUNTDOWN(100), COUNTDOWN(50)}, "true"},
        {"sets.contains", PAIR, {COUNTDOWN(50), COUNTDOWN(100)}, "false"},
        {"sets.contains", PAIR, {COUNTDOWN(3), LIST(cel_double(3), cel_uint(1))}, "true"},
        {"sets.contains", PAIR, {LIST(cel_double(NAN)), LIST(cel_double(NAN))}, "false"},
        {"sets.contains", PAIR, {mixed, LIST(LIST(cel_double(2)), cel_null())}, "true"},
        {"sets.contains", PAIR, {mixed, LIST(LIST(cel_int(3)))}, "false"},
        {"sets.contains", PAIR, {COUNTDOWN(100), mixed}, "false"},
        {"sets.equivalent", PAIR, {LIST(cel_int(1), cel_int(1)), COUNTDOWN(1)}, "true"},
        {"sets.equivalent", PAIR, {COUNTDOWN(99), COUNTDOWN(100)}, "false"},
        {"sets.equivalent", PAIR, {COUNTDOWN(100), COUNTDOWN(100)}, "true"},
        {"sets.intersects", PAIR, {COUNTDOWN(100), LIST(cel_double(7))}, "true"},
        {"sets.intersects", PAIR, {COUNTDOWN(100), LIST(cel_double(7.5), text("x"))}, "false"},
        {"sets.intersects", PAIR, {EMPTY_LIST, EMPTY_LIST}, "false"},
    };

    (void)state;
    library_check_all(cel_sets_library, cases);
    library_starve_all(cel_sets_library, cases);
}

/* Comparing a million pairs one by one would run out of fuel. */
static void test_large_sets_are_not_quadratic(void **state) {
    const LibraryCase cases[] = {
        {"sets.contains", PAIR, {COUNTDOWN(5000), COUNTDOWN(5000)}, "true"},
        {"sets.equivalent", PAIR, {COUNTDOWN(5000), COUNTDOWN(5000)}, "true"},
    };

    (void)state;
    library_check_all(cel_sets_library, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_functions),
        cmocka_unit_test(test_large_sets_are_not_quadratic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
