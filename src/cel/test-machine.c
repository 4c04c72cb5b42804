#include "cel/code.h"

#include "cel/test-fixture.h"

static const CelValue three[] = {
    {.kind = CEL_INT, .i = 1}, {.kind = CEL_INT, .i = 2}, {.kind = CEL_INT, .i = 3}};
static const CelList list_of_three = {.n = 3, .depth = 1, .items = three};

/* A list of the host that makes its elements on demand. */
static CelValue squares_at(const CelList *list, uint32_t i, CelRun *run) {
    (void)list;
    (void)run;
    return cel_int((int64_t)i * i);
}
static const CelList squares = {.n = 1000000, .depth = 1, .at = squares_at};

static void fill(Fixture *f, TestNode *node) {
    *node = (TestNode){
        .head = {&f->node_type},
        .fields = {cel_string(STR("node-1")), cel_int(4), cel_absent()},
    };
    f->variables[f->n] = cel_int(7);
    f->variables[f->s] = cel_string(STR("abc"));
    f->variables[f->l] = cel_list(&list_of_three);
    f->variables[f->node] = cel_record(&node->head);
}

static void test_values_of_the_host(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    assert_eval(&f, "node.name", "\"node-1\"");
    assert_eval(&f, "node.cpu * 2 + n", "15");
    assert_eval(&f, "has(node.cpu) && !has(node.labels)", "true");
    assert_eval(&f, "node.labels.zone", "error@5: no such key: labels");
    assert_eval(&f, "node.?labels.zone.orValue('none')", "\"none\"");
    assert_eval(&f, "node.labels.zone == 'a' || node.cpu == 4", "true");
    assert_eval(&f, "[node].map(x, x.cpu)", "[4]");
    assert_eval(&f, "[node][0].cpu", "4");
    assert_eval(&f, "dyn(node).cpu", "4");
    assert_eval(&f, "has(dyn(node).labels) || has(dyn(node).nothing)", "false");
    assert_eval(&f, "dyn(node).nothing", "error@10: no such key: nothing");
    assert_eval(&f, "optional.ofNonZeroValue(node).hasValue()", "true");
    assert_eval(&f, "node == node && dyn(node) != dyn(l)", "true");
    assert_eval(&f, "d == 1", "error@0: no value for variable 'd'");
    assert_eval(&f, "d == 1 || n == 7", "true");
    assert_eval(&f, "l.exists(x, x == 3)", "true");
    f.variables[f.l] = cel_list(&squares);
    assert_eval(&f, "l[999] == 998001 && l.exists(x, x > 10000)", "true");
    node.fields[0] = node.fields[1] = cel_absent();
    assert_eval(&f, "optional.ofNonZeroValue(node)", "optional.none()");
    fixture_done(&f);
}

/* If the host returns another kind than it declared, the result is an error, not a crash. */
static void test_host_value_of_wrong_kind_is_an_error(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    f.variables[f.s] = cel_int(1);
    node.fields[0] = cel_int(1);
    node.fields[1] = cel_string(STR("x"));
    f.variables[f.l] = cel_list(&(CelList){.n = 1, .depth = 1, .items = &f.variables[f.d]});
    f.variables[f.d] = cel_string(STR("no int"));
    assert_eval(&f, "s == 'abc'", "error@0: declared as string, but the value is of type int");
    assert_eval(&f, "s == 'abc' || n == 7", "true");
    assert_eval(
        &f, "node.name == 'x'", "error@5: declared as string, but the value is of type int");
    assert_eval(&f, "node.cpu + 1", "error@5: declared as int, but the value is of type string");
    assert_eval(&f, "l[0] + 1", "error@1: declared as int, but the value is of type string");
    assert_eval(&f, "l.map(x, x + 1)", "error@6: declared as int, but the value is of type string");
    assert_eval(
        &f, "l[?0].value() + 1", "error@6: declared as int, but the value is of type string");
    assert_eval(
        &f, "l[?0].orValue(1) + 1", "error@6: declared as int, but the value is of type string");
    f.variables[f.node] = cel_string(STR("no record"));
    assert_eval(&f, "node.name", "error@5: no such overload: string has no fields to select");
    assert_eval(&f, "has(node.cpu)", "error@9: no such overload: string has no fields to select");
    assert_eval(&f, "node.?cpu", "error@0: declared as record, but the value is of type string");
    f.variables[f.l] = cel_bool(true);
    assert_eval(&f, "l.all(x, true)", "error@0: declared as list, but the value is of type bool");
    fixture_done(&f);
}

static CelValue eval_with_fuel(Fixture *f, const char *source, int64_t fuel) {
    f->run.fuel = fuel;
    return fixture_eval(f, source);
}

static void test_fuel(void **state) {
    static const char *const sources[] = {
        "l.all(x, x >= 0)",
        "l.all(x, x >= 0) || n == 7",
        "n == 7 && l.all(x, x >= 0)",
        "l.exists(x, l.exists(y, y < 0) || x == 1)",
        "l.map(x, x + 1).size() > 0",
        "l.filter(x, x > 5) == [1] || true",
        "cel.bind(a, l.all(x, x >= 0), a || n == 7 || a)",
        "l == l.map(x, x)",
        "-5 in l",
    };
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    f.variables[f.l] = cel_list(&squares);
    f.options.no_fold = true; /* … || true */
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        CelValue v = eval_with_fuel(&f, sources[i], 10000);

        assert_case(sources[i], v.kind == CEL_ERROR && v.error->is_limit);
        assert_case(sources[i], f.run.limit == v.error && f.run.fuel >= 0);
    }
    /* The fuel that was used is enough; one less is not. */
    f.variables[f.l] = cel_list(&list_of_three);
    assert_true(cel_is_true(eval_with_fuel(&f, sources[0], 100)));
    {
        int64_t used = 100 - f.run.fuel;

        assert_true(cel_is_true(eval_with_fuel(&f, sources[0], used)));
        assert_int_equal(f.run.fuel, 0);
        assert_int_equal(eval_with_fuel(&f, sources[0], used - 1).kind, CEL_ERROR);
        assert_int_equal(eval_with_fuel(&f, sources[0], 0).kind, CEL_ERROR);
    }
    fixture_done(&f);
}

