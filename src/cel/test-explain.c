#include "cel/explain.h"

#include "cel/test-fixture.h"

static void assert_explain(Fixture *f, const char *source, const char *want) {
    Buf out = BUF_INIT(1 << 20);
    CelValue v;

    f->run = CEL_RUN(f->arena);
    assert_int_equal(cel_explain(f->env, STR("test"), str_from_c(source), &f->options, f->variables,
                         &f->run, false, &f->diags, &out, &v),
        0);
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}

static void fill(Fixture *f, TestNode *node) {
    *node = (TestNode){
        .head = {&f->node_type},
        .fields = {cel_string(STR("node-1")), cel_int(4), cel_absent()},
    };
    f->variables[f->n] = cel_int(7);
    f->variables[f->s] = cel_string(STR("abc"));
    f->variables[f->node] = cel_record(&node->head);
    f->variables[f->l] = fixture_eval(f, "[2, 3]");
    f->variables[f->m] = fixture_eval(f, "{'a': {'b': {'c': 1}}}");
}

static void test_parts(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_explain(&f, "1 + 2", "1 + 2  3\n");
    assert_explain(&f, "5", "5  5\n");
    assert_explain(&f, "n\n  >   5",
        "n > 5  true\n"
        "└─ n   7\n");
    assert_explain(&f, "node.cpu - 1 >= n && s == 'abc' && n > 0",
        "node.cpu - 1 >= n && s == 'abc' && n > 0  false\n"
        "├─ node.cpu - 1 >= n                      false\n"
        "│  ├─ node.cpu - 1                        3\n"
        "│  │  └─ node.cpu                         4\n"
        "│  └─ n                                   7\n"
        "├─ s == 'abc'                             not evaluated\n"
        "└─ n > 0                                  not evaluated\n");
    assert_explain(&f, "n > 9 && (s == 'a' && n > 0)",
        "n > 9 && (s == 'a' && n > 0)  false\n"
        "├─ n > 9                      false\n"
        "│  └─ n                       7\n"
        "├─ s == 'a'                   not evaluated\n"
        "└─ n > 0                      not evaluated\n");
    assert_explain(&f, "l.filter(x, x > 2)[0] == 3",
        "l.filter(x, x > 2)[0] == 3  true\n"
        "└─ l.filter(x, x > 2)[0]    3\n"
        "   └─ l.filter(x, x > 2)    [3]\n"
        "      ├─ l                  [2, 3]\n"
        "      ├─ x = 2: x > 2       false\n"
        "      └─ x = 3: x > 2       true\n");
    assert_explain(&f, "n > 5 ? 'big' : s",
        "n > 5 ? 'big' : s  \"big\"\n"
        "├─ n > 5           true\n"
        "│  └─ n            7\n"
        "└─ s               not evaluated\n");
    fixture_done(&f);
}

static void test_errors(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_explain(&f, "node.labels.zone == 'a' || n / 0 == 1 || n == 7",
        "node.labels.zone == 'a' || n / 0 == 1 || n == 7  true\n"
        "├─ node.labels.zone == 'a'                       error: no such key: labels\n"
        "│  └─ node.labels.zone                           error: no such key: labels\n"
        "│     └─ node.labels                             error: no such key: labels\n"
        "├─ n / 0 == 1                                    error: division by zero\n"
        "│  └─ n / 0                                      error: division by zero\n"
        "│     └─ n                                       7\n"
        "└─ n == 7                                        true\n"
        "   └─ n                                          7\n");
    fixture_done(&f);
}

static void test_loops(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_explain(&f, "[1, 2].exists(x, x + 1 == n || x == 2)",
        "[1, 2].exists(x, x + 1 == n || x == 2)  true\n"
        "├─ x = 1: x + 1 == n || x == 2          false\n"
        "│  ├─ x + 1 == n                        false\n"
        "│  │  ├─ x + 1                          2\n"
        "│  │  └─ n                              7\n"
        "│  └─ x == 2                            false\n"
        "└─ x = 2: x + 1 == n || x == 2          true\n"
        "   ├─ x + 1 == n                        false\n"
        "   │  ├─ x + 1                          3\n"
        "   │  └─ n                              7\n"
        "   └─ x == 2                            true\n");
    fixture_done(&f);
}

