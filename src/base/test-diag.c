#include <stdio.h>

#include "base/diag.h"

#include "base/test-assert.h"

#define SOURCE "pool: a\n\tname: x\r\nk\xc3\xa9y: [1]\nbell: \a\n"

/* One diagnostic, and the printed text. */
static const struct {
    const char *name;
    Place place;
    DiagLevel level;
    const char *hint;
    const char *want;
} renderings[] = {
    {"caret under the word", {STR("p.yaml"), 1, 1, 4}, DIAG_ERROR, "",
        "p.yaml:1:1: error: wrong\n"
        "  1 | pool: a\n"
        "    | ^^^^\n"},
    {"warning with a hint", {STR("p.yaml"), 1, 7, 1}, DIAG_WARNING, "did you mean \"b\"?",
        "p.yaml:1:7: warning: wrong\n"
        "  1 | pool: a\n"
        "    |       ^\n"
        "  = did you mean \"b\"?\n"},
    {"no width is one caret", {STR("p.yaml"), 1, 3, 0}, DIAG_ERROR, "",
        "p.yaml:1:3: error: wrong\n"
        "  1 | pool: a\n"
        "    |   ^\n"},
    {"width is cut at the end of the line", {STR("p.yaml"), 1, 7, 99}, DIAG_ERROR, "",
        "p.yaml:1:7: error: wrong\n"
        "  1 | pool: a\n"
        "    |       ^\n"},
    {"column behind the line", {STR("p.yaml"), 1, 99, 1}, DIAG_ERROR, "",
        "p.yaml:1:99: error: wrong\n"
        "  1 | pool: a\n"
        "    |        ^\n"},
    {"a tab is one column, CR is no text", {STR("p.yaml"), 2, 2, 4}, DIAG_ERROR, "",
        "p.yaml:2:2: error: wrong\n"
        "  2 |  name: x\n"
        "    |  ^^^^\n"},
    {"columns are bytes, carets are characters", {STR("p.yaml"), 3, 1, 4}, DIAG_ERROR, "",
        "p.yaml:3:1: error: wrong\n"
        "  3 | k\xc3\xa9y: [1]\n"
        "    | ^^^\n"},
    {"control characters are shown", {STR("p.yaml"), 4, 7, 1}, DIAG_ERROR, "",
        "p.yaml:4:7: error: wrong\n"
        "  4 | bell: \\x07\n"
        "    |       ^^^^\n"},
    {"the file as a whole", {STR("p.yaml"), 0, 0, 0}, DIAG_ERROR, "", "p.yaml: error: wrong\n"},
    {"no file", {{NULL, 0}, 0, 0, 0}, DIAG_ERROR, "", "error: wrong\n"},
    {"a line the source lacks", {STR("p.yaml"), 77, 1, 1}, DIAG_ERROR, "",
        "p.yaml:77:1: error: wrong\n"},
};

static void test_rendering(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(renderings); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        DiagList list = DIAG_LIST_IN(arena);

        diag_add(&list, renderings[i].level, renderings[i].place, STR(SOURCE), STR("wrong"),
            str_from_c(renderings[i].hint));
        diag_print(&list.diags.items[0], /* colour= */ false, &out);
        assert_text(renderings[i].name, buf_str(&out), renderings[i].want);
    }
}

/* A line of @n times @character, and the text printed for an error at character @at, @width
 * characters wide. */
static void print_long(size_t n, const char *character, size_t at, size_t width, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    _cleanup_(buf_done) Buf line = BUF_INIT(1 << 20);
    size_t size = strlen(character);
    DiagList list = DIAG_LIST_IN(arena);

    for (size_t i = 0; i < n; i++)
        buf_append(&line, str_from_c(character));
    diag_add(&list, DIAG_ERROR, (Place){STR("p"), 1, at * size + 1, width * size}, buf_str(&line),
        STR("wrong"), STR_NULL);
    diag_print(&list.diags.items[0], /* colour= */ false, out);
}

