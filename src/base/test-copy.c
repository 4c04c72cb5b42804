#include "base/copy.h"

#include "base/test-assert.h"

/* Every length around the borders of its ranges, and not a byte more. */
static void test_lengths(void **state) {
    char from[200], to[200];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i + 1);
    for (size_t len = 0; len < sizeof(from); len++) {
        memset(to, 0, sizeof(to));
        copy_short(to, from, len);
        assert_memory_equal(to, from, len);
        for (size_t i = len; i < sizeof(to); i++)
            assert_int_equal(to[i], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