/* A named value is shown once, where it is declared; its uses have no line. */
static void test_names(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_explain(&f, "cel.bind(a, n + 1, [3].transformList(i, v, a * v + a + i))",
        "cel.bind(a, n + 1, [3].transformList(i, v, a * v + a + i…  [32]\n"
        "├─ a = n + 1                                               8\n"
        "│  └─ n                                                    7\n"
        "└─ [3].transformList(i, v, a * v + a + i)                  [32]\n"
        "   └─ i = 0, v = 3: a * v + a + i                          32\n"
        "      └─ a * v + a                                         32\n"
        "         └─ a * v                                          24\n");
    assert_explain(&f, "cel.bind(q, n + 1, q) * 2",
        "cel.bind(q, n + 1, q) * 2  16\n"
        "└─ cel.bind(q, n + 1, q)   8\n"
        "   └─ q = n + 1            8\n"
        "      └─ n                 7\n");
    assert_explain(&f, "cel.bind(q, l[0] + l[1], q * q)",
        "cel.bind(q, l[0] + l[1], q * q)  25\n"
        "├─ q = l[0] + l[1]               5\n"
        "│  ├─ l[0]                       2\n"
        "│  └─ l[1]                       3\n"
        "└─ q * q                         25\n");
    assert_explain(&f, "cel.bind(a, n, cel.bind(b, a, cel.bind(c, s, b + 1)))",
        "cel.bind(a, n, cel.bind(b, a, cel.bind(c, s, b + 1)))  8\n"
        "├─ a = n                                               7\n"
        "├─ b = a                                               7\n"
        "├─ c = s                                               not evaluated\n"
        "└─ b + 1                                               8\n");
    assert_explain(&f, "[1, 2].map(x, cel.bind(a, n + 1, a + a + x))",
        "[1, 2].map(x, cel.bind(a, n + 1, a + a + x))  [17, 18]\n"
        "├─ x = 1: cel.bind(a, n + 1, a + a + x)       17\n"
        "│  ├─ a = n + 1                               8\n"
        "│  │  └─ n                                    7\n"
        "│  └─ a + a + x                               17\n"
        "│     └─ a + a                                16\n"
        "└─ x = 2: cel.bind(a, n + 1, a + a + x)       18\n"
        "   ├─ a = n + 1                               8\n"
        "   └─ a + a + x                               18\n"
        "      └─ a + a                                16\n");
    assert_explain(&f, "l.sortBy(a, -a)",
        "l.sortBy(a, -a)  [3, 2]\n"
        "├─ l             [2, 3]\n"
        "├─ a = 2: -a     -2\n"
        "└─ a = 3: -a     -3\n");
    assert_explain(&f, "math.greatest(n, l[0], 1)",
        "math.greatest(n, l[0], 1)  7\n"
        "├─ n                       7\n"
        "└─ l[0]                    2\n");
    fixture_done(&f);
}

static void test_optionals(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_explain(&f, "m.?zone.orValue('x')",
        "m.?zone.orValue('x')  \"x\"\n"
        "└─ m.?zone            optional.none()\n");
    assert_explain(&f, "m.?a.b.c.orValue(n)",
        "m.?a.b.c.orValue(n)  1\n"
        "├─ m.?a.b.c          optional.of(1)\n"
        "└─ n                 not evaluated\n");
    assert_explain(&f, "m.?zone.b.hasValue()",
        "m.?zone.b.hasValue()  false\n"
        "└─ m.?zone.b          optional.none()\n"
        "   └─ m.?zone         optional.none()\n");
    assert_explain(&f, "m[?'q'].or(m[?'r']).orValue('z')",
        "m[?'q'].or(m[?'r']).orValue('z')  \"z\"\n"
        "└─ m[?'q'].or(m[?'r'])            optional.none()\n"
        "   ├─ m[?'q']                     optional.none()\n"
        "   └─ m[?'r']                     optional.none()\n");
    assert_explain(&f, "[?l[?9], n] == [7] && {?'k': l[?9], 'z': n} != {'z': 8}",
        "[?l[?9], n] == [7] && {?'k': l[?9], 'z': n} != {'z': 8}  true\n"
        "├─ [?l[?9], n] == [7]                                    true\n"
        "│  └─ [?l[?9], n]                                        [7]\n"
        "│     ├─ l[?9]                                           optional.none()\n"
        "│     └─ n                                               7\n"
        "└─ {?'k': l[?9], 'z': n} != {'z': 8}                     true\n"
        "   └─ {?'k': l[?9], 'z': n}                              {\"z\": 7}\n"
        "      ├─ l[?9]                                           optional.none()\n"
        "      └─ n                                               7\n");
    assert_explain(&f, "l[?0].optMap(v, v + n)",
        "l[?0].optMap(v, v + n)  optional.of(9)\n"
        "├─ l[?0]                optional.of(2)\n"
        "└─ v = 2: v + n         9\n"
        "   └─ n                 7\n");
    assert_explain(&f, "l[?9].optMap(v, v + n)",
        "l[?9].optMap(v, v + n)  optional.none()\n"
        "├─ l[?9]                optional.none()\n"
        "└─ v + n                not evaluated\n");
    fixture_done(&f);
}