/* A line that is too long is cut around its carets. */
static void test_long_lines(void **state) {
    static const struct {
        size_t n, at, width;
        size_t shown, spaces, carets;
        bool is_cut_before, is_cut_behind;
    } cases[] = {
        {160, 0, 160, 160, 0, 160, false, false},
        {160, 159, 1, 160, 159, 1, false, false},
        {160, 999, 1, 160, 160, 1, false, false},
        {161, 0, 1, 160, 0, 1, false, true},
        {161, 0, 161, 160, 0, 160, false, true},
        {161, 160, 1, 160, 160, 1, true, false},
        {10240, 60, 1, 160, 60, 1, false, true},
        {10240, 61, 1, 160, 61, 1, true, true},
        {10240, 5000, 10, 160, 61, 10, true, true},
        {10240, 5000, 1000, 160, 61, 100, true, true},
        {10240, 10239, 1, 160, 160, 1, true, false},
        {10240, 10240, 1, 160, 161, 1, true, false},
        {10240, 99999, 1, 160, 161, 1, true, false},
    };
    static const char *const characters[] = {"a", "\xc3\xa9", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases) * ELEMENTS_OF(characters); i++) {
        const char *character = characters[i % ELEMENTS_OF(characters)];
        size_t number = i / ELEMENTS_OF(characters);
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20), want = BUF_INIT(4096);
        Str got, heading = STR_NULL;

        print_long(cases[number].n, character, cases[number].at, cases[number].width, &out);
        buf_printf(&want, "  1 | %s", cases[number].is_cut_before ? "…" : "");
        for (size_t k = 0; k < cases[number].shown; k++)
            buf_append(&want, str_from_c(character));
        buf_printf(&want, "%s\n    | ", cases[number].is_cut_behind ? "…" : "");
        buf_append_repeat(&want, ' ', cases[number].spaces);
        buf_append_repeat(&want, '^', cases[number].carets);
        buf_append_char(&want, '\n');
        got = buf_str(&out);
        (void)str_split(&got, '\n', &heading);
        if (!str_eq(got, buf_str(&want)))
            print_error("case %zu of %s:\n%.*s", number, character, STR_FMT(got));
        assert_true(str_eq(got, buf_str(&want)));
    }
}

/* An escape is never cut, and counts with its printed width. */
static void test_long_line_of_escapes(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
    Str rest, heading = STR_NULL, source = STR_NULL, carets = STR_NULL;

    (void)state;
    print_long(1000, "\a", 500, 2, &out);
    rest = buf_str(&out);
    assert_true(str_split(&rest, '\n', &heading) && str_split(&rest, '\n', &source) &&
                str_split(&rest, '\n', &carets));
    assert_int_equal(source.len, strlen("  1 | ……") + 160);
    assert_true(str_has_prefix(source, STR("  1 | …\\x07\\x07")));
    assert_true(str_has_suffix(source, STR("\\x07\\x07…")));
    assert_int_equal(carets.len, strlen("  1 | ") + 1 + 60 + 8);
    assert_true(str_has_suffix(carets, STR(" ^^^^^^^^")));
}

static void test_terminal_is_safe(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\033[2Jb", "error: a\\x1b[2Jb\n"},
        {"two\nlines", "error: two\\x0alines\n"},
        {"\xc2\x9b"
         "31m",
            "error: \\u009b31m\n"},
        {"\xe2\x80\xaeright to left", "error: \\u202eright to left\n"},
        {"half \xe2\x80", "error: half \\xe2\\x80\n"},
        {"\x9b raw", "error: \\x9b raw\n"},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", "error: caf\xc3\xa9 \xf0\x9f\x98\x80\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(4096);
        Diag diag = {.text = str_from_c(cases[i].text)};

        diag_print(&diag, /* colour= */ false, &out);
        assert_text(cases[i].want, buf_str(&out), cases[i].want);
    }
}

static void test_colour(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);
    Diag diag = {.place = {STR("f"), 1, 1, 1}, .source = STR("x"), .text = STR("t")};

    (void)state;
    diag_print(&diag, /* colour= */ true, &out);
    assert_text("colour", buf_str(&out),
        "f:1:1: \033[1;31merror:\033[0m t\n  1 | x\n    | \033[1;32m^\033[0m\n");
}

