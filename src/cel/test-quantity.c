#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/quantity.h"

static CelQuantity parsed(const char *text) {
    CelQuantity amount;

    assert_case(text, cel_quantity_parse(str_from_c(text), &amount) == 0);
    return amount;
}

static void assert_printed(const char *name, const CelQuantity *amount, const char *want) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);

    cel_quantity_print(amount, &out);
    assert_text(name, buf_str(&out), want);
}

/* The output of apimachinery's String(), but the canonical form where String() keeps the text as
 * written ("00100", "1E3") or runs out of suffixes ("1000E" prints as "1"). */
static void test_canonical_form(void **state) {
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0", "0"},
        {"0Ki", "0"},
        {"1024Mi", "1Gi"},
        {"1500m", "1500m"},
        {"1.5Gi", "1536Mi"},
        {"1.3Gi", "1395864371200m"},
        {"1e3", "1e3"},
        {"1E3", "1e3"},
        {"1000e3", "1e6"},
        {"12e2", "1200"},
        {"12e-2", "120e-3"},
        {"100e-3", "100e-3"},
        {"1e-12", "1e-9"},
        {"1e30", "1e30"},
        {"512", "512"},
        {"0.1Mi", "104857600m"},
        {"1.1Ki", "1126400m"},
        {"0.5Ki", "512"},
        {"-0.5", "-500m"},
        {"-1.5Ki", "-1536"},
        {"-2Ki", "-2Ki"},
        {"100000", "100k"},
        {"00100", "100"},
        {"0.5k", "500"},
        {"1.25k", "1250"},
        {"1E", "1E"},
        {"1000E", "1000E"},
        {"9Ei", "9223372036854775807"},
        {"0.0000000001", "1n"},
        {"12345678901234567890123456789012345.123456789123",
            "12345678901234567890123456789012345123456790n"},
        {"9999999999999999999999999999999999999G", "9999999999999999999999999999999999999G"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity amount = parsed(cases[i][0]);

        assert_printed(cases[i][0], &amount, cases[i][1]);
    }
}

/* The smallest and largest values, and one beyond. */
static void test_range(void **state) {
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"1e67", 0},
        {"115792089237316195423570985008687907853269984665640564039457584007913.129639935", 0},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935n", 0},
        {"115792089237316195423570985008687907853269984665640564039457584007913.129639936",
            CEL_QUANTITY_RANGE},
        {"115792089237316195423570985008687907853269984665640564039457584007913.1296399350001",
            CEL_QUANTITY_RANGE},
        {"1e69", CEL_QUANTITY_RANGE},
        {"-1e69", CEL_QUANTITY_RANGE},
        {"1e2147483647", CEL_QUANTITY_RANGE},
        {"0e2147483647", 0},
        {"1e-2147483647", 0},
        {"0.00000000000000000000000000000000000000000000001e2147483647", CEL_QUANTITY_RANGE},
        {"", CEL_QUANTITY_INVALID},
        {"200K", CEL_QUANTITY_INVALID},
        {"Three", CEL_QUANTITY_INVALID},
        {"1,3G", CEL_QUANTITY_INVALID},
        {"10Mm", CEL_QUANTITY_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity amount;

        assert_case(cases[i].text,
            cel_quantity_parse(str_from_c(cases[i].text), &amount) == cases[i].result);
    }
}

static void test_compare(void **state) {
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"1Gi", "1024Mi", 0},
        {"200M", "0.2G", 0},
        {"50M", "50Mi", -1},
        {"0", "-0", 0},
        {"-1", "0", -1},
        {"-2", "-1", -1},
        {"1n", "0", 1},
        /* Beyond 128 bits: equal only when all digits are. */
        {"1e40", "1e41", -1},
        {"1e40", "1e40", 0},
        {"-1e40", "1e40", -1},
        {"1e40", "10000000000000000000000000000000000000000.000000001", -1},
        {"170141183460469231731687303715.884105727", "170141183460469231731687303715.884105728",
            -1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity a = parsed(cases[i].a), b = parsed(cases[i].b);

        assert_case(cases[i].a, cel_quantity_cmp(&a, &b) == cases[i].order);
        assert_case(cases[i].a, cel_quantity_cmp(&b, &a) == -cases[i].order);
    }
}