static void test_memory(void **state) {
    static const char *const sources[] = {
        "l.map(x, [x, x, x, x]).size() > 0",
        "l.map(x, string(x) + s).size() > 0 || n == 7",
        "l.transformMap(i, v, [i, v]).size() > 0",
    };
    _cleanup_(arena_freep) Arena *small = arena_new(100000);
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    f.variables[f.l] = cel_list(&squares);
    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        CelValue v;

        arena_reset(small);
        f.run.arena = small;
        v = eval_with_fuel(&f, sources[i], INT64_MAX);
        assert_case(sources[i], v.kind == CEL_ERROR && v.error->is_limit);
    }
    fixture_done(&f);
}

/* A part that failed, at its last element, is not computed again for a second reader. */
static void test_errors_of_shared_parts_are_stored(void **state) {
    TestNode node;
    Fixture f;
    int64_t once, often;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    f.variables[f.l] = cel_list(&(CelList){.n = 1000, .depth = 1, .at = squares_at});
    assert_true(cel_is_true(
        eval_with_fuel(&f, "cel.bind(a, l.map(x, 1 / (x - 998001)), a == [1] || n == 7)", 100000)));
    once = 100000 - f.run.fuel;
    assert_true(once > 1000);
    assert_true(cel_is_true(eval_with_fuel(&f,
        "cel.bind(a, l.map(x, 1 / (x - 998001)), a == [1] || a == [2] || a == [3] || n == 7)",
        100000)));
    often = 100000 - f.run.fuel;
    assert_in_range(often - once, 1, 40);
    fixture_done(&f);
}

/* Parts that do not depend on the loop's variable are computed once per loop. */
static void test_loop_invariants_are_computed_once(void **state) {
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    f.variables[f.l] = cel_list(&(CelList){.n = 1000, .depth = 1, .at = squares_at});
    assert_true(cel_is_true(eval_with_fuel(&f, "l.all(x, l.all(y, y < 1000000))", 50000)));
    assert_true(
        cel_is_true(eval_with_fuel(&f, "l.exists(x, l.map(y, y).size() == x + 39)", 50000)));
    /* … and parts that do are computed each time */
    assert_eval(&f, "[1, 2].map(x, [x, x + 1].map(y, [x, y].map(z, z * x)))",
        "[[[1, 1], [1, 2]], [[4, 4], [4, 6]]]");
    fixture_done(&f);
}

/* --- tracing --------------------------------------------------------------------------- */

typedef struct Counter {
    CelTrace trace;
    size_t n_seen, n_again, n_errors;
} Counter;

static void count_seen(CelTrace *trace, uint32_t node, CelValue v) {
    Counter *counter = (Counter *)trace;

    (void)node;
    counter->n_seen++;
    counter->n_errors += v.kind == CEL_ERROR;
}

static void count_again(CelTrace *trace, uint32_t node, CelValue v) {
    (void)node;
    (void)v;
    ((Counter *)trace)->n_again++;
}

static Counter trace_of(Fixture *f, const char *source) {
    CelEmitOptions options = {.trace = true};
    CelGraph *graph = cel_graph_new(f->arena, f->arena);
    uint32_t root = fixture_lower(f, graph, source);
    Counter counter = {.trace = {count_seen, count_again}};
    CelCode *code;

    assert_int_equal(cel_emit(graph, root, &options, f->arena, &code), 0);
    f->run.trace = &counter.trace;
    (void)cel_run(code, &f->run, f->variables);
    f->run.trace = NULL;
    return counter;
}

static void test_trace(void **state) {
    static const struct {
        const char *source;
        size_t n_seen, n_again, n_errors;
    } cases[] = {
        {"n + 1", 2, 0, 0},
        {"n > 1 || s == 'x'", 3, 0, 0},
        {"n / 0 == 1 || n == 7", 6, 0, 2},
        {"n / 0 == 1 && n == 7", 6, 0, 3},
        {"s.size() == 3 && s.size() > 1", 5, 1, 0},
        {"l.all(x, x > 0)", 8, 0, 0},
        {"l.exists(x, 1 / (x - 1) > 5)", 14, 0, 3},
    };
    TestNode node;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fill(&f, &node);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Counter counter = trace_of(&f, cases[i].source);

        assert_case(cases[i].source, counter.n_seen == cases[i].n_seen);
        assert_case(cases[i].source, counter.n_again == cases[i].n_again);
        assert_case(cases[i].source, counter.n_errors == cases[i].n_errors);
    }
    fixture_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_the_host),
        cmocka_unit_test(test_host_value_of_wrong_kind_is_an_error),
        cmocka_unit_test(test_fuel),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_errors_of_shared_parts_are_stored),
        cmocka_unit_test(test_loop_invariants_are_computed_once),
        cmocka_unit_test(test_trace),
    };

    return cmocka_run_group_tests_name("cel/machine", tests, NULL, NULL);
}
