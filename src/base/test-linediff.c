#include "base/linediff.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/test-assert.h"

static const struct {
    const char *name, *before, *after, *want; /* after the two lines with names */
    size_t context;
} cases[] = {
    {"one line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", 3},
    {"no context", "a\nb\nc\n", "a\nB\nc\n", "@@ -2 +2 @@\n-b\n+B\n", 0},
    {"from nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n", 3},
    {"to nothing", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n", 3},
    {"added in the middle", "a\nb\n", "a\nx\nb\n", "@@ -1,0 +2 @@\n+x\n", 0},
    {"removed at the end", "a\nb\n", "a\n", "@@ -2 +1,0 @@\n-b\n", 0},
    {"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nB\n3\n4\n5\n6\n7\nH\n9\n",
        "@@ -1,3 +1,3 @@\n 1\n-2\n+B\n 3\n@@ -7,3 +7,3 @@\n 7\n-8\n+H\n 9\n", 1},
    {"two changes, one hunk", "1\n2\n3\n4\n5\n", "1\nB\n3\nD\n5\n",
        "@@ -1,5 +1,5 @@\n 1\n-2\n+B\n 3\n-4\n+D\n 5\n", 1},
    {"a newline at the end", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", 3},
    {"none on either side", "a\nb", "A\nb",
        "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", 3},
    {"the shortest way", "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n",
        "@@ -1,7 +1,6 @@\n-a\n+c\n b\n-c\n a\n b\n-b\n a\n+c\n", 3},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        LinediffText before = {STR("a.yaml"), str_from_c(cases[i].before)};
        LinediffText after = {STR("b\n.yaml"), str_from_c(cases[i].after)};
        Str got;

        assert_int_equal(linediff_write(&before, &after, cases[i].context, &out, NULL), 0);
        got = buf_str(&out);
        assert_case(cases[i].name, str_has_prefix(got, STR("--- a.yaml\n+++ b?.yaml\n")));
        assert_text(cases[i].name, str_skip(got, 23), cases[i].want);
    }
}

static void test_equal_texts_have_no_diff(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);
    LinediffText text = {STR("a"), STR("x\ny\n")}, empty = {STR("a"), STR_NULL};

    (void)state;
    assert_int_equal(linediff_write(&text, &text, 3, &out, NULL), 0);
    assert_int_equal(linediff_write(&empty, &empty, 3, &out, NULL), 0);
    assert_int_equal(out.len, 0);
}

/* --- a diff applied to one text gives the other ---------------------------------------------- */

static Str next_line(Str *text) {
    size_t at = str_find(*text, '\n');
    Str line = str_take(*text, at == SIZE_MAX ? text->len : at + 1);

    *text = str_skip(*text, line.len);
    return line;
}

/* The line of @from that a hunk begins at, from "@@ -3,4 +…": counted from 0. */
static size_t hunk_start(Str line) {
    char *end;
    size_t at = strtoul(line.ptr + 4, &end, 10);

    return str_has_prefix(str_of(end, 2), STR(",0")) ? at : at - 1;
}

/* Removes a newline that was written before "\\ No newline". */
static void apply(Str from, Str diff, Buf *ret, LinediffCounts *counts) {
    size_t at = 0;

    while (diff.len > 0) {
        Str line = next_line(&diff);

        if (str_has_prefix(line, STR("---")) || str_has_prefix(line, STR("+++")))
            continue;
        if (line.ptr[0] == '@') {
            for (size_t start = hunk_start(line); at < start; at++)
                buf_append(ret, next_line(&from));
            continue;
        }
        counts->n_added += line.ptr[0] == '+';
        counts->n_removed += line.ptr[0] == '-';
        if (str_has_prefix(diff, STR("\\"))) {
            (void)next_line(&diff);
            line.len--;
        }
        if (line.ptr[0] != '+') {
            Str was = next_line(&from);

            assert_true(str_eq(was, str_skip(line, 1)));
            at++;
        }
        if (line.ptr[0] != '-')
            buf_append(ret, str_skip(line, 1));
    }
    buf_append(ret, from);
}

