#include "cel/cost.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/parse.h"

#define BUDGET ((size_t)16 * 1024 * 1024)

static const CelField fields[] = {
    {.name = STR("name"), .type = &cel_string_type, .max_size = 63},
    {.name = STR("note"), .type = &cel_string_type},
    {.name = STR("free"), .type = &cel_int_type},
};
static const CelRecordType record = {
    .name = STR("Node"), .fields = fields, .n_fields = ELEMENTS_OF(fields)};

/* Calls with fewer arguments than the cost formula mentions. */
static const CelOverloadSpec functions[] = {
    {"both", "(string) -> int", NULL, .cost = CEL_COST_BOTH},
    {"product", "(string) -> int", NULL, .cost = CEL_COST_PRODUCT},
    {"pattern", "(string) -> int", NULL, .cost = CEL_COST_REGEX},
};

static void declare(CelEnv *env, Arena *arena, const char *name, const char *type, uint32_t size) {
    const CelType *read = cel_type_read(env, str_from_c(type), arena);

    assert_case(type, read != NULL);
    assert_int_equal(cel_env_add_variable(env, str_from_c(name), read, size, 0, NULL), 0);
}

static CelChecked *checked(const char *source, Arena *arena) {
    CelEnv *env = cel_env_extend(cel_env_new(arena), arena);
    DiagList diags = DIAG_LIST_IN(arena);
    CelOptions options = {.is_plain = true};
    CelOptions parse_options = {0};
    CelChecked *ret = NULL;
    CelTree *tree = NULL;

    assert_int_equal(cel_env_add_record(env, &record), 0);
    for (size_t i = 0; i < ELEMENTS_OF(functions); i++)
        assert_int_equal(cel_env_add_overload(env, &functions[i]), 0);
    declare(env, arena, "node", "Node", 0);
    declare(env, arena, "nodes", "list(Node)", 20);
    declare(env, arena, "s", "string", 0);
    declare(env, arena, "short", "string", 50);
    declare(env, arena, "names", "list(string)", 10);
    declare(env, arena, "labels", "map(string, string)", 30);
    declare(env, arena, "i", "int", 0);
    assert_case(source,
        cel_parse(STR("test"), str_from_c(source), &parse_options, arena, &diags, &tree) == 0);
    assert_case(source, cel_check(env, tree, &options, arena, &diags, &ret) == 0);
    return ret;
}

/* Every kind of part, with known sizes. */
static void test_estimate(void **state) {
    static const struct {
        const char *source;
        uint64_t min, max;
    } cases[] = {
        {"1", 0, 0},
        {"i", 1, 1},
        {"i + 1", 2, 2},
        {"node.free", 2, 2},
        {"node.free > 3 && i > 1", 3, 5},
        {"i > 1 || node.free > 3", 2, 5},
        {"i > 1 ? s : 'a'", 2, 3},
        {"[1, 2, 3]", 10, 10},
        {"{'a': 1}", 30, 30},
        {"short == short", 3, 7},
        {"node.name == short", 4, 8},
        {"node.name + short", 3, 15},
        {"s == 'abc'", 2, 2},
        {"[1, 2, 3].all(x, x > 0)", 20, 26},
        {"[1, 2, 3].exists(x, x > 0)", 23, 29},
        {"[1, 2, 3].exists_one(x, x > 0)", 21, 24},
        {"[1, 2, 3].filter(x, x > 0)", 30, 66},
        {"[1, 2, 3].map(x, x * 2)", 63, 63},
        {"[1, 2, 3].map(x, x > 1, x * 2)", 30, 69},
        {"nodes.all(n, n.free > 0)", 2, 122},
        {"nodes.all(n, n.name == 'abc')", 2, 122},
        {"nodes.all(n, nodes.all(m, n.name == m.name))", 2, 5702},
        {"names.map(n, n).size() > 2", 14, 144},
        {"names.filter(n, n != '').all(n, n != '')", 13, 193},
        {"labels.all(k, k != '')", 2, 122},
        {"labels['a']", 2, 2},
        {"i in [1, 2, 3]", 14, 14},
        {"cel.bind(x, i + 1, x * x)", 15, 15},
        {"dyn(i) + 1", 3, 3},
        {"both(short)", 2, 2},
        {"product(short)", 1, 51},
        {"pattern(short)", 2, 2},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        CelCostRange cost = {0};
        char got[64], want[64];

        assert_int_equal(cel_cost_estimate(checked(cases[i].source, arena), arena, &cost), 0);
        (void)snprintf(got, sizeof(got), "%" PRIu64 "..%" PRIu64, cost.min, cost.max);
        (void)snprintf(want, sizeof(want), "%" PRIu64 "..%" PRIu64, cases[i].min, cases[i].max);
        assert_text(cases[i].source, str_from_c(got), want);
    }
}

/* Nested loops over lists of unknown size saturate instead of wrapping around. */
static void test_saturation(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelCostRange cost = {0};

    (void)state;
    assert_int_equal(
        cel_cost_estimate(checked("dyn(s).all(a, dyn(a).all(b, dyn(b).all(c, dyn(c).all(d, "
                                  "dyn(d).all(e, dyn(e).all(f, f == a))))))",
                              arena),
            arena, &cost),
        0);
    assert_true(cost.max == UINT64_MAX);
}

static void test_refusal(void **state) {
    static const struct {
        const char *source;
        uint64_t limit;
        size_t column, width;
        const char *hint;
    } cases[] = {
        /* The inner loop is within the limit; the outer one is not. */
        {"i > 0 && nodes.all(n, nodes.all(m, n.name == m.name))", 1000, 10, 44,
            "it runs up to 20 times, at 285 each: a smaller range, or a declared size of it, makes "
            "it cheaper"},
        {"i > 0 && nodes.all(n, nodes.all(m, n.name == m.name))", 100, 23, 30,
            "it runs up to 20 times, at 14 each: a smaller range, or a declared size of it, makes "
            "it "
            "cheaper"},
        /* The error is at the whole expression. */
        {"nodes.all(n, n.free > 0)", 100, 1, 24,
            "it runs up to 20 times, at 6 each: a smaller range, or a declared size of it, makes "
            "it "
            "cheaper"},
        {"i == 1 || s + s == short", 100, 11, 5,
            "its input can have up to 10000 bytes or elements: a declared size of it makes "
            "it cheaper"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        CelChecked *expression = checked(cases[i].source, arena);
        DiagList diags = DIAG_LIST_IN(arena);
        CelCostRange cost = {0};

        assert_int_equal(cel_cost_estimate(expression, arena, &cost), 0);
        assert_case(cases[i].source, cost.max > cases[i].limit);
        cel_cost_refuse(expression, cost, cases[i].limit, &diags);
        assert_int_equal(diags.n_errors, 1);
        assert_text(cases[i].source, diags.diags.items[0].hint, cases[i].hint);
        assert_int_equal(diags.diags.items[0].place.column, cases[i].column);
        assert_int_equal(diags.diags.items[0].place.width, cases[i].width);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
