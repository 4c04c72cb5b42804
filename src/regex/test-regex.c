#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "regex/regex.h"

#define SIZE_LIMIT 2000

static const Regex *compile(Arena *arena, const char *pattern) {
    RegexError error;
    const Regex *regex = regex_compile(str_from_c(pattern), SIZE_LIMIT, arena, &error);

    assert_case(pattern, regex != NULL);
    return regex;
}

/* The first match with its captures. */
static int find(const Regex *regex, Str text, RegexSpan *ret_spans, size_t n_spans) {
    _cleanup_(regex_scan_freep) RegexScan *scan = regex_scan_new(regex, text, n_spans);
    uint64_t work = UINT64_MAX;

    assert_non_null(scan);
    return regex_scan_next(scan, &work, ret_spans);
}

static void test_groups(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    const Regex *regex = compile(arena, "(?P<year>\\d+)-(\\d+)(?:-(?<day>\\d+))?");
    RegexSpan spans[6];

    (void)state;
    assert_int_equal(regex_n_groups(regex), 3);
    assert_int_equal(find(regex, STR("on 2026-11"), spans, 6), 1);
    assert_int_equal(spans[0].from, 3);
    assert_int_equal(spans[2].to, 10);
    assert_true(spans[3].from == SIZE_MAX); /* did not match */
    assert_true(spans[5].from == SIZE_MAX); /* does not exist */
    assert_int_equal(find(regex, STR("on 2026-11"), spans, 1), 1);
    assert_int_equal(find(regex, STR("on 2026-11"), NULL, 0), 1);
}

/* After a match, the text before it still counts for anchors and word boundaries. */
static void test_later_matches_see_the_text_before(void **state) {
    static const struct {
        const char *pattern, *text;
        size_t n_matches;
    } cases[] = {
        {"^a", "aa", 1},
        {"(?m)^a", "a\na", 2},
        {"\\ba", "aa", 1},
        {"\\Ba", "aaa", 2},
        {"a", "ba", 1},
        {"", "ba", 3},
        {"$", "ba", 1},
        {"ab", "abab", 2},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(regex_scan_freep) RegexScan *scan =
            regex_scan_new(compile(arena, cases[i].pattern), str_from_c(cases[i].text), 1);
        uint64_t work = UINT64_MAX;
        size_t n = 0, end = 0;
        RegexSpan span;

        assert_non_null(scan);
        for (; regex_scan_next(scan, &work, &span) == 1; n++) {
            assert_case(cases[i].pattern, span.from >= end);
            end = span.to;
        }
        assert_case(cases[i].pattern, n == cases[i].n_matches);
    }
}

/* The pattern is not needed after it is compiled, and the text may be empty. */
static void test_pattern_need_not_outlive_the_regex(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    char pattern[] = "(?P<n>abc)?";
    const Regex *regex = compile(arena, pattern);
    RegexSpan spans[2];

    (void)state;
    memset(pattern, 'x', sizeof(pattern));
    assert_int_equal(regex_matches(regex, STR_NULL), 1);
    assert_int_equal(find(regex, STR_NULL, spans, 1), 1);
    assert_int_equal(find(regex, STR("abc"), spans, 2), 1);
    assert_int_equal(spans[1].to, 3);
    assert_int_equal(regex_matches(compile(arena, "abc"), STR_NULL), 0);
}

static void test_number_of_instructions(void **state) {
    static const struct {
        const char *pattern;
        size_t want;
    } cases[] = {
        {"", 1},
        {"abc", 4},
        {"\\pL{100}", 101}, /* a class is one instruction, whatever its size */
        {"a|b", 4},
        {"a*", 3},
        {"(a)", 4},
        {"a{3}", 4},
        {"a{0}", 1},
        {"a{1,3}", 6},
        {"a{2,}", 4},
        {"(?:){1000}", 1},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 22);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(
            cases[i].pattern, regex_size(compile(arena, cases[i].pattern)) == cases[i].want);
}

