/* Operators, conversions and standard functions, called through their tables. Cases that need the
 * checker and the machine are in test/data/cel/standard.test and the files beside it. */
#include <math.h>

#include "cel/operators.h"
#include "cel/test-library.h"
#include "cel/test-value.h"

#define I(number) cel_int(number)
#define U(number) cel_uint(number)
#define D(number) cel_double(number)
#define T cel_bool(true)
#define F cel_bool(false)

static void test_arithmetic(void **state) {
    const CelValue min = I(INT64_MIN), max = I(INT64_MAX), umax = U(UINT64_MAX);
    const LibraryCase cases[] = {
        {"_+_", "(int, int) -> int", {I(40), I(2)}, "42"},
        {"_+_", "(int, int) -> int", {max, I(1)}, "error: integer overflow"},
        {"_+_", "(int, int) -> int", {min, I(-1)}, "error: integer overflow"},
        {"_-_", "(int, int) -> int", {I(0), min}, "error: integer overflow"},
        {"_-_", "(int, int) -> int", {I(-1), min}, "9223372036854775807"},
        {"_*_", "(int, int) -> int", {min, I(-1)}, "error: integer overflow"},
        {"_*_", "(int, int) -> int", {I(-3), I(7)}, "-21"},
        {"_/_", "(int, int) -> int", {I(-7), I(2)}, "-3"},
        {"_/_", "(int, int) -> int", {min, I(-1)}, "error: integer overflow"},
        {"_/_", "(int, int) -> int", {I(1), I(0)}, "error: division by zero"},
        {"_%_", "(int, int) -> int", {I(-7), I(2)}, "-1"},
        {"_%_", "(int, int) -> int", {I(7), I(-2)}, "1"},
        {"_%_", "(int, int) -> int", {min, I(-1)}, "error: integer overflow"},
        {"_%_", "(int, int) -> int", {I(1), I(0)}, "error: modulus by zero"},
        {"-_", "(int) -> int", {I(5)}, "-5"},
        {"-_", "(int) -> int", {min}, "error: integer overflow"},
        {"_+_", "(uint, uint) -> uint", {umax, U(1)}, "error: unsigned integer overflow"},
        {"_+_", "(uint, uint) -> uint", {umax, U(0)}, "18446744073709551615u"},
        {"_-_", "(uint, uint) -> uint", {U(5), U(6)}, "error: unsigned integer overflow"},
        {"_-_", "(uint, uint) -> uint", {U(6), U(5)}, "1u"},
        {"_*_", "(uint, uint) -> uint", {umax, U(2)}, "error: unsigned integer overflow"},
        {"_/_", "(uint, uint) -> uint", {umax, U(2)}, "9223372036854775807u"},
        {"_/_", "(uint, uint) -> uint", {U(1), U(0)}, "error: division by zero"},
        {"_%_", "(uint, uint) -> uint", {umax, U(10)}, "5u"},
        {"_%_", "(uint, uint) -> uint", {U(1), U(0)}, "error: modulus by zero"},
        {"_+_", "(double, double) -> double", {D(1e308), D(1e308)}, "double(\"Infinity\")"},
        {"_-_", "(double, double) -> double", {D(0.5), D(0.25)}, "0.25"},
        {"_*_", "(double, double) -> double", {D(-0.0), D(1)}, "-0.0"},
        {"_/_", "(double, double) -> double", {D(1), D(-0.0)}, "double(\"-Infinity\")"},
        {"_/_", "(double, double) -> double", {D(0), D(0)}, "double(\"NaN\")"},
        {"-_", "(double) -> double", {D(0)}, "-0.0"},
        {"!_", "(bool) -> bool", {T}, "false"},
    };

    (void)state;
    library_check_all(cel_operators_library, cases);
    library_starve_all(cel_operators_library, cases);
}

static void test_concatenation(void **state) {
    const LibraryCase cases[] = {
        {"_+_", "(string, string) -> string", {S("ab"), S("c")}, "\"abc\""},
        {"_+_", "(string, string) -> string", {S(""), S("c")}, "\"c\""},
        {"_+_", "(string, string) -> string", {S("c"), S("")}, "\"c\""},
        {"_+_", "(bytes, bytes) -> bytes", {B("\xff"), B("a")}, "b\"\\xffa\""},
        {"_+_", "(list(A), list(A)) -> list(A)", {LIST(I(1)), LIST(S("a"), I(2))}, "[1, \"a\", 2]"},
        {"_+_", "(list(A), list(A)) -> list(A)", {EMPTY_LIST, LIST(I(2))}, "[2]"},
        {"_+_", "(list(A), list(A)) -> list(A)", {COUNTDOWN(2), COUNTDOWN(3)}, "[2, 1, 3, 2, 1]"},
    };

    (void)state;
    library_check_all(cel_operators_library, cases);
    library_starve_all(cel_operators_library, cases);
}

