#include "cel/env.h"
#include "cel/test-fixture.h"
#include "cel/test-print.h"

static uint32_t lower_in(Fixture *f, CelGraph **graph, const char *source) {
    *graph = cel_graph_new(f->arena, f->arena);
    assert_non_null(*graph);
    return fixture_lower(f, *graph, source);
}

static void test_equal_parts_are_one_node(void **state) {
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"n + 1", "n + 1", true},
        {"n + 1", "n+1", true},
        {"n + 1", "1 + n", false},
        {"m.a", "m['a']", true},
        {"m.?a", "m[?'a']", true},
        {"l.map(x, x + 1)", "l.map(y, y + 1)", true},
        {"l.map(x, x + 1)", "l.map(x, x + 2)", false},
        {"l.all(x, x > 0)", "l.exists(x, x > 0)", false},
        {"cel.bind(a, n * 2, a + a)", "n * 2 + n * 2", true},
        {"d == 0.0", "d == -0.0", false},
        {"d == 1", "d == 1u", false},
        {"d == 'a'", "d == b'a'", false},
        {"s in ['a', 'b']", "s in ['a', 'b']", true},
        {"s in ['a', 'b']", "s in ['a', 'c']", false},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelGraph *graph;
        uint32_t a = lower_in(&f, &graph, cases[i].a), b = fixture_lower(&f, graph, cases[i].b);

        assert_case(cases[i].b, (a == b) == cases[i].same);
    }
    fixture_done(&f);
}

static void test_groups_and_levels(void **state) {
    static const struct {
        const char *source;
        uint8_t groups;
    } cases[] = {
        {"1 + 2", 0},
        {"n + 1", 1},
        {"s == 'a' || n > 1", 3},
        {"l.all(x, x > n)", 1},
        {"[1, 2].exists(x, x > 1)", 0},
        {"[1, 2].exists(x, s == 'a')", 2},
        {"node.cpu > n && d == 1", 13},
        {"cel.bind(a, s, 1)", 0},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelGraph *graph;
        uint32_t root = lower_in(&f, &graph, cases[i].source);

        assert_case(cases[i].source, cel_graph_node(graph, root)->groups == cases[i].groups);
        assert_case(cases[i].source, cel_graph_node(graph, root)->levels == 0);
    }
    fixture_done(&f);
}

/* The inner loop reads the outer variable, not its own. */
static void test_levels_inside(void **state) {
    Fixture f;
    CelGraph *graph;
    const CelGraphNode *outer, *inner;
    uint32_t root;

    (void)state;
    fixture_init(&f);
    root = lower_in(&f, &graph, "l.all(x, l.exists(y, y > x))");
    outer = cel_graph_node(graph, root);
    assert_int_equal(outer->op, OP_ALL);
    inner = cel_graph_node(graph, outer->args[1]);
    assert_int_equal(inner->op, OP_EXISTS);
    assert_int_equal(inner->levels, 1);
    assert_int_equal(cel_graph_node(graph, inner->args[1])->levels, 3);
    fixture_done(&f);
}

static void test_folding(void **state) {
    static const struct {
        const char *source;
        uint16_t op;
    } cases[] = {
        {"1 + 2 * 3", OP_CONSTANT},
        {"'a' + 'b' == 'ab'", OP_CONSTANT},
        {"size([1, 2, 3])", OP_CONSTANT},
        {"{'a': 1}.a", OP_CONSTANT},
        {"[1, 2][0] == 1 ? 'x' : s", OP_CONSTANT},
        {"quantity('1Gi')", OP_CONSTANT},
        {"optional.none()", OP_CONSTANT},
        {"false && n / 0 == 1", OP_CONSTANT},
        {"n / 0 == 1 && false", OP_CONSTANT},
        {"n / 0 == 1 || true", OP_CONSTANT},
        {"true && n > 1", OP_GT_INT},
        {"n > 1 || false", OP_GT_INT},
        /* Errors, and expressions that would hide an error, are not folded. */
        {"1 / 0", OP_DIV_INT},
        {"[1, 2][5]", OP_INDEX_LIST},
        {"true && d", OP_AND}, /* d may be no bool */
        {"d || false", OP_OR},
        {"1 / 0 > 0 && n > 1", OP_AND},
        {"1 / 0 > 0 ? 1 : 1", OP_CONDITIONAL},
        {"{'a': 1, 'a': 2}", OP_MAP},
    };
    CelGraph *graph;
    uint32_t root;
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        root = lower_in(&f, &graph, cases[i].source);
        assert_case(cases[i].source, cel_graph_node(graph, root)->op == cases[i].op);
    }
    f.options.no_fold = true;
    root = lower_in(&f, &graph, "1 + 2");
    assert_int_equal(cel_graph_node(graph, root)->op, OP_ADD_INT);
    fixture_done(&f);
}

