#include "cluster/loads.h"

#include <errno.h>
#include <stdio.h>

#include "cluster/test-measured.h"

/* --- gauges ------------------------------------------------------------------------------ */

static void test_values(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    fixture_add_node(&fixture, "b");
    fixture_add_node(&fixture, "c");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 1);
    fixture_set(&fixture, 1, "a", 0.5, 0);
    fixture_set(&fixture, 1, "b", -3, 2 * SEC);
    fixture_pass(&fixture, 5 * SEC);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "a"), 0.5);
    assert_number(fixture_number(&fixture, 1, LOAD_MEASURED, "a"), 0.5);
    assert_int_equal(fixture_time(&fixture, 1, "a"), NOW);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "b"), -3);
    assert_int_equal(fixture_time(&fixture, 1, "b"), NOW - 2 * SEC);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "c"), NAN);
    assert_number(fixture_number(&fixture, 1, LOAD_MEASURED, "c"), NAN);
    assert_int_equal(fixture_time(&fixture, 1, "c"), 0);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "nobody"), NAN);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), NAN); /* no gauges */
    assert_number(fixture_number(&fixture, FIXTURE_GAUGES, LOAD_VALUE, "a"), NAN);
    assert_int_equal(fixture_time(&fixture, FIXTURE_GAUGES, "a"), 0);
    assert_number(loads_value(NULL, 0, LOAD_VALUE, 0), NAN);
    assert_int_equal(loads_time(NULL, 0, 0), 0);
    fixture_close(&fixture);
}

static void test_no_nodes_and_no_measurements(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_publish(&fixture);
    fixture_build(&fixture); /* no nodes, no measurements */
    assert_int_equal(fixture.loads.n_chunks, 1);
    assert_int_equal(fixture.loads.until_nsec, INT64_MAX);
    assert_number(loads_value(&fixture.loads, 0, LOAD_VALUE, 0), NAN);
    fixture.input.n_gauges = 0;
    fixture_build(&fixture);
    assert_number(loads_value(&fixture.loads, 0, LOAD_VALUE, 0), NAN);
    fixture_close(&fixture);
}

/* Nodes that were removed, added, and added to the row of a removed one. */
static void test_nodes_that_change_rows(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    fixture_add_node(&fixture, "b");
    fixture_add_node(&fixture, "c");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "a", 1, 0);
    fixture_set(&fixture, 0, "b", 2, 0);
    fixture_set(&fixture, 0, "c", 3, 0);
    store_remove_node(fixture.store, STR("a"));
    fixture_add_node(&fixture, "d"); /* in the row of a */
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_int_equal(table_find(fixture_table(&fixture), STR("d")), 0);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "d"), NAN);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "b"), 2);
    store_remove_node(fixture.store, STR("b"));
    fixture_add_node(&fixture, "a"); /* again, in another row */
    fixture_add_node(&fixture, "e");
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_int_equal(table_find(fixture_table(&fixture), STR("a")), 1);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), 1);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "c"), 3);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "d"), NAN);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "e"), NAN);
    fixture_close(&fixture);
}

/* Ages use the monotonic clock, whatever the wall clock does. */
static void test_age(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    fixture_add_node(&fixture, "b");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "a", 1, 0);
    fixture_set(&fixture, 0, "b", 2, 10 * SEC);
    fixture.input.uptime_nsec = UPTIME + 50 * SEC;
    fixture.input.now_nsec = 0;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "b"), 2); /* exactly at maxAge */
    assert_int_equal(fixture.loads.until_nsec, UPTIME + 50 * SEC + 1);
    fixture.input.uptime_nsec++;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "b"), NAN);
    assert_number(fixture_number(&fixture, 0, LOAD_MEASURED, "b"), NAN);
    assert_int_equal(fixture_time(&fixture, 0, "b"), 0);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), 1);
    assert_int_equal(fixture.loads.until_nsec, UPTIME + 60 * SEC + 1);
    fixture.input.uptime_nsec = UPTIME + 60 * SEC + 1;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), NAN);
    assert_int_equal(fixture.loads.until_nsec, INT64_MAX); /* no value is left that could expire */
    fixture_close(&fixture);
}

static void test_extreme_ages(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "a", 1, INT64_MAX);
    fixture_sample(&fixture, 1);
    fixture_set(&fixture, 1, "a", 2, 0);
    fixture.gauges[1].max_age_nsec = INT64_MAX;
    fixture.input.uptime_nsec = INT64_MAX - 1;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), NAN);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "a"), 2);
    fixture_close(&fixture);
}

/* --- sharing ----------------------------------------------------------------------------- */

