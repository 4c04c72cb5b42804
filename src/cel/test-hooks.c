/* Hooks of the host into the compiler: constants, and variables that stand for expressions. */
#include "cel/test-fixture.h"
#include "cel/test-print.h"

#include <string.h>

static int setup(void **state) {
    static Fixture f;

    fixture_init(&f);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture_done(*state);
    return 0;
}

/* --- constants ------------------------------------------------------------------------- */

/* params: {max: int, zones: list(string), rest: map(string, int), unset: string, deep: Params} */
enum { MAX, ZONES, REST, UNSET, DEEP, N_PARAMS };

typedef struct Params {
    CelRecord head;
    CelField fields[N_PARAMS];
    CelRecordType type;
    CelValue zones[2];
    CelList list;
    CelEntry entries[1];
    CelMap map;
} Params;

/* Strings and records are new at each call, as a host may make them. */
static CelValue params_get(const CelRecord *record, uint32_t field, CelRun *run) {
    const Params *params = (const Params *)record;
    CelRecord *copy;

    assert_non_null(run);
    switch (field) {
    case MAX:
        return cel_int(7);
    case ZONES:
        return cel_list(&params->list);
    case REST:
        return cel_map(&params->map);
    case DEEP:
        copy = cel_alloc(run, sizeof(Params));
        assert_non_null(copy);
        memcpy(copy, params, sizeof(Params));
        return cel_record(copy);
    default:
        return cel_absent();
    }
}

static void add_params(Fixture *f, Params *params) {
    const CelType *type;

    *params = (Params){
        .type = {STR("Params"), params->fields, N_PARAMS, params_get},
        .zones = {cel_string(STR("a")), cel_string(STR("b"))},
        .list = {.n = 2, .depth = 1, .items = params->zones},
        .entries = {{cel_string(STR("x")), cel_int(3)}},
        .map = {.n = 1, .depth = 1, .entries = params->entries},
    };
    params->head.type = &params->type;
    type = cel_record_of(f->arena, &params->type);
    assert_non_null(type);
    params->fields[MAX] = (CelField){.name = STR("max"), .type = &cel_int_type, .always = true};
    params->fields[ZONES] =
        (CelField){.name = STR("zones"), .type = cel_list_of(f->arena, &cel_string_type)};
    params->fields[REST] = (CelField){
        .name = STR("rest"), .type = cel_map_of(f->arena, &cel_string_type, &cel_int_type)};
    params->fields[UNSET] = (CelField){.name = STR("unset"), .type = &cel_string_type};
    params->fields[DEEP] = (CelField){.name = STR("deep"), .type = type};
    assert_int_equal(
        cel_env_add_constant(f->env, STR("params"), type, cel_record(&params->head)), 0);
    assert_int_equal(cel_env_add_constant(f->env, STR("limit"), &cel_int_type, cel_int(5)), 0);
}

/* An expression over constants folds completely or not at all. */
static void test_constants_fold(void **state) {
    static const struct {
        const char *source, *want;
        bool is_constant;
    } cases[] = {
        {"limit", "5", true},
        {"limit * 2 + params.max", "17", true},
        {"params.max", "7", true},
        {"params.?max", "optional.of(7)", true},
        {"has(params.max)", "true", true},
        {"has(params.unset)", "false", true},
        {"params.?unset.orValue('x')", "\"x\"", true},
        {"params.unset", "error@7: no such key: unset", false},
        {"params.zones", "[\"a\", \"b\"]", true},
        {"params.zones[1]", "\"b\"", true},
        {"params.zones[2]", "error@12: index out of bounds: 2", false},
        {"params.rest.x", "3", true},
        {"params.rest['x']", "3", true},
        {"has(params.rest.y)", "false", true},
        {"params.deep.deep.max", "7", true},
        {"'b' in params.zones", "true", true},
        {"params.max > 3 ? 'many' : s", "\"many\"", true},
    };
    Fixture *f = *state;
    Params params;

    add_params(f, &params);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelGraph *graph = cel_graph_new(f->arena, f->arena);
        uint32_t root = fixture_lower(f, graph, cases[i].source);

        assert_case(cases[i].source,
            (cel_graph_node(graph, root)->op == OP_CONSTANT) == cases[i].is_constant);
        assert_eval(f, cases[i].source, cases[i].want);
    }
    f->options.no_fold = true;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_eval(f, cases[i].source, cases[i].want);
}

/* A constant list is treated like a literal one. */
static void test_constant_list_is_a_set(void **state) {
    Fixture *f = *state;
    CelGraph *graph = cel_graph_new(f->arena, f->arena);
    Params params;

    add_params(f, &params);
    assert_int_equal(
        cel_graph_node(graph, fixture_lower(f, graph, "s in params.zones"))->op, OP_IN_SET);
}

