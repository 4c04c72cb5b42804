#include "base/shell.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_words(void **state) {
    static const struct {
        const char *word, *want;
    } cases[] = {
        {"berth", "berth"},
        {"/etc/a-b_c.yaml", "/etc/a-b_c.yaml"},
        {"a=b,c@d:e%f+g", "a=b,c@d:e%f+g"},
        {"", "''"},
        {"my file", "'my file'"},
        {"$HOME", "'$HOME'"},
        {"it's", "'it'\\''s'"},
        {"policies.a\\.yaml", "'policies.a\\.yaml'"},
        {"~", "'~'"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(256);

        shell_word(&out, str_from_c(cases[i].word));
        assert_text(cases[i].word, buf_str(&out), cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