static void test_operations(void **state) {
    static const struct {
        const char *source;
        bool no_check;
        uint16_t op;
    } cases[] = {
        {"n + 1", false, OP_ADD_INT},
        {"n == 1", false, OP_EQ_INT},
        {"s == 'a'", false, OP_EQ_STRING},
        {"s != 'a'", false, OP_NE_STRING},
        {"d == 1", false, OP_EQ},
        {"n == 1", true, OP_EQ},
        {"s in ['a']", false, OP_IN_SET},
        {"d in ['a', 1.5]", true, OP_IN_LIST},
        {"n in l", false, OP_IN_LIST},
        {"s in m", false, OP_IN_MAP},
        {"node.cpu", false, OP_FIELD},
        {"has(node.cpu)", false, OP_TEST_FIELD},
        {"node.?cpu", false, OP_OPT_FIELD},
        {"m.a", false, OP_SELECT},
        {"has(m.a)", false, OP_TEST_SELECT},
        {"l[n]", false, OP_INDEX_LIST},
        {"m[s]", false, OP_INDEX_MAP},
        {"s.startsWith('a')", false, OP_CALL},
        {"s.startsWith(d)", false, OP_CALL_CHECKED},
        {"d + d", false, OP_DISPATCH},
        {"n + 1", true, OP_CALL_CHECKED}, /* the other side is certainly an int */
        {"nowhere", true, OP_FAIL},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelGraph *graph;
        uint32_t root;

        f.options.no_check = cases[i].no_check;
        f.options.is_plain = true;
        root = lower_in(&f, &graph, cases[i].source);
        assert_case(cases[i].source, cel_graph_node(graph, root)->op == cases[i].op);
    }
    fixture_done(&f);
}

/* Whether the kinds of the root call's arguments are certain. Uncertain kinds are checked at run
 * time: a wrong "certain" would make a function read memory of another type. */
static void test_certain_kinds(void **state) {
    static const struct {
        const char *source;
        bool is_certain;
    } cases[] = {
        {"n + 1", true},
        {"d + 1", false},
        {"d + d", false},
        {"s.size()", true},
        {"d.size()", false},
        {"[n][0] + 1", true},
        {"[d][0] + 1", false},
        {"[d, 1][1] + 1", false},
        {"n == 1", true},
        {"d == 1", true}, /* any kinds */
        {"q.isLessThan(q)", true},
        {"[q, null][0].isLessThan(q)", false},
        {"[[null], [q]][0][0].isLessThan(q)", false},
        {"(n > 1 ? null : q).isLessThan(q)", false},
        {"[{'a': d}, {d: 'a'}][0]['a'].size()", false},
        {"dyn(maybe).value() + 1", false},
        {"[dyn([1])].flatten()[0] + 1", false},
        {"cel.bind(b, d, b + 1)", false},
        {"maybe.optMap(v, v)['a'].orValue(1) + 1", true},
        /* A comparison with null does not make other kinds certain. */
        {"(q != null) == q.isLessThan(q)", true},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.options = (CelOptions){.is_plain = true, .no_fold = true};
    fixture_variable(&f, "q", &cel_quantity_type, 0, NULL);
    fixture_variable(&f, "maybe",
        cel_type_read(f.env, STR("optional_type(map(string, int))"), f.arena), 0, NULL);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelGraph *graph;
        uint32_t root = lower_in(&f, &graph, cases[i].source);
        uint16_t op = cel_graph_node(graph, root)->op;

        assert_case(
            cases[i].source, (op != OP_CALL_CHECKED && op != OP_DISPATCH) == cases[i].is_certain);
    }
    fixture_done(&f);
}