/* With NaN all four are false: no comparison is computed by negating another. */
static void test_order(void **state) {
    const LibraryCase cases[] = {
        {"_<_", "(int, int) -> bool", {I(1), I(2)}, "true"},
        {"_<_", "(int, int) -> bool", {I(2), I(2)}, "false"},
        {"_<=_", "(int, int) -> bool", {I(2), I(2)}, "true"},
        {"_>_", "(int, uint) -> bool", {I(-1), U(0)}, "false"},
        {"_>=_", "(uint, int) -> bool", {U(0), I(-1)}, "true"},
        {"_<_", "(int, double) -> bool", {I(INT64_MAX), D(0x1p63)}, "false"}, /* lossy */
        {"_<=_", "(double, uint) -> bool", {D(0x1p64), U(UINT64_MAX)}, "true"},
        {"_<_", "(double, double) -> bool", {D(NAN), D(1)}, "false"},
        {"_<=_", "(double, double) -> bool", {D(NAN), D(NAN)}, "false"},
        {"_>_", "(int, double) -> bool", {I(1), D(NAN)}, "false"},
        {"_>=_", "(uint, double) -> bool", {U(1), D(NAN)}, "false"},
        {"_<_", "(bool, bool) -> bool", {F, T}, "true"},
        {"_>_", "(string, string) -> bool", {S("b"), S("abc")}, "true"},
        {"_>=_", "(bytes, bytes) -> bool", {B("a"), B("\xff")}, "false"},
        {"_<_", "(duration, duration) -> bool", {cel_duration(-1), cel_duration(0)}, "true"},
        {"_>_", "(timestamp, timestamp) -> bool", {cel_timestamp(5, 1), cel_timestamp(5, 0)},
            "true"},
        {"_==_", "(A, A) -> bool", {I(1), D(1)}, "true"},
        {"_!=_", "(A, A) -> bool", {I(1), S("1")}, "true"},
        {"_==_", "(A, A) -> bool", {D(NAN), D(NAN)}, "false"},
    };

    (void)state;
    library_check_all(cel_operators_library, cases);
    library_starve_all(cel_operators_library, cases);
}

static CelEntry entries[] = {{{.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 10}}};
static const CelMap map_1_10 = {.n = 1, .depth = 1, .entries = entries};

static void test_index(void **state) {
    const CelValue map = cel_map(&map_1_10);
    const LibraryCase cases[] = {
        {"_[_]", "(list(A), int) -> A", {LIST(I(7), I(8)), I(1)}, "8"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7), I(8)), U(1)}, "8"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7), I(8)), D(1)}, "8"},
        {"_[_]", "(list(A), int) -> A", {COUNTDOWN(3), I(0)}, "3"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7)), I(1)}, "error: index out of bounds: 1"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7)), I(-1)}, "error: index out of bounds: -1"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7)), U(UINT64_MAX)}, "error: index out of bounds"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7)), D(0.5)}, "error: unsupported index value 0.5"},
        {"_[_]", "(list(A), int) -> A", {LIST(I(7)), S("0")},
            "error: unsupported index type 'string' in list"},
        {"_[_]", "(map(A, B), A) -> B", {map, D(1)}, "10"},
        {"_[_]", "(map(A, B), A) -> B", {map, I(2)}, "error: no such key: 2"},
        {"_[_]", "(map(A, B), A) -> B", {map, S("zone")}, "error: no such key: zone"},
        {"_[_]", "(map(A, B), A) -> B", {map, D(1.5)}, "error: no such key: 1.5"},
        {"@in", "(A, list(A)) -> bool", {D(1), LIST(S("a"), I(1))}, "true"},
        {"@in", "(A, list(A)) -> bool", {D(NAN), LIST(D(NAN))}, "false"},
        {"@in", "(A, list(A)) -> bool", {I(9), COUNTDOWN(9)}, "true"},
        {"@in", "(A, list(A)) -> bool", {I(0), COUNTDOWN(9)}, "false"},
        {"@in", "(A, map(A, B)) -> bool", {U(1), map}, "true"},
        {"@in", "(A, map(A, B)) -> bool", {T, map}, "false"},
        {"@in", "(A, map(A, B)) -> bool", {B("x"), map}, "false"},
    };

    (void)state;
    library_check_all(cel_operators_library, cases);
    library_starve_all(cel_operators_library, cases);
}

