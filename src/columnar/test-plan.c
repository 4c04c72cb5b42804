/* Plans: when and how each part is computed, and that the results agree with the scalar machine. */
#include "columnar/test-plan.h"

static int setup(void **state) {
    static TestSchema s;

    test_schema_init(&s);
    *state = &s;
    return 0;
}

static int teardown(void **state) {
    test_schema_done(*state);
    return 0;
}

/* --- frequency and method ---------------------------------------------------------------- */

typedef struct Case {
    const char *source;
    PlanFrequency frequency;
    bool falls_back;
} Case;

static const Case cases[] = {
    /* once */
    {"true", PLAN_ONCE, false},
    {"pod.n + 1", PLAN_ONCE, false},
    {"pod.app == 'a' && pod.labels['b'] == 'x'", PLAN_ONCE, false},
    {"1 / 0 > 1", PLAN_ONCE, false},
    {"now > timestamp('2020-01-01T00:00:00Z')", PLAN_ONCE, false},
    /* precomputed */
    {"row.ok", PLAN_PRECOMPUTED, false},
    {"row.cpu", PLAN_PRECOMPUTED, false},
    {"row.load", PLAN_PRECOMPUTED, false},
    {"row.cpu + 1", PLAN_PRECOMPUTED, false},
    {"row.ok && row.cpu > 2", PLAN_PRECOMPUTED, false},
    {"row.zone == 'a'", PLAN_PRECOMPUTED, false},
    {"row.zone == row.name", PLAN_PRECOMPUTED, false},
    {"row.zone.startsWith('zone')", PLAN_PRECOMPUTED, false},
    {"row.zone.startsWith('zone') && row.ok", PLAN_PRECOMPUTED, false},
    {"hash(row.zone) < 0.5", PLAN_PRECOMPUTED, false},
    {"math.normQuantile(row.load) < 0.5", PLAN_PRECOMPUTED, false},
    {"(row.ok ? row.zone : row.name) == 'a'", PLAN_PRECOMPUTED, false},
    {"(row.ok ? row.zone : 'x') in ['a', 'b', 'x']", PLAN_PRECOMPUTED, false},
    {"row.labels['a'] == 'b'", PLAN_PRECOMPUTED, false},
    {"row.labels[?'a'].orValue('') == 'b'", PLAN_PRECOMPUTED, false},
    {"'a' in row.labels", PLAN_PRECOMPUTED, false},
    {"has(row.zone)", PLAN_PRECOMPUTED, false},
    {"row.born < timestamp('2023-11-14T22:13:20Z')", PLAN_PRECOMPUTED, false},
    {"int(row.load)", PLAN_PRECOMPUTED, false},
    {"row.cpu > 1 / 0", PLAN_PRECOMPUTED, false},
    {"row.numbers.exists(n, n > 2)", PLAN_PRECOMPUTED, false},
    {"row.numbers.map(n, n).sum()", PLAN_PRECOMPUTED, false},
    {"row.numbers.sum()", PLAN_PRECOMPUTED, false},
    {"row.numbers.size()", PLAN_PRECOMPUTED, false},
    {"row.items.filter(i, i.app == 'a').size()", PLAN_PRECOMPUTED, false},
    {"row.items.map(i, i.w).sum()", PLAN_PRECOMPUTED, false},
    {"row.items.all(i, i.n < row.cpu)", PLAN_PRECOMPUTED, false},
    {"row.items.exists(i, i.name == row.name)", PLAN_PRECOMPUTED, false},
    {"row.items.exists(i, row.numbers.exists(n, n == i.n))", PLAN_PRECOMPUTED, false},
    {"row.labels.all(k, k == 'a')", PLAN_PRECOMPUTED, false},
    /* per batch, by kernels */
    {"row.cpu > pod.n", PLAN_PER_BATCH, false},
    {"row.cpu > pod.n && row.ok", PLAN_PER_BATCH, false},
    {"row.ok || row.load < pod.w", PLAN_PER_BATCH, false},
    {"row.ok ? row.cpu : pod.n", PLAN_PER_BATCH, false},
    {"!row.ok || pod.ok", PLAN_PER_BATCH, false},
    {"row.load * pod.w + 1.0", PLAN_PER_BATCH, false},
    {"now - row.born > duration('60s')", PLAN_PER_BATCH, false},
    {"row.zone == pod.app", PLAN_PER_BATCH, false},
    {"pod.app != row.labels['a']", PLAN_PER_BATCH, false},
    {"pod.ok && row.zone == pod.app", PLAN_PER_BATCH, false},
    {"math.greatest([row.cpu, pod.n, 3])", PLAN_PER_BATCH, false},
    /* by strings */
    {"row.zone.startsWith(pod.app)", PLAN_PER_BATCH, false},
    {"row.zone in [pod.app, 'b']", PLAN_PER_BATCH, false},
    {"hash(pod.app, row.zone)", PLAN_PER_BATCH, false},
    {"math.betaInc(row.load, pod.w, 0.5)", PLAN_PER_BATCH, true},
    {"(row.zone + pod.app).size()", PLAN_PER_BATCH, false},
    {"row.zone in pod.labels", PLAN_PER_BATCH, false},
    {"pod.labels[row.zone] == 'a'", PLAN_PER_BATCH, false},
    /* by a key that is known once */
    {"row.labels[pod.app] == 'b'", PLAN_PER_BATCH, false},
    {"row.labels[pod.app] != pod.name", PLAN_PER_BATCH, false},
    {"row.labels[pod.app] == row.zone", PLAN_PER_BATCH, false},
    {"row.labels[pod.app] == row.labels[pod.labels['b']]", PLAN_PER_BATCH, false},
    {"pod.app in row.labels", PLAN_PER_BATCH, false},
    {"('' + pod.app) in row.labels && row.ok", PLAN_PER_BATCH, false},
    {"row.ok && row.labels[pod.app] == 'b'", PLAN_PER_BATCH, false},
    {"!(pod.app in row.labels) || row.labels[pod.app] == 'b'", PLAN_PER_BATCH, false},
    {"pod.ok ? row.labels[pod.app] == 'b' : row.labels[pod.name] == 'a'", PLAN_PER_BATCH, false},
    {"row.labels[pod.app].startsWith('zone')", PLAN_PER_BATCH, false},
    {"row.labels[pod.app].startsWith(pod.name) || row.cpu > pod.n", PLAN_PER_BATCH, false},
    {"row.ok && row.labels[pod.app].size() > 1", PLAN_PER_BATCH, false},
    {"int(row.labels[pod.app])", PLAN_PER_BATCH, false},
    {"row.labels[pod.app] in ['a', 'b']", PLAN_PER_BATCH, false},
    {"row.items.exists(i, i.app == row.labels[pod.app])", PLAN_PER_BATCH, false},
    {"(pod.ok ? dyn(pod.app) : dyn(pod.n)) in row.labels", PLAN_PER_BATCH, false},
    {"row.labels[row.zone + pod.app] == 'a'", PLAN_PER_BATCH, true},
    {"row.labels[row.labels[pod.app]] == 'a'", PLAN_PER_BATCH, true},
    {"row.labels[pod.app] in row.labels", PLAN_PER_BATCH, true},
    {"(row.labels[pod.app] + row.zone).size()", PLAN_PER_BATCH, true},
    /* elements */
    {"row.items.exists(i, i.app == pod.app)", PLAN_PER_BATCH, false},
    {"row.items.all(i, i.n > pod.n)", PLAN_PER_BATCH, false},
    {"row.items.exists_one(i, i.n == pod.n)", PLAN_PER_BATCH, false},
    {"row.items.filter(i, i.app == pod.app).size()", PLAN_PER_BATCH, false},
    {"row.items.filter(i, now - i.at < duration('120s')).size() < 2", PLAN_PER_BATCH, false},
    {"row.items.filter(i, i.app == pod.app).map(i, i.w).sum()", PLAN_PER_BATCH, false},
    {"row.items.filter(i, i.ok).filter(i, i.app == pod.app).map(i, i.n).max()", PLAN_PER_BATCH,
        false},
    {"row.items.filter(i, i.ok).exists(i, i.app == pod.app)", PLAN_PER_BATCH, false},
    {"row.items.map(i, i.n * pod.n).min()", PLAN_PER_BATCH, false},
    {"row.items.map(i, i.n > pod.n, i.w).sum()", PLAN_PER_BATCH, false},
    {"row.items.map(i, i.n + pod.n).size()", PLAN_PER_BATCH, false},
    {"row.items.exists(i, i.n + row.cpu == pod.n)", PLAN_PER_BATCH, false},
    {"row.items.exists(i, i.app.startsWith(pod.app))", PLAN_PER_BATCH, false},
    {"row.numbers.exists(n, n == pod.n)", PLAN_PER_BATCH, false},
    {"pod.ok && row.items.exists(i, i.app == pod.app)", PLAN_PER_BATCH, false},
    /* unions */
    {"row.domain('zone').items.size()", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.filter(i, i.ok).size()", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.exists(i, i.app == 'a')", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.all(i, i.n < 100)", PLAN_PER_BATCH, false},
    {"row.domain('rack').items.exists_one(i, i.app == 'a')", PLAN_PER_BATCH, false},
    {"row.domain('rack').items.exists(i, i.app == pod.app)", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.filter(i, i.app == pod.app).size() < 3", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.map(i, i.w).sum()", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.filter(i, i.n < 5).map(i, i.w).max()", PLAN_PER_BATCH, false},
    {"row.domain('zone').items.map(i, i.n).min()", PLAN_PER_BATCH, false},
    {"cluster.domains('zone').map(d, d.items.filter(i, i.app == pod.app).size()).min()", PLAN_ONCE,
        false},
    {"cluster.domains('zone').exists(d, d.items.size() > pod.n)", PLAN_ONCE, false},
    {"row.domain('zone').items.filter(i, i.app == pod.app).size() - "
     "cluster.domains('zone').map(d, d.items.filter(i, i.app == pod.app).size()).min() < 2",
        PLAN_PER_BATCH, false},
    /* rows of groups */
    {"row.domain('zone').rows.size()", PLAN_PER_BATCH, false},
    {"row.domain('zone').rows.filter(r, r.ok).size()", PLAN_PER_BATCH, false},
    {"row.domain('zone').rows.exists(r, r.cpu > pod.n)", PLAN_PER_BATCH, false},
    {"row.domain('zone').rows.filter(r, r.ok).map(r, r.load).sum() < pod.w", PLAN_PER_BATCH, false},
    {"row.domain('zone').rows.filter(row, row.zone == pod.app).map(row, row.items.filter(i, i.app "
     "== pod.app).size()).sum()",
        PLAN_PER_BATCH, false},
    {"cluster.domains('zone').filter(d, d.rows.exists(r, r.ok)).map(d, d.rows.map(r, "
     "r.cpu).sum()).min()",
        PLAN_ONCE, false},
    {"row.domain('zone').rows.exists(r, r.cpu > row.cpu)", PLAN_PER_BATCH, true},
    {"row.domain('zone').rows.exists(r, r.domain('rack').items.size() > 3)", PLAN_PER_BATCH, true},
    /* the scalar machine */
    {"row.labels == pod.labels", PLAN_PER_BATCH, true},
    {"row.labels.all(k, k in pod.labels)", PLAN_PER_BATCH, true},
    {"row.zone.startsWith(pod.app + row.name)", PLAN_PER_BATCH, true},
    {"(pod.ok ? string(row.born) : pod.app).size()", PLAN_PER_BATCH, false},
    {"(pod.ok ? string(row.load) : string(row.cpu)) == pod.app", PLAN_PER_BATCH, true},
    {"row.ok && row.labels == pod.labels", PLAN_PER_BATCH, true},
    {"row.ok ? row.labels == pod.labels : row.cpu > pod.n", PLAN_PER_BATCH, true},
    {"row.items.exists(i, i.labels == pod.labels)", PLAN_PER_BATCH, true},
    {"row.items.exists(i, row.numbers.exists(n, n + pod.n == i.n))", PLAN_PER_BATCH, true},
    {"row.domain('zone').items.exists(i, i.app == row.name)", PLAN_PER_BATCH, true},
    {"row.domain('zone').items.exists(i, i.labels == pod.labels)", PLAN_PER_BATCH, true},
    {"row.domain(pod.app).items.size()", PLAN_PER_BATCH, true},
    {"row.domain('zone').name == 'domain'", PLAN_PER_BATCH, true},
    {"cluster.domains(pod.app).size()", PLAN_ONCE, false},
    {"row.items.map(i, i.n).size() == pod.n || row.labels == pod.labels", PLAN_PER_BATCH, true},
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static void test_frequency_and_method(void **state) {
    TestSchema *s = *state;

    for (size_t i = 0; i < N_CASES; i++) {
        uint32_t node;
        TestPlan p;

        test_plan_init(&p, s, &cases[i].source, 1);
        assert_case(cases[i].source, plan_frequency(p.plan, 0) == cases[i].frequency);
        if (plan_falls_back(p.plan, 0, &node) != cases[i].falls_back) {
            Buf out = BUF_INIT(1 << 20);

            cel_graph_print(p.graph, cel_graph_size(p.graph) - 1, &out);
            plan_print(p.plan, &out);
            print_error("%s\n%.*s", cases[i].source, STR_FMT(buf_str(&out)));
            buf_done(&out);
            fail();
        }
    }
}

static void test_print(void **state) {
    static const char *const source =
        "row.cpu > pod.n && row.items.exists(i, i.app == pod.app) && row.labels == pod.labels";
    Buf out = BUF_INIT(1 << 16);
    TestPlan p;

    test_plan_init(&p, *state, &source, 1);
    plan_print(p.plan, &out);
    assert_text(source, buf_str(&out),
        "precomputed for each row (2 columns):\n"
        "  %1 leaf field .cpu\n"
        "  space 1: elements of %5\n"
        "  %7 scalar field .app in space 1\n"
        "root 0: %15, batch\n"
        "  once %3 scalar field .n\n"
        "  once %8 scalar field .app\n"
        "  once %13 scalar field .labels\n"
        "  %1 load field .cpu\n"
        "  %4 kernel gt-int of %1 %3\n"
        "  where %4 is not false:\n"
        "    for the elements:\n"
        "      once %8 scalar field .app\n"
        "      %7 load field .app in space 1\n"
        "      %9 same eq-string in space 1 of %7 %8\n"
        "    %10 reduce exists of %9\n"
        "  end\n"
        "  %11 kernel and of %4 %10\n"
        "  where %11 is not false:\n"
        "    %14 scalar eq of %13\n"
        "  end\n"
        "  %15 kernel and of %11 %14\n");
    buf_done(&out);
}

/* --- results ----------------------------------------------------------------------------- */

static void check_alone(TestSchema *s, bool has_leaves) {
    Rng rng = {.state = 7};
    TestTable *table = test_random_table(s, &rng, 150, 5);

    s->has_leaves = has_leaves;
    for (size_t i = 0; i < N_CASES; i++) {
        TestPlan p;
        const PlanBlock **blocks;

        test_plan_init(&p, s, &cases[i].source, 1);
        blocks = test_blocks(&p, table);
        for (int round = 0; round < 4; round++)
            test_table_check(&p, table, blocks, test_random_variables(s, &rng, table), &rng);
    }
    s->has_leaves = true;
}

static void test_results(void **state) {
    check_alone(*state, true);
}

static void test_results_without_leaves(void **state) {
    check_alone(*state, false);
}

/* All sources in one plan: columns are shared. */
static void test_many_roots_in_one_plan(void **state) {
    TestSchema *s = *state;
    Rng rng = {.state = 11};
    const char *sources[N_CASES];
    TestPlan p;

    for (size_t i = 0; i < N_CASES; i++)
        sources[i] = cases[i].source;
    test_plan_init(&p, s, sources, N_CASES);
    for (size_t n = 0; n < 1200; n = n * 3 + 1) {
        TestTable *table = test_random_table(s, &rng, n, 3);

        test_table_check(
            &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
    }
}

/* Lists longer than a piece of session-loop.c. */
static void test_long_lists(void **state) {
    static const char *const sources[] = {
        "row.items.filter(i, i.app == pod.app).size()",
        "row.items.exists(i, i.labels == pod.labels)",
        "row.domain('zone').items.exists_one(i, i.name == pod.name)",
        "row.domain('zone').rows.exists_one(r, r.name == pod.name)",
        "row.domain('rack').rows.filter(r, r.cpu > pod.n).map(r, r.load).sum()",
        "row.items.exists(i, i.name == row.name && i.app == pod.app)",
    };
    TestSchema *s = *state;
    Rng rng = {.state = 3};
    TestTable *table = test_random_table(s, &rng, 6, 9000);
    TestPlan p;

    test_plan_init(&p, s, sources, 4);
    test_table_check(
        &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
}

/* Blocks of an older table are used for rows that did not change. */
static void test_reuses_blocks_of_an_older_table(void **state) {
    TestSchema *s = *state;
    Rng rng = {.state = 5};
    TestTable *old = test_random_table(s, &rng, 200, 4), *new;
    const PlanBlock **blocks, **changed;
    const char *sources[N_CASES];
    TestPlan p;

    for (size_t i = 0; i < N_CASES; i++)
        sources[i] = cases[i].source;
    test_plan_init(&p, s, sources, N_CASES);
    new = test_random_table(s, &rng, 200, 4);
    for (size_t i = 0; i < 200; i++) {
        if (i / PLAN_BLOCK_ROWS != 1)
            new->rows[i] = old->rows[i];
        new->rows[i].table = new;
    }
    blocks = test_blocks(&p, old);
    changed = test_blocks(&p, new);
    blocks[1] = changed[1];
    test_table_check(&p, new, blocks, test_random_variables(s, &rng, new), &rng);
}

/* --- deadline and fuel ------------------------------------------------------------------- */

typedef struct Clock {
    int n_calls, n_left;
} Clock;

static bool is_over(void *context) {
    Clock *clock = context;

    clock->n_calls++;
    return clock->n_left-- <= 0;
}

/* A passed deadline is returned; the next call computes complete results. */
static void test_deadline(void **state) {
    static const char *const sources[] = {
        "row.labels == pod.labels", "row.items.exists(i, i.labels == pod.labels)"};
    TestSchema *s = *state;
    Rng rng = {.state = 9};
    TestTable *table = test_random_table(s, &rng, 640, 3);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *scratch = arena_new(TEST_BUDGET);
    Clock clock = {0};
    CelRun run = CEL_RUN(arena);
    PlanSessionOptions options = {
        .table = &table->head,
        .n_rows = table->n,
        .variables = test_random_variables(s, &rng, table),
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
        .deadline = {is_over, &clock},
    };
    uint32_t rows[640];
    PlanSession *session;
    const Column *column;
    TestPlan p;

    test_plan_init(&p, s, sources, 2);
    options.blocks = test_blocks(&p, table);
    for (uint32_t i = 0; i < 640; i++)
        rows[i] = i;
    assert_int_equal(plan_session_new(p.plan, &options, arena, &session), 0);
    plan_session_set_rows(session, rows, 640);
    for (size_t root = 0; root < 2; root++) {
        for (int left = 0; left < 5; left++) {
            clock = (Clock){.n_left = left};
            assert_int_equal(plan_session_root(session, root, &column), PLAN_DEADLINE_PASSED);
        }
        clock = (Clock){.n_left = 1000000};
        assert_int_equal(plan_session_root(session, root, &column), 0);
        assert_true(clock.n_calls >= 640 / (int)PLAN_BLOCK_ROWS);
        for (uint32_t i = 0; i < 640; i++)
            assert_case(
                sources[root], test_is_same(column, i,
                                   test_scalar(&p, table, options.variables, root, i, s->arena)));
    }
}

/* Few but long evaluations: the deadline is also checked by the fuel they use. */
static void test_deadline_of_long_evaluations(void **state) {
    static const char *const sources[] = {"lists.range(300).exists(i, lists.range(300).exists(j, i "
                                          "+ j == row.items.size() - size(pod.name) - 9))"};
    TestSchema *s = *state;
    Rng rng = {.state = 9};
    TestTable *table = test_random_table(s, &rng, 8, 3);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *scratch = arena_new(TEST_BUDGET);
    Clock clock = {.n_left = 1000000};
    CelRun run = CEL_RUN(arena);
    PlanSessionOptions options = {
        .table = &table->head,
        .n_rows = table->n,
        .variables = test_random_variables(s, &rng, table),
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
        .deadline = {is_over, &clock},
    };
    static const uint32_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7};
    PlanSession *session;
    const Column *column;
    TestPlan p;

    test_plan_init(&p, s, sources, 1);
    options.blocks = test_blocks(&p, table);
    assert_int_equal(plan_session_new(p.plan, &options, arena, &session), 0);
    plan_session_set_rows(session, rows, 8);
    assert_int_equal(plan_session_root(session, 0, &column), 0);
    assert_true(clock.n_calls > 8);
}

/* How many rows are errors when an evaluation may use @fuel. */
static uint32_t count_errors(const TestPlan *p, PlanSessionOptions options, int64_t fuel) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    uint32_t rows[PLAN_BLOCK_ROWS], n_errors = 0;
    const Column *column;
    PlanSession *session;

    for (uint32_t i = 0; i < PLAN_BLOCK_ROWS; i++)
        rows[i] = i;
    options.run = &run;
    options.fuel = fuel;
    assert_int_equal(plan_session_new(p->plan, &options, arena, &session), 0);
    plan_session_set_rows(session, rows, PLAN_BLOCK_ROWS);
    assert_int_equal(plan_session_root(session, 0, &column), 0);
    for (uint32_t i = 0; i < PLAN_BLOCK_ROWS; i++) {
        assert_true(column->states[i] != COLUMN_FALLBACK);
        n_errors += column->states[i] == COLUMN_ERROR;
    }
    return n_errors;
}

/* An evaluation that runs out of fuel is an error of its own row only. */
static void test_fuel(void **state) {
    static const char *const sources[] = {
        "row.numbers.exists(n, row.numbers.exists(m, m - n == pod.n))"};
    TestSchema *s = *state;
    Rng rng = {.state = 13};
    TestTable *table = test_random_table(s, &rng, PLAN_BLOCK_ROWS, 3);
    PlanSessionOptions options = {
        .table = &table->head,
        .n_rows = table->n,
        .variables = test_random_variables(s, &rng, table),
    };
    uint32_t n_errors;
    TestPlan p;

    test_plan_init(&p, s, sources, 1);
    options.blocks = test_blocks(&p, table);
    n_errors = count_errors(&p, options, CEL_FUEL_DEFAULT);
    assert_true(count_errors(&p, options, 1) > n_errors);
    assert_true(count_errors(&p, options, 1) < PLAN_BLOCK_ROWS); /* nothing runs for empty lists */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frequency_and_method, setup, teardown),
        cmocka_unit_test_setup_teardown(test_print, setup, teardown),
        cmocka_unit_test_setup_teardown(test_results, setup, teardown),
        cmocka_unit_test_setup_teardown(test_results_without_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_roots_in_one_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reuses_blocks_of_an_older_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_of_long_evaluations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fuel, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
