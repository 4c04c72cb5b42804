#include "cluster/placements.h"

#include "cluster/test-measured.h"

/* On node a; @request may be NULL: it asks for nothing. */
static void place(Lab *lab, const char *name, int64_t at_sec, const Resource *request) {
    Resource asked = request ? *request : (Resource){0};
    Pod pod = {.namespace = STR("shop"),
        .name = str_from_c(name),
        .uid = str_from_c(name),
        .node_name = STR("a"),
        .scheduled_at = at_sec,
        .owner_kind = STR("StatefulSet"),
        .owner_name = STR("web"),
        .requests = {.items = &asked, .n = request != NULL}};

    assert_true(store_apply_pod(lab->store, &pod) >= 0);
}

static const Resource half = {STR("cpu"), 500};

/* How much of a pod counts that was bound so long before the number was measured. */
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
        Lab lab;

        lab_open(&lab);
        lab.gauges[0].placements =
            (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
        lab_add_node(&lab, "a");
        lab_add_node(&lab, "b");
        place(&lab, "p", NOW_SEC - cases[i].before - 7, &half);
        lab_publish(&lab);
        lab_sample(&lab, 0);
        lab_set(&lab, 0, "a", 0.25, 7 * SEC);
        lab_set(&lab, 0, "b", 0.25, 0);
        lab_build(&lab);
        assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 0.25 + cases[i].want);
        assert_number(lab_number(&lab, 0, LOAD_MEASURED, "a"), 0.25);
        assert_number(lab_number(&lab, 0, LOAD_VALUE, "b"), 0.25);
        lab_close(&lab);
    }
}

/* What a pod counts for, by what it asks, by the gauge's unit, and by what its workload uses. */
static void test_amounts(void **state) {
    static const Resource nothing = {STR("cpu"), 0}, less = {STR("cpu"), -4},
                          memory = {STR("memory"), 250000}, disk = {STR("disk"), 3};
    static const struct {
        const char *name;
        const Resource *request;
        const char *resource;
        GaugeUnit unit;
        double by; /* of its workload; NaN: not known; 0 also if it is not asked for */
        double want;
    } cases[] = {
        {"cores", &half, "cpu", GAUGE_AMOUNT, NAN, 0.5},
        {"fraction of cpu", &half, "cpu", GAUGE_FRACTION, NAN, 0.25},
        {"percent of cpu", &half, "cpu", GAUGE_PERCENT, NAN, 25},
        {"bytes", &memory, "memory", GAUGE_AMOUNT, NAN, 250000},
        {"fraction of memory", &memory, "memory", GAUGE_FRACTION, NAN, 0.25},
        {"percent of memory", &memory, "memory", GAUGE_PERCENT, NAN, 25},
        {"nothing asked, cpu", NULL, "cpu", GAUGE_AMOUNT, NAN, 0.1},
        {"nothing asked, memory", NULL, "memory", GAUGE_AMOUNT, NAN, 209715200},
        {"something else asked", &memory, "cpu", GAUGE_AMOUNT, NAN, 0.1},
        {"nothing asked of others", NULL, "disk", GAUGE_AMOUNT, NAN, 0},
        {"asked for 0", &nothing, "cpu", GAUGE_AMOUNT, NAN, 0},
        {"asked for less", &less, "cpu", GAUGE_AMOUNT, NAN, 0},
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
        Lab lab;
        double added;

        lab_open(&lab);
        lab.gauges[0].placements = (GaugePlacements){.is_counted = true,
            .resource = str_from_c(cases[i].resource),
            .unit = cases[i].unit,
            .settle_nsec = 60 * SEC,
            .by = isnan(cases[i].by) ? STR("") : STR("use"),
            .by_gauge = 3};
        lab_add_node(&lab, "a");
        place(&lab, "p", NOW_SEC, cases[i].request);
        lab_publish(&lab);
        lab_sample(&lab, 0);
        lab_set(&lab, 0, "a", 1, 0);
        lab_sample(&lab, 3);
        assert_int_equal(measurement_reserve_workloads(lab.input.measurements->items[3], 1), 0);
        assert_int_equal(measurement_set_workload(lab.input.measurements->items[3],
                             STR("shop/StatefulSet/web"), cases[i].by),
            0);
        lab_build(&lab);
        added = lab_number(&lab, 0, LOAD_VALUE, "a") - 1;
        assert_case(cases[i].name, fabs(added - cases[i].want) < 1e-9);
        assert_number(lab_number(&lab, 0, LOAD_MEASURED, "a"), 1);
        lab_close(&lab);
    }
}

static void build_by_use(Lab *lab) {
    lab_open(lab);
    lab->gauges[0].placements = (GaugePlacements){.is_counted = true,
        .resource = STR("cpu"),
        .settle_nsec = 600 * SEC,
        .by = STR("use"),
        .by_gauge = 3};
    lab->gauges[0].max_age_nsec = 600 * SEC;
    lab_add_node(lab, "a");
    place(lab, "p", NOW_SEC, &half);
    lab_publish(lab);
    lab_sample(lab, 0);
    lab_set(lab, 0, "a", 1, 0);
    lab_sample(lab, 3);
    assert_int_equal(measurement_reserve_workloads(lab->input.measurements->items[3], 1), 0);
    assert_int_equal(measurement_set_workload(
                         lab->input.measurements->items[3], STR("shop/StatefulSet/web"), 1.5),
        0);
    lab_build(lab);
}

