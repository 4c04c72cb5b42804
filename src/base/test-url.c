#include "base/cleanup.h"
#include "base/test-assert.h"
#include "base/url.h"

static void test_escaping(void **state) {
    static const struct {
        Str text;
        const char *want;
    } cases[] = {
        {STR("node-1.a_b~Z09"), "node-1.a_b~Z09"},
        {STR("a/../b?c=d&e#f"), "a%2F..%2Fb%3Fc%3Dd%26e%23f"},
        {STR("eyJ2Ij==+/"), "eyJ2Ij%3D%3D%2B%2F"},
        {STR("\0\r\n \xff"), "%00%0D%0A%20%FF"},
        {STR(""), ""},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);

        url_escape(&out, cases[i].text);
        assert_non_null(url_text(&out));
        assert_string_equal(url_text(&out), cases[i].want);
    }
}

static void test_escaping_ends_at_the_ceiling(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(4);

    url_escape(&out, STR("///"));
    assert_null(url_text(&out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_escaping_ends_at_the_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
