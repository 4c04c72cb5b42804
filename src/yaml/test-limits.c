/* Tests texts over the limits: depth, size, aliases, long lines, many errors. Each takes time
 * linear in its length; otherwise the test would time out. */

#include <errno.h>

#include "base/cleanup.h"
#include "yaml/test-yaml.h"

/* Checks the first error in @source, and frees @source. */
static void assert_refused(Buf *source, const char *text, size_t line, size_t column) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    YamlStream stream;
    DiagList diags;

    assert_int_equal(buf_error(source), 0);
    assert_int_equal(parse(buf_str(source), arena, &diags, &stream), -EINVAL);
    assert_true(diags.diags.n > 0);
    assert_true(str_is(diags.diags.items[0].text, text));
    assert_int_equal(diags.diags.items[0].place.line, line);
    assert_int_equal(diags.diags.items[0].place.column, column);
    buf_done(source);
}

static void append_times(Buf *out, Str text, size_t times) {
    for (size_t i = 0; i < times; i++)
        buf_append(out, text);
}

static void test_depth(void **state) {
    static const struct {
        Str open, close;
        size_t step; /* columns per level */
        size_t times;
    } cases[] = {
        {STR("["), STR("]"), 1, 10000},
        {STR("{\"a\": "), STR("}"), 6, 10000},
        {STR("{a: "), STR("}"), 4, 200},
        {STR("[{a: "), STR("}]"), 0, 200},
        {STR("- "), STR(""), 2, 10000},
        {STR("? "), STR(""), 2, 10000},
        {STR("["), STR(""), 1, 10000},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Buf source = BUF_INIT(YAML_SOURCE_MAX);
        size_t column = cases[i].step ? YAML_DEPTH_MAX * cases[i].step + 1 : 32 * 5 + 1;

        append_times(&source, cases[i].open, cases[i].times);
        buf_append(&source, STR("x"));
        append_times(&source, cases[i].close, cases[i].times);
        assert_refused(&source, "nested deeper than 64 levels", 1, column);
    }
}

/* One key per line, each indented by one more space. */
static void test_depth_of_lines(void **state) {
    Buf source = BUF_INIT(YAML_SOURCE_MAX);

    for (size_t i = 0; i < 2000; i++) {
        buf_append_repeat(&source, ' ', i);
        buf_append(&source, STR("a:\n"));
    }
    assert_refused(&source, "nested deeper than 64 levels", 65, 65);
}

static void test_depth_allowed(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    _cleanup_(buf_done) Buf source = BUF_INIT(YAML_SOURCE_MAX);
    YamlStream stream = {0};
    DiagList diags;

    append_times(&source, STR("["), YAML_DEPTH_MAX);
    append_times(&source, STR("]"), YAML_DEPTH_MAX);
    assert_int_equal(parse(buf_str(&source), arena, &diags, &stream), 0);
}

