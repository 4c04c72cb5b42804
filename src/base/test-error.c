#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "base/test-assert.h"

static int inner(void) {
    return error_origin(-ENOMEM);
}

static int outer(void) {
    return error_trace(inner());
}

static int surprised(void) {
    return error_fold(7);
}

static void test_silence(void **state) {
    char text[64] = "before";

    (void)state;
    error_describe(text, sizeof(text));
    assert_string_equal(text, "");
}

static void test_trace(void **state) {
    char text[512];
    const char *first, *second;

    (void)state;
    assert_int_equal(outer(), -ENOMEM);
    error_describe(text, sizeof(text));
    assert_int_equal(strncmp(text, "Cannot allocate memory; ", 24), 0);
    first = strstr(text, " inner");
    second = strstr(text, " outer");
    assert_true(first && second && first < second);
    assert_non_null(strstr(text, "test-error.c:"));
}

static void test_success_leaves_no_trace(void **state) {
    char before[512], after[512];

    (void)state;
    (void)outer();
    error_describe(before, sizeof(before));
    assert_int_equal(error_trace(0), 0);
    assert_int_equal(error_trace(3), 3);
    assert_int_equal(error_fold(0), 0);
    error_describe(after, sizeof(after));
    assert_string_equal(before, after);
}

static void test_fold(void **state) {
    char text[512];

    (void)state;
    assert_int_equal(error_fold(-EIO), -EIO);
    assert_int_equal(surprised(), -ENOTRECOVERABLE);
    error_describe(text, sizeof(text));
    assert_non_null(strstr(text, "surprised"));
    assert_null(strstr(text, "inner")); /* a new trace, not the rest of the last */
}

static void test_cut_to_fit(void **state) {
    char whole[2048], text[2048];

    (void)state;
    (void)outer();
    for (int i = 0; i < 50; i++) /* more places than are kept */
        (void)error_trace(-ENOMEM);
    error_describe(whole, sizeof(whole));
    for (size_t size = 1; size <= strlen(whole) + 1; size++) {
        memset(text, 'x', sizeof(text));
        error_describe(text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, whole, size - 1);
        assert_int_equal(text[size], 'x');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence), /* first: nothing has failed yet */
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_success_leaves_no_trace),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_cut_to_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
