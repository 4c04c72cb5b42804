#include "cluster/placements.h"

#include "cluster/test-measured.h"

/* Adds a pod that was bound to node a at @at_sec; @request NULL: without requests. */
static void place(
    LoadsFixture *fixture, const char *name, int64_t at_sec, const Resource *request) {
    Resource requested = request ? *request : (Resource){0};
    Pod pod = {.namespace = STR("shop"),
        .name = str_from_c(name),
        .uid = str_from_c(name),
        .node_name = STR("a"),
        .scheduled_at = at_sec,
        .owner_kind = STR("StatefulSet"),
        .owner_name = STR("web"),
        .requests = {.items = &requested, .n = request != NULL}};

    assert_true(store_apply_pod(fixture->store, &pod) >= 0);
}

static const Resource half = {STR("cpu"), 500};

/* How much a pod counts, by the time between its bind and the measurement. */
static void test_weights(void **state) {
    static const struct {
        int64_t before; /* seconds */
        double want;    /* in cores, of half a core */
    } cases[] = {
        {-3600, 0.5},
        {-1, 0.5},
        {0, 0.5},
        {15, 0.375},
        {30, 0.25},
        {45, 0.125},
        {60, 0},
        {3600, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        LoadsFixture fixture;

        fixture_open(&fixture);
        fixture.gauges[0].placements =
            (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
        fixture_add_node(&fixture, "a");
        fixture_add_node(&fixture, "b");
        place(&fixture, "p", NOW_SEC - cases[i].before - 7, &half);
        fixture_publish(&fixture);
        fixture_sample(&fixture, 0);
        fixture_set(&fixture, 0, "a", 0.25, 7 * SEC);
        fixture_set(&fixture, 0, "b", 0.25, 0);
        fixture_build(&fixture);
        assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), 0.25 + cases[i].want);
        assert_number(fixture_number(&fixture, 0, LOAD_MEASURED, "a"), 0.25);
        assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "b"), 0.25);
        fixture_close(&fixture);
    }
}

/* The amount of a pod: by its requests, by the gauge's unit, and by its workload's usage. */
static void test_amounts(void **state) {
    static const Resource nothing = {STR("cpu"), 0}, less = {STR("cpu"), -4},
                          memory = {STR("memory"), 250000}, disk = {STR("disk"), 3};
    static const struct {
        const char *name;
        const Resource *request;
        const char *resource;
        GaugeUnit unit;
        double by; /* of its workload; NaN: not known; 0 also if the pod has no request */
        double want;
    } cases[] = {
        {"cores", &half, "cpu", GAUGE_AMOUNT, NAN, 0.5},
        {"fraction of cpu", &half, "cpu", GAUGE_FRACTION, NAN, 0.25},
        {"percent of cpu", &half, "cpu", GAUGE_PERCENT, NAN, 25},
        {"bytes", &memory, "memory", GAUGE_AMOUNT, NAN, 250000},
        {"fraction of memory", &memory, "memory", GAUGE_FRACTION, NAN, 0.25},
        {"percent of memory", &memory, "memory", GAUGE_PERCENT, NAN, 25},
        {"nothing requested, cpu", NULL, "cpu", GAUGE_AMOUNT, NAN, 0.1},
        {"nothing requested, memory", NULL, "memory", GAUGE_AMOUNT, NAN, 209715200},
        {"something else requested", &memory, "cpu", GAUGE_AMOUNT, NAN, 0.1},
        {"nothing requested, another resource", NULL, "disk", GAUGE_AMOUNT, NAN, 0},
        {"requests 0", &nothing, "cpu", GAUGE_AMOUNT, NAN, 0},
        {"requests less than 0", &less, "cpu", GAUGE_AMOUNT, NAN, 0},
        {"others", &disk, "disk", GAUGE_AMOUNT, NAN, 3},
        {"a part of nothing", &disk, "disk", GAUGE_FRACTION, NAN, 0},
        {"a percentage of nothing", &disk, "disk", GAUGE_PERCENT, NAN, 0},
        {"by workload", &half, "cpu", GAUGE_AMOUNT, 1.5, 1.5},
        {"by workload, fraction", &half, "cpu", GAUGE_FRACTION, 1.5, 0.75},
        {"by workload, percent of memory", NULL, "memory", GAUGE_PERCENT, 500000, 50},
        {"by workload, which idles", &half, "cpu", GAUGE_AMOUNT, 0, 0},
        {"by workload, below nothing", &half, "cpu", GAUGE_AMOUNT, -2, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        LoadsFixture fixture;
        double added;

        fixture_open(&fixture);
        fixture.gauges[0].placements = (GaugePlacements){.is_counted = true,
            .resource = str_from_c(cases[i].resource),
            .unit = cases[i].unit,
            .settle_nsec = 60 * SEC,
            .by = isnan(cases[i].by) ? STR("") : STR("use"),
            .by_gauge = 3};
        fixture_add_node(&fixture, "a");
        place(&fixture, "p", NOW_SEC, cases[i].request);
        fixture_publish(&fixture);
        fixture_sample(&fixture, 0);
        fixture_set(&fixture, 0, "a", 1, 0);
        fixture_sample(&fixture, 3);
        assert_int_equal(measurement_reserve_workloads(fixture.input.measurements->items[3], 1), 0);
        assert_int_equal(measurement_set_workload(fixture.input.measurements->items[3],
                             STR("shop/StatefulSet/web"), cases[i].by),
            0);
        fixture_build(&fixture);
        added = fixture_number(&fixture, 0, LOAD_VALUE, "a") - 1;
        assert_case(cases[i].name, fabs(added - cases[i].want) < 1e-9);
        assert_number(fixture_number(&fixture, 0, LOAD_MEASURED, "a"), 1);
        fixture_close(&fixture);
    }
}

static void build_by_use(LoadsFixture *fixture) {
    fixture_open(fixture);
    fixture->gauges[0].placements = (GaugePlacements){.is_counted = true,
        .resource = STR("cpu"),
        .settle_nsec = 600 * SEC,
        .by = STR("use"),
        .by_gauge = 3};
    fixture->gauges[0].max_age_nsec = 600 * SEC;
    fixture_add_node(fixture, "a");
    place(fixture, "p", NOW_SEC, &half);
    fixture_publish(fixture);
    fixture_sample(fixture, 0);
    fixture_set(fixture, 0, "a", 1, 0);
    fixture_sample(fixture, 3);
    assert_int_equal(measurement_reserve_workloads(fixture->input.measurements->items[3], 1), 0);
    assert_int_equal(measurement_set_workload(
                         fixture->input.measurements->items[3], STR("shop/StatefulSet/web"), 1.5),
        0);
    fixture_build(fixture);
}

/* Usage of workloads expires too: then requests count. */
static void test_age_of_workloads(void **state) {
    Loads loads;
    LoadsFixture fixture;

    (void)state;
    build_by_use(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), 2.5);
    assert_number(loads_workload(&fixture.loads, 3, STR("shop/StatefulSet/web")), 1.5);
    assert_number(loads_workload(&fixture.loads, 3, STR("shop/StatefulSet/other")), NAN);
    assert_number(loads_workload(&fixture.loads, 0, STR("shop/StatefulSet/web")), NAN);
    assert_number(loads_workload(&fixture.loads, FIXTURE_GAUGES, STR("x")), NAN);
    assert_number(loads_workload(NULL, 0, STR("x")), NAN);
    assert_int_equal(fixture.loads.until_nsec, UPTIME + 60 * SEC + 1);
    assert_int_equal(fixture.loads.chunks[0]->until_nsec, UPTIME + 60 * SEC + 1);
    fixture_pass(&fixture, 60 * SEC + 1);
    fixture.input.is_counted = false;
    assert_int_equal(
        loads_build(&fixture.input, fixture_table(&fixture),
            &(KnownLoads){fixture_table(&fixture), &fixture.loads}, fixture.arena, &loads),
        0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 1.5);
    assert_number(loads_workload(&loads, 3, STR("shop/StatefulSet/web")), NAN);
    assert_int_equal(loads.until_nsec, UPTIME + 600 * SEC + 1);
    loads_release(&loads);
    fixture_close(&fixture);
}

