#include "cel/test-library.h"
#include "cel/test-value.h"

#define I(number) cel_int(number)
#define SOME(v) ((CelValue){.kind = CEL_OPTIONAL, .len = 1, .inner = &(v)})

static const CelValue one = {.kind = CEL_INT, .i = 1};
static const CelValue nothing = {.kind = CEL_NULL};

static void test_value_functions(void **state) {
    const LibraryCase cases[] = {
        {"optional.none", "() -> optional_type(V)", {one}, "optional.none()"},
        {"optional.of", "(V) -> optional_type(V)", {one}, "optional.of(1)"},
        {"optional.of", "(V) -> optional_type(V)", {nothing}, "optional.of(null)"},
        {"optional.of", "(V) -> optional_type(V)", {cel_none()}, "optional.of(optional.none())"},
        {"hasValue", "optional_type(V).() -> bool", {SOME(nothing)}, "true"},
        {"hasValue", "optional_type(V).() -> bool", {cel_none()}, "false"},
        {"value", "optional_type(V).() -> V", {SOME(one)}, "1"},
        {"value", "optional_type(V).() -> V", {cel_none()}, "error: optional.none() dereference"},
        {"orValue", "optional_type(V).(V) -> V", {SOME(one), I(2)}, "1"},
        {"orValue", "optional_type(V).(V) -> V", {cel_none(), I(2)}, "2"},
        {"or", "optional_type(V).(optional_type(V)) -> optional_type(V)", {cel_none(), SOME(one)},
            "optional.of(1)"},
        {"or", "optional_type(V).(optional_type(V)) -> optional_type(V)", {SOME(one), cel_none()},
            "optional.of(1)"},
        {"or", "optional_type(V).(optional_type(V)) -> optional_type(V)", {cel_none(), cel_none()},
            "optional.none()"},
    };

    (void)state;
    library_check_all(cel_optional_library, cases);
    library_starve_all(cel_optional_library, cases);
}

static void test_of_non_zero_value(void **state) {
    static const CelMap empty = {.depth = 1};
    const struct {
        CelValue v;
        const char *want;
    } cases[] = {
        {cel_null(), "optional.none()"},
        {cel_bool(false), "optional.none()"},
        {cel_bool(true), "optional.of(true)"},
        {I(0), "optional.none()"},
        {cel_uint(0), "optional.none()"},
        {cel_double(-0.0), "optional.none()"},
        {cel_double(0.1), "optional.of(0.1)"},
        {S(""), "optional.none()"},
        {S("0"), "optional.of(\"0\")"},
        {B(""), "optional.none()"},
        {cel_duration(0), "optional.none()"},
        {cel_timestamp(0, 0), "optional.of(timestamp(\"1970-01-01T00:00:00Z\"))"},
        {cel_timestamp(-62135596800, 0), "optional.none()"},
        {EMPTY_LIST, "optional.none()"},
        {LIST(I(0)), "optional.of([0])"},
        {cel_map(&empty), "optional.none()"},
        {cel_none(), "optional.of(optional.none())"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        LibraryCase call = {
            "optional.ofNonZeroValue", "(V) -> optional_type(V)", {cases[i].v}, cases[i].want};

        library_check(&cel_optional_library, &call);
    }
}

static void test_unwrap_and_index(void **state) {
    const char *unwrap = "(list(optional_type(V))) -> list(V)";
    const LibraryCase cases[] = {
        {"optional.unwrap", unwrap, {LIST(SOME(one), cel_none(), SOME(nothing))}, "[1, null]"},
        {"optional.unwrap", unwrap, {EMPTY_LIST}, "[]"},
        {"optional.unwrap", unwrap, {LIST(SOME(one), one)}, "error: no such overload"},
        {"unwrapOpt", "list(optional_type(V)).() -> list(V)", {LIST(cel_none())}, "[]"},
        {"_[?_]", "(list(V), int) -> optional_type(V)", {LIST(one), I(0)}, "optional.of(1)"},
        {"_[?_]", "(list(V), int) -> optional_type(V)", {LIST(one), I(1)}, "optional.none()"},
        {"_[_]", "(optional_type(list(V)), int) -> optional_type(V)", {cel_none(), I(1)},
            "optional.none()"},
    };

    (void)state;
    library_check_all(cel_optional_library, cases);
    library_starve_all(cel_optional_library, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_functions),
        cmocka_unit_test(test_of_non_zero_value),
        cmocka_unit_test(test_unwrap_and_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
