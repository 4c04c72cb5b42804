#include "yaml/yaml-internal.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

/* The first matching row is used, so special rows come before general ones. */
static void test_explain(void **state) {
    static const struct {
        const char *message, *text;
        bool has_hint;
    } cases[] = {
        {"tab character may not indent", "a tab cannot indent a line", true},
        {"wrongly indented double-quoted scalar", "the closing \" is missing", true},
        {"wrongly indented single-quoted scalar", "the closing ' is missing", true},
        {"wrongly indented flow mapping", "wrong indentation", true},
        {"missing comma in flow sequence", "a comma is missing before this", false},
        {"missing document start", "expected the end of the document", true},
        {"something new", "something new", false}, /* libfyaml's message */
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        SyntaxError error = syntax_explain(str_from_c(cases[i].message));

        assert_text(cases[i].message, error.text, cases[i].text);
        assert_case(cases[i].message, !str_is_empty(error.hint) == cases[i].has_hint);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_explain)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
