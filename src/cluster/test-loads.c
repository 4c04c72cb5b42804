#include "cluster/loads.h"

#include <errno.h>
#include <stdio.h>

#include "cluster/test-measured.h"

/* --- what was asked for ------------------------------------------------------------------ */

static void test_values(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    lab_add_node(&lab, "b");
    lab_add_node(&lab, "c");
    lab_publish(&lab);
    lab_sample(&lab, 1);
    lab_set(&lab, 1, "a", 0.5, 0);
    lab_set(&lab, 1, "b", -3, 2 * SEC);
    lab_pass(&lab, 5 * SEC);
    lab_build(&lab);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "a"), 0.5);
    assert_number(lab_number(&lab, 1, LOAD_MEASURED, "a"), 0.5);
    assert_int_equal(lab_time(&lab, 1, "a"), NOW);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "b"), -3);
    assert_int_equal(lab_time(&lab, 1, "b"), NOW - 2 * SEC);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "c"), NAN);
    assert_number(lab_number(&lab, 1, LOAD_MEASURED, "c"), NAN);
    assert_int_equal(lab_time(&lab, 1, "c"), 0);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "nobody"), NAN);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), NAN); /* nothing was asked */
    assert_number(lab_number(&lab, LAB_GAUGES, LOAD_VALUE, "a"), NAN);
    assert_int_equal(lab_time(&lab, LAB_GAUGES, "a"), 0);
    assert_number(loads_value(NULL, 0, LOAD_VALUE, 0), NAN);
    assert_int_equal(loads_time(NULL, 0, 0), 0);
    lab_close(&lab);
}

static void test_nothing_at_all(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_publish(&lab);
    lab_build(&lab); /* no nodes, no measurements */
    assert_int_equal(lab.loads.n_chunks, 1);
    assert_int_equal(lab.loads.until_nsec, INT64_MAX);
    assert_number(loads_value(&lab.loads, 0, LOAD_VALUE, 0), NAN);
    lab.input.n_gauges = 0;
    lab_build(&lab);
    assert_number(loads_value(&lab.loads, 0, LOAD_VALUE, 0), NAN);
    lab_close(&lab);
}

/* Nodes that went, came, and came into the row of one that went. */
static void test_names_that_changed(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    lab_add_node(&lab, "b");
    lab_add_node(&lab, "c");
    lab_publish(&lab);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "a", 1, 0);
    lab_set(&lab, 0, "b", 2, 0);
    lab_set(&lab, 0, "c", 3, 0);
    store_remove_node(lab.store, STR("a"));
    lab_add_node(&lab, "d"); /* in the row of a */
    lab_publish(&lab);
    lab_build(&lab);
    assert_int_equal(table_find(lab_table(&lab), STR("d")), 0);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "d"), NAN);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "b"), 2);
    store_remove_node(lab.store, STR("b"));
    lab_add_node(&lab, "a"); /* back again, elsewhere */
    lab_add_node(&lab, "e");
    lab_publish(&lab);
    lab_build(&lab);
    assert_int_equal(table_find(lab_table(&lab), STR("a")), 1);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 1);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "c"), 3);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "d"), NAN);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "e"), NAN);
    lab_close(&lab);
}

/* Ages are told by the monotonic clock, whatever the other one does. */
static void test_age(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    lab_add_node(&lab, "b");
    lab_publish(&lab);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "a", 1, 0);
    lab_set(&lab, 0, "b", 2, 10 * SEC);
    lab.input.uptime_nsec = UPTIME + 50 * SEC;
    lab.input.now_nsec = 0;
    lab_build(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "b"), 2); /* just as old as it may be */
    assert_int_equal(lab.loads.until_nsec, UPTIME + 50 * SEC + 1);
    lab.input.uptime_nsec++;
    lab_build(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "b"), NAN);
    assert_number(lab_number(&lab, 0, LOAD_MEASURED, "b"), NAN);
    assert_int_equal(lab_time(&lab, 0, "b"), 0);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 1);
    assert_int_equal(lab.loads.until_nsec, UPTIME + 60 * SEC + 1);
    lab.input.uptime_nsec = UPTIME + 60 * SEC + 1;
    lab_build(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), NAN);
    assert_int_equal(lab.loads.until_nsec, INT64_MAX); /* nothing is left to grow old */
    lab_close(&lab);
}

static void test_extreme_ages(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    lab_publish(&lab);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "a", 1, INT64_MAX);
    lab_sample(&lab, 1);
    lab_set(&lab, 1, "a", 2, 0);
    lab.gauges[1].max_age_nsec = INT64_MAX;
    lab.input.uptime_nsec = INT64_MAX - 1;
    lab_build(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), NAN);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "a"), 2);
    lab_close(&lab);
}

/* --- sharing ----------------------------------------------------------------------------- */

