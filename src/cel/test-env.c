#include "cel/env.h"

#include "base/cleanup.h"
#include "base/test-assert.h"

#define BUDGET ((size_t)4 * 1024 * 1024)

/* Every overload of every library parses and can be found by name. */
static void test_libraries(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *env = cel_env_new(arena);

    (void)state;
    assert_non_null(env);
    for (size_t i = 0; cel_libraries[i]; i++)
        for (size_t k = 0; k < cel_libraries[i]->n_overloads; k++) {
            const CelOverloadSpec *spec = &cel_libraries[i]->overloads[k];
            const CelOverload *const *overloads;
            size_t n = cel_env_overloads(env, str_from_c(spec->name), &overloads);
            CelOverload read = {0};
            bool is_found = false;

            assert_case(spec->signature,
                cel_signature_read(env, str_from_c(spec->signature), arena, &read));
            for (size_t m = 0; m < n; m++)
                is_found |= overloads[m]->spec == spec;
            assert_case(spec->name, is_found);
        }
}

static void test_signature(void **state) {
    static const struct {
        const char *text;
        bool is_good, is_receiver;
        unsigned n_args, n_params;
    } cases[] = {
        {"() -> int", true, false, 0, 0},
        {"(int) -> int", true, false, 1, 0},
        {"string.() -> int", true, true, 1, 0},
        {"string.(int, int) -> string", true, true, 3, 0},
        {"list(T).(T) -> bool", true, true, 2, 1},
        {"(map(K, V), K) -> optional_type(V)", true, false, 2, 2},
        {"net.IP.() -> int", true, true, 1, 0},
        {"() -> optional_type(T)", true, false, 0, 1},
        {"(int, int, int, int, int, int, int, int) -> int", true, false, 8, 0},
        {"(int, int, int, int, int, int, int, int, int) -> int", false, false, 0, 0},
        {"int", false, false, 0, 0},
        {"(int)", false, false, 0, 0},
        {"(int) -> ", false, false, 0, 0},
        {"(int -> int", false, false, 0, 0},
        {"(nothing) -> int", false, false, 0, 0},
        {"(int) -> int)", false, false, 0, 0},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelOverload read = {0};
        bool is_good = cel_signature_read(NULL, str_from_c(cases[i].text), arena, &read);

        assert_case(cases[i].text, is_good == cases[i].is_good);
        if (!is_good)
            continue;
        assert_case(cases[i].text, read.is_receiver == cases[i].is_receiver);
        assert_case(cases[i].text, read.n_args == cases[i].n_args);
        assert_case(cases[i].text, read.n_params == cases[i].n_params);
    }
}

static void test_variables(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *parent = cel_env_new(arena), *child;
    uint32_t slot = 99;

    (void)state;
    assert_int_equal(cel_env_n_slots(parent), 0);
    assert_int_equal(cel_env_add_variable(parent, STR("a"), &cel_int_type, 0, 0, &slot), 0);
    assert_int_equal(slot, 0);
    child = cel_env_extend(parent, arena);
    assert_int_equal(cel_env_add_variable(child, STR("b.c"), &cel_string_type, 7, 3, &slot), 0);
    assert_int_equal(slot, 1);
    assert_int_equal(cel_env_n_slots(child), 2);
    assert_int_equal(cel_env_n_slots(parent), 1);
    assert_ptr_equal(cel_env_variable(child, STR("a")), cel_env_variable(parent, STR("a")));
    assert_int_equal(cel_env_variable(child, STR("b.c"))->max_size, 7);
    assert_int_equal(cel_env_variable(child, STR("b.c"))->group, 3);
    assert_null(cel_env_variable(parent, STR("b.c")));
    assert_null(cel_env_variable(child, STR("b")));
    /* Declaring a name again hides the older one here, not in the parent. */
    assert_int_equal(cel_env_add_variable(child, STR("a"), &cel_bool_type, 0, 0, &slot), 0);
    assert_int_equal(cel_env_variable(child, STR("a"))->type->kind, CEL_T_BOOL);
    assert_int_equal(cel_env_variable(parent, STR("a"))->type->kind, CEL_T_INT);
    /* In one environment a second declaration replaces the first. */
    assert_int_equal(cel_env_add_variable(child, STR("a"), &cel_uint_type, 0, 0, &slot), 0);
    assert_int_equal(cel_env_variable(child, STR("a"))->slot, slot);
}