/* Four chunks, of which the last has only the unknown node's row. */
static void open_many(LoadsFixture *fixture) {
    char name[16];

    fixture_open(fixture);
    for (unsigned i = 0; i < 3 * CHUNK_ROWS; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        fixture_add_node(fixture, name);
    }
    fixture_publish(fixture);
    fixture_sample(fixture, 0);
    fixture_set(fixture, 0, "n0", 1, 0);
    fixture_set(fixture, 0, "n64", 2, 20 * SEC);
    fixture_sample(fixture, 1);
    fixture_set(fixture, 1, "n0", 3, 0);
    fixture_build(fixture);
}

/* Builds the next loads from the current ones; returns the number of shared chunks. */
static size_t build_next(LoadsFixture *fixture, Snapshot *before, Loads *ret) {
    size_t n = 0;

    assert_int_equal(
        loads_build(&fixture->input, fixture_table(fixture),
            &(KnownLoads){snapshot_table(before), &fixture->loads}, fixture->arena, ret),
        0);
    for (size_t i = 0; i < ret->n_chunks && i < fixture->loads.n_chunks; i++)
        n += ret->chunks[i] == fixture->loads.chunks[i];
    return n;
}

static void test_shared_chunks(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    before = snapshot_ref(fixture.snapshot);
    fixture_pass(&fixture, 40 * SEC);
    assert_int_equal(build_next(&fixture, before, &next), 4); /* no change */
    loads_release(&next);
    fixture_pass(&fixture, 1); /* n64's value has expired */
    assert_int_equal(build_next(&fixture, before, &next), 3);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), NAN);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 0), 1);
    assert_int_equal(next.until_nsec, UPTIME + 60 * SEC + 1);
    loads_release(&next);
    fixture_pass(&fixture, -2);
    fixture_add_node(&fixture, "n1"); /* unchanged */
    fixture_publish(&fixture);
    assert_int_equal(build_next(&fixture, before, &next), 4);
    loads_release(&next);
    store_remove_node(fixture.store, STR("n1"));
    fixture_publish(&fixture);
    assert_int_equal(build_next(&fixture, before, &next), 3);
    loads_release(&next);
    fixture_renew(&fixture); /* the same measurements in a new list: nothing is shared */
    assert_int_equal(build_next(&fixture, before, &next), 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 2);
    loads_release(&next);
    fixture_close(&fixture);
}

/* An unchanged gauge is copied, with the time at which it expires. */
static void test_copies_unchanged_gauges(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next, last;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    before = snapshot_ref(fixture.snapshot);
    fixture_pass(&fixture, 30 * SEC);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "n64", 5, 0);
    assert_int_equal(build_next(&fixture, before, &next), 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 0), NAN);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 5);
    assert_number(loads_value(&next, 1, LOAD_VALUE, 0), 3);
    assert_int_equal(loads_time(&next, 1, 0), NOW);
    assert_int_equal(next.chunks[0]->until_nsec, UPTIME + 60 * SEC + 1);
    assert_int_equal(next.chunks[1]->until_nsec, UPTIME + 90 * SEC + 1);
    loads_release(&fixture.loads);
    fixture.loads = next;
    fixture_pass(&fixture, 30 * SEC + 1);
    assert_int_equal(build_next(&fixture, before, &last), 3);
    assert_number(loads_value(&last, 1, LOAD_VALUE, 0), NAN);
    assert_number(loads_value(&last, 0, LOAD_VALUE, 64), 5);
    loads_release(&last);
    fixture_close(&fixture);
}

/* Chunks outlive the loads that they were made for, also if later loads share them. */
static void test_chunks_outlive_their_loads(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next, borrowing;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    before = snapshot_ref(fixture.snapshot);
    assert_int_equal(build_next(&fixture, before, &next), 4);
    loads_release(&fixture.loads);
    assert_int_equal(fixture.loads.n_gauges, 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 2);
    fixture.input.is_counted = false;
    assert_int_equal(loads_build(&fixture.input, fixture_table(&fixture),
                         &(KnownLoads){snapshot_table(before), &next}, arena, &borrowing),
        0);
    assert_ptr_equal(borrowing.chunks[2], next.chunks[2]);
    loads_release(&borrowing);
    fixture.loads = next;
    fixture_close(&fixture);
}

