#include "base/ascii.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/test-assert.h"

/* Every byte, against libc in the C locale. */
static void test_every_byte(void **state) {
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte, digits[] = {c, '\0'};

        assert_int_equal(ascii_is_digit(c), isdigit(byte) != 0);
        assert_int_equal(ascii_is_lower(c), islower(byte) != 0);
        assert_int_equal(ascii_is_letter(c), isalpha(byte) != 0);
        assert_int_equal(ascii_is_alnum(c), isalnum(byte) != 0);
        assert_int_equal((unsigned char)ascii_lower(c), tolower(byte));
        assert_int_equal(ascii_hex_value(c), isxdigit(byte) ? (int)strtol(digits, NULL, 16) : -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_byte)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
