#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "regex/parse-internal.h"

/* Prints the tree in short form. Recursive: the test's patterns are shallow. */
static void print_tree(const RegexTree *tree, uint32_t number, Buf *out) {
    static const char *const asserts[] = {"A", "^", "z", "$", "b", "B"};
    static const char *const names[] = {"empty", "", "", "group", "repeat", "seq", "or"};
    const RegexNode *node = &tree->nodes.items[number];

    buf_append(out, str_from_c(names[node->kind]));
    if (node->kind == REGEX_NODE_ASSERT)
        buf_printf(out, "\\%s", asserts[node->assert]);
    for (uint32_t i = 0; node->kind == REGEX_NODE_CLASS && i < node->n_ranges; i++) {
        buf_printf(out, "%s%x", i > 0 ? "," : "", node->ranges[i].lo);
        if (node->ranges[i].hi != node->ranges[i].lo)
            buf_printf(out, "-%x", node->ranges[i].hi);
    }
    if (node->kind == REGEX_NODE_GROUP)
        buf_printf(out, "%u", node->group);
    if (node->kind == REGEX_NODE_REPEAT)
        buf_printf(out, "%u..%d%s", node->min, (int)node->max, node->is_lazy ? "?" : "");
    if (node->child == REGEX_NONE)
        return;
    buf_append_char(out, '(');
    for (uint32_t i = node->child; i != REGEX_NONE; i = tree->nodes.items[i].next) {
        if (i != node->child)
            buf_append_char(out, ' ');
        print_tree(tree, i, out);
    }
    buf_append_char(out, ')');
}

static void test_trees(void **state) {
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        {"", "empty"},
        {"a", "61"},
        {"ab", "seq(61 62)"},
        {"ab*", "seq(61 repeat0..-1(62))"},
        {"a|b", "or(61 62)"},
        {"ab|", "or(seq(61 62) empty)"},
        {"|", "or(empty empty)"},
        {"(a)", "group1(61)"},
        {"(?:a)", "61"},
        {"(?:a|b)c", "seq(or(61 62) 63)"},
        {"((a)|(b))", "group1(or(group2(61) group3(62)))"},
        {"a+?", "repeat1..-1?(61)"},
        {"(?U)a+", "repeat1..-1?(61)"},
        {"(?U:a+?)b*", "seq(repeat1..-1(61) repeat0..-1(62))"},
        {"a{2,5}", "repeat2..5(61)"},
        {"a{2}?", "repeat2..2?(61)"},
        {"a{,2}", "seq(61 7b 2c 32 7d)"},
        {"a{02}", "seq(61 7b 30 32 7d)"},
        {"a(?i)*", "repeat0..-1(61)"}, /* flags cannot be repeated */
        {"a*(?i)*", "repeat0..-1(repeat0..-1(61))"},
        {"^$\\A\\z\\b\\B", "seq(\\A \\z \\A \\z \\b \\B)"},
        {"(?m)^$", "seq(\\^ \\$)"},
        {"(?i)a(?-i)a", "seq(41,61 61)"},
        {"(?i:k)k", "seq(4b,6b,212a 6b)"},
        {".", "0-9,b-10ffff"},
        {"(?s).", "0-10ffff"},
        {"[^a]", "0-60,62-10ffff"},
        {"[c-ea-b]", "61-65"},
        {"[\\x00-\\x{10FFFF}]", "0-10ffff"},
        {"[^\\x00-\\x{10FFFF}]", ""},
        {"\\Qa*\\E*", "seq(61 repeat0..-1(2a))"},
        {"[[:^ascii:]]", "80-10ffff"},
        {"(?i)[^\\W]", "30-39,41-5a,5f,61-7a,17f,212a"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        _cleanup_(buf_done) Buf got = BUF_INIT(1 << 16);
        RegexTree tree;
        RegexError error;

        assert_int_equal(regex_parse(str_from_c(cases[i].pattern), arena, &tree, &error), 0);
        print_tree(&tree, tree.root, &got);
        assert_text(cases[i].pattern, buf_str(&got), cases[i].want);
    }
}

/* Positions of the caret; the texts are in test/data/regex/syntax.tsv. */
static void test_offsets(void **state) {
    static const struct {
        const char *pattern;
        size_t offset;
    } cases[] = {
        {"ab(c", 2},
        {"ab(c(d)", 2},
        {"abc)", 3},
        {"ab[c", 2},
        {"ab[z-a]", 3},
        {"ab[[:no:]]", 3},
        {"a**", 1},
        {"ab|*", 3},
        {"a{3,2}", 1},
        {"ab\\q", 2},
        {"ab\\", 3},
        {"a(?z)", 1},
        {"a(?P<é>b)", 1},
        {"a\\p{No}\\p{Such}", 7},
        {"a\xff", 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        RegexTree tree;
        RegexError error;

        assert_case(cases[i].pattern,
            regex_parse(str_from_c(cases[i].pattern), arena, &tree, &error) == REGEX_MALFORMED);
        assert_case(cases[i].pattern, error.offset == cases[i].offset);
    }
}

static int parse_repeated(const char *begin, const char *end, size_t times, RegexError *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 26);
    _cleanup_(buf_done) Buf pattern = BUF_INIT(1 << 24);
    RegexTree tree;

    for (size_t i = 0; i < times; i++)
        buf_append(&pattern, str_from_c(begin));
    for (size_t i = 0; i < times; i++)
        buf_append(&pattern, str_from_c(end));
    assert_int_equal(buf_error(&pattern), 0);
    error->part = STR_NULL; /* a slice of the pattern, which is freed below */
    return regex_parse(buf_str(&pattern), arena, &tree, error);
}

static void test_limits(void **state) {
    RegexError error;

    (void)state;
    assert_int_equal(parse_repeated("(?:", ")", 60000, &error), 0); /* adds no height */
    assert_int_equal(parse_repeated("(", ")", 999, &error), 0);
    assert_int_equal(parse_repeated("(", ")", 1000, &error), REGEX_MALFORMED);
    assert_text("(", error.text, "expression nests too deeply");
    assert_int_equal(parse_repeated("(?:", ")*", 999, &error), 0);
    assert_int_equal(parse_repeated("(?:", ")*", 1000, &error), REGEX_MALFORMED);
    assert_text("(?:)*", error.text, "expression nests too deeply");
    assert_int_equal(parse_repeated("(", "", 60000, &error), REGEX_MALFORMED);
    assert_text("((((", error.text, "missing closing )");
    assert_int_equal(parse_repeated("(", "", 1000000, &error), REGEX_MALFORMED);
    assert_text("((((", error.text, "expression nests too deeply");
    assert_int_equal(parse_repeated("a", "", 65535, &error), 0);
    assert_int_equal(parse_repeated("a", "", 70000, &error), REGEX_MALFORMED);
    assert_text("aaaa", error.text, "expression too large");
    assert_int_equal(parse_repeated("\\pL", "", 90, &error), 0);
    assert_int_equal(parse_repeated("\\pL", "", 200, &error), REGEX_MALFORMED);
    assert_text("\\pL", error.text, "expression too large");
}

static void test_no_memory(void **state) {
    static const char pattern[] = "(a|[^b]\\pL(?i)straße){2,5}?|\\p{Greek}";
    size_t budget = 0;
    int r = -1;

    (void)state;
    for (; r < 0 && budget < 1 << 22; budget += 100 + budget / 4) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        RegexTree tree;
        RegexError error;

        r = regex_parse(STR(pattern), arena, &tree, &error);
    }
    assert_int_equal(r, 0);
    assert_true(budget > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