static void test_conversions(void **state) {
    const LibraryCase cases[] = {
        {"bool", "(string) -> bool", {S("t")}, "true"},
        {"bool", "(string) -> bool", {S("FALSE")}, "false"},
        {"bool", "(string) -> bool", {S("True")}, "true"},
        {"bool", "(string) -> bool", {S("0")}, "false"},
        {"bool", "(string) -> bool", {S("tRUE")}, "error: type conversion error"},
        {"bool", "(string) -> bool", {S("yes")}, "error: type conversion error"},
        {"bool", "(string) -> bool", {S("")}, "error: type conversion error"},
        {"int", "(uint) -> int", {U(5)}, "5"},
        {"int", "(uint) -> int", {U((uint64_t)INT64_MAX + 1)}, "error: integer overflow"},
        {"int", "(double) -> int", {D(-7.9)}, "-7"},
        {"int", "(double) -> int", {D(0x1p63)}, "error: integer overflow"},
        {"int", "(double) -> int", {D(-0x1p63)}, "error: integer overflow"},
        {"int", "(double) -> int", {D(NAN)}, "error: integer overflow"},
        {"int", "(double) -> int", {D(-INFINITY)}, "error: integer overflow"},
        {"int", "(double) -> int", {D(-7.9)}, "-7"},
        {"int", "(double) -> int", {D(0x1.fffffffffffffp62)}, "9223372036854774784"},
        {"int", "(double) -> int", {D(-0x1.fffffffffffffp62)}, "-9223372036854774784"},
        {"int", "(string) -> int", {S("+5")}, "5"},
        {"int", "(string) -> int", {S("5u")},
            "error: type conversion error from 'string' to 'int': '5u' is no whole number in the "
            "range of int"},
        {"uint", "(int) -> uint", {I(-1)}, "error: unsigned integer overflow"},
        {"uint", "(int) -> uint", {I(INT64_MAX)}, "9223372036854775807u"},
        {"uint", "(double) -> uint", {D(-0.5)}, "error: unsigned integer overflow"},
        {"uint", "(double) -> uint", {D(1.9)}, "1u"},
        {"uint", "(double) -> uint", {D(-0.0)}, "0u"},
        {"uint", "(double) -> uint", {D(0x1.fffffffffffffp63)}, "18446744073709549568u"},
        {"uint", "(double) -> uint", {D(0x1p64)}, "error: unsigned integer overflow"},
        {"uint", "(double) -> uint", {D(NAN)}, "error: unsigned integer overflow"},
        {"uint", "(string) -> uint", {S("+5")}, "error: type conversion error"},
        {"double", "(int) -> double", {I(9007199254740993)}, "9.007199254740992e+15"},
        {"double", "(uint) -> double", {U(UINT64_MAX)}, "1.8446744073709552e+19"},
        {"double", "(string) -> double", {S("-0.0")}, "-0.0"},
        {"double", "(string) -> double", {S("1e400")}, "error: type conversion error"},
        {"string", "(bool) -> string", {T}, "\"true\""},
        {"string", "(int) -> string", {I(INT64_MIN)}, "\"-9223372036854775808\""},
        {"string", "(uint) -> string", {U(UINT64_MAX)}, "\"18446744073709551615\""},
        {"string", "(double) -> string", {D(1e6)}, "\"1e+06\""},
        {"string", "(double) -> string", {D(-4.5e-3)}, "\"-0.0045\""},
        {"string", "(double) -> string", {D(INFINITY)}, "\"+Inf\""},
        {"string", "(double) -> string", {D(1)}, "\"1\""},
        {"string", "(bytes) -> string", {B("\xc3\xbf")}, "\"\xc3\xbf\""},
        {"string", "(bytes) -> string", {B("\xff")}, "error: invalid UTF-8"},
        {"string", "(bytes) -> string", {B("\xed\xa0\x80")}, "error: invalid UTF-8"},
        {"bytes", "(string) -> bytes", {S("\xc3\xbf")}, "b\"\\xc3\\xbf\""},
        {"dyn", "(A) -> dyn", {I(1)}, "1"},
    };

    (void)state;
    library_check_all(cel_conversions_library, cases);
    library_starve_all(cel_conversions_library, cases);
}

