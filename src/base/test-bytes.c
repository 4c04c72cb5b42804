#include "base/bytes.h"

#include "base/test-assert.h"

/* Every length around the limits of its ranges; no byte beyond is read. */
static void test_copy(void **state) {
    char from[200], to[200];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i + 1);
    for (size_t len = 0; len < sizeof(from); len++) {
        memset(to, 0, sizeof(to));
        bytes_copy(to, from, len);
        assert_memory_equal(to, from, len);
        for (size_t i = len; i < sizeof(to); i++)
            assert_int_equal(to[i], 0);
    }
}

static void test_equal(void **state) {
    char a[100], b[100];

    (void)state;
    for (size_t i = 0; i < sizeof(a); i++)
        a[i] = b[i] = (char)i;
    for (size_t n = 0; n < sizeof(a); n++) {
        assert_true(bytes_equal(a, b, n));
        for (size_t i = 0; i < sizeof(a); i++) {
            b[i] ^= 1;
            assert_true(bytes_equal(a, b, n) == (i >= n));
            b[i] ^= 1;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