static void test_many_iterations(void **state) {
    Buf source = BUF_INIT(1 << 16);
    Buf out = BUF_INIT(1 << 20);
    Fixture f;
    size_t n_lines = 0;

    (void)state;
    fixture_init(&f);
    buf_append(&source, STR("[0"));
    for (int i = 1; i < 100; i++)
        buf_printf(&source, ", %d", i);
    buf_append(&source, STR("].all(x, [1, 2, 3].all(y, y > 0 && x < 90))"));
    assert_int_equal(cel_explain(f.env, STR("test"), buf_str(&source), &f.options, f.variables,
                         &f.run, true, &f.diags, &out, NULL),
        0);
    for (size_t i = 0; i < out.len; i++)
        n_lines += out.data[i] == '\n';
    assert_in_range(n_lines, 100, CEL_EXPLAIN_LINES_MAX + 1);
    assert_non_null(memmem(out.data, out.len, "75 more turns", 13));
    buf_done(&source);
    buf_done(&out);
    fixture_done(&f);
}

/* Turns are counted for each run of an inner loop, also after a run that an error ended. */
static void test_iterations_of_inner_loops(void **state) {
    Str source =
        STR("[1, 2, 3].exists(x, lists.range(x * 10).map(y, 100 / (x * 9 - y)).size() == x)");
    Buf out = BUF_INIT(1 << 20);
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(cel_explain(f.env, STR("test"), source, &f.options, f.variables, &f.run, false,
                         &f.diags, &out, NULL),
        0);
    assert_non_null(memmem(out.data, out.len, "… 3 more turns", 16));
    assert_non_null(memmem(out.data, out.len, "… 12 more turns", 17));
    buf_done(&out);
    fixture_done(&f);
}

/* Compiles and runs @source without options. */
static int explain_plainly(Fixture *f, Str source, Buf *out) {
    f->run = CEL_RUN(f->arena);
    return cel_explain(f->env, STR("test"), source,
        /* options= */ NULL, f->variables, &f->run,
        /* colour= */ false, &f->diags, out,
        /* ret= */ NULL);
}

static void test_many_lines(void **state) {
    static const Str last = STR("… (there is more than this shows)\n");
    Buf source = BUF_INIT(1 << 16), out = BUF_INIT(1 << 20);
    size_t n_lines = 0;
    Fixture f;

    (void)state;
    fixture_init(&f);
    f.variables[f.n] = cel_int(7);
    buf_append(&source, STR("n > 0"));
    for (int i = 1; i < CEL_EXPLAIN_LINES_MAX; i++)
        buf_printf(&source, " && n > %d", -i);
    assert_int_equal(explain_plainly(&f, buf_str(&source), &out), 0);
    for (size_t i = 0; i < out.len; i++)
        n_lines += out.data[i] == '\n';
    assert_int_equal(n_lines, CEL_EXPLAIN_LINES_MAX + 1);
    assert_true(str_has_suffix(buf_str(&out), last));
    buf_done(&source);
    buf_done(&out);
    fixture_done(&f);
}