static void test_functions(void **state) {
    static const CelOverloadSpec specs[] = {{"size", "(bool) -> int", NULL},
        {"own.f", "(int) -> int", NULL}, {"broken", "(int) => int", NULL}};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *parent = cel_env_new(arena), *child = cel_env_extend(parent, arena);
    const CelOverload *const *before, *const *after;
    size_t n_before = cel_env_overloads(parent, STR("size"), &before), n_after;

    (void)state;
    assert_true(n_before > 0);
    assert_int_equal(cel_env_add_overload(child, &specs[0]), 0);
    assert_int_equal(cel_env_add_overload(child, &specs[1]), 0);
    assert_int_equal(cel_env_add_overload(child, &specs[2]), CEL_ENV_BAD_SIGNATURE);
    n_after = cel_env_overloads(child, STR("size"), &after);
    assert_int_equal(n_after, n_before + 1);
    assert_ptr_equal(after[0], before[0]);
    assert_ptr_equal(after[n_before]->spec, &specs[0]);
    assert_int_equal(cel_env_overloads(parent, STR("size"), &before), n_before);
    assert_int_equal(cel_env_overloads(child, STR("own.f"), &after), 1);
    assert_int_equal(cel_env_overloads(parent, STR("own.f"), &after), 0);
}

static void test_types_by_name(void **state) {
    static const char *const names[] = {"int", "uint", "double", "bool", "string", "bytes", "list",
        "map", "null_type", "type", "optional_type", "google.protobuf.Timestamp",
        "google.protobuf.Duration", "net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.URL",
        "kubernetes.Semver", "kubernetes.NamedFormat"};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *env = cel_env_new(arena);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        const CelVariable *constant = cel_env_variable(env, str_from_c(names[i]));

        assert_case(names[i], constant && constant->is_constant);
        assert_case(names[i], constant->type->kind == CEL_T_TYPE);
        assert_text(names[i], constant->value.type->name, names[i]);
    }
    assert_null(cel_env_variable(env, STR("dyn")));
}

static void test_records(void **state) {
    static const CelField fields[] = {{.name = STR("a"), .type = &cel_int_type}};
    static const CelRecordType record = {.name = STR("my.Record"), .fields = fields, .n_fields = 1};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *env = cel_env_extend(cel_env_new(arena), arena);
    const CelType *type;

    (void)state;
    assert_null(cel_type_read(env, STR("list(my.Record)"), arena));
    assert_int_equal(cel_env_add_record(env, &record), 0);
    type = cel_type_read(env, STR("list(my.Record)"), arena);
    assert_non_null(type);
    assert_ptr_equal(type->params[0]->record, &record);
    assert_ptr_equal(cel_env_record(env, STR("my.Record"))->record, &record);
    assert_non_null(cel_env_variable(env, STR("my.Record")));
}

static void test_suggests_nearest_name(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelEnv *env = cel_env_extend(cel_env_new(arena), arena);

    (void)state;
    assert_int_equal(cel_env_add_variable(env, STR("cluster"), &cel_int_type, 0, 0, NULL), 0);
    assert_int_equal(cel_env_add_variable(env, STR("clutter"), &cel_int_type, 0, 0, NULL), 0);
    assert_text("variable", cel_env_nearest_variable(env, STR("clustre")), "cluster");
    assert_int_equal(cel_env_nearest_variable(env, STR("zzzzzz")).len, 0);
    assert_text("function", cel_env_nearest_function(env, STR("startWith"), true), "startsWith");
    assert_int_equal(cel_env_nearest_function(env, STR("startWith"), false).len, 0);
}

/* With any memory budget there is a result or an error, never a crash. */
static void test_no_memory(void **state) {
    (void)state;
    for (size_t budget = 0; budget < 200000; budget += 1000) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        CelEnv *env = cel_env_new(arena);

        assert_true(env || arena_has_failed(arena));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_types_by_name),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_suggests_nearest_name),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
