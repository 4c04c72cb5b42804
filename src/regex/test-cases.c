/*
 * Cases as data: test/data/regex/<name>.tsv, with the results of Go's regexp. Every case is tested
 * in both modes: whether there is a match, and finding all matches.
 */

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "regex/regex.h"

#define LINE_SIZE 65536
#define MAX_INSTRUCTIONS 20000
#define GROUPS_MAX 16

typedef struct Case {
    char place[256]; /* file:line */
    Str pattern, text;
    const char *want;
} Case;

/* Decodes in place: %41 is A. A NUL is appended for functions that need it. */
static Str decode(char *s) {
    size_t n = 0;

    for (size_t i = 0; s[i] != '\0'; i++) {
        char digits[3] = {s[i], '\0', '\0'};

        if (s[i] != '%') {
            s[n++] = s[i];
            continue;
        }
        digits[0] = s[i + 1];
        digits[1] = s[i + 2];
        s[n++] = (char)strtoul(digits, NULL, 16);
        i += 2;
    }
    s[n] = '\0';
    return str_of(s, n);
}

static void print_spans(const RegexSpan *spans, size_t n, Buf *out) {
    if (out->len > 0)
        buf_append_char(out, ' ');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_append_char(out, ',');
        if (spans[i].from == SIZE_MAX)
            buf_append_char(out, 'x');
        else
            buf_printf(out, "%zu-%zu", spans[i].from, spans[i].to);
    }
}

/* All matches in the file's notation. */
static void print_all(const Case *c, const Regex *regex, Buf *out) {
    _cleanup_(regex_scan_freep) RegexScan *scan = NULL;
    RegexSpan spans[GROUPS_MAX];
    size_t n = regex_n_groups(regex) + 1, n_found = 0;
    uint64_t work = UINT64_MAX;
    int r;

    assert_case(c->place, n <= GROUPS_MAX);
    scan = regex_scan_new(regex, c->text, n);
    assert_non_null(scan);
    while ((r = regex_scan_next(scan, &work, spans)) == 1) {
        print_spans(spans, n, out);
        n_found++;
    }
    assert_int_equal(r, 0);
    if (n_found == 0)
        buf_append(out, STR("none"));
}

static void check_case(const Case *c) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 24);
    _cleanup_(buf_done) Buf got = BUF_INIT(1 << 20);
    RegexError error = {0};
    const Regex *regex = regex_compile(c->pattern, MAX_INSTRUCTIONS, arena, &error);

    if (regex) {
        print_all(c, regex, &got);
        assert_text(c->place, buf_str(&got), c->want);
        assert_case(c->place, regex_matches(regex, c->text) == (strcmp(c->want, "none") != 0));
        return;
    }
    buf_printf(&got, "error: %.*s: `%.*s`", STR_FMT(error.text), STR_FMT(error.part));
    assert_text(c->place, buf_str(&got), c->want);
    assert_case(c->place, error.offset <= c->pattern.len);
}

static size_t check_file(const char *path) {
    static char line[LINE_SIZE];
    FILE *file = fopen(path, "r");
    size_t number = 0, n = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *rest = line, *pattern, *text;
        Case c;

        number++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        pattern = strsep(&rest, "\t");
        text = strsep(&rest, "\t");
        (void)snprintf(c.place, sizeof(c.place), "%s:%zu", path, number);
        assert_case(c.place, rest != NULL);
        c.pattern = decode(pattern);
        c.text = decode(text);
        c.want = decode(rest).ptr;
        check_case(&c);
        n++;
    }
    (void)fclose(file);
    return n;
}

static void test_files(void **state) {
    size_t n = 0;
    glob_t found;

    (void)state;
    assert_int_equal(glob(TEST_DATA "/regex/*.tsv", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        n += check_file(found.gl_pathv[i]);
    globfree(&found);
    assert_true(n > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