static void test_too_large_patterns_are_refused(void **state) {
    static const char *const patterns[] = {"(?:abcde){500}",
        "((a{10}){10}){10}((a{10}){10}){10}((a{10}){10}){10}", "(?:(?:|){40}|a){25}"};
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 22);
    RegexError error;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(patterns); i++) {
        assert_null(regex_compile(str_from_c(patterns[i]), SIZE_LIMIT, arena, &error));
        assert_text(patterns[i], error.text, "expression too large");
    }
    assert_non_null(regex_compile(STR("abc"), 4, arena, &error));
    assert_null(regex_compile(STR("abc"), 3, arena, &error));
    assert_null(regex_compile(STR(""), 0, arena, &error));
}

/* Repeated empty groups need no instructions, but time. */
static void test_repeated_empty_groups_are_too_large(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 22);
    _cleanup_(buf_done) Buf pattern = BUF_INIT(1 << 20);
    RegexError error;

    (void)state;
    buf_append(&pattern, STR("(?:"));
    for (int i = 0; i < 60000; i++)
        buf_append(&pattern, STR("(?:)"));
    buf_append(&pattern, STR("){1000}"));
    assert_null(regex_compile(buf_str(&pattern), SIZE_LIMIT, arena, &error));
    assert_text("size", error.text, "expression too large");
}

static void test_no_memory(void **state) {
    RegexError error = {0};
    const Regex *regex = NULL;

    (void)state;
    for (size_t budget = 50; !regex; budget += 50) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);

        assert_true(budget < 100000);
        regex = regex_compile(STR("(a|\\pL{2,5}?|[^b]\\p{Greek})"), SIZE_LIMIT, arena, &error);
        if (!regex)
            assert_text("memory", error.text, "expression too large");
    }
}

/* The work of a search is counted, limited and always the same. */
static void test_steps_are_counted_and_limited(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    const Regex *regex = compile(arena, "(x+x+)+y");
    char text[2000];
    uint64_t used = 0;

    (void)state;
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 2; i++) {
        _cleanup_(regex_scan_freep) RegexScan *scan =
            regex_scan_new(regex, str_of(text, sizeof(text)), 1);
        uint64_t work = 1000000;
        RegexSpan span;

        assert_non_null(scan);
        assert_int_equal(regex_scan_next(scan, &work, &span), 0);
        assert_true(1000000 - work < sizeof(text) * 4 * regex_size(regex));
        assert_true(used == 0 || used == 1000000 - work);
        used = 1000000 - work;
    }
    for (uint64_t work = 0; work < used; work += 97) {
        _cleanup_(regex_scan_freep) RegexScan *scan =
            regex_scan_new(regex, str_of(text, sizeof(text)), 1);
        uint64_t left = work;
        RegexSpan span;

        assert_non_null(scan);
        assert_int_equal(regex_scan_next(scan, &left, &span), REGEX_LIMIT);
        assert_int_equal(left, 0);
    }
}

/* Patterns that take exponential time in other engines. */
static void test_time_is_linear(void **state) {
    static const char *const patterns[] = {
        "(a*)*b", "(a|a)*b", "(a|aa)+$b", "(a?){200}a{200}b", "(.*)(.*)(.*)(.*)(.*)b", "^(a+)+$b"};
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 22);
    static char text[20000];

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < ELEMENTS_OF(patterns); i++) {
        const Regex *regex = compile(arena, patterns[i]);

        assert_case(patterns[i], regex_matches(regex, str_of(text, sizeof(text))) == 0);
        assert_case(patterns[i], regex_matches(regex, str_of(text, 2000)) == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_later_matches_see_the_text_before),
        cmocka_unit_test(test_pattern_need_not_outlive_the_regex),
        cmocka_unit_test(test_number_of_instructions),
        cmocka_unit_test(test_too_large_patterns_are_refused),
        cmocka_unit_test(test_repeated_empty_groups_are_too_large),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_steps_are_counted_and_limited),
        cmocka_unit_test(test_time_is_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
