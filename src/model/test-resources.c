#include "model/resources.h"

#include <errno.h>
#include <stdio.h>

#include "base/test-assert.h"

static void decode(const char *text, Arena *arena, Resources *ret, JsonError want) {
    JsonReader reader;

    json_reader_init(&reader, str_from_c(text));
    resources_decode(&reader, arena, ret);
    json_end(&reader);
    assert_case(text, json_error(&reader) == want);
}

static void test_decode(void **state) {
    static const struct {
        const char *json;
        JsonError error;
        const char *name;
        int64_t amount;
        size_t n;
    } cases[] = {
        {"null", JSON_OK, "cpu", 0, 0},
        {"{}", JSON_OK, "cpu", 0, 0},
        {"{\"cpu\":\"250m\"}", JSON_OK, "cpu", 250, 1},
        {"{\"cpu\":\"4\"}", JSON_OK, "cpu", 4000, 1},
        {"{\"cpu\":4}", JSON_OK, "cpu", 4000, 1},
        {"{\"cpu\":1.5}", JSON_OK, "cpu", 1500, 1},
        {"{\"cpu\":1e2}", JSON_OK, "cpu", 100000, 1},
        {"{\"cpu\":\"0.1m\"}", JSON_OK, "cpu", 1, 1},
        {"{\"memory\":\"16Gi\"}", JSON_OK, "memory", INT64_C(16) << 30, 1},
        {"{\"memory\":\"1500m\"}", JSON_OK, "memory", 2, 1},
        {"{\"memory\":\"9999E\"}", JSON_OK, "memory", INT64_MAX, 1},
        {"{\"nvidia.com/gpu\":\"8\"}", JSON_OK, "nvidia.com/gpu", 8, 1},
        {"{\"pods\":110}", JSON_OK, "pods", 110, 1},
        {"{\"pods\":null}", JSON_OK, "pods", 0, 1},
        {"{\"pods\":\" 110 \"}", JSON_OK, "pods", 110, 1}, /* as Go's decoder */
        {"{\"pods\":\"1\",\"pods\":\"2\"}", JSON_OK, "pods", 2, 1},
        {"{\"p\\u006fds\":\"\\u0031\"}", JSON_OK, "pods", 1, 1},
        {"{\"cpu\":\"\"}", JSON_E_TYPE, "", 0, 0},
        {"{\"cpu\":\"lots\"}", JSON_E_TYPE, "", 0, 0},
        {"{\"cpu\":\"5K\"}", JSON_E_TYPE, "", 0, 0},
        {"{\"cpu\":true}", JSON_E_TYPE, "", 0, 0},
        {"{\"cpu\":{}}", JSON_E_TYPE, "", 0, 0},
        {"[]", JSON_E_TYPE, "", 0, 0},
        {"{\"cpu\":\"1\"", JSON_E_END, "", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Resources resources = {0};

        decode(cases[i].json, arena, &resources, cases[i].error);
        assert_case(cases[i].json, resources.n == cases[i].n);
        assert_case(
            cases[i].json, resources_get(&resources, str_from_c(cases[i].name)) == cases[i].amount);
        assert_null(resources_find(&resources, STR("absent")));
    }
}

/* Names 0 to @n, of which the first @n_zero have amount 0. */
static void print_many(size_t n, size_t n_zero, Buf *out) {
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\"r%zu\":\"%zu\"", i == 0 ? "{" : ",", i, i < n_zero ? 0 : i + 1);
    buf_printf(out, "}%c", '\0');
}

/* Amounts of 0 give way to others, in any order; over the limit the rest is left out. */
static void test_ceiling(void **state) {
    static const struct {
        size_t n, n_zero;
        size_t n_kept, n_amounts; /* names, and those with an amount over 0 */
    } cases[] = {
        {RESOURCES_MAX, 0, RESOURCES_MAX, RESOURCES_MAX},
        {RESOURCES_MAX + 1, 0, RESOURCES_MAX, RESOURCES_MAX},
        {RESOURCES_MAX + 1, 1, RESOURCES_MAX, RESOURCES_MAX},
        {RESOURCES_MAX + 2, 1, RESOURCES_MAX, RESOURCES_MAX},
        {2 * RESOURCES_MAX, RESOURCES_MAX, RESOURCES_MAX, RESOURCES_MAX},
        {2 * RESOURCES_MAX, 2 * RESOURCES_MAX - 1, RESOURCES_MAX, 1},
        {500, 500, RESOURCES_MAX, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Resources resources = {0};
        size_t n_amounts = 0;

        print_many(cases[i].n, cases[i].n_zero, &text);
        decode(text.data, arena, &resources, JSON_OK);
        for (size_t j = 0; j < resources.n; j++)
            n_amounts += resources.items[j].amount > 0;
        assert_int_equal(resources.n, cases[i].n_kept);
        assert_int_equal(n_amounts, cases[i].n_amounts);
    }
}

/* The API server rejects negative amounts; in a file they count as 0. */
static void test_negative(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Resources resources = {0};

    (void)state;
    decode("{\"cpu\":\"-1\",\"gpu\":\"-3\"}", arena, &resources, JSON_OK);
    assert_int_equal(resources.n, 2);
    assert_int_equal(resources_get(&resources, STR("cpu")), 0);
    assert_int_equal(resources_get(&resources, STR("gpu")), 0);
}

static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(16);
    Resources sum = {0};
    JsonReader reader;

    (void)state;
    json_reader_init(&reader, STR("{\"cpu\":\"1\"}"));
    resources_decode(&reader, arena, &sum);
    assert_int_equal(json_error(&reader), JSON_E_MEMORY);
}

