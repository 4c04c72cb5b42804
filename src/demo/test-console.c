#include "demo/console.h"

#include "base/test-assert.h"

static void test_paragraph_wraps_at_the_column(void **state) {
    static const struct {
        const char *lead, *text, *shown;
    } cases[] = {
        {"", "", "\n"},
        {"=> ", "short", "=> short\n"},
        {"  ",
            "a text of which the last word does not fit into the first of the two lines that it "
            "needs here",
            "  a text of which the last word does not fit into the first of the two lines that it "
            "needs\n  here\n"},
        {"12345678",
            "µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµ "
            "µ",
            "12345678µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ µµµµµµµµµ "
            "µµµµµµµµµ µµµµ\n        µ\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Console console = CONSOLE_INIT(false, false);

        console_paragraph(&console, cases[i].lead, str_from_c(cases[i].text));
        assert_case(cases[i].shown, str_is(buf_str(&console.text), cases[i].shown));
        buf_done(&console.text);
    }
}

/* Styles only with colour; widths are the same with and without. */
static void test_styles_need_colour(void **state) {
    Console plain = CONSOLE_INIT(false, false), coloured = CONSOLE_INIT(false, true);

    (void)state;
    console_painted(&plain, STYLE_GOOD, 6, STR("node"));
    console_painted(&coloured, STYLE_GOOD, 6, STR("node"));
    assert_true(str_is(buf_str(&plain.text), "node  "));
    assert_true(str_is(buf_str(&coloured.text), "\033[32mnode\033[0m  "));
    buf_done(&plain.text);
    buf_done(&coloured.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paragraph_wraps_at_the_column),
        cmocka_unit_test(test_styles_need_colour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