/* Errors of each step are reported, and nothing is printed. */
static void test_refused(void **state) {
    static const char *const sources[] = {"1 +", "1 + 'a'", "timestamp('x')"};
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        Buf out = BUF_INIT(1 << 16);

        assert_case(sources[i], explain_plainly(&f, str_from_c(sources[i]), &out) == CEL_REFUSED);
        assert_case(sources[i], f.diags.n_errors == i + 1 && out.len == 0);
        buf_done(&out);
    }
    fixture_done(&f);
}

/* "a = 1, b = 2": the result of cel_explained_leaves(). */
static void assert_leaves(Fixture *f, const char *source, const char *want) {
    CelGraph *graph = cel_graph_new(f->arena, f->arena);
    CelChecked *checked = NULL;
    CelExplainer explainer;
    CelExplained explained;
    CelLeaf leaves[8];
    Buf out = BUF_INIT(1 << 16);
    size_t n;

    f->run = CEL_RUN(f->arena);
    assert_int_equal(cel_compile_tree(f->env, STR("test"), str_from_c(source), &f->options,
                         f->arena, &f->diags, &checked),
        0);
    assert_int_equal(
        cel_explainer_init(&explainer, checked, graph, &f->options, f->arena, &f->diags), 0);
    assert_int_equal(cel_explained_run(&explained, &explainer, f->variables, &f->run, f->arena), 0);
    n = cel_explained_leaves(&explained, leaves, ELEMENTS_OF(leaves));
    for (size_t i = 0; i < n; i++) {
        buf_printf(&out, "%s%.*s = ", i ? ", " : "", STR_FMT(leaves[i].text));
        if (leaves[i].value.kind == CEL_ERROR)
            buf_append(&out, leaves[i].value.error->text);
        else if (leaves[i].value.kind == CEL_ABSENT)
            buf_append(&out, STR("absent"));
        else
            cel_value_print(leaves[i].value, &f->run, 0, &out);
    }
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}

static void test_leaves(void **state) {
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"n > 9", "n = 7"},
        {"n > 5 && s == 'x' && node.cpu > 0", "s = \"abc\""}, /* the side that is false */
        {"n > 9 || s == 'x'", "n = 7, s = \"abc\""},
        {"n > 5 || s == 'x'", "n = 7"},
        {"!(n > 5)", "n = 7"},
        {"n > 5 ? s == 'x' : node.cpu > 9", "n = 7, s = \"abc\""},
        {"node.cpu * 2 + n >= 99", "node.cpu = 4, n = 7"},
        {"n > 9 && n < 3", "n = 7"}, /* once each */
        {"s.startsWith('x')", "s = \"abc\""},
        {"size(s) > 9", "size(s) = 3"},
        {"'x' in m", "'x' in m = false"},
        {"n in l", "n in l = false, n = 7"},
        {"n in [1, 2]", "n = 7"},
        {"l.filter(x, x > 2).size() > 9", "l.filter(x, x > 2).size() = 1"},
        {"l.all(x, x < 3)", "x = 3"}, /* the element that decided */
        {"l.exists(x, x > 9)", "l.size() = 2"},
        {"l.exists(x, x == 3 && n > 0)", "x = 3, n = 7"},
        {"m[?'a'].orValue(null) == null && false", "m['a'].orValue(null) == null = false"},
        {"l[?9].orValue(0) > 0", "l[9] = absent"},
        {"m.a.b.d == 1", "m.a.b.d = no such key: d"},
        {"cel.bind(x, n + 1, x > 9)", "x = 8"},
        {"l.exists_one(x, x > 9)", "l.size() = 2"},
        {"l.map(x, x + 1)", "l.map(x, x + 1) = [3, 4]"},
        {"[n, 1]", "[n, 1] = [7, 1]"},
        {"lists.range(99).all(x, x < 90)",
            "lists.range(99).size() = 99"}, /* this iteration was not kept */
        {"node.labels.all(k, k == s)", "node.labels = no such key: labels"},
        {"1 > 2", "1 > 2 = false"}, /* no variable was read */
        {"true", ""},
    };
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_leaves(&f, cases[i].source, cases[i].want);
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_optionals),
        cmocka_unit_test(test_many_iterations),
        cmocka_unit_test(test_iterations_of_inner_loops),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_leaves),
    };

    return cmocka_run_group_tests_name("cel/explain", tests, NULL, NULL);
}
