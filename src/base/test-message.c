#include "base/message.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

/* Text from outside stays on one line; text that does not fit is cut between characters. */
static void test_messages(void **state) {
    static const struct {
        const char *text, *want;
        size_t size;
    } cases[] = {
        {"plain", "plain", 64},
        {"one\ntwo\x1b[31m", "one\\x0atwo\\x1b[31m", 64},
        {"plain", "plai", 5},
        {"plain", "", 1},
        {"größe", "größe", 8},
        {"größe", "grö", 5},
        {"größe", "gr", 4}, /* and not half of an ö */
        {"a\nb", "a\\x0", 5},
        {"", "", 64},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char text[64] = "before";

        message_set(text, cases[i].size, "%s", cases[i].text);
        assert_text(cases[i].text, str_from_c(text), cases[i].want);
    }
}

static void test_fail(void **state) {
    char error[MESSAGE_MAX];

    (void)state;
    assert_int_equal(message_fail(-EINVAL, error, "%d of %s", 3, "\a"), -EINVAL);
    assert_string_equal(error, "3 of \\x07");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
