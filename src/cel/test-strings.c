#include "cel/test-library.h"

#define INDEX "string.(string) -> int"
#define INDEX_FROM "string.(string, int) -> int"
#define SPLIT_N "string.(string, int) -> list(string)"
#define REPLACE "string.(string, string) -> string"
#define JOIN "list(string).(string) -> string"

/* Most cases are in test/data/cel/strings.test; here are calls that an expression cannot make. */
static void test_string_functions(void **state) {
    const LibraryCase cases[] = {
        {"charAt", "string.(int) -> string", {text("t\xc2\xa9o"), cel_int(1)}, "\"\xc2\xa9\""},
        {"charAt", "string.(int) -> string", {text("abc"), cel_int(INT64_MAX)},
            "error: index out of range: 9223372036854775807"},
        {"substring", "string.(int, int) -> string",
            {text("abc"), cel_int(INT64_MIN), cel_int(INT64_MAX)}, "error: index out of range"},
        {"substring", "string.(int) -> string", {cel_string(STR_NULL), cel_int(0)}, "\"\""},
        {"indexOf", INDEX, {cel_string(STR_NULL), text("a")}, "-1"},
        {"indexOf", INDEX_FROM, {text("ta\xc2\xa9o\xc2\xa9"), text("\xc2\xa9"), cel_int(3)}, "4"},
        {"lastIndexOf", INDEX, {text("bananana"), text("nan")}, "4"},
        {"lastIndexOf", INDEX, {cel_string(STR_NULL), text("x")}, "-1"},
        {"trim", "string.() -> string", {cel_string(STR_NULL)}, "\"\""},
        {"trim", "string.() -> string", {text("\xe3\x80\x80 x\xc2\x85")}, "\"x\""},
        {"reverse", "string.() -> string", {text("a\xc2\xa9\xf0\x9f\x98\x80")},
            "\"\xf0\x9f\x98\x80\xc2\xa9"
            "a\""},
        {"split", SPLIT_N, {text("a,b,c"), text(","), cel_int(2)}, "[\"a\", \"b,c\"]"},
        {"split", SPLIT_N, {text("a,b"), text(","), cel_int(INT64_MIN)}, "[\"a\", \"b\"]"},
        {"split", SPLIT_N, {cel_string(STR_NULL), cel_string(STR_NULL), cel_int(9)}, "[]"},
        {"replace", REPLACE, {text("a\xc2\xa9"), text(""), text("-")}, "\"-a-\xc2\xa9-\""},
        {"replace", REPLACE, {cel_string(STR_NULL), cel_string(STR_NULL), text("x")}, "\"x\""},
        {"lowerAscii", "string.() -> string", {cel_string(STR_NULL)}, "\"\""},
        {"strings.quote", "(string) -> string", {text("a\"\n")}, "\"\\\"a\\\\\\\"\\\\n\\\"\""},
        {"join", JOIN, {LIST(text("a"), text("b")), text(", ")}, "\"a, b\""},
        {"join", JOIN, {COUNTDOWN(3), text("")}, "error: join"},
        {"join", JOIN, {EMPTY_LIST, text("-")}, "\"\""},
    };

    (void)state;
    library_check_all(cel_strings_library, cases);
    library_starve_all(cel_strings_library, cases);
}

/* 64 KiB of "a", each replaced by 64 KiB: an error, without building the result. */
static void test_large_results_are_errors(void **state) {
    static char many[65536];
    const CelValue a = cel_string(str_of(memset(many, 'a', sizeof(many)), sizeof(many)));
    const LibraryCase cases[] = {
        {"replace", REPLACE, {a, text("a"), a}, "error: out of fuel"},
        {"replace", REPLACE, {a, text(""), a}, "error: out of fuel"},
        {"join", JOIN, {LIST(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a), a},
            "error: too much memory"},
        {"split", "string.(string) -> list(string)", {a, text("")}, "error: too much memory"},
    };

    (void)state;
    library_check_all(cel_strings_library, cases);
}

/* Every position starts like the searched text: the work is charged, so it ends. */
static void test_last_index_is_charged(void **state) {
    static char many[65536], half[32768];
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    CelRun run = CEL_RUN(arena);
    LibraryCase slow = {"lastIndexOf", INDEX, {cel_absent()}, ""};

    (void)state;
    memset(many, 'a', sizeof(many));
    memset(half, 'a', sizeof(half));
    half[sizeof(half) - 1] = 'b';
    slow.args[0] = cel_string(str_of(many, sizeof(many)));
    slow.args[1] = cel_string(str_of(half, sizeof(half)));
    assert_int_equal(library_call(&cel_strings_library, &slow, &run).kind, CEL_ERROR);
    assert_non_null(run.limit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_functions),
        cmocka_unit_test(test_large_results_are_errors),
        cmocka_unit_test(test_last_index_is_charged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