/* A gauge of some pods never shows the others. */
static void test_pods_that_are_not_shown(void **state) {
    static const Str values[] = {STR("web")}, namespaces[] = {STR("x"), STR("shop")};
    static const Requirement web = {
        .key = STR("app"), .op = SELECTOR_IN, .values = values, .n_values = 1};
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    place(&fixture, "p", NOW_SEC, &half);
    fixture_publish(&fixture);
    for (size_t i = 0; i < FIXTURE_GAUGES; i++) {
        fixture.gauges[i].placements =
            (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = SEC};
        fixture.gauges[i].is_of_pods = true;
        fixture_sample(&fixture, i);
        fixture_set(&fixture, i, "a", 0, 0);
    }
    fixture.gauges[1].selector = (Selector){.items = &web, .n = 1};
    fixture.gauges[2].namespaces = namespaces;
    fixture.gauges[2].n_namespaces = 1;
    fixture.gauges[3].namespaces = namespaces;
    fixture.gauges[3].n_namespaces = 2;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), 0.5);
    assert_number(fixture_number(&fixture, 1, LOAD_VALUE, "a"), 0);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), 0);
    assert_number(fixture_number(&fixture, 3, LOAD_VALUE, "a"), 0.5);
    fixture_close(&fixture);
}

/* Also for values of annotations; absent ones stay absent. */
static void test_placements_on_annotations(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_use_annotations(&fixture);
    fixture.gauges[2].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    fixture.gauges[0].placements = fixture.gauges[2].placements;
    fixture_annotate(&fixture, "a", "1,2026-01-02T03:03:05Z");
    place(&fixture, "p", NOW_SEC - 90, &half);
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), 1.25);
    assert_number(fixture_number(&fixture, 0, LOAD_VALUE, "a"), NAN);
    fixture_close(&fixture);
}

/* A row whose last pod was placed long ago: its list of pods is not read. */
static void test_old_pods_are_not_read(void **state) {
    Node node = {.name = STR("a")};
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    NodeTable table;
    NodeChunk *chunk;
    PodList *list;
    Loads loads;
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_add_node(&fixture, "a");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "a", 1, 0);
    fixture.gauges[0].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    assert_int_equal(table_build(&node, 1, arena, &table), 0);
    chunk = (NodeChunk *)(uintptr_t)table.chunks[0];
    list = arena_zalloc(arena, 1, sizeof(*list) + sizeof(list->items[0]));
    list->n = 1;
    list->items[0] = (const Pod *)(uintptr_t)64; /* reading the list would crash */
    chunk->pods[0] = list;
    chunk->n_pods[0] = 1;
    chunk->placed_at[0] = NOW_SEC - 60;
    fixture.input.is_counted = false;
    assert_int_equal(loads_build(&fixture.input, &table, NULL, arena, &loads), 0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 1);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_age_of_workloads),
        cmocka_unit_test(test_pods_that_are_not_shown),
        cmocka_unit_test(test_placements_on_annotations),
        cmocka_unit_test(test_old_pods_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
