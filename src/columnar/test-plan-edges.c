/* Edge cases of plans: loops over groups that read nothing of the elements, empty batches, rows
 * that appear twice. */
#include <errno.h>

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

/* Counts the elements of a group although no field of them is read. */
static void test_counts_groups_without_reading_elements(void **state) {
    static const char *const sources[] = {
        "cluster.domains('zone').exists(d, pod.n == pod.n)",
        "cluster.domains('zone').all(d, pod.n != pod.n)",
        "cluster.domains('rack').map(d, pod.n).sum()",
        "cluster.domains('rack').filter(d, pod.n == pod.n).size()",
        "cluster.domains('zone').filter(d, pod.n == pod.n).size() + row.cpu",
        "row.domain('zone').items.size() + cluster.domains('rack').map(d, 1).sum()",
    };
    TestSchema *s = *state;
    Rng rng = {.state = 21};

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        for (size_t n = 0; n < 200; n = n * 4 + 1) {
            TestTable *table = test_random_table(s, &rng, n, 3);
            TestPlan p;

            test_plan_init(&p, s, &sources[i], 1);
            test_table_check(
                &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
        }
    }
}

static CelValue own_sum(CelRun *run, const CelValue *args, const void *prepared) {
    (void)run;
    (void)prepared;
    return cel_int(args[0].list->n + 1000);
}

/* A function of the host is called, whatever its name. */
static void test_calls_function_of_the_host(void **state) {
    static const CelOverloadSpec spec = {
        .name = "sum", .signature = "(list(int)) -> int", .fn = own_sum};
    static const char *const source = "sum(row.items.map(i, i.n + pod.n))";
    TestSchema *s = *state;
    Rng rng = {.state = 25};
    TestTable *table = test_random_table(s, &rng, 20, 3);
    TestPlan p;

    assert_int_equal(cel_env_add_overload(s->env, &spec), 0);
    test_plan_init(&p, s, &source, 1);
    test_table_check(
        &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
}

/* Roots are bools, ints and doubles. */
static void test_root_of_another_type(void **state) {
    static const char *const sources[] = {"row.name", "row.items", "row.born"};
    TestSchema *s = *state;

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        CelGraph *graph = cel_graph_new(s->arena, s->arena);
        DiagList diags = DIAG_LIST_IN(s->arena);
        CelOptions options = {0};
        CelChecked *checked;
        Plan *plan;
        uint32_t root;

        assert_case(sources[i], cel_compile_tree(s->env, STR("test"), str_from_c(sources[i]),
                                    &options, s->arena, &diags, &checked) == 0);
        assert_case(sources[i], cel_lower(graph, checked, &options, &diags, &root) == 0);
        assert_case(sources[i], plan_new(graph, &root, 1, &s->host, s->arena, &plan) == -EINVAL);
    }
}

static CelValue one_at(const CelList *list, uint32_t i, CelRun *run) {
    (void)list;
    (void)i;
    (void)run;
    return cel_int(1);
}

/* A list longer than a block's limit is left to the scalar machine, which runs out of fuel too; the
 * other rows have their values. */
