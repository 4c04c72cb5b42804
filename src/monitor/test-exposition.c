#include "monitor/metrics-internal.h"

#include "base/test-assert.h"

#define PAGE_MAX 4096u

/* Characters that would end a label's value or its line must be escaped. */
static void test_escapes_label_values(void **state) {
    static const struct {
        Str text;
        const char *want;
    } cases[] = {
        {STR(""), ""},
        {STR("plain, {a=b}"), "plain, {a=b}"},
        {STR("\"x\""), "\\\"x\\\""},
        {STR("a\\b"), "a\\\\b"},
        {STR("a\nb"), "a\\nb"},
        {STR("\\\n\"\xc3\xa4"), "\\\\\\n\\\"\xc3\xa4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(PAGE_MAX);

        exposition_value(&out, cases[i].text);
        assert_text(cases[i].want, buf_str(&out), cases[i].want);
    }
}

static void test_writes_samples(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(PAGE_MAX);

    (void)state;
    exposition_count(&out, "a_total", "So many.", UINT64_MAX);
    exposition_gauge(&out, "b", "So much.", 0.1);
    assert_text("page", buf_str(&out),
        "# HELP a_total So many.\n# TYPE a_total counter\na_total 18446744073709551615\n"
        "# HELP b So much.\n# TYPE b gauge\nb 0.10000000000000001\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes_label_values),
        cmocka_unit_test(test_writes_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
