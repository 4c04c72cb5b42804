#include "base/base64.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

/* RFC 4648, section 10, and the smallest and largest bytes. */
static void test_encodes_and_decodes(void **state) {
    static const struct {
        Str bytes;
        const char *text;
    } cases[] = {
        {STR(""), ""},
        {STR("f"), "Zg=="},
        {STR("fo"), "Zm8="},
        {STR("foo"), "Zm9v"},
        {STR("foob"), "Zm9vYg=="},
        {STR("fooba"), "Zm9vYmE="},
        {STR("foobar"), "Zm9vYmFy"},
        {STR("\0\0\0"), "AAAA"},
        {STR("\xff\xff\xff"), "////"},
        {STR("\xfb\xef\xbe"), "++++"},
        {STR("\0"), "AA=="},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(64), bytes = BUF_INIT(64);

        base64_encode(cases[i].bytes, &text);
        assert_text(cases[i].text, buf_str(&text), cases[i].text);
        assert_case(cases[i].text, base64_decode(str_from_c(cases[i].text), &bytes));
        assert_case(cases[i].text, str_eq(buf_str(&bytes), cases[i].bytes));
    }
}

/* Every triple of bytes that differs in one place, encoded and decoded. */
static void test_every_byte(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3 * 256; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(64), back = BUF_INIT(64);
        char bytes[3] = {'x', 'y', 'z'};

        bytes[i / 256] = (char)(i % 256);
        base64_encode(str_of(bytes, 3), &text);
        assert_true(base64_decode(buf_str(&text), &back));
        assert_true(str_eq(buf_str(&back), str_of(bytes, 3)));
    }
}

static void test_lines(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);

    (void)state;
    assert_true(base64_decode(STR("Zm\n9v\r\nYg=\n=\n"), &out));
    assert_text("broken lines", buf_str(&out), "foob");
}

static void test_rejects_malformed_text(void **state) {
    static const struct {
        const char *name;
        Str text;
    } cases[] = {
        {"one letter", STR("Z")},
        {"two letters, no padding", STR("Zg")},
        {"three letters, no padding", STR("Zm8")},
        {"padding is short", STR("Zg=")},
        {"padding alone", STR("====")},
        {"padding too early", STR("Z===")},
        {"padding in the middle", STR("Zg==Zg==")},
        {"a letter after padding", STR("Zg=A")},
        {"too much padding", STR("Zm9v=")},
        {"bits under padding", STR("Zh==")},
        {"bits under one pad", STR("Zm9=")},
        {"a blank", STR("Zm 9v")},
        {"the URL alphabet", STR("--__")},
        {"a NUL", STR("Zm9v\0\0\0\0")},
        {"a high byte", STR("Zm9\xc3")},
        {"PEM as it is", STR("-----BEGIN CERTIFICATE-----")},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);

        assert_case(cases[i].name, !base64_decode(cases[i].text, &out));
    }
}

static void test_loose(void **state) {
    static const struct {
        const char *text, *bytes; /* NULL: error */
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zg", "f"},
        {"Zm8", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg", "foob"},
        {"Zh", "f"},
        {"Zh==", "f"},
        {"Zm\n9vY\r\ng\n", "foob"},
        {"Z", NULL},
        {"Zm9vY", NULL},
        {"Zg=", NULL},
        {"Zg===", NULL},
        {"Zg==Zg", NULL},
        {"=", NULL},
        {"Zm9v=", NULL},
        {"--__", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);
        bool ok = base64_decode_loose(str_from_c(cases[i].text), &out);

        assert_case(cases[i].text, ok == (cases[i].bytes != NULL));
        if (cases[i].bytes)
            assert_text(cases[i].text, buf_str(&out), cases[i].bytes);
    }
}

static void test_ceiling(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(4);

    (void)state;
    assert_true(base64_decode(STR("Zm9vYmFy"), &out));
    assert_int_not_equal(buf_error(&out), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodes_and_decodes),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_rejects_malformed_text),
        cmocka_unit_test(test_loose),
        cmocka_unit_test(test_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