/* Four chunks, of which the last has only the row that nobody knows. */
static void open_many(Lab *lab) {
    char name[16];

    lab_open(lab);
    for (unsigned i = 0; i < 3 * CHUNK_ROWS; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        lab_add_node(lab, name);
    }
    lab_publish(lab);
    lab_sample(lab, 0);
    lab_set(lab, 0, "n0", 1, 0);
    lab_set(lab, 0, "n64", 2, 20 * SEC);
    lab_sample(lab, 1);
    lab_set(lab, 1, "n0", 3, 0);
    lab_build(lab);
}

/* The next loads, sharing with those that there are; their number of shared chunks. */
static size_t build_next(Lab *lab, Snapshot *before, Loads *ret) {
    size_t n = 0;

    assert_int_equal(loads_build_counted(&lab->input, lab_table(lab),
                         &(KnownLoads){snapshot_table(before), &lab->loads}, lab->arena, ret),
        0);
    for (size_t i = 0; i < ret->n_chunks && i < lab->loads.n_chunks; i++)
        n += ret->chunks[i] == lab->loads.chunks[i];
    return n;
}

static void test_shared_chunks(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next;
    Lab lab;

    (void)state;
    open_many(&lab);
    before = snapshot_ref(lab.snapshot);
    lab_pass(&lab, 40 * SEC);
    assert_int_equal(build_next(&lab, before, &next), 4); /* nothing happened */
    loads_release(&next);
    lab_pass(&lab, 1); /* n64's is too old */
    assert_int_equal(build_next(&lab, before, &next), 3);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), NAN);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 0), 1);
    assert_int_equal(next.until_nsec, UPTIME + 60 * SEC + 1);
    loads_release(&next);
    lab_pass(&lab, -2);
    lab_add_node(&lab, "n1"); /* as it is */
    lab_publish(&lab);
    assert_int_equal(build_next(&lab, before, &next), 4);
    loads_release(&next);
    store_remove_node(lab.store, STR("n1"));
    lab_publish(&lab);
    assert_int_equal(build_next(&lab, before, &next), 3);
    loads_release(&next);
    lab_renew(&lab); /* the same measurements, but who knows */
    assert_int_equal(build_next(&lab, before, &next), 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 2);
    loads_release(&next);
    lab_close(&lab);
}

/* A gauge that nothing happened to is taken over, with the time at which that ends. */
static void test_gauges_that_are_copied(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next, last;
    Lab lab;

    (void)state;
    open_many(&lab);
    before = snapshot_ref(lab.snapshot);
    lab_pass(&lab, 30 * SEC);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "n64", 5, 0);
    assert_int_equal(build_next(&lab, before, &next), 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 0), NAN);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 5);
    assert_number(loads_value(&next, 1, LOAD_VALUE, 0), 3);
    assert_int_equal(loads_time(&next, 1, 0), NOW);
    assert_int_equal(next.chunks[0]->until_nsec, UPTIME + 60 * SEC + 1);
    assert_int_equal(next.chunks[1]->until_nsec, UPTIME + 90 * SEC + 1);
    loads_release(&lab.loads);
    lab.loads = next;
    lab_pass(&lab, 30 * SEC + 1);
    assert_int_equal(build_next(&lab, before, &last), 3);
    assert_number(loads_value(&last, 1, LOAD_VALUE, 0), NAN);
    assert_number(loads_value(&last, 0, LOAD_VALUE, 64), 5);
    loads_release(&last);
    lab_close(&lab);
}

/* Chunks outlive the loads that they were first in, and who is borrowed from does too. */
static void test_lives(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(LAB_BUDGET);
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL;
    Loads next, borrowing;
    Lab lab;

    (void)state;
    open_many(&lab);
    before = snapshot_ref(lab.snapshot);
    assert_int_equal(build_next(&lab, before, &next), 4);
    loads_release(&lab.loads);
    assert_int_equal(lab.loads.n_gauges, 0);
    assert_number(loads_value(&next, 0, LOAD_VALUE, 64), 2);
    assert_int_equal(loads_build(&lab.input, lab_table(&lab),
                         &(KnownLoads){snapshot_table(before), &next}, arena, &borrowing),
        0);
    assert_ptr_equal(borrowing.chunks[2], next.chunks[2]);
    loads_release(&borrowing);
    lab.loads = next;
    lab_close(&lab);
}