#define LINES_MAX 24

/* The minimal number of different lines, by the table of longest common subsequences. */
static size_t least_changes(Str a, Str b) {
    Str x[LINES_MAX], y[LINES_MAX];
    size_t n = 0, m = 0;
    size_t best[LINES_MAX + 1][LINES_MAX + 1] = {{0}};

    while (a.len > 0)
        x[n++] = next_line(&a);
    while (b.len > 0)
        y[m++] = next_line(&b);
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t skipped = best[i - 1][j] > best[i][j - 1] ? best[i - 1][j] : best[i][j - 1];

            best[i][j] = str_eq(x[i - 1], y[j - 1]) ? best[i - 1][j - 1] + 1 : skipped;
        }
    return n + m - 2 * best[n][m];
}

static void make_random(Buf *text, unsigned n_lines) {
    buf_reset(text);
    for (unsigned i = 0; i < n_lines; i++)
        buf_printf(text, "%c%s", 'a' + rand() % 4, i + 1 < n_lines || rand() % 4 ? "\n" : "");
}

static void test_random(void **state) {
    (void)state;
    srand(17);
    for (unsigned round = 0; round < 20000; round++) {
        _cleanup_(buf_done) Buf a = BUF_INIT(4096);
        _cleanup_(buf_done) Buf b = BUF_INIT(4096);
        _cleanup_(buf_done) Buf diff = BUF_INIT(65536);
        _cleanup_(buf_done) Buf got = BUF_INIT(65536);
        LinediffCounts counts = {0}, found = {0};

        make_random(&a, (unsigned)rand() % LINES_MAX);
        make_random(&b, (unsigned)rand() % LINES_MAX);
        assert_int_equal(
            linediff_write(&(LinediffText){STR("a"), buf_str(&a)},
                &(LinediffText){STR("b"), buf_str(&b)}, (unsigned)rand() % 4, &diff, &counts),
            0);
        apply(buf_str(&a), buf_str(&diff), &got, &found);
        assert_true(str_eq(buf_str(&got), buf_str(&b)));
        assert_int_equal(found.n_added + found.n_removed, least_changes(buf_str(&a), buf_str(&b)));
        assert_int_equal(counts.n_added, found.n_added);
        assert_int_equal(counts.n_removed, found.n_removed);
    }
}

/* Texts with nothing in common, over the limit: all lines are replaced, quickly. */
static void test_ceilings(void **state) {
    static const unsigned lines[] = {4000, LINEDIFF_LINES_MAX + 10};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        _cleanup_(buf_done) Buf a = BUF_INIT(4u << 20);
        _cleanup_(buf_done) Buf b = BUF_INIT(4u << 20);
        _cleanup_(buf_done) Buf diff = BUF_INIT(16u << 20);
        _cleanup_(buf_done) Buf got = BUF_INIT(4u << 20);
        LinediffCounts found = {0};

        buf_append(&a, STR("head\n"));
        buf_append(&b, STR("head\n"));
        for (unsigned n = 0; n < lines[i]; n++) {
            buf_printf(&a, "a%u\n", n);
            buf_printf(&b, "b%u\n", n);
        }
        assert_int_equal(linediff_write(&(LinediffText){STR("a"), buf_str(&a)},
                             &(LinediffText){STR("b"), buf_str(&b)}, 3, &diff, NULL),
            0);
        apply(buf_str(&a), buf_str(&diff), &got, &found);
        assert_true(str_eq(buf_str(&got), buf_str(&b)));
        assert_int_equal(found.n_added, lines[i]);
        assert_int_equal(found.n_removed, lines[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_equal_texts_have_no_diff),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_ceilings),
    };

    hash_set_key(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