static void test_add_and_sub(void **state) {
    static const struct {
        const char *a, *b, *sum, *difference;
    } cases[] = {
        {"1Gi", "1Gi", "2Gi", "0"},
        {"1Gi", "1e0", "1073741825", "1073741823"},
        {"0", "1Gi", "1Gi", "-1Gi"},
        {"0Ki", "2e3", "2e3", "-2e3"},
        {"1", "1m", "1001m", "999m"},
        {"-1Ki", "-1", "-1025", "-1023"},
        {"1", "2", "3", "-1"},
        {"-1", "2", "1", "-3"},
        {"0.0001Ki", "2047.8976", "2048", "-2047795200u"},
        {"1e40", "1", "10000000000000000000000000000000000000001",
            "9999999999999999999999999999999999999999"},
        {"9Ei", "9Ei", "18446744073709551614", "0"},
        {"340282366920938463463374607431.768211455", "1n",
            "340282366920938463463374607431768211456n", "340282366920938463463374607431768211454n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity a = parsed(cases[i].a), b = parsed(cases[i].b), result;

        assert_case(cases[i].sum, cel_quantity_add(&a, &b, &result));
        assert_printed(cases[i].sum, &result, cases[i].sum);
        assert_case(cases[i].difference, cel_quantity_sub(&a, &b, &result));
        assert_printed(cases[i].difference, &result, cases[i].difference);
    }
}

static void test_add_out_of_range(void **state) {
    CelQuantity a = parsed("1e68"), b = parsed("-1e68"), sum;

    (void)state;
    assert_false(cel_quantity_add(&a, &a, &sum));
    assert_false(cel_quantity_sub(&b, &a, &sum));
    assert_true(cel_quantity_add(&a, &b, &sum));
    assert_int_equal(cel_quantity_sign(&sum), 0);
    assert_false(sum.is_negative);
}

static void test_integers(void **state) {
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"50k", true, 50000},
        {"-50k", true, -50000},
        {"1000m", true, 1},
        {"1.0", true, 1},
        {"1Pi", true, INT64_C(1125899906842624)},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1500m", false, 0},
        {"1n", false, 0},
        {"9999999999999999999999999999999999999G", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity amount = parsed(cases[i].text), same;
        int64_t value = 0;

        assert_case(cases[i].text, cel_quantity_to_int(&amount, &value) == cases[i].is_int);
        assert_case(cases[i].text, value == cases[i].value);
        same = cel_quantity_from_int(value);
        assert_case(cases[i].text, !cases[i].is_int || cel_quantity_cmp(&amount, &same) == 0);
    }
}

/* The nearest double is the one that C parses from the same digits. */
static void test_doubles(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"0.1", 0.1},
        {"0.3", 0.3},
        {"300m", 0.3},
        {"1n", 1e-9},
        {"-1n", -1e-9},
        {"50.703k", 50703.0},
        {"123456789.123456789", 123456789.123456789},
        {"9007199254740993", 9007199254740992.0},           /* a tie: to even */
        {"9007199254740993.000000001", 9007199254740994.0}, /* just above it */
        {"9007199254740995", 9007199254740996.0},           /* a tie, upward */
        {"1e29", 1e29},
        {"1e67", 1e67},
        {"1.7976931348623157e50", 1.7976931348623157e50},
        {"123456789012345678901234567890123456789012345678901.234567891",
            123456789012345678901234567890123456789012345678901.234567891},
        {"9223372036854775807", 9223372036854775807.0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelQuantity amount = parsed(cases[i].text);

        assert_case(cases[i].text, cel_quantity_to_double(&amount) == cases[i].value);
    }
}

static void test_from_quantity(void **state) {
    Quantity quantity;
    CelQuantity amount, same = parsed("1536Mi");

    (void)state;
    assert_true(quantity_parse(STR("1.5Gi"), &quantity));
    amount = cel_quantity_from_quantity(quantity, QUANTITY_BINARY);
    assert_int_equal(cel_quantity_cmp(&amount, &same), 0);
    assert_printed("1.5Gi", &amount, "1536Mi");
    quantity.nano = -QUANTITY_NANO_MAX - 1;
    amount = cel_quantity_from_quantity(quantity, QUANTITY_DECIMAL);
    assert_printed("the least", &amount, "-170141183460469231731687303715884105728n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_form),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_add_and_sub),
        cmocka_unit_test(test_add_out_of_range),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_from_quantity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