static void test_longer_than_a_block_takes(void **state) {
    static const CelList endless = {.n = UINT32_MAX, .depth = 1, .at = one_at};
    static const char *const sources[] = {
        "row.numbers.exists(n, n > 3 + pod.n)", "row.numbers.filter(n, n > 3).size()"};
    TestSchema *s = *state;
    Rng rng = {.state = 27};
    TestTable *table = test_random_table(s, &rng, 70, 3);
    TestPlan p;

    table->rows[3].record.fields[ROW_NUMBERS] = cel_list(&endless);
    test_plan_init(&p, s, sources, ELEMENTS_OF(sources));
    test_table_check(
        &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
}

/* A row with @n items, whose names are numbers from @first on. */
static void name_items(TestSchema *s, TestRow *row, uint32_t first, uint32_t n) {
    CelValue *items = ARENA_ARRAY(s->arena, CelValue, n);
    TestRecord *records = ARENA_ARRAY(s->arena, TestRecord, n);
    CelList *list = ARENA_NEW(s->arena, CelList);

    assert_true(items && records && list);
    for (uint32_t i = 0; i < n; i++) {
        records[i].head.type = &s->item;
        records[i].fields[ITEM_NAME] = cel_string(arena_printf(s->arena, "%u", first + i));
        items[i] = cel_record(&records[i].head);
    }
    *list = (CelList){.n = n, .depth = 1, .items = items};
    row->record.fields[ROW_ITEMS] = cel_list(list);
}

/* More distinct strings than a column of a block has codes for: the rest fall back, with the right
 * result. */
static void test_many_strings(void **state) {
    static const char *const source = "row.items.exists(i, i.name == pod.name)";
    enum { N_ITEMS = 40000 };
    TestSchema *s = *state;
    Rng rng = {.state = 31};
    TestTable *table = test_random_table(s, &rng, 2, 3);
    CelValue *variables = test_random_variables(s, &rng, table);
    TestRecord pod = *(const TestRecord *)variables[s->pod_slot].record;
    TestPlan p;

    variables[s->pod_slot] = cel_record(&pod.head);
    for (uint32_t i = 0; i < 2; i++)
        name_items(s, &table->rows[i], i * N_ITEMS, N_ITEMS);
    test_plan_init(&p, s, &source, 1);
    for (uint32_t name = 0; name < 3 * N_ITEMS; name += N_ITEMS - 1) {
        pod.fields[ITEM_NAME] = cel_string(arena_printf(s->arena, "%u", name));
        test_table_check(&p, table, test_blocks(&p, table), variables, &rng);
    }
}

/* Each block has enough codes for its strings, but not for those of both. */
static void test_splice_of_many_strings(void **state) {
    static const char *const source = "row.items.exists(i, i.name == pod.name)";
    static const uint32_t rows[] = {1};
    TestSchema *s = *state;
    Rng rng = {.state = 33};
    TestTable *old = test_random_table(s, &rng, 2, 3), *new = test_random_table(s, &rng, 1, 3);
    _cleanup_(arena_freep) Arena *scratch = arena_new(TEST_BUDGET);
    const PlanBlock *spliced;
    TestPlan p;

    name_items(s, &old->rows[0], 0, 40000);
    name_items(s, &old->rows[1], 40000, 20000);
    test_plan_init(&p, s, &source, 1);
    for (uint32_t n = 20000; n <= 40000; n += 20000) {
        int r;

        name_items(s, &new->rows[0], 100000, n);
        r = plan_block_replace_rows(p.plan, test_blocks(&p, old)[0], test_blocks(&p, new)[0], rows,
            1, scratch, s->arena, &spliced);
        assert_int_equal(r, n == 20000 ? 0 : PLAN_BLOCK_FULL);
    }
}

/* More chained filters than one reduction takes. */
static void test_long_chain(void **state) {
    static const char *const source =
        "row.items.filter(i, i.n > 0).filter(i, i.n > 1).filter(i, i.n < 9).filter(i, i.n != 7)"
        ".filter(i, i.ok).filter(i, i.w > 0.0).filter(i, i.n != 5).filter(i, i.n != 6)"
        ".filter(i, i.n + pod.n > 0).filter(i, i.name != 'x').size()";
    TestSchema *s = *state;
    Rng rng = {.state = 29};
    TestTable *table = test_random_table(s, &rng, 90, 4);
    TestPlan p;

    test_plan_init(&p, s, &source, 1);
    test_table_check(
        &p, table, test_blocks(&p, table), test_random_variables(s, &rng, table), &rng);
}

static const char *const mixed[] = {
    "row.ok && row.labels == pod.labels",
    "row.zone.startsWith(pod.app) || row.cpu > pod.n",
    "row.items.exists(i, i.app == row.name || i.app == pod.app)",
    "row.items.filter(i, i.ok).filter(i, i.labels == pod.labels).map(i, i.n + pod.n).sum()",
    "row.domain('zone').items.filter(i, i.app == pod.app).size()",
    ("row.domain('zone').rows.filter(r, r.cpu > pod.n).map(r, r.items.filter(i, i.app == "
     "pod.app).size()).sum()"),
    "row.load + pod.w",
};

/* A session with an empty batch, with a batch that repeats one row, and with an empty batch
 * again. */
static void test_repeated_rows(void **state) {
    enum { N_ROWS = 130 };
    TestSchema *s = *state;
    Rng rng = {.state = 23};
    TestTable *table = test_random_table(s, &rng, N_ROWS, 4);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *scratch = arena_new(TEST_BUDGET),
                                 *machine = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    PlanSessionOptions options = {
        .table = &table->head,
        .n_rows = table->n,
        .variables = test_random_variables(s, &rng, table),
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
    };
    uint32_t rows[PLAN_BATCH_ROWS];
    PlanSession *session;
    TestPlan p;

    test_plan_init(&p, s, mixed, ELEMENTS_OF(mixed));
    options.blocks = test_blocks(&p, table);
    assert_int_equal(plan_totals_new(p.plan, &table->head, NULL, options.blocks, table->n, arena,
                         &options.totals),
        0);
    assert_int_equal(plan_session_new(p.plan, &options, arena, &session), 0);
    for (size_t round = 0; round < 12; round++) {
        size_t n = round % 3 == 0 ? 0 : PLAN_BATCH_ROWS;

        for (uint32_t i = 0; i < n; i++)
            rows[i] = round % 2 ? (uint32_t)(round * 11) : (i / 3 * 7 + (uint32_t)round) % N_ROWS;
        plan_session_set_rows(session, rows, n);
        test_batch(&p, table, options.variables, session, rows, n, machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_groups_without_reading_elements),
        cmocka_unit_test(test_repeated_rows),
        cmocka_unit_test(test_root_of_another_type),
        cmocka_unit_test(test_longer_than_a_block_takes),
        cmocka_unit_test(test_many_strings),
        cmocka_unit_test(test_splice_of_many_strings),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_calls_function_of_the_host),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
