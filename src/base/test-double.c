#include "base/double.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_print(void **state) {
    static const struct {
        double d;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {100000, "100000"},
        {1e6, "1e+06"},
        {1234567, "1.234567e+06"},
        {123456789, "1.23456789e+08"},
        {999999.5, "999999.5"},
        {1e20, "1e+20"},
        {1e21, "1e+21"},
        {1e100, "1e+100"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {1e-7, "1e-07"},
        {0.1 + 0.2, "0.30000000000000004"},
        {0.3, "0.3"},
        {-4.5e-3, "-0.0045"},
        {123.456, "123.456"},
        {9007199254740991.0, "9.007199254740991e+15"},
        {9007199254740993.0, "9.007199254740992e+15"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1.5e-323, "1.5e-323"},
        {0x1p-44, "5.684341886080802e-14"}, /* the nearest 16 digits belong to another double */
        {9.5367431640625e-07, "9.5367431640625e-07"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {NAN, "NaN"},
        {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char text[DOUBLE_TEXT_MAX];

        assert_text(cases[i].text, str_of(text, double_print(cases[i].d, text)), cases[i].text);
    }
}

static void test_parse(void **state) {
    static const struct {
        const char *text;
        double d;
    } cases[] = {
        {"0", 0},
        {"-0.0", -0.0},
        {"+1", 1},
        {".5", 0.5},
        {"5.", 5},
        {"1e5", 1e5},
        {"1E+5", 1e5},
        {"12.5e-1", 1.25},
        {"000000000000000000000000000000000000000001", 1},
        {"0.000000000000000000000000000000000000001e39", 1},
        {"1e-400", 0},
        {"-1e-99999999999999999999", -0.0},
        {"0e99999999999999999999", 0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"1.7976931348623158e308", 1.7976931348623157e308},
        {"4.9e-324", 5e-324},
        {"2.4703282292062328e-324", 5e-324}, /* just above the half of it */
        {"2.4703282292062327e-324", 0},
        {"9007199254740993", 9007199254740992.0}, /* a tie: to even */
        {"9007199254740993.00000000000000000000000000001", 9007199254740994.0},
        {"0x1p3", 8},
        {"-0x.8p1", -1},
        {"0X1.fP+4", 31},
        {"0x1p-1080", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        double d = 42;

        assert_case(cases[i].text, double_parse(str_from_c(cases[i].text), &d, NULL));
        assert_case(cases[i].text, d == cases[i].d && signbit(d) == signbit(cases[i].d));
    }
}

static void test_rejects_malformed_numbers(void **state) {
    static const char *const texts[] = {"", "+", "-", ".", "e5", "1e", "1e+", "1.2.3", " 1", "1 ",
        "1x", "0x", "0x1", "0xp1", "0x1e5", "inf", "nan", "1_0", "--1", "1e5.0", "1f"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        bool overflow = true;
        double d = 42;

        assert_case(texts[i], !double_parse(str_from_c(texts[i]), &d, &overflow));
        assert_case(texts[i], d == 42 && !overflow);
    }
    assert_false(double_parse(str_of("1e5\0", 4), &(double){0}, NULL));
}

/* strtod() of the C locale is the oracle. */
static void check_against_libc(const char *text) {
    double got = -1, want = strtod(text, NULL);

    assert_case(text, double_parse(str_from_c(text), &got, NULL));
    assert_case(text, got == want && signbit(got) == signbit(want));
}

static void test_nearest(void **state) {
    static const char *const texts[] = {
        "0", "-0", "0.0", "1", "0.42", ".5", "5.", "-12.75", "0.1", "0.30000000000000004",
        "0.08333333333333333", "9007199254740993", "9007199254740992.5", "18446744073709551615",
        "9999999999999999999", "0.9999999999999999999", "1.7976931348623157e308", "5e-324",
        "2.2250738585072011e-308", "1e3", "+1.5", "123456789012345678901234567890",
        "0.000000000000000000000000000123", "000000000000000000000000000001.5",
        "4503599627370497.5",                                        /* halfway: to even */
        "4503599627370496.5", "0.500000000000000055511151231257827", /* halfway between two */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        check_against_libc(texts[i]);
}

static void test_random_values(void **state) {
    char text[64];

    (void)state;
    srand(6);
    for (int i = 0; i < 20000; i++) {
        double d = (double)rand() / ((double)rand() + 1) * pow(10, rand() % 12 - 6);

        (void)snprintf(text, sizeof(text), "%.*f", rand() % 22, d);
        check_against_libc(text);
        (void)snprintf(text, sizeof(text), "%.*g", 1 + rand() % 19, d);
        check_against_libc(text);
    }
}

/* Random digits: some are next to the middle between two doubles. */
static void test_random_digits(void **state) {
    char text[32];

    (void)state;
    srand(7);
    for (int i = 0; i < 100000; i++) {
        size_t n = 16 + (size_t)(rand() % 4), point = (size_t)rand() % n;

        for (size_t k = 0; k < n; k++)
            text[k] = (char)('0' + rand() % 10);
        text[point] = '.';
        text[n] = '\0';
        check_against_libc(text);
    }
}

static void test_overflow(void **state) {
    static const char *const cases[] = {
        "1.7976931348623159e308", "-1e309", "1e99999999999999999999", "0x1p1024"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        bool overflow = false;
        double d = 42;

        assert_case(cases[i], !double_parse(str_from_c(cases[i]), &d, &overflow) && overflow);
        assert_case(cases[i], d == 42);
    }
}

/* A digit far to the right decides a tie, before the point and after it. */
static void test_very_long(void **state) {
    static char text[100000];
    double d;

    (void)state;
    memset(text, '0', sizeof(text));
    memcpy(text, "9007199254740993.", 17);
    text[sizeof(text) - 1] = '1';
    assert_true(double_parse(str_of(text, sizeof(text)), &d, NULL));
    assert_true(d == 9007199254740994.0);
    text[sizeof(text) - 1] = '0';
    assert_true(double_parse(str_of(text, sizeof(text)), &d, NULL));
    assert_true(d == 9007199254740992.0);
    text[16] = '0';
    memcpy(text + sizeof(text) - 7, "e-99900", 7);
    assert_true(double_parse(str_of(text, sizeof(text)), &d, NULL));
    assert_true(d == 9007199254740993e77);
}

/* Every power of two, and its neighbours, reads back. */
static void test_round_trip(void **state) {
    (void)state;
    for (int exponent = -1074; exponent < 1024; exponent++) {
        double power = ldexp(1, exponent);
        double around[] = {power, nextafter(power, 0), nextafter(power, INFINITY), power * 1.1};

        for (size_t i = 0; i < ELEMENTS_OF(around); i++) {
            char text[DOUBLE_TEXT_MAX];
            Str printed = str_of(text, double_print(around[i], text));
            double back = -1;

            if (isinf(around[i]))
                continue;
            assert_true(double_parse(printed, &back, NULL));
            assert_true(back == around[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_rejects_malformed_numbers),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_random_digits),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_very_long),
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