/* A table with a change: only the chunk that differs is built again. */
static void test_changed_tables(void **state) {
    Pod pod = {.uid = STR("u"), .node_name = STR("n64"), .scheduled_at = NOW_SEC};
    Pod promised = {.uid = STR("v"), .created_at = NOW_SEC - 3600}; /* pending for an hour */
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    NodeTable table, changed;
    Loads loads;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    fixture.gauges[0].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    table = *fixture_table(&fixture);
    table.loads = &fixture.loads;
    assert_int_equal(
        table_change(&table, &(PodChange){.row = 64, .add = &pod}, 1, arena, &changed), 0);
    fixture.input.is_counted = false;
    assert_int_equal(
        loads_build(&fixture.input, &changed, &(KnownLoads){&table, &fixture.loads}, arena, &loads),
        0);
    assert_ptr_equal(loads.chunks[0], fixture.loads.chunks[0]);
    assert_ptr_not_equal(loads.chunks[1], fixture.loads.chunks[1]);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 64), 2.1);
    assert_number(loads_value(&loads, 0, LOAD_MEASURED, 64), 2);
    assert_number(loads_value(&fixture.loads, 0, LOAD_VALUE, 64), 2);

    assert_int_equal(
        table_change(&table, &(PodChange){.row = 64, .add = &promised}, 1, arena, &changed), 0);
    assert_int_equal(
        loads_build(&fixture.input, &changed, &(KnownLoads){&table, &fixture.loads}, arena, &loads),
        0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 64), 2.1);
    fixture_close(&fixture);
}

/* With other gauges nothing is shared. */
static void test_shares_nothing_with_other_gauges(void **state) {
    Loads loads;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    fixture.input.n_gauges = 2;
    assert_int_equal(build_next(&fixture, fixture.snapshot, &loads), 0);
    assert_number(loads_value(&loads, 1, LOAD_VALUE, 0), 3);
    loads_release(&loads);
    fixture_close(&fixture);
}

/* --- tables of requests, figures, memory ------------------------------------------------- */

/* A request's own nodes, some of them twice, some of them unknown. */
static void test_tables_of_requests(void **state) {
    Node sent[] = {
        {.name = STR("n64")}, {.name = STR("new")}, {.name = STR("n0")}, {.name = STR("n64")}};
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    NodeTable own;
    Loads loads;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    assert_int_equal(table_build(sent, ELEMENTS_OF(sent), arena, &own), 0);
    fixture.input.is_counted = false;
    assert_int_equal(loads_build(&fixture.input, &own, /* known= */ NULL, arena, &loads), 0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 2);
    assert_number(loads_value(&loads, 0, LOAD_MEASURED, 0), 2);
    assert_int_equal(loads_time(&loads, 0, 0), NOW - 20 * SEC);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 1), NAN);
    assert_int_equal(loads_time(&loads, 0, 1), 0);
    assert_number(loads_value(&loads, 1, LOAD_VALUE, 2), 3);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 3), 2);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 4), NAN); /* the unknown node */
    loads_release(&loads);
    fixture_close(&fixture);
}

static void test_figures(void **state) {
    LoadsFigures figures;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    store_remove_node(fixture.store, STR("n5"));
    fixture_publish(&fixture);
    fixture_build(&fixture);
    loads_figures(&fixture.loads, fixture_table(&fixture), 0, &figures);
    assert_int_equal(figures.n_present, 2);
    assert_int_equal(figures.n_nodes, 3 * CHUNK_ROWS - 1);
    assert_int_equal(figures.oldest_nsec, NOW - 20 * SEC);
    loads_figures(&fixture.loads, fixture_table(&fixture), 2, &figures);
    assert_int_equal(figures.n_present, 0);
    assert_int_equal(figures.oldest_nsec, 0);
    loads_figures(NULL, fixture_table(&fixture), 0, &figures);
    assert_int_equal(figures.n_nodes, 3 * CHUNK_ROWS - 1);
    fixture_close(&fixture);
}

/* With any budget: all values, or -ENOMEM without leaks. */
static void test_budgets(void **state) {
    size_t n_built = 0, n = 0;
    LoadsFixture fixture;

    (void)state;
    open_many(&fixture);
    for (size_t budget = 0; budget < 65536; budget += 64, n++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        Loads loads;
        int r;

        fixture.input.is_counted = false;
        r = loads_build(&fixture.input, fixture_table(&fixture), NULL, arena, &loads);
        assert_true(r == 0 || r == -ENOMEM);
        n_built += r == 0;
        loads_release(&loads);
        arena_reset(arena);
        fixture.input.is_counted = true;
        r = loads_build(&fixture.input, fixture_table(&fixture), NULL, arena, &loads);
        assert_true(r == 0 || r == -ENOMEM);
        loads_release(&loads);
    }
    assert_in_range(n_built, 1, n - 1);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_nodes_and_no_measurements),
        cmocka_unit_test(test_nodes_that_change_rows),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_extreme_ages),
        cmocka_unit_test(test_shared_chunks),
        cmocka_unit_test(test_copies_unchanged_gauges),
        cmocka_unit_test(test_chunks_outlive_their_loads),
        cmocka_unit_test(test_changed_tables),
        cmocka_unit_test(test_shares_nothing_with_other_gauges),
        cmocka_unit_test(test_tables_of_requests),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
