#include <string.h>

#include "cel/test-library.h"
#include "regex/regex.h"

#define MATCHES "string.(string) -> bool"
#define FIND "string.(string) -> string"
#define FIND_ALL "string.(string) -> list(string)"
#define FIND_SOME "string.(string, int) -> list(string)"
#define EXTRACT "(string, string) -> optional_type(string)"
#define EXTRACT_ALL "(string, string) -> list(string)"
#define REPLACE "(string, string, string) -> string"
#define REPLACE_SOME "(string, string, string, int) -> string"

/* Most cases are in test/data/cel/regex.test and test/data/regex. Here are calls that an expression
 * cannot make, and every function with little fuel and memory. */
static void test_regex_functions(void **state) {
    const CelValue nothing = cel_string(STR_NULL);
    const LibraryCase cases[] = {
        {"matches", MATCHES, {text("abc"), text("^a.c$")}, "true"},
        {"matches", "(string, string) -> bool", {text("abc"), text("d")}, "false"},
        {"matches", MATCHES, {nothing, nothing}, "true"},
        {"matches", MATCHES, {text("a"), text("(")},
            "error: error parsing regexp: missing closing ): `(`"},
        {"matches", MATCHES, {text("a"), text("a{9999}")}, "error: invalid repeat count: `{9999}`"},
        {"matches", MATCHES, {text("a"), text("(?:abc){900}")}, "error: expression too large"},
        {"find", FIND, {text("abc 123"), text("[0-9]+")}, "\"123\""},
        {"find", FIND, {nothing, nothing}, "\"\""},
        {"find", FIND, {text("a"), text("[")},
            "error: Illegal regex: error parsing regexp: missing"},
        {"findAll", FIND_ALL, {text("1 22"), text("[0-9]*")}, "[\"1\", \"22\"]"},
        {"findAll", FIND_ALL, {text("ab"), text("x*")}, "[\"\", \"\", \"\"]"},
        {"findAll", FIND_SOME, {text("1 22 3"), text("[0-9]+"), cel_int(2)}, "[\"1\", \"22\"]"},
        {"findAll", FIND_SOME, {text("1 22 3"), text("[0-9]+"), cel_int(0)}, "[]"},
        {"findAll", FIND_SOME, {text("1 2"), text("[0-9]"), cel_int(INT64_MIN)}, "[\"1\", \"2\"]"},
        {"regex.extract", EXTRACT, {text("item-A"), text("item-(\\w+)")}, "optional.of(\"A\")"},
        {"regex.extract", EXTRACT, {text("item-A"), text("item-(x?)")}, "optional.none()"},
        {"regex.extract", EXTRACT, {text("a@b"), text("(.)@(.)")},
            "error: more than one capturing"},
        {"regex.extractAll", EXTRACT_ALL, {text("a1b2"), text("[a-z](\\d)")}, "[\"1\", \"2\"]"},
        {"regex.replace", REPLACE, {text("foo bar"), text("(o+) (b)"), text("\\2\\\\\\1\\0")},
            "\"fb\\\\oooo bar\""},
        {"regex.replace", REPLACE, {text("a"), text("a"), text("\\1")},
            "error: references group 1 but regex has only 0"},
        {"regex.replace", REPLACE, {text("a"), text("a"), text("\\")}, "error: not allowed at end"},
        {"regex.replace", REPLACE, {text("b"), text("a"), text("\\")},
            "\"b\""}, /* nothing to put in */
        {"regex.replace", REPLACE_SOME, {text("aaa"), text("a"), text("b"), cel_int(2)}, "\"bba\""},
        {"regex.replace", REPLACE_SOME, {text("aaa"), text("a"), text("b"), cel_int(1LL << 31)},
            "\"bbb\""},
    };

    (void)state;
    library_check_all(cel_regex_library, cases);
    library_starve_all(cel_regex_library, cases);
}

static const CelOverloadSpec *find_overload(const char *name, const char *signature) {
    for (size_t i = 0; i < cel_regex_library.n_overloads; i++)
        if (strcmp(cel_regex_library.overloads[i].name, name) == 0 &&
            strcmp(cel_regex_library.overloads[i].signature, signature) == 0)
            return &cel_regex_library.overloads[i];
    fail();
    return NULL;
}

/* A constant pattern is compiled once, and each match costs the same. */
static void test_constant_pattern_is_compiled_once(void **state) {
    const CelOverloadSpec *spec = find_overload("matches", MATCHES);
    _cleanup_(arena_freep) Arena *program = arena_new(1 << 20);
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    Str error = STR_NULL;
    const void *prepared = spec->prepare(text("^[a-z]+-(?:a|b)"), program, &error);
    const CelValue args[] = {text("some-b"), text("not looked at (")};
    int64_t fuel[2];

    (void)state;
    assert_non_null(prepared);
    assert_int_equal(spec->prepare_arg, 1);
    for (int i = 0; i < 2; i++) {
        CelRun run = CEL_RUN(arena);

        assert_true(cel_is_true(spec->fn(&run, args, prepared)));
        fuel[i] = run.fuel;
    }
    assert_true(fuel[0] == fuel[1]);
    assert_int_equal(arena_used(arena), 0); /* no memory is kept */
    assert_null(spec->prepare(text("[z-a]"), program, &error));
    assert_text("error", error, "error parsing regexp: invalid character class range: `z-a`");
}

/* 64 KiB of text against patterns that scan much of it repeatedly. */
static void test_expensive_patterns_are_charged(void **state) {
    static char many[65536];
    const CelValue a = cel_string(str_of(memset(many, 'a', sizeof(many)), sizeof(many)));
    const LibraryCase cases[] = {
        {"findAll", FIND_ALL, {a, text("a.*b|a")}, "error: out of fuel"}, /* n² */
        {"findAll", FIND_ALL, {a, text("")}, "error: too much memory"},
        {"matches", MATCHES, {a, text("(?:a?){500}a{500}b")}, "error: out of fuel"},
        {"regex.replace", REPLACE, {a, text("a"), a}, "error: out of fuel"},
        {"regex.replace", REPLACE,
            {a, text("(a+)"), text("\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1")},
            "error: too much memory"},
        {"matches", MATCHES, {text(""), a}, "error: out of fuel"},
    };

    (void)state;
    library_check_all(cel_regex_library, cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_functions),
        cmocka_unit_test(test_constant_pattern_is_compiled_once),
        cmocka_unit_test(test_expensive_patterns_are_charged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
