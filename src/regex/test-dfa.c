#include <string.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "regex/program.h"

DEFINE_CLEANUP(RegexDfa *, regex_dfa_free)

#define MANY 20000

static const Regex *compile(Arena *arena, const char *pattern) {
    RegexError error;
    const Regex *regex = regex_compile(str_from_c(pattern), 20000, arena, &error);

    if (!regex)
        print_error("%s: %.*s\n", pattern, STR_FMT(error.text));
    assert_non_null(regex);
    return regex;
}

/* Letters a and b without a pattern to them; always the same ones. */
static Str noise(Arena *arena, size_t n) {
    char *text = ARENA_RAW(arena, char, n);
    uint32_t seed = 1;

    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = seed >> 16 & 1 ? 'a' : 'b';
    }
    return str_of(text, n);
}

static void test_alphabet(void **state) {
    static const struct {
        const char *pattern;
        size_t letters;
    } cases[] = {
        {"", 1},
        {"(?s).*", 1},
        {".", 2},
        {"abc", 4},
        {"[a-z]+[a-z]", 2},
        {"[a-c][b-d]", 4},
        {"\\pL", 2},
        {"\\pL\\p{Lu}\\p{Greek}", 6}, /* Greek that is no letter, too */
        {"\\ba", 3},
        {"(?m)^", 2},
        {"(?i)k", 2},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const RegexAlphabet *alphabet = &compile(arena, cases[i].pattern)->alphabet;

        if (alphabet->n != cases[i].letters)
            print_error("%s: %u letters\n", cases[i].pattern, alphabet->n);
        assert_int_equal(alphabet->n, cases[i].letters);
    }
}

/* 2^12 states are needed to remember the last twelve letters. */
static void test_many_states(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    const Regex *regex = compile(arena, "^(?:a|b)*a(?:a|b){12}c");
    Str text = noise(arena, MANY);

    (void)state;
    for (size_t budget = 0; budget < 4000000; budget = budget * 3 + 1000) {
        _cleanup_(regex_dfa_freep) RegexDfa *dfa = regex_dfa_new(regex, budget);
        int r;

        assert_non_null(dfa);
        r = regex_dfa_matches(dfa, regex, text);
        if (budget < 100000)
            assert_int_equal(
                r, REGEX_DFA_GAVE_UP); /* would begin anew all the time: does not pay */
        if (budget > 2000000)
            assert_int_equal(r, 0);
        assert_true(regex_dfa_size(dfa) <= budget + 4000);
    }
    assert_int_equal(regex_matches(regex, text, NULL), 0);
}

/* A cache that is too small for a while is emptied and goes on. */
static void test_flush(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    const Regex *regex = compile(arena, "(?:ab){40}c$");
    _cleanup_(regex_dfa_freep) RegexDfa *dfa = regex_dfa_new(regex, 8000);
    char *text = ARENA_RAW(arena, char, MANY);

    (void)state;
    assert_non_null(dfa);
    assert_non_null(text);
    for (size_t i = 0; i < MANY; i++)
        text[i] = i % 2 ? 'b' : 'a';
    memset(text, 'x', MANY / 2);
    assert_int_equal(regex_dfa_matches(dfa, regex, str_of(text, MANY)), 0);
    text[MANY - 1] = 'c';
    assert_int_equal(regex_dfa_matches(dfa, regex, str_of(text, MANY - 1)), 0);
    text[MANY - 1] = 'b';
    text[MANY - 2] = 'c';
    assert_int_equal(regex_dfa_matches(dfa, regex, str_of(text, MANY - 1)), 1);
}

static void test_pool(void **state) {
    _cleanup_(regex_pool_freep) RegexPool *pool = regex_pool_new(20000);
    RegexDfa *first;

    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 2000; i++) { /* regexes come and go, at the same address even */
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        const Regex *regex = compile(arena, i % 2 ? "a+b" : "b+[a-c]");

        assert_int_equal(regex_matches(regex, STR("xaab"), pool), i % 2);
        first = regex_pool_dfa(pool, regex);
        assert_non_null(first);
        assert_ptr_equal(regex_pool_dfa(pool, regex), first); /* remembered */
        regex_pool_settle(pool);
    }
}

/* The DFA that is in use stays even when it alone is more than the pool may have. */
static void test_pool_too_small(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 22);
    _cleanup_(regex_pool_freep) RegexPool *pool = regex_pool_new(1);
    const Regex *a = compile(arena, "a+b"), *b = compile(arena, "b+c");

    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(regex_matches(a, STR("xaab"), pool), 1);
        assert_int_equal(regex_matches(b, STR("xaab"), pool), 0);
    }
}

/* Too many letters for the DFA: the simulation answers. */
static void test_no_alphabet(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    _cleanup_(regex_pool_freep) RegexPool *pool = regex_pool_new(100000);
    char pattern[4096];
    size_t n = 0;
    const Regex *regex;

    (void)state;
    for (uint32_t c = 0x4E00; c < 0x4E00 + 300; c++)
        n += utf8_encode(c, pattern + n);
    pattern[n] = '\0';
    pattern[0] = '.'; /* no prefix to be found by */
    pattern[1] = '*';
    pattern[2] = '.';
    regex = compile(arena, pattern);
    assert_int_equal(regex->alphabet.n, 0);
    assert_int_equal(regex_matches(regex, str_of(pattern, n), pool), 1);
    assert_int_equal(regex_matches(regex, str_of(pattern, n - 3), pool), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alphabet),
        cmocka_unit_test(test_many_states),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_too_small),
        cmocka_unit_test(test_no_alphabet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
