#include "cel/type.h"

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/limits.h"

#define BUDGET ((size_t)1024 * 1024)

/* A type's text is parsed and printed: as users write it, and as the conformance vectors do. */
static void test_text(void **state) {
    static const struct {
        const char *text, *printed, *wire; /* printed NULL: cannot be read; wire NULL: the same */
    } cases[] = {
        {"int", "int", NULL},
        {" list( string )", "list(string)", NULL},
        {"map(string, list(dyn))", "map(string, list(dyn))", NULL},
        {"list", "list(dyn)", NULL},
        {"map", "map(dyn, dyn)", NULL},
        {"optional_type", "optional_type(dyn)", "opaque(optional_type, dyn)"},
        {"type", "type", NULL},
        {"type(int)", "type(int)", NULL},
        {"null", "null_type", NULL},
        {"any", "dyn", NULL},
        {"wrapper(int)", "int", NULL},
        {"timestamp", "timestamp", NULL},
        {"google.protobuf.Timestamp", "timestamp", NULL},
        {"google.protobuf.Duration", "duration", NULL},
        {"google.protobuf.Struct", "map(string, dyn)", NULL},
        {"optional_type(int)", "optional_type(int)", "opaque(optional_type, int)"},
        {"opaque(optional_type, T)", "optional_type(T)", "opaque(optional_type, param(T))"},
        {"opaque(tuple, int, param(Key))", "tuple(int, Key)", "opaque(tuple, int, param(Key))"},
        {"opaque(net.IP)", "net.IP", "opaque(net.IP)"},
        {"kubernetes.Quantity", "kubernetes.Quantity", "opaque(kubernetes.Quantity)"},
        {"", NULL, NULL},
        {"list(", NULL, NULL},
        {"list()", NULL, NULL},
        {"list(int) x", NULL, NULL},
        {"map(int)", NULL, NULL},
        {"list(int, int)", NULL, NULL},
        {"Unknown", NULL, NULL},
        {"param()", NULL, NULL},
        {"opaque()", NULL, NULL},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf printed = BUF_INIT(1024), wire = BUF_INIT(1024);
        const CelType *type = cel_type_read(NULL, str_from_c(cases[i].text), arena);

        assert_case(cases[i].text, (type != NULL) == (cases[i].printed != NULL));
        if (!type)
            continue;
        cel_type_print(type, false, &printed);
        cel_type_print(type, true, &wire);
        assert_text(cases[i].text, buf_str(&printed), cases[i].printed);
        assert_text(
            cases[i].text, buf_str(&wire), cases[i].wire ? cases[i].wire : cases[i].printed);
    }
}

static void test_equal(void **state) {
    static const char *const texts[] = {"int", "uint", "list(int)", "list(dyn)", "map(int, int)",
        "map(int, string)", "optional_type(int)", "type(int)", "opaque(tuple, int)",
        "opaque(other, int)", "net.IP", "net.CIDR"};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        for (size_t k = 0; k < ELEMENTS_OF(texts); k++) {
            const CelType *a = cel_type_read(NULL, str_from_c(texts[i]), arena);
            const CelType *b = cel_type_read(NULL, str_from_c(texts[k]), arena);

            assert_case(texts[i], a && b && cel_type_equal(a, b) == (i == k));
        }
}

static void test_limits(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const CelType *deep = &cel_int_type, *heavy = &cel_int_type;
    size_t n_deep = 0, n_heavy = 0;

    (void)state;
    for (const CelType *next; (next = cel_list_of(arena, deep)); n_deep++)
        deep = next;
    for (const CelType *next; (next = cel_map_of(arena, heavy, heavy)); n_heavy++)
        heavy = next;
    assert_int_equal(n_deep, CEL_TYPE_DEPTH_MAX - 1);
    assert_true(heavy->weight <= CEL_TYPE_WEIGHT_MAX && n_heavy < 12);
    assert_false(arena_has_failed(arena));
}

static void test_open(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const CelType *open = cel_type_read(NULL, STR("map(string, list(T))"), arena);
    const CelType *closed = cel_type_read(NULL, STR("map(string, list(int))"), arena);

    (void)state;
    assert_true(open->is_open && !closed->is_open);
    assert_true(cel_type_contains(open, CEL_T_PARAM) && !cel_type_contains(closed, CEL_T_PARAM));
    assert_int_equal(open->value_kind, CEL_MAP);
    assert_int_equal(cel_type_param(&cel_list_type, 0)->kind, CEL_T_DYN);
}

static void test_record(void **state) {
    static const CelField fields[] = {
        {.name = STR("name"), .type = &cel_string_type}, {.name = STR("n"), .type = &cel_int_type}};
    static const CelRecordType record = {.name = STR("Thing"), .fields = fields, .n_fields = 2};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const CelType *type = cel_record_of(arena, &record);

    (void)state;
    assert_int_equal(cel_record_find(&record, STR("n")), 1);
    assert_int_equal(cel_record_find(&record, STR("nam")), UINT32_MAX);
    assert_true(type->kind == CEL_T_RECORD && type->value_kind == CEL_RECORD);
    assert_true(cel_type_equal(type, cel_record_of(arena, &record)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