static void test_parse(void **state) {
    int64_t amount = 42;

    (void)state;
    assert_true(resource_amount_parse(STR("cpu"), STR("1.5"), &amount));
    assert_int_equal(amount, 1500);
    assert_true(resource_amount_parse(STR("memory"), STR("1.5"), &amount));
    assert_int_equal(amount, 2);
    assert_false(resource_amount_parse(STR("memory"), STR("1.5 Gi"), &amount));
    assert_int_equal(amount, 2);
}

static void test_print(void **state) {
    static const struct {
        const char *name;
        int64_t amount;
        const char *want;
    } cases[] = {
        {"cpu", 0, "0"},
        {"cpu", 250, "250m"},
        {"cpu", 4000, "4"},
        {"cpu", 999, "999m"},
        {"cpu", 1500, "1.5"},
        {"cpu", 23880, "23.88"},
        {"cpu", 2001, "2.001"},
        {"cpu", -1050, "-1.05"},
        {"cpu", INT64_MIN, "-9223372036854775.808"},
        {"cpu", -250, "-250m"},
        {"cpu", -2000, "-2"},
        {"memory", 0, "0"},
        {"memory", 1023, "1023"},
        {"memory", 1024, "1Ki"},
        {"memory", INT64_C(512) << 20, "512Mi"},
        {"memory", INT64_C(16) << 30, "16Gi"},
        {"memory", INT64_C(3) << 29, "1.5Gi"},
        {"memory", (INT64_C(1) << 30) + (INT64_C(1) << 28), "1.25Gi"},
        {"memory", INT64_C(16374988) << 10, "15.62Gi"},
        {"memory", INT64_C(1000000000), "953.67Mi"},
        {"memory", (INT64_C(1) << 30) - 1, "1Gi"}, /* not 1024Mi */
        {"memory", (INT64_C(1) << 30) + (INT64_C(1) << 30) / 20, "1.05Gi"},
        {"memory", -(INT64_C(1) << 30), "-1Gi"},
        {"memory", INT64_MAX, "8Ei"},
        {"memory", INT64_MIN, "-8Ei"},
        {"ephemeral-storage", INT64_C(100) << 30, "100Gi"},
        {"hugepages-2Mi", INT64_C(4) << 20, "4Mi"},
        {"nvidia.com/gpu", 8, "8"},
        {"pods", 110, "110"},
        {"example.com/memory", 2048, "2048"},
        {"example.com/debt", INT64_MIN, "-9223372036854775808"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);

        resource_amount_print(str_from_c(cases[i].name), cases[i].amount, &out);
        assert_text(cases[i].want, buf_str(&out), cases[i].want);
    }
}

/* A printed amount reads back as the same amount. */
static void test_print_exact(void **state) {
    static const struct {
        const char *name;
        int64_t amount;
        const char *want;
    } cases[] = {
        {"cpu", 0, "0"},
        {"cpu", 250, "250m"},
        {"cpu", 4000, "4"},
        {"cpu", INT64_MAX, "9223372036854775807m"},
        {"memory", 0, "0"},
        {"memory", (INT64_C(1) << 30) + 1, "1073741825"},
        {"memory", INT64_MAX, "9223372036854775807"},
        {"nvidia.com/gpu", 8, "8"},
        {"pods", 1000, "1000"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);
        Str name = str_from_c(cases[i].name);
        int64_t back = -1;

        resource_amount_print_exact(name, cases[i].amount, &out);
        assert_text(cases[i].want, buf_str(&out), cases[i].want);
        assert_case(cases[i].want, resource_amount_parse(name, buf_str(&out), &back));
        assert_case(cases[i].want, back == cases[i].amount);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_negative),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