/* A table as it would be: only the chunk that differs is made again. */
static void test_changed_tables(void **state) {
    Pod pod = {.uid = STR("u"), .node_name = STR("n64"), .scheduled_at = NOW_SEC};
    Pod promised = {.uid = STR("v"), .created_at = NOW_SEC - 3600}; /* waits since an hour ago */
    _cleanup_(arena_freep) Arena *arena = arena_new(LAB_BUDGET);
    NodeTable table, changed;
    Loads loads;
    Lab lab;

    (void)state;
    open_many(&lab);
    lab.gauges[0].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    table = *lab_table(&lab);
    table.loads = &lab.loads;
    assert_int_equal(
        table_change(&table, &(PodChange){.row = 64, .add = &pod}, 1, arena, &changed), 0);
    assert_int_equal(
        loads_build(&lab.input, &changed, &(KnownLoads){&table, &lab.loads}, arena, &loads), 0);
    assert_ptr_equal(loads.chunks[0], lab.loads.chunks[0]);
    assert_ptr_not_equal(loads.chunks[1], lab.loads.chunks[1]);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 64), 2.1);
    assert_number(loads_value(&loads, 0, LOAD_MEASURED, 64), 2);
    assert_number(loads_value(&lab.loads, 0, LOAD_VALUE, 64), 2);

    assert_int_equal(
        table_change(&table, &(PodChange){.row = 64, .add = &promised}, 1, arena, &changed), 0);
    assert_int_equal(
        loads_build(&lab.input, &changed, &(KnownLoads){&table, &lab.loads}, arena, &loads), 0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 64), 2.1);
    lab_close(&lab);
}

/* Of other gauges nothing is shared. */
static void test_other_gauges(void **state) {
    Loads loads;
    Lab lab;

    (void)state;
    open_many(&lab);
    lab.input.n_gauges = 2;
    assert_int_equal(build_next(&lab, lab.snapshot, &loads), 0);
    assert_number(loads_value(&loads, 1, LOAD_VALUE, 0), 3);
    loads_release(&loads);
    lab_close(&lab);
}

/* --- others' tables, figures, memory ----------------------------------------------------- */

/* A request's own nodes, some of them twice, some of them nobody's. */
static void test_own_tables(void **state) {
    Node sent[] = {
        {.name = STR("n64")}, {.name = STR("new")}, {.name = STR("n0")}, {.name = STR("n64")}};
    _cleanup_(arena_freep) Arena *arena = arena_new(LAB_BUDGET);
    NodeTable own;
    Loads loads;
    Lab lab;

    (void)state;
    open_many(&lab);
    assert_int_equal(table_build(sent, ELEMENTS_OF(sent), arena, &own), 0);
    assert_int_equal(loads_build(&lab.input, &own, /* known= */ NULL, arena, &loads), 0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 2);
    assert_number(loads_value(&loads, 0, LOAD_MEASURED, 0), 2);
    assert_int_equal(loads_time(&loads, 0, 0), NOW - 20 * SEC);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 1), NAN);
    assert_int_equal(loads_time(&loads, 0, 1), 0);
    assert_number(loads_value(&loads, 1, LOAD_VALUE, 2), 3);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 3), 2);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 4), NAN); /* the row of nobody */
    loads_release(&loads);
    lab_close(&lab);
}

static void test_figures(void **state) {
    LoadsFigures figures;
    Lab lab;

    (void)state;
    open_many(&lab);
    store_remove_node(lab.store, STR("n5"));
    lab_publish(&lab);
    lab_build(&lab);
    loads_figures(&lab.loads, lab_table(&lab), 0, &figures);
    assert_int_equal(figures.n_present, 2);
    assert_int_equal(figures.n_nodes, 3 * CHUNK_ROWS - 1);
    assert_int_equal(figures.oldest_nsec, NOW - 20 * SEC);
    loads_figures(&lab.loads, lab_table(&lab), 2, &figures);
    assert_int_equal(figures.n_present, 0);
    assert_int_equal(figures.oldest_nsec, 0);
    loads_figures(NULL, lab_table(&lab), 0, &figures);
    assert_int_equal(figures.n_nodes, 3 * CHUNK_ROWS - 1);
    lab_close(&lab);
}

/* With any budget: all, or -ENOMEM, and nothing is left behind. */
static void test_budgets(void **state) {
    size_t n_built = 0, n = 0;
    Lab lab;

    (void)state;
    open_many(&lab);
    for (size_t budget = 0; budget < 65536; budget += 64, n++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        Loads loads;
        int r = loads_build(&lab.input, lab_table(&lab), NULL, arena, &loads);

        assert_true(r == 0 || r == -ENOMEM);
        n_built += r == 0;
        loads_release(&loads);
        arena_reset(arena);
        r = loads_build_counted(&lab.input, lab_table(&lab), NULL, arena, &loads);
        assert_true(r == 0 || r == -ENOMEM);
        loads_release(&loads);
    }
    assert_in_range(n_built, 1, n - 1);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_names_that_changed),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_extreme_ages),
        cmocka_unit_test(test_shared_chunks),
        cmocka_unit_test(test_gauges_that_are_copied),
        cmocka_unit_test(test_lives),
        cmocka_unit_test(test_changed_tables),
        cmocka_unit_test(test_other_gauges),
        cmocka_unit_test(test_own_tables),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
