/* Known slots (code.h): nodes whose value is given when the code runs, and code made from loop
 * bodies. */
#include "cel/test-fixture.h"

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

enum { CUT_SLOT = 12, CUT_SLOTS = 64 };

/* A graph, and the slots of its nodes that are cut. */
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
    return (CelEmitOptions){.known_slots = cut->slots, .n_known_slots = CUT_SLOTS};
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

/* Runs @source with @value given for @part. */
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

/* Variables are not bound: computing any of them fails. */
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
        {"n * 2 + 1", "n * 2", {.kind = CEL_STRING, .len = 1, .text = "x"},
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
        assert_without(f, cases[i].source, cases[i].part,
            (CelValue){.kind = CEL_ERROR, .error = cases[i].error}, cases[i].want);
}

/* An error of one run can be given to another run and stays the same. */
static void test_cut_error_keeps_its_place(void **state) {
    Fixture *f = *state;
    CelValue error;

    f->variables[f->n] = cel_int(0);
    error = fixture_eval(f, "5 + 10 / n");
    assert_int_equal(error.kind, CEL_ERROR);
    assert_int_equal(error.error->at, 7);
    assert_without(f, "1 + (5 + 10 / n)", "5 + 10 / n", error, "error@7: division by zero");
}

/* --- loop bodies ----------------------------------------------------------------------- */

/* The body of the loop @source. */
static uint32_t body_of(Cut *cut, const char *source) {
    const CelGraphNode *loop =
        cel_graph_node(cut->graph, fixture_lower(cut->f, cut->graph, source));

    assert_case(source, cel_op_is_loop(loop->op));
    return loop->args[loop->n_args - 1];
}

/* Gives @slot to every node of variable @local. */
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
        {"l.exists(x, x > 3)", {.kind = CEL_ABSENT},
            "error@9: no value for the variable of a loop"},
        {"l.exists(x, x > 3)", {.kind = CEL_BOOL},
            "error@9: declared as int, but the value is of type bool"},
        /* the inner loop has the level of the outer one, and so the same variable */
        {"cel.bind(b, l.map(y, y * 10), l.map(x, b.size() + x))", {.kind = CEL_INT, .i = 5}, "7"},
        {"cel.bind(b, l.map(y, y + 1), l.map(x, b[0] * 100 + (x + 1)))", {.kind = CEL_INT, .i = 5},
            "206"},
        {"cel.bind(b, l.map(y, y + 1), l.map(x, (x + 1) * 100 + b[0]))", {.kind = CEL_INT, .i = 5},
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

/* If the expression that reads the loop's variable is given, the variable is not read. */
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

/* x + 1 of the outer loop and y + 1 of the inner loop are one node. */
static void test_ambiguous_cut_is_refused(void **state) {
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

/* Loops over ints and over strings have separate LOCALs of one level: a run has one value for
 * both. */
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
        TEST(test_cut_values),
        TEST(test_cut_errors),
        TEST(test_cut_error_keeps_its_place),
        TEST(test_cut_locals),
        TEST(test_cut_pairs),
        TEST(test_cut_reads_a_local),
        TEST(test_ambiguous_cut_is_refused),
        TEST(test_cut_locals_of_two_types),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
