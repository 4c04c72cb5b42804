#pragma once

/*
 * Expressions over a table, evaluated by a session and by the scalar machine row by row.
 * test_table_check() requires the same bits.
 */

#include <inttypes.h>

#include "base/buf.h"
#include "cel/program.h"
#include "columnar/test-plan-print.h"
#include "columnar/test-rows.h"

typedef struct TestPlan {
    TestSchema *schema;
    CelGraph *graph;
    Plan *plan;
    const char *const *sources;
    const CelProgram **programs; /* of each root, for the scalar machine */
    size_t n;
} TestPlan;

static inline void test_plan_init(
    TestPlan *p, TestSchema *s, const char *const *sources, size_t n) {
    uint32_t *roots = ARENA_ARRAY(s->arena, uint32_t, n);
    CelOptions options = {0};

    *p = (TestPlan){.schema = s, .sources = sources, .n = n};
    p->graph = cel_graph_new(s->arena, s->arena);
    p->programs = ARENA_ARRAY(s->arena, const CelProgram *, n);
    assert_true(roots && p->graph && p->programs);
    for (size_t i = 0; i < n; i++) {
        DiagList diags = DIAG_LIST_IN(s->arena);
        CelChecked *checked;
        CelProgram *program;

        assert_case(sources[i], cel_compile_tree(s->env, STR("test"), str_from_c(sources[i]),
                                    &options, s->arena, &diags, &checked) == 0);
        assert_case(sources[i], cel_lower(p->graph, checked, &options, &diags, &roots[i]) == 0);
        assert_case(sources[i], cel_compile(s->env, STR("test"), str_from_c(sources[i]), &options,
                                    s->arena, &diags, &program) == 0);
        p->programs[i] = program;
    }
    assert_int_equal(plan_new(p->graph, roots, n, &s->host, s->arena, &p->plan), 0);
}

static inline const PlanBlock **test_blocks(const TestPlan *p, const TestTable *table) {
    size_t n = (table->n + PLAN_BLOCK_ROWS - 1) / PLAN_BLOCK_ROWS;
    const PlanBlock **blocks = ARENA_ARRAY(p->schema->arena, const PlanBlock *, n);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = arena_new(TEST_BUDGET);
    PlanStrings *strings = plan_strings_new(p->plan, p->schema->arena);
    uint32_t rows[PLAN_BLOCK_ROWS];

    assert_true(blocks && arena && scratch && strings);
    for (size_t i = 0; i < n; i++) {
        CelRun run = CEL_RUN(arena);
        size_t length = 0;

        for (; length < PLAN_BLOCK_ROWS && i * PLAN_BLOCK_ROWS + length < table->n; length++)
            rows[length] = (uint32_t)(i * PLAN_BLOCK_ROWS + length);
        assert_int_equal(
            plan_block_new(p->plan, &table->head, rows, length,
                &(PlanBlockOptions){
                    .run = &run, .scratch = scratch, .strings = strings, .keep = p->schema->arena},
                &blocks[i]),
            0);
        arena_reset(arena);
    }
    return blocks;
}

static inline uint8_t test_state(const Column *column, size_t i) {
    return column->states ? column->states[i] : COLUMN_OK;
}

/* Whether entry @i has the scalar machine's value. All NaN are the same. */
static inline bool test_is_same(const Column *column, size_t i, CelValue want) {
    uint8_t state = test_state(column, i);

    if (want.kind == CEL_ERROR)
        return state == COLUMN_ERROR;
    if (want.kind == CEL_BOOL)
        return column->lane == LANE_BOOL && state == want.boolean;
    if (state != COLUMN_OK)
        return false;
    if (want.kind == CEL_DOUBLE && __builtin_isnan(want.d))
        return __builtin_isnan(column->doubles[i]);
    if (want.kind == CEL_DOUBLE)
        return column->ints[i] == (int64_t)want.u; /* the same bits: 0.0 and -0.0 differ */
    return want.kind == CEL_INT && column->lane == LANE_INT && column->ints[i] == want.i;
}

static inline CelValue test_scalar(const TestPlan *p, const TestTable *table,
    const CelValue *variables, size_t root, uint32_t row, Arena *arena) {
    CelValue own[16];
    CelRun run = CEL_RUN(arena);

    memcpy(own, variables, cel_env_n_slots(p->schema->env) * sizeof(CelValue));
    own[p->schema->row_slot] = cel_record(&table->rows[row].record.head);
    return cel_run(p->programs[root]->code, &run, own);
}