static void test_alias_bomb(void **state) {
    Buf source = BUF_INIT(YAML_SOURCE_MAX);

    buf_append(&source, STR("a0: &a0 [x, x, x, x, x, x, x, x, x]\n"));
    for (int i = 1; i < 64; i++) {
        buf_printf(&source, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_printf(&source, "*a%d, ", i - 1);
        buf_append(&source, STR("]\n"));
    }
    assert_refused(&source, "alias \"*a0\" is not supported", 2, 10);
}

static void test_size(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    Buf source = BUF_INIT(2 * YAML_SOURCE_MAX);
    YamlStream stream = {0};
    DiagList diags;

    buf_append_repeat(&source, '#', YAML_SOURCE_MAX);
    assert_int_equal(parse(buf_str(&source), arena, &diags, &stream), 0);
    buf_append_char(&source, '#');
    assert_refused(&source, "4194305 bytes; at most 4194304 are read", 0, 0);
}

/* Reading stops when the list of errors is full. */
static void test_many_errors(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    _cleanup_(buf_done) Buf source = BUF_INIT(YAML_SOURCE_MAX);
    YamlStream stream;
    DiagList diags;

    append_times(&source, STR("a: 1\n"), 10000);
    append_times(&source, STR("---\n]\n"), 10000);
    assert_int_equal(parse(buf_str(&source), arena, &diags, &stream), -EINVAL);
    assert_int_equal(diags.diags.n, DIAG_MAX);
    assert_int_equal(diags.n_errors, DIAG_MAX);
}

/* One line of megabytes is read in linear time, and no message copies it. */
static void test_long_line(void **state) {
    Buf source = BUF_INIT(YAML_SOURCE_MAX);

    buf_append(&source, STR("a: ["));
    append_times(&source, STR("*a ,"), 1000000);
    buf_append_char(&source, ']');
    assert_refused(&source, "alias \"*a\" is not supported", 1, 5);
}

/* libfyaml would hold all tokens of these texts before it returns the first event. */
static void test_held_tokens(void **state) {
    static const struct {
        Str begin, repeated;
        size_t column;
    } cases[] = {
        {STR("- ["), STR("a,"), 3},
        {STR("["), STR("a,"), 1},
        {STR("- {"), STR("a: b, "), 3},
        {STR("["), STR("*a,"), 1},
        {STR("{"), STR(":,"), 1},
        {STR("a: [["), STR("\"\","), 5},
        {STR("- ["), STR("- "), 3},
        {STR("- ["), STR("? "), 3},
        {STR(""), STR("!!a "), 1},
        {STR(""), STR("&a "), 1},
        {STR(""), STR("%A\n"), 1},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Buf source = BUF_INIT(YAML_SOURCE_MAX);

        buf_append(&source, cases[i].begin);
        append_times(&source, cases[i].repeated, 100000);
        assert_refused(&source, "too many brackets, commas and colons in one value to read", 1,
            cases[i].column);
    }
}

/* The same number of entries is fine if they are read one by one. */
static void test_many_entries(void **state) {
    static const struct {
        Str begin, repeated, end;
    } cases[] = {
        {STR("[0"), STR(", \"a\""), STR("]")},
        {STR("[0"), STR(",{\"name\": \"a\", \"expression\": \"node.ready\"}"), STR("]")},
        {STR("# begin\n---\n[0\n"), STR(",\n{\"name\": \"a\"}"), STR("]\n# end\n")},
        {STR("a: ["), STR("a,"), STR("]")},
        {STR(""), STR("- {name: a, expression: \"node.ready\"}\n"), STR("")},
        {STR(""), STR("- a\n"), STR("")},
        {STR("a: |\n"), STR("  node.labels[\"a\"] == 1 && pod.spec.priority > 3 ||\n"), STR("")},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        _cleanup_(buf_done) Buf source = BUF_INIT(YAML_SOURCE_MAX);
        YamlStream stream;
        DiagList diags;

        buf_append(&source, cases[i].begin);
        append_times(&source, cases[i].repeated, 50000);
        buf_append(&source, cases[i].end);
        assert_int_equal(parse(buf_str(&source), arena, &diags, &stream), 0);
        assert_int_equal(stream.n_documents, 1);
    }
}

/* libfyaml would need minutes for this. */
static void test_long_directive(void **state) {
    Buf source = BUF_INIT(YAML_SOURCE_MAX);

    buf_append(&source, STR("a: b\n"));
    buf_append_repeat(&source, '%', 1000000);
    assert_refused(&source, "a line that begins with % may have 128 bytes", 2, 1);
}

static void test_long_key(void **state) {
    Buf source = BUF_INIT(YAML_SOURCE_MAX);

    for (int i = 0; i < 2; i++) {
        buf_append(&source, STR("? "));
        append_times(&source, STR("é"), 40);
        buf_append(&source, STR("\n"));
    }
    assert_refused(&source, "duplicate key \"éééééééééééééééééééééééééééééééé…\"", 2, 3);
}

static void test_out_of_memory(void **state) {
    static const Str source = STR("a: [1, {b: c}]\nd: |\n  x\ne: \"f\"\n");
    YamlStream stream;
    DiagList diags;
    int r = -ENOMEM;

    /* With a budget that is too small, the result is always -ENOMEM. */
    for (size_t budget = 16; r == -ENOMEM; budget += 16) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        _cleanup_(arena_freep) Arena *texts = arena_new(ARENA_SIZE);

        assert_non_null(arena);
        assert_true(budget < 65536);
        diags = DIAG_LIST_IN(texts);
        r = yaml_parse(STR("f"), source, arena, &diags, &stream);
    }
    assert_int_equal(r, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_of_lines),
        cmocka_unit_test(test_depth_allowed),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_many_errors),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_long_directive),
        cmocka_unit_test(test_long_key),
        cmocka_unit_test(test_held_tokens),
        cmocka_unit_test(test_many_entries),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
