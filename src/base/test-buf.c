#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/test-assert.h"

static void test_appends(void **state) {
    _cleanup_(buf_done) Buf buf = BUF_INIT(1000);

    (void)state;
    buf_append(&buf, STR_NULL);
    assert_null(buf.data);
    buf_append(&buf, STR("a\0b"));
    assert_int_equal(buf.len, 3);
    buf_reset(&buf);
    buf_append_int(&buf, 0);
    buf_append_char(&buf, ' ');
    buf_append_int(&buf, INT64_MIN);
    buf_append_char(&buf, ' ');
    buf_append_int(&buf, INT64_MAX);
    buf_printf(&buf, " %s %d", "x", -1);
    buf_printf(&buf, "%s", "");
    buf_append_repeat(&buf, '-', 3);
    buf_append_repeat(&buf, '-', 0);
    assert_text("appends", buf_str(&buf), "0 -9223372036854775808 9223372036854775807 x -1---");
    assert_int_equal(buf_error(&buf), 0);
}

static void test_grows(void **state) {
    _cleanup_(buf_done) Buf buf = BUF_INIT((size_t)1 << 20);

    (void)state;
    for (int i = 0; i < 100000; i++)
        buf_append_char(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.len, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
}

/* Each way to append: up to the ceiling it works, one more byte fails. */
static void append_str(Buf *buf, size_t n) {
    static const char text[200];

    buf_append(buf, str_of(text, n));
}

static void append_format(Buf *buf, size_t n) {
    buf_printf(buf, "%*s", (int)n, "");
}

static void append_repeat(Buf *buf, size_t n) {
    buf_append_repeat(buf, 'x', n);
}

static void append_reserved(Buf *buf, size_t n) {
    char *at = buf_reserve(buf, n);

    if (at) {
        memset(at, 'x', n);
        buf_advance(buf, n);
    }
}

static void test_ceiling(void **state) {
    static const struct {
        const char *name;
        void (*append)(Buf *buf, size_t n);
    } ways[] = {
        {"append", append_str},
        {"printf", append_format},
        {"repeat", append_repeat},
        {"reserve", append_reserved},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(ways); i++) {
        _cleanup_(buf_done) Buf buf = BUF_INIT(100);

        ways[i].append(&buf, 60);
        ways[i].append(&buf, 40);
        assert_case(ways[i].name, buf_error(&buf) == 0 && buf.len == 100);
        ways[i].append(&buf, 1);
        assert_case(ways[i].name, buf_error(&buf) == -EFBIG && buf.len == 100);
    }
}

static void test_error_sticks(void **state) {
    _cleanup_(buf_done) Buf buf = BUF_INIT(10);

    (void)state;
    buf_append(&buf, STR("12345"));
    buf_append(&buf, STR("1234567"));
    assert_int_equal(buf_error(&buf), -EFBIG);
    buf_append(&buf, STR("x")); /* would fit, but follows an error */
    buf_append_int(&buf, 1);
    buf_printf(&buf, "x");
    buf_append_repeat(&buf, 'x', 1);
    assert_null(buf_reserve(&buf, 1));
    assert_text("nothing after the failure", buf_str(&buf), "12345");
    assert_null(buf_take(&buf));
    buf_reset(&buf);
    buf_append(&buf, STR("again"));
    assert_text("reset forgets", buf_str(&buf), "again");
    assert_int_equal(buf_error(&buf), 0);
}

static void test_grouped(void **state) {
    static const struct {
        uint64_t value;
        const char *want;
    } cases[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {4203, "4,203"},
        {123456, "123,456"},
        {1234567, "1,234,567"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf buf = BUF_INIT(64);

        buf_append_grouped(&buf, cases[i].value);
        assert_text(cases[i].want, buf_str(&buf), cases[i].want);
    }
}

static void test_take(void **state) {
    _cleanup_(buf_done) Buf buf = BUF_INIT(5);
    char *taken;

    (void)state;
    buf_append(&buf, STR("12345")); /* the NUL is not counted */
    taken = buf_take(&buf);
    assert_string_equal(taken, "12345");
    free(taken);
    assert_int_equal(buf.len, 0);
    taken = buf_take(&buf);
    assert_string_equal(taken, "");
    free(taken);
    buf_append(&buf, STR("more"));
    assert_text("usable after", buf_str(&buf), "more");
    buf_done(&buf);
    buf_append(&buf, STR("and"));
    assert_text("usable after done", buf_str(&buf), "and");
}

static void test_template_replaces_known_names_once(void **state) {
    static const BufValue values[] = {{STR("{a}"), STR("{b}")}, {STR("{b}"), STR("")}};
    _cleanup_(buf_done) Buf buf = BUF_INIT(64);

    (void)state;
    buf_append_template(&buf, STR("{a}, {b}x{c}{a"), values, ELEMENTS_OF(values));
    assert_text("template", buf_str(&buf), "{b}, x{c}{a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_error_sticks),
        cmocka_unit_test(test_grouped),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_template_replaces_known_names_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
