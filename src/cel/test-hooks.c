/* What a host hooks into the compiler: constants, variables that stand for expressions, and
 * nodes that are known when the code runs. */
#include "cel/test-fixture.h"

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

/* Strings and records are made anew each time, as a host may. */
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

/* All of it is one constant, or not. */
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

/* A list of a constant is as good as one that was written out. */
static void test_constant_list_is_a_set(void **state) {
    Fixture *f = *state;
    CelGraph *graph = cel_graph_new(f->arena, f->arena);
    Params params;

    add_params(f, &params);
    assert_int_equal(
        cel_graph_node(graph, fixture_lower(f, graph, "s in params.zones"))->op, OP_IN_SET);
}

/* The graph is gone when the code runs: a record that was made for it must not be. */
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

/* What a host would have to fetch is not copied into the code: it stays the host's. */
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

        assert_case(cases[i].source,
            cel_compile(f->env,
                STR("test"),
                str_from_c(cases[i].source),
                NULL,
                f->arena,
                &diags,
                &program) == CEL_COMPILE_REFUSED);
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

/* variables: as many fields as there were expressions. */
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

/* The code of @root says @want. */
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

/* The field is the very node, with what that reads. */
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

        assert_case(sources[i],
            cel_lower(v.graph, checked, &f->options, &diags, &root) == CEL_LOWER_REFUSED);
        assert_text(sources[i], diags.diags.items[0].text, "'variables' has no value of its own");
    }
}

/* A field whose own expression was refused is not told about again. */
static void test_composite_field_that_was_refused(void **state) {
    Fixture *f = *state;
    CelChecked *checked;
    uint32_t root;
    Variables v;

    define_some(f, &v);
    v.nodes[0] = CEL_NO_NODE;
    checked = fixture_check(f, "variables.twice > 1");
    assert_int_equal(cel_lower(v.graph, checked, &f->options, &f->diags, &root), CEL_LOWER_REFUSED);
    assert_int_equal(f->diags.n_errors, 0);
}

/* --- cuts ------------------------------------------------------------------------------ */

enum { CUT_SLOT = 12, CUT_SLOTS = 64 };

/* The node of @part, which is lowered first. */
typedef struct Cut {
    Fixture *f;
    CelGraph *graph;
    uint32_t slots[CUT_SLOTS];
} Cut;

static void cut_init(Cut *cut, Fixture *f) {
    *cut = (Cut){.f = f, .graph = cel_graph_new(f->arena, f->arena)};
    for (size_t i = 0; i < CUT_SLOTS; i++)
        cut->slots[i] = CEL_NO_SLOT;
}

static CelEmitOptions cut_options(const Cut *cut) {
    return (CelEmitOptions){.cut_slots = cut->slots, .n_cut_slots = CUT_SLOTS};
}

static CelValue cut_run(const Cut *cut, uint32_t root, const char *name) {
    CelEmitOptions options = cut_options(cut);
    CelCode *code;

    assert_case(name, cel_emit(cut->graph, root, &options, cut->f->arena, &code) == 0);
    return cel_run(code, &cut->f->run, cut->f->variables);
}

static void assert_cut(const Cut *cut, uint32_t root, const char *name, const char *want) {
    CelValue v = cut_run(cut, root, name);
    Buf out = BUF_INIT(1 << 16);

    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error@%u: %.*s", v.error->at, STR_FMT(v.error->text));
    else
        cel_value_print(v, &cut->f->run, 0, &out);
    assert_text(name, buf_str(&out), want);
    buf_done(&out);
}

/* @part is cut out of @source and is @value. */
static void assert_without(
    Fixture *f, const char *source, const char *part, CelValue value, const char *want) {
    uint32_t node, root;
    Cut cut;

    cut_init(&cut, f);
    node = fixture_lower(f, cut.graph, part);
    assert_true(node < CUT_SLOTS);
    cut.slots[node] = CUT_SLOT;
    root = fixture_lower(f, cut.graph, source);
    f->variables[CUT_SLOT] = value;
    assert_cut(&cut, root, source, want);
}

