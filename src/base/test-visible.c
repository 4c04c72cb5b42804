#include "base/visible.h"

#include "base/test-assert.h"
#include "base/utf8.h"

typedef struct VisibleCase {
    Str text;
    const char *shown;
    size_t width;
} VisibleCase;

static const VisibleCase cases[] = {
    {STR(""), "", 0}, {STR("node-1"), "node-1", 6},
    {STR("caf\xc3\xa9 \xf0\x9f\x9a\xa2"), "caf\xc3\xa9 \xf0\x9f\x9a\xa2", 6},
    {STR("a\tb"), "a b", 3}, {STR("a\nb"), "a\\x0ab", 6}, {STR("\033[2J"), "\\x1b[2J", 7},
    {STR("a\0b"), "a\\x00b", 6}, {STR("\x7f"), "\\x7f", 4},
    {STR("\xc2\x9b"), "\\u009b", 6},       /* C1: a control sequence in one character */
    {STR("a\xe2\x80\xae"), "a\\u202e", 7}, /* right-to-left override */
    {STR("\xef\xbb\xbf"
         "a"),
        "\\ufeffa", 7}, /* a byte order mark */
    {STR("\xff"
         "a\xc3"),
        "\\xffa\\xc3", 9}, /* not UTF-8 */
};

static void test_append(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const VisibleCase *c = &cases[i];

        buf_reset(&out);
        assert_case(c->shown, visible_append(&out, c->text) == c->width);
        assert_text(c->shown, buf_str(&out), c->shown);
        assert_case(c->shown, visible_width(c->text) == c->width);
    }
}

/* As much as fits, never half an escape or half a character. */
static void test_take(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const VisibleCase *c = &cases[i];

        assert_case(c->shown, visible_take(c->text, c->width).len == c->text.len);
        for (size_t width = 0; width < c->width; width++) {
            Str front = visible_take(c->text, width);
            uint32_t next;
            size_t n = utf8_decode(str_skip(c->text, front.len), &next);
            Str more = str_take(c->text, front.len + (n > 0 ? n : 1));

            assert_case(c->shown, visible_width(front) <= width);
            assert_case(c->shown, visible_width(more) > width);
        }
    }
}

static void test_padded(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);

    (void)state;
    visible_append_padded(&out, STR("\xc3\xa9"), 3);
    visible_append_padded(&out, STR("abc"), 3);
    visible_append_padded(&out, STR("abcd"), 3);
    assert_text("padded", buf_str(&out), "\xc3\xa9  abcabcd");
}

static void test_print_escapes_arguments_only(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(256);

    visible_print(&out, "{}/{}:\n {}.", STR("a"), STR("b\n"), STR("{}"));
    assert_int_equal(buf_error(&out), 0);
    assert_true(str_is(buf_str(&out), "a/b\\x0a:\n {}."));
    (void)state;
}

static void test_words_are_wrapped_and_escaped(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(256);

    (void)state;
    assert_int_equal(visible_append_words(&out, STR("one  two \xc3\xa9\x1b three"), 4, 2, 12), 7);
    assert_text("words", buf_str(&out), "one two\n  \xc3\xa9\\x1b\n  three");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_escapes_arguments_only),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_padded),
        cmocka_unit_test(test_words_are_wrapped_and_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
