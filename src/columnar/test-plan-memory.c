/*
 * Blocks and sessions while one allocation of an arena, or every allocation from some point on,
 * fails: each row is right or an error, or the call fails. A session that was out of memory can be
 * used again. Linked with --wrap, so that this file sees every allocation.
 */
#include <errno.h>

#include "base/test-failing.h"
#include "columnar/test-plan.h"

/* One source per method of evaluation; the scalar machine never builds domains here. */
static const char *const sources[] = {
    "row.ok && row.labels == pod.labels",
    "row.zone.startsWith(pod.app) || row.cpu > pod.n",
    "(row.ok ? row.zone : row.name) == 'a'",
    "row.born + duration('2562047h') > now",
    "math.greatest([row.cpu, pod.n, 3])",
    "row.items.exists(i, i.app == row.name || i.app == pod.app)",
    "row.items.filter(i, i.ok).filter(i, i.labels == pod.labels).map(i, i.n + pod.n).sum()",
    "row.domain('zone').items.filter(i, i.app == pod.app).size()",
    "row.domain('rack').items.filter(i, i.ok).size()",
    "row.domain('rack').rows.filter(r, r.ok).map(r, r.load).sum()",
    ("row.domain('zone').rows.filter(r, r.zone == pod.app).map(r, r.items.filter(i, i.app == "
     "pod.app).size()).sum()"),
    "cluster.domains('zone').map(d, d.items.filter(i, i.app == pod.app).size()).min()",
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))
#define N_ROWS 70u

typedef struct Scene {
    TestPlan plan;
    TestTable *table;
    const CelValue *variables;
    CelValue want[N_SOURCES][N_ROWS];
} Scene;

/* A failed allocation may turn a row into an error, nothing else. */
static void assert_right(const Scene *scene, size_t root, const Column *column) {
    for (uint32_t i = 0; i < N_ROWS; i++)
        assert_case(sources[root],
            test_state(column, i) == COLUMN_ERROR || test_is_same(column, i, scene->want[root][i]));
}

/* Replaces some rows of the first block by themselves. */
static int splice_block(const Scene *scene, Arena *arena, Arena *keep, const PlanBlock **block) {
    static const uint32_t rows[] = {0, 3, 4, PLAN_BLOCK_ROWS - 1};
    const PlanBlock *fresh = NULL;
    CelRun run = CEL_RUN(arena);
    size_t n = sizeof(rows) / sizeof(rows[0]);
    int r = plan_block_new(scene->plan.plan, &scene->table->head, rows, n,
        &(PlanBlockOptions){.run = &run, .keep = arena}, &fresh);

    if (r != 0)
        return r;
    return plan_block_replace_rows(scene->plan.plan, *block, fresh, rows, n, arena, keep, block);
}

static int make_blocks(const Scene *scene, Arena *arena, Arena *keep, const PlanBlock **blocks,
    const PlanTotals **whole) {
    PlanStrings *strings = plan_strings_new(scene->plan.plan, keep);
    int r;

    if (!strings)
        return -ENOMEM;
    for (uint32_t from = 0; from < N_ROWS; from += PLAN_BLOCK_ROWS) {
        uint32_t rows[PLAN_BLOCK_ROWS], n = 0;
        CelRun run = CEL_RUN(arena);

        for (; n < PLAN_BLOCK_ROWS && from + n < N_ROWS; n++)
            rows[n] = from + n;
        r = plan_block_new(scene->plan.plan, &scene->table->head, rows, n,
            &(PlanBlockOptions){.run = &run, .strings = strings, .keep = keep},
            &blocks[from / PLAN_BLOCK_ROWS]);
        if (r != 0)
            return r;
    }
    r = splice_block(scene, arena, keep, &blocks[0]);
    if (r == 0)
        r = plan_totals_new(
            scene->plan.plan, &scene->table->head, NULL, blocks, N_ROWS, keep, whole);
    return r == 0 ? plan_totals_new(
                        scene->plan.plan, &scene->table->head, *whole, blocks, N_ROWS, keep, whole)
                  : r;
}

static int read_all_roots(const Scene *scene, PlanSession *session) {
    int worst = 0;

    plan_session_set_range(session, 0, N_ROWS);
    for (size_t root = 0; root < N_SOURCES; root++) {
        const Column *column = NULL;
        int r = plan_session_root(session, root, &column);

        if (r == 0)
            assert_right(scene, root, column);
        else
            worst = r;
    }
    return worst;
}

/* Makes blocks and runs a session; then runs the session again without failing allocations. */
static int run_plan(const Scene *scene) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *keep = arena_new(TEST_BUDGET),
                                 *scratch = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const PlanBlock *blocks[2];
    PlanSessionOptions options = {
        .table = &scene->table->head,
        .blocks = blocks,
        .n_rows = N_ROWS,
        .variables = scene->variables,
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
    };
    PlanSession *session;
    int r = make_blocks(scene, arena, keep, blocks, &options.totals);

    if (r == 0)
        r = plan_session_new(scene->plan.plan, &options, arena, &session);
    if (r != 0)
        return r;
    r = read_all_roots(scene, session);
    due = SIZE_MAX;
    assert_int_equal(read_all_roots(scene, session), 0);
    return r;
}

static void test_failing(void **state) {
    static TestSchema s;
    static Scene scene;
    Rng rng = {.state = 31};
    size_t n_all, n_refused = 0;

    (void)state;
    test_schema_init(&s);
    scene.table = test_random_table(&s, &rng, N_ROWS, 3);
    scene.variables = test_random_variables(&s, &rng, scene.table);
    test_plan_init(&scene.plan, &s, sources, N_SOURCES);
    for (size_t root = 0; root < N_SOURCES; root++)
        for (uint32_t i = 0; i < N_ROWS; i++)
            scene.want[root][i] =
                test_scalar(&scene.plan, scene.table, scene.variables, root, i, s.arena);
    n_seen = 0;
    assert_int_equal(run_plan(&scene), 0);
    n_all = n_seen;
    for (size_t i = 0; i < 2 * n_all; i++) { /* one allocation alone, and all from there on */
        int r;

        n_seen = 0;
        due = i / 2;
        is_lasting = i % 2;
        r = run_plan(&scene);
        due = SIZE_MAX;
        assert_true(r == 0 || r == -ENOMEM);
        n_refused += r != 0;
    }
    assert_true(n_refused > 100);
    test_schema_done(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