/* Variables are not bound: whatever is computed all the same fails. */
static void test_cut_values(void **state) {
    static const struct {
        const char *source, *part;
        CelValue value;
        const char *want;
    } cases[] = {
        {"n * 2 + 1", "n * 2", {.kind = CEL_INT, .i = 20}, "21"},
        {"(n * 2 + 1) * (n * 2 + 1)", "n * 2", {.kind = CEL_INT, .i = 2}, "9"},
        {"(n * 2 + 1) * (n * 2 + 1)", "n * 2 + 1", {.kind = CEL_INT, .i = 5}, "25"},
        {"n > 1 && n < 3", "n", {.kind = CEL_INT, .i = 2}, "true"},
        {"[1, 2].map(x, x + n)", "n", {.kind = CEL_INT, .i = 2}, "[3, 4]"},
        {"[1, 2].map(x, x + n * n)", "n * n", {.kind = CEL_INT, .i = 2}, "[3, 4]"},
        {"node.cpu + 1", "node.cpu", {.kind = CEL_INT, .i = 2}, "3"},
        {"has(node.cpu) ? 1 : 2", "has(node.cpu)", {.kind = CEL_BOOL, .boolean = true}, "1"},
        {"size(s + 'x')", "s + 'x'", {.kind = CEL_STRING, .len = 2, .text = "ab"}, "2"},
        /* not what was declared */
        {"n * 2 + 1",
            "n * 2",
            {.kind = CEL_STRING, .len = 1, .text = "x"},
            "error@2: declared as int, but the value is of type string"},
        {"d.x == 1", "d.x", {.kind = CEL_STRING, .len = 1, .text = "x"}, "false"},
        {"!d.x", "d.x", {.kind = CEL_INT, .i = 1}, "error@0: no such overload: !int"},
        /* not bound */
        {"n * 2 + 1", "n * 2", {.kind = CEL_ABSENT}, "error@2: no value for variable '?'"},
        {"n * 2 == 1 || true", "n * 2 == 1", {.kind = CEL_ABSENT}, "true"},
        /* the root itself is computed */
        {"n", "n", {.kind = CEL_INT, .i = 3}, "error@0: no value for variable 'n'"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_without(*state, cases[i].source, cases[i].part, cases[i].value, cases[i].want);
}

static void test_cut_errors(void **state) {
    static const CelError known = {.text = STR("known"), .at = 99, .is_placed = true};
    static const CelError fresh = {.text = STR("fresh")};
    static const CelError limit = {.text = STR("limit"), .is_limit = true, .is_placed = true};
    static const struct {
        const char *source, *part;
        const CelError *error;
        const char *want;
    } cases[] = {
        {"n * 2 + 1", "n * 2", &known, "error@99: known"},
        {"n * 2 + 1", "n * 2", &fresh, "error@2: fresh"},
        {"node.cpu + 1", "node", &known, "error@99: known"},
        {"d.x", "d", &known, "error@99: known"},
        {"n == 1 && false", "n == 1", &known, "false"},
        {"false && n == 1", "n == 1", &known, "false"},
        {"s == 'x' && n == 1", "n == 1", &known, "false"},
        {"s == 'a' && n == 1", "n == 1", &known, "error@99: known"},
        {"n == 1 && s == 'a'", "n == 1", &known, "error@99: known"},
        {"n == 1 || s == 'a'", "n == 1", &known, "true"},
        {"n == 1 || s == 'x'", "n == 1", &known, "error@99: known"},
        {"n == 1 || m.x == 1", "n == 1", &known, "error@99: known"},
        {"m.x == 1 || n == 1", "n == 1", &known, "error@2: no such key: x"},
        {"n == 1 || s == 'a'", "n == 1", &limit, "error@0: limit"},
        {"n == 1 ? 1 : 2", "n == 1", &known, "error@99: known"},
        {"s == 'a' ? n * 2 : 7", "n * 2", &known, "error@99: known"},
        {"s == 'x' ? n * 2 : 7", "n * 2", &known, "7"},
        {"[1, 2].exists(x, x == 2 || n == x * 0)", "n", &known, "true"},
        {"[1, 2].all(x, x < 3 && n == 1)", "n == 1", &known, "error@99: known"},
        {"[1, 2].all(x, x < 2 && n == 1)", "n == 1", &known, "false"},
        {"[1, 2].map(x, x + n)", "n", &known, "error@99: known"},
    };
    static const CelMap empty = {.depth = 1};
    Fixture *f = *state;

    f->variables[f->s] = cel_string(STR("a"));
    f->variables[f->m] = cel_map(&empty);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_without(f,
            cases[i].source,
            cases[i].part,
            (CelValue){.kind = CEL_ERROR, .error = cases[i].error},
            cases[i].want);
}

/* An error that one run met is the same when another is given it. */
static void test_cut_error_keeps_its_place(void **state) {
    Fixture *f = *state;
    CelValue error;

    f->variables[f->n] = cel_int(0);
    error = fixture_eval(f, "5 + 10 / n");
    assert_int_equal(error.kind, CEL_ERROR);
    assert_int_equal(error.error->at, 7);
    assert_without(f, "1 + (5 + 10 / n)", "5 + 10 / n", error, "error@7: division by zero");
}

/* --- the inside of loops --------------------------------------------------------------- */

/* The body of the loop that @source is. */
static uint32_t body_of(Cut *cut, const char *source) {
    const CelGraphNode *loop =
        cel_graph_node(cut->graph, fixture_lower(cut->f, cut->graph, source));

    assert_case(source, cel_op_is_loop(loop->op));
    return loop->args[loop->n_args - 1];
}

/* All LOCALs of @level that there are, first or second. */
static void cut_local(Cut *cut, uint32_t local, uint32_t slot) {
    for (uint32_t i = 0; i < cel_graph_size(cut->graph) && i < CUT_SLOTS; i++) {
        const CelGraphNode *node = cel_graph_node(cut->graph, i);

        if (node->op == OP_LOCAL && node->immediate == local)
            cut->slots[i] = slot;
    }
}

static void test_cut_locals(void **state) {
    static const CelError known = {.text = STR("known"), .at = 99, .is_placed = true};
    static const struct {
        const char *source;
        CelValue first;
        const char *want;
    } cases[] = {
        {"l.map(x, x * 2 + x)", {.kind = CEL_INT, .i = 5}, "15"},
        {"l.map(x, (x + 1) * (x + 1) + n)", {.kind = CEL_INT, .i = 5}, "37"},
        {"l.map(x, l.map(y, x + y))", {.kind = CEL_INT, .i = 5}, "[6, 7]"},
        {"l.map(x, l.map(y, (x + 1) * (x + 1) + y))", {.kind = CEL_INT, .i = 5}, "[37, 38]"},
        {"l.map(x, n * n + n * n)", {.kind = CEL_ABSENT}, "2"},
        {"l.exists(x, x > 3)", {.kind = CEL_ERROR, .error = &known}, "error@99: known"},
        {"l.exists(x, x > 3 || n == 1)", {.kind = CEL_ERROR, .error = &known}, "true"},
        {"l.exists(x, x > 3)",
            {.kind = CEL_ABSENT},
            "error@9: no value for the variable of a loop"},
        {"l.exists(x, x > 3)",
            {.kind = CEL_BOOL},
            "error@9: declared as int, but the value is of type bool"},
        /* the loop inside has the level of the one around, and so the same variable */
        {"cel.bind(b, l.map(y, y * 10), l.map(x, b.size() + x))", {.kind = CEL_INT, .i = 5}, "7"},
        {"cel.bind(b, l.map(y, y + 1), l.map(x, b[0] * 100 + (x + 1)))",
            {.kind = CEL_INT, .i = 5},
            "206"},
        {"cel.bind(b, l.map(y, y + 1), l.map(x, (x + 1) * 100 + b[0]))",
            {.kind = CEL_INT, .i = 5},
            "602"},
    };
    static const CelValue items[] = {{.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 2}};
    static const CelList list = {.n = 2, .depth = 1, .items = items};
    Fixture *f = *state;

    f->variables[f->n] = cel_int(1);
    f->variables[f->l] = cel_list(&list);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        uint32_t body;
        Cut cut;

        cut_init(&cut, f);
        body = body_of(&cut, cases[i].source);
        cut_local(&cut, 0, CUT_SLOT);
        f->variables[CUT_SLOT] = cases[i].first;
        assert_cut(&cut, body, cases[i].source, cases[i].want);
    }
}

static void test_cut_pairs(void **state) {
    Fixture *f = *state;
    uint32_t body;
    Cut cut;

    cut_init(&cut, f);
    body = body_of(&cut, "l.all(i, v, i * 10 + v == 12 && i < v)");
    cut_local(&cut, 0, CUT_SLOT);
    cut_local(&cut, 1, CUT_SLOT + 1);
    f->variables[CUT_SLOT] = cel_int(1);
    f->variables[CUT_SLOT + 1] = cel_int(2);
    assert_cut(&cut, body, "pairs", "true");
}

/* What reads the loop's variable may be cut instead of it; then nobody asks for it. */
static void test_cut_reads_a_local(void **state) {
    Fixture *f = *state;
    uint32_t body, sum;
    Cut cut;

    cut_init(&cut, f);
    body = body_of(&cut, "l.map(x, ((x + 1) * 2 + 3) * ((x + 1) * 2 + 3))");
    sum = cel_graph_node(cut.graph, body)->args[0];                /* … + 3 */
    sum = cel_graph_node(cut.graph, sum)->args[0];                 /* … * 2 */
    cut.slots[cel_graph_node(cut.graph, sum)->args[0]] = CUT_SLOT; /* x + 1 */
    f->variables[CUT_SLOT] = cel_int(5);
    assert_cut(&cut, body, "x + 1", "169");
}

/* x + 1 of the loop outside and y + 1 of the one inside are one node. */
static void test_cut_that_is_unclear(void **state) {
    Fixture *f = *state;
    CelEmitOptions options;
    uint32_t body;
    CelCode *code;
    Cut cut;

    cut_init(&cut, f);
    body = body_of(&cut, "cel.bind(b, l.map(y, y + 1), l.map(x, b[0] * (x + 1)))");
    options = cut_options(&cut);
    cut.slots[cel_graph_node(cut.graph, body)->args[1]] = CUT_SLOT;
    assert_int_equal(cel_emit(cut.graph, body, &options, f->arena, &code), CEL_EMIT_UNCLEAR);
}

/* Loops over ints and over strings have a LOCAL each, of one level: a run has one value for both.
 */
static void test_cut_locals_of_two_types(void **state) {
    static const char source[] = "cel.bind(b, ['a'].map(y, y + s), l.map(x, b.size() + x))";
    Fixture *f = *state;
    CelEmitOptions options;
    uint32_t body;
    CelCode *code;
    Cut cut;

    cut_init(&cut, f);
    body = body_of(&cut, source);
    cut_local(&cut, 0, CUT_SLOT);
    f->variables[f->s] = cel_string(STR("b"));
    f->variables[CUT_SLOT] = cel_int(5);
    assert_cut(&cut, body, source, "6");
    for (uint32_t i = 0; i <= body; i++)
        if (cel_graph_node(cut.graph, i)->type == &cel_string_type && cut.slots[i] == CUT_SLOT)
            cut.slots[i] = CUT_SLOT + 1;
    options = cut_options(&cut);
    assert_int_equal(cel_emit(cut.graph, body, &options, f->arena, &code), CEL_EMIT_UNCLEAR);
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
        TEST(test_cut_values),
        TEST(test_cut_errors),
        TEST(test_cut_error_keeps_its_place),
        TEST(test_cut_locals),
        TEST(test_cut_pairs),
        TEST(test_cut_reads_a_local),
        TEST(test_cut_that_is_unclear),
        TEST(test_cut_locals_of_two_types),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