static void test_closing_line(void **state) {
    static const struct {
        size_t n_errors, n_warnings;
        const char *want;
    } cases[] = {
        {1, 0, "1 error\n"},
        {2, 1, "2 errors, 1 warning\n"},
        {0, 2, "0 errors, 2 warnings\n"},
        {DIAG_MAX + 5, 0, "(5 more not shown)\n205 errors\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf out = BUF_INIT((size_t)1 << 20);
        DiagList list = DIAG_LIST_IN(arena);

        for (size_t k = 0; k < cases[i].n_errors; k++)
            diag_addf(&list, DIAG_ERROR, (Place){0}, STR_NULL, "number %zu", k);
        for (size_t k = 0; k < cases[i].n_warnings; k++)
            diag_addf(&list, DIAG_WARNING, (Place){0}, STR_NULL, "number %zu", k);
        diag_list_print(&list, /* colour= */ false, &out);
        assert_true(list.diags.n <= DIAG_MAX);
        assert_case(cases[i].want, str_has_suffix(buf_str(&out), str_from_c(cases[i].want)));
    }
}

/* By line, then column; diagnostics of one place keep their order; those added earlier stay in
 * front. */
static void test_sorting(void **state) {
    static const struct {
        size_t line, column;
    } places[] = {{9, 9}, {3, 1}, {2, 7}, {2, 3}, {0, 0}, {2, 7}, {3, 1}};
    static const size_t order[] = {0, 4, 3, 2, 5, 1, 6};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    DiagList list = DIAG_LIST_IN(arena);

    (void)state;
    diag_list_sort(&list, 0);
    for (size_t i = 0; i < ELEMENTS_OF(places); i++)
        diag_addf(&list, DIAG_ERROR, (Place){.line = places[i].line, .column = places[i].column},
            STR_NULL, "%zu", i);
    diag_list_sort(&list, 1);
    for (size_t i = 0; i < ELEMENTS_OF(order); i++) {
        char want[8];

        (void)snprintf(want, sizeof(want), "%zu", order[i]);
        assert_text("order", list.diags.items[i].text, want);
    }
}

/* Several files: a late diagnostic is sorted into its own file. */
static void test_sorting_files(void **state) {
    static const struct {
        const char *file;
        size_t line;
    } places[] = {{"a", 2}, {"a", 8}, {"b", 1}, {"b", 5}, {"c", 3}, {"a", 4}, {"b", 9}, {"d", 1}};
    static const size_t order[] = {0, 5, 1, 2, 3, 6, 4, 7};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    DiagList list = DIAG_LIST_IN(arena);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(places); i++)
        diag_addf(&list, DIAG_WARNING,
            (Place){.file = str_from_c(places[i].file), .line = places[i].line}, STR_NULL, "%zu",
            i);
    diag_list_sort(&list, 0);
    for (size_t i = 0; i < ELEMENTS_OF(order); i++) {
        char want[8];

        (void)snprintf(want, sizeof(want), "%zu", order[i]);
        assert_text("order", list.diags.items[i].text, want);
    }
}

static void test_empty_list_is_silent(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    DiagList list = {0};

    (void)state;
    diag_list_print(&list, /* colour= */ false, &out);
    assert_int_equal(out.len, 0);
}

static void test_out_of_memory_still_counts(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(2048);
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);
    DiagList list = DIAG_LIST_IN(arena);

    (void)state;
    for (int i = 0; i < 100; i++)
        diag_add(&list, DIAG_ERROR, (Place){.line = 1}, STR(SOURCE), STR("text"), STR("hint"));
    assert_int_equal(list.n_errors, 100);
    diag_list_print(&list, /* colour= */ false, &out);
    assert_true(str_has_suffix(buf_str(&out), STR("100 errors\n")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rendering),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_long_line_of_escapes),
        cmocka_unit_test(test_terminal_is_safe),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_closing_line),
        cmocka_unit_test(test_sorting),
        cmocka_unit_test(test_sorting_files),
        cmocka_unit_test(test_empty_list_is_silent),
        cmocka_unit_test(test_out_of_memory_still_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
