#include <math.h>

#include "cel/test-library.h"

#define LIST_INT "(list(int)) -> int"

static void test_math_functions(void **state) {
    const LibraryCase cases[] = {
        {"math.greatest", "(int, double) -> dyn", {cel_int(1), cel_double(1)}, "1"},
        {"math.greatest", "(double, int) -> dyn", {cel_double(1), cel_int(1)}, "1.0"},
        {"math.least", "(int, uint) -> dyn", {cel_int(-1), cel_uint(UINT64_MAX)}, "-1"},
        {"math.least", "(double, double) -> double", {cel_double(NAN), cel_double(1)},
            "error: NaN values cannot be ordered"},
        {"math.greatest", LIST_INT, {COUNTDOWN(4)}, "4"},
        {"math.least", LIST_INT, {COUNTDOWN(4)}, "1"},
        {"math.least", LIST_INT, {EMPTY_LIST},
            "error: math.least(list) argument must not be empty"},
        {"math.least", LIST_INT, {LIST(text("a"))}, "error: no such overload"},
        {"math.greatest", LIST_INT, {LIST(cel_int(1), text("a"))}, "error: no such overload"},
        {"math.round", "(double) -> double", {cel_double(-2.5)}, "-3.0"},
        {"math.round", "(double) -> double", {cel_double(0.49999999999999994)}, "0.0"},
        {"math.abs", "(int) -> int", {cel_int(INT64_MIN)}, "error: overflow"},
        {"math.sign", "(double) -> double", {cel_double(-0.0)}, "0.0"},
        {"math.sign", "(double) -> double", {cel_double(NAN)}, "double(\"NaN\")"},
        {"math.sign", "(uint) -> uint", {cel_uint(UINT64_MAX)}, "1u"},
        {"math.sqrt", "(uint) -> double", {cel_uint(UINT64_MAX)}, "4.294967296e+09"},
        {"math.sqrt", "(int) -> double", {cel_int(-1)}, "double(\"NaN\")"},
        {"math.bitNot", "(int) -> int", {cel_int(INT64_MAX)}, "-9223372036854775808"},
        {"math.bitShiftLeft", "(int, int) -> int", {cel_int(-1), cel_int(63)},
            "-9223372036854775808"},
        {"math.bitShiftLeft", "(int, int) -> int", {cel_int(-1), cel_int(64)}, "0"},
        {"math.bitShiftLeft", "(int, int) -> int", {cel_int(1), cel_int(INT64_MIN)},
            "error: negative offset"},
        {"math.bitShiftRight", "(int, int) -> int", {cel_int(-1), cel_int(63)}, "1"},
        {"math.bitShiftRight", "(uint, int) -> uint", {cel_uint(8), cel_int(INT64_MAX)}, "0u"},
    };

    (void)state;
    library_check_all(cel_math_library, cases);
    library_starve_all(cel_math_library, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_math_functions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
