#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

/* Facts from apimachinery itself; the file describes how they were made. */
static void test_apimachinery(void **state) {
    FILE *file = fopen(TEST_DATA "/base/quantities.tsv", "r");
    char line[512];
    size_t n = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        Str rest = str_of(line, strcspn(line, "\n")), text = STR_NULL, value = STR_NULL,
            milli = STR_NULL;
        Quantity quantity = {.nano = 42};
        char got[2][32];

        if (line[0] == '#')
            continue;
        assert_true(str_split(&rest, '\t', &text) && str_split(&rest, '\t', &value));
        n++;
        if (str_eq(value, STR("invalid"))) {
            assert_case(line, !quantity_parse(text, &quantity) && quantity.nano == 42);
            continue;
        }
        assert_case(line, quantity_parse(text, &quantity) && str_split(&rest, '\t', &milli));
        (void)snprintf(got[0], sizeof(got[0]), "%" PRId64, quantity_value(quantity));
        (void)snprintf(got[1], sizeof(got[1]), "%" PRId64, quantity_milli(quantity));
        assert_text(line, value, got[0]);
        assert_text(line, milli, got[1]);
    }
    (void)fclose(file);
    assert_true(n > 300);
}

static Quantity parsed(const char *text) {
    Quantity quantity = {0};

    assert_case(text, quantity_parse(str_from_c(text), &quantity));
    return quantity;
}

static void test_compare(void **state) {
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"1Gi", "1024Mi", 0},
        {"1.5Gi", "1536Mi", 0},
        {"1k", "1Ki", -1},
        {"1e3", "1k", 0},
        {"0.1", "100m", 0},
        {"1n", "0", 1},
        {"-1", "0", -1},
        {"-2", "-1", -1},
        {"0", "-0", 0},
        {"9Ei", "8Ei", 0}, /* both capped */
        {"9E", "10E", -1},
        {"1e29", "1e28", 1},
        {"1e30", "1e40", 0}, /* both saturated */
        {"123456789012345678.123456789", "123456789012345678.123456788", 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Quantity a = parsed(cases[i].a), b = parsed(cases[i].b);

        assert_case(cases[i].a, quantity_cmp(a, b) == cases[i].order);
        assert_case(cases[i].a, quantity_cmp(b, a) == -cases[i].order);
    }
}

static void test_add(void **state) {
    static const struct {
        const char *a, *b, *sum;
    } cases[] = {
        {"0.5m", "0.5m", "1m"}, {"1Gi", "512Mi", "1.5Gi"}, {"1", "-1", "0"},
        {"1e40", "1e40", "1e40"}, {"-1e40", "-1e40", "-1e40"}, {"1e40", "-1e40", "0"},
        {"9Ei", "9Ei", "18446744073709551614"}, /* capped when read, not when added */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].sum, quantity_cmp(quantity_add(parsed(cases[i].a), parsed(cases[i].b)),
                                      parsed(cases[i].sum)) == 0);
}

/* More digits than any machine number: still exact, still linear. */
static void test_very_long(void **state) {
    static char text[100000];
    Quantity quantity;

    (void)state;
    memset(text, '0', sizeof(text));
    text[1] = '.';
    text[sizeof(text) - 1] = '1';
    assert_true(quantity_parse(str_of(text, sizeof(text)), &quantity));
    assert_true(quantity.nano == 1);
    text[0] = '1';
    text[1] = '0';
    assert_true(quantity_parse(str_of(text, sizeof(text)), &quantity));
    assert_int_equal(quantity_value(quantity), INT64_MAX);
    memcpy(text + sizeof(text) - 7, "e-99991", 7); /* 10^99992 of them */
    assert_true(quantity_parse(str_of(text, sizeof(text)), &quantity));
    assert_int_equal(quantity_value(quantity), 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apimachinery),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_very_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