static void test_bad_literals(void **state) {
    static const char *const sources[] = {"timestamp('x')", "duration('x')", "s.matches('[')",
        "n > 0 || duration('5') > duration('1s')"};
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        CelGraph *graph = cel_graph_new(f.arena, f.arena);
        CelChecked *checked = fixture_check(&f, sources[i]);
        size_t before = f.diags.n_errors;
        uint32_t root;

        f.options.is_plain = false;
        assert_case(
            sources[i], cel_lower(graph, checked, &f.options, &f.diags, &root) == CEL_REFUSED);
        assert_case(sources[i], f.diags.n_errors == before + 1);
        f.options.is_plain = true;
        assert_case(sources[i], cel_lower(graph, checked, &f.options, &f.diags, &root) == 0);
    }
    fixture_done(&f);
}

static void test_each_part_apart(void **state) {
    CelChecked *checked;
    CelGraph *graph;
    uint32_t nodes[16];
    Fixture f;

    (void)state;
    fixture_init(&f);
    checked = fixture_check(&f, "n + 1 == n + 1");
    graph = cel_graph_new(f.arena, f.arena);
    assert_int_equal(checked->tree->n_nodes, 7);
    assert_int_equal(cel_lower_each(graph, checked, &f.options, &f.diags, nodes), 0);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(nodes[i], i);
    fixture_done(&f);
}

static void assert_graph(Fixture *f, const char *source, const char *want) {
    Buf out = BUF_INIT(1 << 16);
    CelGraph *graph;
    uint32_t root = lower_in(f, &graph, source);

    cel_graph_print(graph, root, &out);
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}

static void test_print(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_graph(&f, "l.exists(x, x > n) && m.a == 'b'",
        "%0   variable        l                           list(int)           groups 0\n"
        "%1   local           first of level 0            int                 levels 0\n"
        "%2   variable        n                           int                 groups 0\n"
        "%3   gt-int          %1 %2                       bool                groups 0  levels 0\n"
        "%4   exists          level 0 %0 %3               bool                groups 0\n"
        "%5   variable        m                           map(string, dyn)    groups 0\n"
        "%6   select          \"a\" %5                      dyn                 groups 0\n"
        "%7   constant        \"b\"                         string\n"
        "%8   eq              %6 %7                       bool                groups 0\n"
        "%9   and             %4 %8                       bool                groups 0\n");
    assert_graph(&f, "[1 + 2, n].transformMap(i, v, s.size() > i + v)",
        "%3   constant        3                           int\n"
        "%4   variable        n                           int                 groups 0\n"
        "%5   list            %3 %4                       list(int)           groups 0\n"
        "%6   local           first of level 0            int                 levels 0\n"
        "%7   local           second of level 0           int                 levels 0\n"
        "%8   variable        s                           string              groups 1\n"
        "%9   call            size %8                     int                 groups 1\n"
        "%10  add-int         %6 %7                       int                 levels 0\n"
        "%11  gt-int          %9 %10                      bool                groups 1  levels 0\n"
        "%12  transform-map   level 0, pairs %5 %11       map(int, bool)      groups 0 1\n");
    assert_graph(&f, "node.?labels.zone.orValue(s) in ['a', 'b']",
        "%0   variable        node                        Node                groups 3\n"
        "%1   opt-field       .labels %0                  optional_type(map(string, string)) "
        "groups 3\n"
        "%2   select          \"zone\" %1                   optional_type(string) groups 3  uses "
        "2\n"
        "%3   variable        s                           string              groups 1\n"
        "%4   opt-has         %2                          bool                groups 3\n"
        "%5   opt-get         %2                          string              groups 3\n"
        "%6   conditional     %4 %5 %3                    string              groups 1 3\n"
        "%11  in-set          [\"a\", \"b\"] %6               bool                groups 1 3\n");
    assert_graph(&f, "d + d",
        "%0   variable        d                           dyn                 groups 2  uses 2\n"
        "%1   dispatch        _+_ of 9 %0 %0              dyn                 groups 2\n");
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_parts_are_one_node),
        cmocka_unit_test(test_groups_and_levels),
        cmocka_unit_test(test_levels_inside),
        cmocka_unit_test(test_folding),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_certain_kinds),
        cmocka_unit_test(test_bad_literals),
        cmocka_unit_test(test_each_part_apart),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests_name("cel/graph", tests, NULL, NULL);
}