/* The graph is freed before the code runs: the code must not refer to a record in its arena. */
static void test_constant_record_outlives_the_graph(void **state) {
    Fixture *f = *state;
    Params params;

    add_params(f, &params);
    f->variables[f->d] = cel_int(1);
    assert_eval(f, "[dyn(params.deep), d][0].max", "7");
}

static CelValue host_item(const CelList *list, uint32_t i, CelRun *run) {
    (void)list;
    (void)run;
    return cel_int(10 + (int64_t)i);
}

static CelEntry host_entry(const CelMap *map, uint32_t i, CelRun *run) {
    (void)map;
    (void)run;
    return (CelEntry){cel_int(i), cel_int(10 + (int64_t)i)};
}

static CelValue host_find(const CelMap *map, CelValue key, CelRun *run) {
    (void)run;
    return key.kind == CEL_INT && key.i >= 0 && key.i < map->n ? cel_int(10 + key.i) : cel_absent();
}

/* A value that the host fetches on demand is not copied into the code. */
static void test_constants_of_the_host(void **state) {
    static const CelList list = {.n = 2, .depth = 1, .at = host_item};
    static const CelMap map = {.n = 2, .depth = 1, .at = host_entry, .find = host_find};
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"items", "[10, 11]"},
        {"n in items", "true"},
        {"items.map(x, x + n)", "[21, 22]"},
        {"pairs", "{0: 10, 1: 11}"},
        {"n in pairs", "false"},
        {"[pairs, {n: n}][0][1]", "11"},
    };
    Fixture *f = *state;
    const CelType *list_type = cel_list_of(f->arena, &cel_int_type),
                  *map_type = cel_map_of(f->arena, &cel_int_type, &cel_int_type);

    assert_int_equal(cel_env_add_constant(f->env, STR("items"), list_type, cel_list(&list)), 0);
    assert_int_equal(cel_env_add_constant(f->env, STR("pairs"), map_type, cel_map(&map)), 0);
    f->variables[f->n] = cel_int(11);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_eval(f, cases[i].source, cases[i].want);
}

static void test_constants_are_checked(void **state) {
    static const struct {
        const char *source, *text, *hint;
    } cases[] = {
        {"params.mxa == 1", "mxa", "max"},
        {"parms.max == 1", "parms", "params"},
        {"params.max == 'x'", "no matching overload", ""},
    };
    Fixture *f = *state;
    Params params;

    add_params(f, &params);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        DiagList diags = DIAG_LIST_IN(f->arena);
        CelProgram *program;
        const Diag *diag;

        assert_case(cases[i].source, cel_compile(f->env, STR("test"), str_from_c(cases[i].source),
                                         NULL, f->arena, &diags, &program) == CEL_REFUSED);
        diag = &diags.diags.items[0];
        assert_case(cases[i].source,
            memmem(diag->text.ptr, diag->text.len, cases[i].text, strlen(cases[i].text)));
        assert_case(cases[i].source,
            cases[i].hint[0] == '\0' ||
                memmem(diag->hint.ptr, diag->hint.len, cases[i].hint, strlen(cases[i].hint)));
    }
}

static void test_constants_print_without_a_run(void **state) {
    Fixture *f = *state;
    CelGraph *graph = cel_graph_new(f->arena, f->arena);
    Buf out = BUF_INIT(1 << 16);
    Params params;

    add_params(f, &params);
    cel_graph_print(graph, fixture_lower(f, graph, "params.unset"), &out);
    assert_non_null(memmem(out.data, out.len, "Params{…}", strlen("Params{…}")));
    buf_done(&out);
}

/* --- composites ------------------------------------------------------------------------ */

/* The variable "variables": one field per expression. */
typedef struct Variables {
    CelField fields[8];
    CelRecordType type;
    uint32_t nodes[8], slot;
    CelComposite composite;
    CelGraph *graph;
} Variables;

static void add_variables(Fixture *f, Variables *v) {
    *v = (Variables){.type = {STR("Variables"), v->fields, 0, NULL}};
    v->graph = cel_graph_new(f->arena, f->arena);
    fixture_variable(f, "variables", cel_record_of(f->arena, &v->type), 7, &v->slot);
    v->composite = (CelComposite){.slot = v->slot, .nodes = v->nodes};
    f->options.composite = &v->composite;
}

static void define(Fixture *f, Variables *v, const char *name, const char *source) {
    CelChecked *checked = fixture_check(f, source);
    size_t i = v->composite.n++;

    assert_int_equal(cel_lower(v->graph, checked, &f->options, &f->diags, &v->nodes[i]), 0);
    v->fields[i] =
        (CelField){.name = str_from_c(name), .type = cel_checked_type(checked), .always = true};
    v->type.n_fields++;
}

/* Checks that the code of @root prints as @want. */
static void assert_runs(
    Fixture *f, const CelGraph *graph, uint32_t root, const char *name, const char *want) {
    Buf out = BUF_INIT(1 << 16);
    CelCode *code;
    CelValue v;

    assert_case(name, cel_emit(graph, root, NULL, f->arena, &code) == 0);
    v = cel_run(code, &f->run, f->variables);
    cel_value_print(v, &f->run, 0, &out);
    assert_text(name, buf_str(&out), want);
    buf_done(&out);
}