/* What workloads use grows too old as well: then requests count. */
static void test_age_of_workloads(void **state) {
    Loads loads;
    Lab lab;

    (void)state;
    build_by_use(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 2.5);
    assert_number(loads_workload(&lab.loads, 3, STR("shop/StatefulSet/web")), 1.5);
    assert_number(loads_workload(&lab.loads, 3, STR("shop/StatefulSet/other")), NAN);
    assert_number(loads_workload(&lab.loads, 0, STR("shop/StatefulSet/web")), NAN);
    assert_number(loads_workload(&lab.loads, LAB_GAUGES, STR("x")), NAN);
    assert_number(loads_workload(NULL, 0, STR("x")), NAN);
    assert_int_equal(lab.loads.until_nsec, UPTIME + 60 * SEC + 1);
    assert_int_equal(lab.loads.chunks[0]->until_nsec, UPTIME + 60 * SEC + 1);
    lab_pass(&lab, 60 * SEC + 1);
    assert_int_equal(loads_build(&lab.input, lab_table(&lab),
                         &(KnownLoads){lab_table(&lab), &lab.loads}, lab.arena, &loads),
        0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 1.5);
    assert_number(loads_workload(&loads, 3, STR("shop/StatefulSet/web")), NAN);
    assert_int_equal(loads.until_nsec, UPTIME + 600 * SEC + 1);
    loads_release(&loads);
    lab_close(&lab);
}

/* A gauge of some pods does not show others, also later. */
static void test_pods_that_are_not_shown(void **state) {
    static const Str values[] = {STR("web")}, namespaces[] = {STR("x"), STR("shop")};
    static const Requirement web = {
        .key = STR("app"), .op = SELECTOR_IN, .values = values, .n_values = 1};
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    place(&lab, "p", NOW_SEC, &half);
    lab_publish(&lab);
    for (size_t i = 0; i < LAB_GAUGES; i++) {
        lab.gauges[i].placements =
            (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = SEC};
        lab.gauges[i].is_of_pods = true;
        lab_sample(&lab, i);
        lab_set(&lab, i, "a", 0, 0);
    }
    lab.gauges[1].selector = (Selector){.items = &web, .n = 1};
    lab.gauges[2].namespaces = namespaces;
    lab.gauges[2].n_namespaces = 1;
    lab.gauges[3].namespaces = namespaces;
    lab.gauges[3].n_namespaces = 2;
    lab_build(&lab);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 0.5);
    assert_number(lab_number(&lab, 1, LOAD_VALUE, "a"), 0);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), 0);
    assert_number(lab_number(&lab, 3, LOAD_VALUE, "a"), 0.5);
    lab_close(&lab);
}

/* Also on numbers of annotations; and what is absent stays so. */
static void test_placements_on_annotations(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_use_annotations(&lab);
    lab.gauges[2].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    lab.gauges[0].placements = lab.gauges[2].placements;
    lab_annotate(&lab, "a", "1,2026-01-02T03:03:05Z");
    place(&lab, "p", NOW_SEC - 90, &half);
    lab_publish(&lab);
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), 1.25);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), NAN);
    lab_close(&lab);
}

/* A row whose last pod was placed long ago: its list is not opened. */
static void test_old_pods_are_not_looked_at(void **state) {
    Node node = {.name = STR("a")};
    _cleanup_(arena_freep) Arena *arena = arena_new(LAB_BUDGET);
    NodeTable table;
    NodeChunk *chunk;
    PodList *list;
    Loads loads;
    Lab lab;

    (void)state;
    lab_open(&lab);
    lab_add_node(&lab, "a");
    lab_publish(&lab);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "a", 1, 0);
    lab.gauges[0].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    assert_int_equal(table_build(&node, 1, arena, &table), 0);
    chunk = (NodeChunk *)(uintptr_t)table.chunks[0];
    list = arena_zalloc(arena, 1, sizeof(*list) + sizeof(list->items[0]));
    list->n = 1;
    list->items[0] = (const Pod *)(uintptr_t)64; /* whoever looks falls over */
    chunk->pods[0] = list;
    chunk->n_pods[0] = 1;
    chunk->placed_at[0] = NOW_SEC - 60;
    assert_int_equal(loads_build(&lab.input, &table, NULL, arena, &loads), 0);
    assert_number(loads_value(&loads, 0, LOAD_VALUE, 0), 1);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_age_of_workloads),
        cmocka_unit_test(test_pods_that_are_not_shown),
        cmocka_unit_test(test_placements_on_annotations),
        cmocka_unit_test(test_old_pods_are_not_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
