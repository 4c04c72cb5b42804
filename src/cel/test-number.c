#include "cel/number.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_int(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+5", 5},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    static const char *const wrong[] = {"", "+", "-", " 1", "1 ", "0x10", "1_0", "1.0", "1e3",
        "--1", "+-1", "9223372036854775808", "-9223372036854775809", "99999999999999999999999"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        int64_t got = 42;

        assert_case(cases[i].text, cel_number_int(str_from_c(cases[i].text), &got));
        assert_case(cases[i].text, got == cases[i].value);
    }
    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++) {
        int64_t got = 42;

        assert_case(wrong[i], !cel_number_int(str_from_c(wrong[i]), &got) && got == 42);
    }
}

static void test_uint(void **state) {
    static const char *const wrong[] = {"", "+5", "-0", "1u", " 1", "18446744073709551616"};
    uint64_t got = 42;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++)
        assert_case(wrong[i], !cel_number_uint(str_from_c(wrong[i]), &got) && got == 42);
    assert_true(cel_number_uint(STR("18446744073709551615"), &got) && got == UINT64_MAX);
    assert_true(cel_number_uint(STR("00"), &got) && got == 0);
}

static void test_double(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1.5", 1.5},
        {"-5.43e-21", -5.43e-21},
        {"inf", INFINITY},
        {"+Infinity", INFINITY},
        {"-iNf", -INFINITY},
        {"1_000", 1000},
        {"1_0.2_5e1_0", 10.25e10},
        {"0x1_0p3", 128},
        {"0x_1p3", 8},
        {"1e-400", 0},
    };
    static const char *const wrong[] = {"", "1e400", "-1e400", "-nan", "+nan", "infinit", "_1",
        "1_", "1__0", "1_.0", "1._0", "1_e5", "1e_5", "0_x1p3", " 1", "1d", "_inf", "i_nf"};
    double got = 42;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++)
        assert_case(wrong[i], !cel_number_double(str_from_c(wrong[i]), &got) && got == 42);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_case(cases[i].text, cel_number_double(str_from_c(cases[i].text), &got));
        assert_case(cases[i].text, got == cases[i].value);
    }
    assert_true(cel_number_double(STR("nAn"), &got) && isnan(got));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_uint),
        cmocka_unit_test(test_double),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