static void define_some(Fixture *f, Variables *v) {
    add_variables(f, v);
    define(f, v, "twice", "n * 2");
    define(f, v, "more", "variables.twice + 1");
    define(f, v, "large", "l.filter(x, x > variables.twice)");
    define(f, v, "bad", "1 / (n - n)");
    define(f, v, "text", "s + '!'");
}

static void test_composite_fields(void **state) {
    static const CelValue items[] = {{.kind = CEL_INT, .i = 3}, {.kind = CEL_INT, .i = 30}};
    static const CelList list = {.n = 2, .depth = 1, .items = items};
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"variables.twice", "10"},
        {"variables.more * variables.twice", "110"},
        {"variables.large", "[30]"},
        {"variables.large.map(x, x + variables.more)", "[41]"},
        {"l.filter(x, x in variables.large)", "[30]"},
        {"l.all(x, variables.large.exists(y, y >= x))", "true"},
        {"has(variables.bad)", "true"},
        {"variables.?twice", "optional.of(10)"},
        {"variables.?twice.orValue(1) + 1", "11"},
        {"variables.bad", "error: division by zero"},
        {"variables.bad == 1 || true", "true"},
        {"cel.bind(x, variables.more, x * x)", "121"},
        {"variables.text.size()", "3"},
        {"{'a': variables.twice}", "{\"a\": 10}"},
    };
    Fixture *f = *state;
    Variables v;

    define_some(f, &v);
    f->variables[f->n] = cel_int(5);
    f->variables[f->s] = cel_string(STR("ab"));
    f->variables[f->l] = cel_list(&list);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelChecked *checked = fixture_check(f, cases[i].source);
        uint32_t *nodes = ARENA_ARRAY(f->arena, uint32_t, checked->tree->n_nodes);

        assert_runs(
            f, v.graph, fixture_lower(f, v.graph, cases[i].source), cases[i].source, cases[i].want);
        assert_int_equal(cel_lower_each(v.graph, checked, &f->options, &f->diags, nodes), 0);
        assert_runs(f, v.graph, nodes[checked->tree->n_nodes - 1], cases[i].source, cases[i].want);
    }
}

/* The node of a field is that of its expression, so it reads the same variables. */
static void test_composite_is_shared(void **state) {
    Fixture *f = *state;
    CelChecked *checked;
    uint32_t nodes[8];
    Variables v;

    define_some(f, &v);
    assert_int_equal(fixture_lower(f, v.graph, "variables.twice"), v.nodes[0]);
    assert_int_equal(fixture_lower(f, v.graph, "n * 2"), v.nodes[0]);
    assert_int_equal(cel_graph_node(v.graph, v.nodes[4])->groups, 1u << 1);
    assert_int_equal(
        cel_graph_node(v.graph, fixture_lower(f, v.graph, "has(variables.more)"))->op, OP_CONSTANT);
    checked = fixture_check(f, "variables.more + 1");
    assert_int_equal(cel_lower_each(v.graph, checked, &f->options, &f->diags, nodes), 0);
    assert_int_equal(nodes[1], v.nodes[1]);
}

static void test_composite_alone_is_refused(void **state) {
    static const char *const sources[] = {
        "variables",
        "dyn(variables)",
        "[variables]",
        "variables == variables",
        "cel.bind(v, variables, v.twice)",
        "type(variables) == int",
    };
    Fixture *f = *state;
    uint32_t root;
    Variables v;

    define_some(f, &v);
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        DiagList diags = DIAG_LIST_IN(f->arena);
        CelChecked *checked = fixture_check(f, sources[i]);

        assert_case(
            sources[i], cel_lower(v.graph, checked, &f->options, &diags, &root) == CEL_REFUSED);
        assert_text(sources[i], diags.diags.items[0].text, "'variables' has no value of its own");
    }
}

/* A field whose own expression has errors is not reported again. */
static void test_composite_field_that_was_refused(void **state) {
    Fixture *f = *state;
    CelChecked *checked;
    uint32_t root;
    Variables v;

    define_some(f, &v);
    v.nodes[0] = CEL_NO_NODE;
    checked = fixture_check(f, "variables.twice > 1");
    assert_int_equal(cel_lower(v.graph, checked, &f->options, &f->diags, &root), CEL_REFUSED);
    assert_int_equal(f->diags.n_errors, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_constants_fold),
        TEST(test_constant_list_is_a_set),
        TEST(test_constant_record_outlives_the_graph),
        TEST(test_constants_of_the_host),
        TEST(test_constants_are_checked),
        TEST(test_constants_print_without_a_run),
        TEST(test_composite_fields),
        TEST(test_composite_is_shared),
        TEST(test_composite_alone_is_refused),
        TEST(test_composite_field_that_was_refused),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
