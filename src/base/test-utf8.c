#include "base/utf8.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static bool is_code_point(uint32_t c) {
    return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

static void test_every_code_point(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char bytes[4];
        uint32_t decoded;
        size_t n;

        if (!is_code_point(c))
            continue;
        n = utf8_encode(c, bytes);
        assert_int_equal(utf8_decode(str_of(bytes, n), &decoded), n);
        assert_int_equal(decoded, c);
        for (size_t cut = 1; cut < n; cut++)
            assert_int_equal(utf8_decode(str_of(bytes, cut), &decoded), 0);
    }
}

/* All two-byte strings against the definition; longer ones by example below. */
static void test_every_pair(void **state) {
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        char bytes[2] = {(char)(i >> 8), (char)i};
        unsigned lead = i >> 8, next = i & 0xff;
        bool is_two = lead >= 0xc2 && lead <= 0xdf && next >= 0x80 && next <= 0xbf;
        uint32_t c;

        assert_int_equal(utf8_decode(str_of(bytes, 2), &c), lead < 0x80 ? 1 : is_two ? 2 : 0);
    }
}

static void test_invalid(void **state) {
    static const struct {
        const char *name, *bytes;
    } cases[] = {
        {"overlong slash", "\xc0\xaf"},
        {"overlong of three", "\xe0\x80\xaf"},
        {"overlong of three, highest", "\xe0\x9f\xbf"},
        {"overlong of four", "\xf0\x8f\xbf\xbf"},
        {"first surrogate", "\xed\xa0\x80"},
        {"last surrogate", "\xed\xbf\xbf"},
        {"above U+10FFFF", "\xf4\x90\x80\x80"},
        {"lead f5", "\xf5\x80\x80\x80"},
        {"lead ff", "\xff"},
        {"continuation alone", "\x80"},
        {"third byte missing", "\xe2\x82x"},
        {"fourth byte missing", "\xf0\x9f\x98x"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        uint32_t c;

        assert_case(cases[i].name, utf8_decode(str_from_c(cases[i].bytes), &c) == 0);
        assert_case(cases[i].name, utf8_valid_length(str_from_c(cases[i].bytes)) == 0);
    }
}

static void test_valid_length(void **state) {
    (void)state;
    assert_int_equal(utf8_valid_length(STR_NULL), 0);
    assert_int_equal(utf8_valid_length(STR("h\xc3\xa9llo")), 6);
    assert_int_equal(utf8_valid_length(STR("h\xc3\xa9\xff!")), 3);
    assert_int_equal(utf8_valid_length(STR("a\0b")), 3);
}

static void test_unsafe(void **state) {
    static const uint32_t unsafe[] = {0, '\n', 0x1b, 0x7f, 0x85, 0x9b, 0x61c, 0x200e, 0x200f,
        0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff};
    static const uint32_t safe[] = {' ', '~', 0xa0, 0xe9, 0x200d, 0x2026, 0xfffd, 0x1f600};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(unsafe); i++)
        assert_true(utf8_is_unsafe(unsafe[i]));
    for (size_t i = 0; i < ELEMENTS_OF(safe); i++)
        assert_false(utf8_is_unsafe(safe[i]));
}

static void test_append_valid(void **state) {
    static const struct {
        Str bytes;
        const char *want;
    } cases[] = {
        {STR(""), ""},
        {STR("a\xc3\xa9"), "a\xc3\xa9"},
        {STR("\xff"), "\xef\xbf\xbd"},
        {STR("a\xc3"
             "b"),
            "a\xef\xbf\xbd"
            "b"},
        {STR("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);

        utf8_append_valid(&out, cases[i].bytes);
        assert_text("bytes", buf_str(&out), cases[i].want);
    }
}

/* At any length the result is whole characters. */
static void test_take(void **state) {
    static const Str text = STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};

    (void)state;
    for (size_t max = 0; max < ELEMENTS_OF(want); max++) {
        assert_int_equal(utf8_take(text, max).len, want[max]);
        assert_int_equal(utf8_valid_length(utf8_take(text, max)), want[max]);
    }
    assert_int_equal(utf8_take(STR("\x80\x80\x80"), 2).len, 0);          /* no character begins */
    assert_int_equal(utf8_take(STR("x\x80\x80\x80\x80\x80"), 5).len, 2); /* stray bytes */
    assert_int_equal(utf8_take(STR_NULL, 2).len, 0);
}

static void test_count(void **state) {
    (void)state;
    assert_int_equal(utf8_count(STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z")), 5);
    assert_int_equal(utf8_count(STR("\x80\xff\xff")), 2); /* also text that is not UTF-8 */
    assert_int_equal(utf8_count(STR_NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_every_pair),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_valid_length),
        cmocka_unit_test(test_unsafe),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_append_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
