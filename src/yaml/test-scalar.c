/* Tests the kinds and values of scalars. */

#include "base/cleanup.h"
#include "yaml/test-yaml.h"

typedef struct ScalarCase {
    const char *text;
    YamlKind kind;
    double value; /* bools: 1 is true */
} ScalarCase;

static const ScalarCase cases[] = {
    {"null", YAML_NULL},
    {"Null", YAML_NULL},
    {"NULL", YAML_NULL},
    {"nULL", YAML_STRING},
    {"~", YAML_NULL},
    {"~~", YAML_STRING},
    {"true", YAML_BOOL, 1},
    {"True", YAML_BOOL, 1},
    {"TRUE", YAML_BOOL, 1},
    {"false", YAML_BOOL, 0},
    {"tRue", YAML_STRING},
    {"yes", YAML_STRING},
    {"No", YAML_STRING},
    {"on", YAML_STRING},
    {"off", YAML_STRING},
    {"y", YAML_STRING},
    {"0", YAML_INT, 0},
    {"-0", YAML_INT, 0},
    {"+7", YAML_INT, 7},
    {"-42", YAML_INT, -42},
    {"007", YAML_INT, 7},
    {"0x1F", YAML_INT, 31},
    {"0o17", YAML_INT, 15},
    {"0x", YAML_STRING},
    {"0o8", YAML_STRING},
    {"0xg", YAML_STRING},
    {"-0x1", YAML_STRING},
    {"0b1", YAML_STRING},
    {"1_000", YAML_STRING},
    {"1:30", YAML_STRING},
    {"+", YAML_STRING},
    {"-1-", YAML_STRING},
    {"++1", YAML_STRING},
    {"9223372036854775807", YAML_INT, 9223372036854775807.0},
    {"-9223372036854775808", YAML_INT, -9223372036854775808.0},
    {"9223372036854775808", YAML_STRING},
    {"-9223372036854775809", YAML_STRING},
    {"0x7fffffffffffffff", YAML_INT, 9223372036854775807.0},
    {"0x8000000000000000", YAML_STRING},
    {"0x10000000000000000", YAML_STRING},
    {"0o777777777777777777777", YAML_INT, 9223372036854775807.0},
    {"0o1000000000000000000000", YAML_STRING},
    {"1.5", YAML_FLOAT, 1.5},
    {"1.", YAML_FLOAT, 1},
    {".5", YAML_FLOAT, 0.5},
    {"-.5", YAML_FLOAT, -0.5},
    {"+1.5E-3", YAML_FLOAT, 0.0015},
    {"1e3", YAML_FLOAT, 1000},
    {"9223372036854775808.0", YAML_FLOAT, 9223372036854775808.0},
    {".", YAML_STRING},
    {"-.", YAML_STRING},
    {"e3", YAML_STRING},
    {".e3", YAML_STRING},
    {"1e", YAML_STRING},
    {"1e+", YAML_STRING},
    {"1.2.3", YAML_STRING},
    {"1e3.5", YAML_STRING},
    {"0x1p3", YAML_STRING},
    {"infinity", YAML_STRING},
    {"nan", YAML_STRING},
    {".inf", YAML_FLOAT, __builtin_inf()},
    {"+.Inf", YAML_FLOAT, __builtin_inf()},
    {"-.INF", YAML_FLOAT, -__builtin_inf()},
    {".iNF", YAML_STRING},
    {"\"1\"", YAML_STRING},
    {"'true'", YAML_STRING},
    {"\"\"", YAML_STRING},
    {"500m", YAML_STRING},
    {"2024-01-01", YAML_STRING},
};

static void test_scalars(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
        YamlStream stream = {0};
        const YamlNode *node;
        DiagList diags;

        assert_int_equal(parse(str_from_c(cases[i].text), arena, &diags, &stream), 0);
        assert_int_equal(stream.n_documents, 1);
        node = stream.documents[0];
        assert_text(
            cases[i].text, str_from_c(yaml_kind_name(node->kind)), yaml_kind_name(cases[i].kind));
        if (node->kind == YAML_BOOL)
            assert_int_equal(node->boolean, (int)cases[i].value);
        if (node->kind == YAML_INT || node->kind == YAML_FLOAT)
            assert_true(node->real == cases[i].value);
    }
}

static void test_not_a_number(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    YamlStream stream = {0};
    DiagList diags;

    (void)state;
    assert_int_equal(parse(STR("[.nan, .NaN, .NAN]"), arena, &diags, &stream), 0);
    for (size_t i = 0; i < 3; i++) {
        const YamlNode *node = stream.documents[0]->items[i];

        assert_int_equal(node->kind, YAML_FLOAT);
        assert_true(node->real != node->real);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_not_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