static void test_functions(void **state) {
    const LibraryCase cases[] = {
        {"size", "(string) -> int", {S("")}, "0"},
        {"size", "string.() -> int", {S("a\xc3\xa9\xf0\x9f\x98\x80")}, "3"},
        {"size", "(bytes) -> int", {B("\xc3\xa9")}, "2"},
        {"size", "list(A).() -> int", {COUNTDOWN(4)}, "4"},
        {"size", "(map(A, B)) -> int", {cel_map(&map_1_10)}, "1"},
        {"contains", "string.(string) -> bool", {S("tacocat"), S("oca")}, "true"},
        {"contains", "string.(string) -> bool", {S("tacocat"), S("ocb")}, "false"},
        {"contains", "string.(string) -> bool", {S(""), S("")}, "true"},
        {"contains", "string.(string) -> bool", {S("a"), S("ab")}, "false"},
        {"startsWith", "string.(string) -> bool", {S("tacocat"), S("taco")}, "true"},
        {"startsWith", "string.(string) -> bool", {S("tacocat"), S("")}, "true"},
        {"startsWith", "string.(string) -> bool", {S("t"), S("ta")}, "false"},
        {"endsWith", "string.(string) -> bool", {S("tacocat"), S("cat")}, "true"},
        {"endsWith", "string.(string) -> bool", {S("tacocat"), S("cats")}, "false"},
        {"type", "(A) -> type(A)", {LIST(I(1))}, "list"},
        {"type", "(A) -> type(A)", {cel_null()}, "null_type"},
        {"type", "(A) -> type(A)", {cel_none()}, "optional_type"},
    };

    (void)state;
    library_check_all(cel_standard_library, cases);
    library_starve_all(cel_standard_library, cases);
}

/* Functions whose time depends on their arguments charge fuel; the others do not. */
static void test_fuel(void **state) {
    static char text[10000];
    const CelValue v = cel_string(str_of(text, sizeof(text)));
    const CelValue list = COUNTDOWN(5000);
    const struct {
        const CelLibrary *library;
        LibraryCase call;
    } cases[] = {
        {&cel_operators_library, {"_+_", "(string, string) -> string", {v, v}, ""}},
        {&cel_operators_library, {"_+_", "(list(A), list(A)) -> list(A)", {list, list}, ""}},
        {&cel_operators_library, {"_==_", "(A, A) -> bool", {v, v}, ""}},
        {&cel_operators_library, {"_==_", "(A, A) -> bool", {list, list}, ""}},
        {&cel_operators_library, {"_<_", "(string, string) -> bool", {v, v}, ""}},
        {&cel_operators_library, {"@in", "(A, list(A)) -> bool", {I(0), list}, ""}},
        {&cel_standard_library, {"size", "(string) -> int", {v}, ""}},
        {&cel_standard_library, {"contains", "string.(string) -> bool", {v, S("x")}, ""}},
        {&cel_standard_library, {"startsWith", "string.(string) -> bool", {v, v}, ""}},
        {&cel_conversions_library, {"string", "(bytes) -> string", {v}, ""}},
        {&cel_conversions_library, {"double", "(string) -> double", {v}, ""}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        CelRun run = CEL_RUN(arena);
        CelValue got;

        run.fuel = 1000;
        got = library_call(cases[i].library, &cases[i].call, &run);
        assert_case(cases[i].call.name, got.kind == CEL_ERROR && got.error->is_limit);
        assert_case(cases[i].call.name, run.limit == got.error);
    }
}

/* a[?i], and a[i] of an optional. */
static void test_optional_index(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const CelValue list = LIST(I(7)), map = cel_map(&map_1_10);
    const CelValue optional = cel_make_optional(&run, list);
    const struct {
        CelValue of, index;
        const char *want;
    } cases[] = {
        {list, U(0), "optional.of(7)"},
        {list, I(1), "optional.none()"},
        {list, S("x"), "error: unsupported index type 'string' in list"},
        {map, I(1), "optional.of(10)"},
        {map, S("x"), "optional.none()"},
        {optional, I(0), "optional.of(7)"},
        {optional, I(1), "optional.none()"},
        {cel_none(), I(1), "optional.none()"},
        {I(1), I(0), "error: no such overload"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelValue got = cel_op_index_optional(&run, cases[i].of, cases[i].index);

        assert_value(&run, cases[i].want, got, cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_concatenation),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_fuel),
        cmocka_unit_test(test_optional_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