static inline void test_fail(
    const TestPlan *p, size_t root, uint32_t row, const Column *column, size_t i, CelValue want) {
    Buf out = BUF_INIT(1 << 20);

    plan_print(p->plan, &out);
    print_error("%s: row %u: state %u, number %" PRId64 "; want kind %u, number %" PRId64 "\n",
        p->sources[root], row, test_state(column, i),
        column->lane != LANE_BOOL ? column->ints[i] : 0, want.kind, want.i);
    if (want.kind == CEL_ERROR)
        print_error("(%.*s)\n", STR_FMT(want.error->text));
    if (p->n < 4)
        print_error("%.*s", STR_FMT(buf_str(&out)));
    buf_done(&out);
    fail();
}

/* Compares each root for the rows of the session. */
static inline void test_batch(const TestPlan *p, const TestTable *table, const CelValue *variables,
    PlanSession *session, const uint32_t *rows, size_t n, Arena *arena) {
    for (size_t root = 0; root < p->n; root++) {
        const Column *column;

        assert_case(p->sources[root], plan_session_root(session, root, &column) == 0);
        for (size_t i = 0; i < n; i++) {
            CelValue want = test_scalar(p, table, variables, root, rows[i], arena);

            if (!test_is_same(column, i, want))
                test_fail(p, root, rows[i], column, i, want);
        }
        arena_reset(arena);
    }
}

/* Compares roots that are computed once, and precomputed roots. */
static inline void test_others(const TestPlan *p, const TestTable *table, const CelValue *variables,
    PlanSession *session, const PlanBlock *const *blocks, Arena *arena) {
    for (size_t root = 0; root < p->n; root++) {
        PlanFrequency frequency = plan_frequency(p->plan, root);
        CelValue want, have;

        for (uint32_t row = 0; frequency == PLAN_PRECOMPUTED && row < table->n; row++) {
            Column column = plan_block_root(p->plan, blocks[row / PLAN_BLOCK_ROWS], root);

            want = test_scalar(p, table, variables, root, row, arena);
            if (!test_is_same(&column, row % PLAN_BLOCK_ROWS, want))
                test_fail(p, root, row, &column, row % PLAN_BLOCK_ROWS, want);
        }
        if (frequency != PLAN_ONCE || table->n == 0)
            continue;
        want = test_scalar(p, table, variables, root, 0, arena);
        assert_int_equal(plan_session_once(session, root, &have), 0);
        assert_case(p->sources[root], have.kind == want.kind);
        if (have.kind != CEL_ERROR && !(have.kind == CEL_DOUBLE && __builtin_isnan(have.d)))
            assert_case(p->sources[root], have.u == want.u);
    }
}

/* All roots for all rows: in order, in batches of several lengths, and some rows in random
 * order. */
static inline void test_table_check(const TestPlan *p, const TestTable *table,
    const PlanBlock *const *blocks, const CelValue *variables, Rng *rng) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *scratch = arena_new(TEST_BUDGET),
                                 *own = arena_new(TEST_BUDGET), *machine = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(own);
    PlanSessionOptions options = {
        .table = &table->head,
        .blocks = blocks,
        .n_rows = table->n,
        .variables = variables,
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
    };
    uint32_t rows[PLAN_BATCH_ROWS];
    PlanSession *session;

    assert_true(arena && scratch && own && machine);
    assert_int_equal(
        plan_totals_new(p->plan, &table->head, NULL, blocks, table->n, arena, &options.totals), 0);
    assert_int_equal(plan_session_new(p->plan, &options, arena, &session), 0);
    for (size_t from = 0, n; from < table->n; from += n) {
        size_t rest = table->n - from < PLAN_BATCH_ROWS ? table->n - from : PLAN_BATCH_ROWS;

        n = rng_pick(rng, 2) == 0 ? rest : 1 + (uint32_t)rng_pick(rng, (uint32_t)rest);
        for (size_t i = 0; i < n; i++)
            rows[i] = (uint32_t)(from + i);
        if (rng_pick(rng, 3) == 0)
            plan_session_set_rows(session, rows, n);
        else
            plan_session_set_range(session, (uint32_t)from, n);
        test_batch(p, table, variables, session, rows, n, machine);
    }
    for (size_t i = 0; table->n > 0 && i < 40; i++)
        rows[i] = (uint32_t)rng_pick(rng, (uint32_t)table->n);
    if (table->n > 0) {
        plan_session_set_rows(session, rows, 40);
        test_batch(p, table, variables, session, rows, 40, machine);
    }
    test_others(p, table, variables, session, blocks, machine);
}
