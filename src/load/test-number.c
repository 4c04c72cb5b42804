#include "load/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

/* strtod() of the C locale is the oracle. */
static void check(const char *text) {
    double got = -1, want = strtod(text, NULL);

    assert_case(text, number_parse(str_from_c(text), &got));
    assert_case(text, memcmp(&got, &want, sizeof(got)) == 0);
}

static void test_values(void **state) {
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "1",
        "0.42",
        ".5",
        "5.",
        "-12.75",
        "0.1",
        "0.30000000000000004",
        "0.08333333333333333",
        "9007199254740993",
        "9007199254740992.5",
        "18446744073709551615",
        "9999999999999999999",
        "0.9999999999999999999",
        "1.7976931348623157e308",
        "5e-324",
        "2.2250738585072011e-308",
        "1e3",
        "+1.5",
        "123456789012345678901234567890",
        "0.000000000000000000000000000123",
        "000000000000000000000000000001.5",
        "4503599627370497.5", /* halfway: to even */
        "4503599627370496.5",
        "0.500000000000000055511151231257827", /* halfway between two */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check(texts[i]);
}

static void test_random_values(void **state) {
    char text[64];

    (void)state;
    srand(6);
    for (int i = 0; i < 20000; i++) {
        double d = (double)rand() / ((double)rand() + 1) * pow(10, rand() % 12 - 6);

        (void)snprintf(text, sizeof(text), "%.*f", rand() % 22, d);
        check(text);
        (void)snprintf(text, sizeof(text), "%.*g", 1 + rand() % 19, d);
        check(text);
    }
}

/* Digits that no double was printed as: some lie next to the middle between two. */
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
        check(text);
    }
}

static void test_words(void **state) {
    static const char *const none[] = {
        "", "-", ".", "+", "nan", "inf", "--1", "1..2", "1.2.3", "0x1p3", "1e", " 1", "1 ", "1,5"};
    double d = 0;

    (void)state;
    assert_true(number_parse(STR("NaN"), &d) && isnan(d));
    assert_true(number_parse(STR("+Inf"), &d) && isinf(d) && d > 0);
    assert_true(number_parse(STR("Inf"), &d) && isinf(d) && d > 0);
    assert_true(number_parse(STR("-Inf"), &d) && isinf(d) && d < 0);
    assert_true(number_parse(STR("1e999"), &d) && isinf(d) && d > 0);
    assert_true(number_parse(STR("-1e999"), &d) && isinf(d) && d < 0);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_case(none[i], !number_parse(str_from_c(none[i]), &d));
}

static void test_times(void **state) {
    static const struct {
        const char *text;
        int64_t msec; /* -1: none */
    } cases[] = {
        {"1700000000.123", 1700000000123},
        {"1700000000", 1700000000000},
        {"1700000000.1", 1700000000100},
        {"1700000000.1239999", 1700000000123},
        {"1.7e9", 1700000000000},
        {"0", 0},
        {"253402300799.999", 253402300799999},
        {"253402300800", -1},
        {"9999999999999999999", -1},
        {"1e300", -1},
        {"-1", -1},
        {"NaN", -1},
        {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t msec = -1;
        bool is_time = number_parse_time(str_from_c(cases[i].text), &msec);

        assert_case(cases[i].text, is_time == (cases[i].msec >= 0));
        assert_case(cases[i].text, msec == cases[i].msec || !is_time);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_random_digits),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
