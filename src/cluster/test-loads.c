#include "cluster/loads.h"

#include <errno.h>
#include <stdio.h>

#include "cluster/annotation.h"
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
    assert_int_equal(store_remove_node(lab.store, STR("a")), 0);
    lab_add_node(&lab, "d"); /* in the row of a */
    lab_publish(&lab);
    lab_build(&lab);
    assert_int_equal(table_find(lab_table(&lab), STR("d")), 0);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "d"), NAN);
    assert_number(lab_number(&lab, 0, LOAD_VALUE, "b"), 2);
    assert_int_equal(store_remove_node(lab.store, STR("b")), 0);
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

/* --- annotations ------------------------------------------------------------------------- */

/* Paris, as it is in winter. */
static bool to_utc(const LoadZones *zones, Str zone, int64_t local_sec, int64_t *ret_sec) {
    (void)zones;
    *ret_sec = local_sec - 3600;
    return str_is(zone, "Europe/Paris");
}

static const LoadZones paris = {.to_utc = to_utc};

static void test_texts_of_annotations(void **state) {
    static const struct {
        const char *text, *zone;
        double number; /* NaN: it says nothing */
        int64_t at;    /* after NOW */
    } cases[] = {
        {"0.25,2026-01-02T03:04:05Z", "", 0.25, 0},
        {"0,2026-01-02T03:04:05Z", "", 0, 0},
        {"-1.5e3,2026-01-02T03:04:06Z", "", -1500, SEC},
        {" 0.25 , 2026-01-02T03:04:05Z ", "", 0.25, 0},
        {"0.25,2026-01-02T04:04:05+01:00", "", 0.25, 0},
        {"0.25,2026-01-02T03:04:05.5Z", "", 0.25, SEC / 2},
        {"", "", NAN, 0},
        {"0.25", "", NAN, 0},
        {"0.25,", "", NAN, 0},
        {",2026-01-02T03:04:05Z", "", NAN, 0},
        {"x,2026-01-02T03:04:05Z", "", NAN, 0},
        {"NaN,2026-01-02T03:04:05Z", "", NAN, 0},
        {"+Inf,2026-01-02T03:04:05Z", "", NAN, 0},
        {"1e999,2026-01-02T03:04:05Z", "", NAN, 0},
        {"0.25,2026-01-02T03:04:05", "", NAN, 0},
        {"0.25,2026-13-02T03:04:05Z", "", NAN, 0},
        {"0.25,2026-01-02T03:04:05Z,more", "", NAN, 0},
        {"0.25,1767323045", "", NAN, 0},
        {"0.25,0001-01-01T00:00:00Z", "", NAN, 0}, /* not in nanoseconds since 1970 */
        {"0.25,9999-12-31T23:59:59Z", "", NAN, 0},
        {"0.25,2026-01-02T04:04:05Z", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05+09:00", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05x", "Europe/Paris", NAN, 0},
        {"0.25,2026-01-02T04:04", "Europe/Paris", NAN, 0},
        {"0.25,2026-01-02T04:04:05Z", "Nowhere", NAN, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        double number = NAN;
        int64_t at = 0;
        bool is_there = annotation_read(
            str_from_c(cases[i].text), str_from_c(cases[i].zone), &paris, &number, &at);

        assert_case(cases[i].text, is_there == !isnan(cases[i].number));
        assert_case(cases[i].text, is_number(number, cases[i].number));
        assert_case(cases[i].text, !is_there || at == NOW + cases[i].at);
    }
    assert_false(annotation_read(
        STR("1,2026-01-02T04:04:05Z"), STR("Europe/Paris"), NULL, &(double){0}, &(int64_t){0}));
}

static void annotate(Lab *lab, const char *name, const char *text) {
    const Label label = {STR("load"), str_from_c(text)};
    const Node node = {.name = str_from_c(name), .annotations = {.items = &label, .n = 1}};

    assert_int_equal(store_apply_node(lab->store, &node), 0);
}

static void annotated(Lab *lab) {
    lab->gauges[2] =
        (Gauge){.source = GAUGE_ANNOTATION, .annotation = STR("load"), .max_age_nsec = 480 * SEC};
}

/* Their ages are told by the wall clock, and when to look again by the other. */
static void test_annotations(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    annotated(&lab);
    annotate(&lab, "a", "0.5,2026-01-02T03:04:05Z");
    annotate(&lab, "old", "0.5,2026-01-02T02:56:04Z");
    annotate(&lab, "odd", "0.5");
    lab_add_node(&lab, "none");
    lab_publish(&lab);
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), 0.5);
    assert_number(lab_number(&lab, 2, LOAD_MEASURED, "a"), 0.5);
    assert_int_equal(lab_time(&lab, 2, "a"), NOW);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "old"), NAN);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "odd"), NAN);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "none"), NAN);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "nobody"), NAN);
    assert_int_equal(lab.loads.until_nsec, UPTIME + 480 * SEC + 1);
    lab.input.now_nsec += 480 * SEC; /* the clock was set */
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), 0.5);
    assert_int_equal(lab.loads.until_nsec, UPTIME + 1);
    lab.input.now_nsec++;
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), NAN);
    assert_int_equal(lab_time(&lab, 2, "a"), 0);
    assert_int_equal(lab.loads.until_nsec, INT64_MAX);
    lab_close(&lab);
}

/* Nothing is shared with what was made before a step of the clock, of a chunk that is the same. */
static void test_annotations_after_a_step(void **state) {
    static const struct {
        int64_t step, value;
    } cases[] = {
        {3600, -1}, {0, 1}, {-3600, -1}, {0, 1}, {400, 1}, {479, 1}, {31536000, -1}, {0, 1}};
    Lab lab;

    (void)state;
    lab_open(&lab);
    annotated(&lab);
    annotate(&lab, "a", "1,2026-01-02T03:04:05Z");
    lab_publish(&lab);
    lab_sample(&lab, 0);
    lab_set(&lab, 0, "a", 5, 0);
    lab_build(&lab);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        KnownLoads known = {lab_table(&lab), &lab.loads};
        Loads next;

        lab.input.now_nsec = NOW + cases[i].step * SEC;
        assert_true(loads_clock_was_set(&lab.loads, lab.input.now_nsec, UPTIME));
        assert_int_equal(
            loads_build_counted(&lab.input, lab_table(&lab), &known, lab.arena, &next), 0);
        loads_release(&lab.loads);
        lab.loads = next;
        assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"),
            cases[i].value < 0 ? NAN : (double)cases[i].value);
        assert_number(lab_number(&lab, 0, LOAD_VALUE, "a"), 5); /* which is nobody's clock's */
        assert_false(loads_clock_was_set(&lab.loads, lab.input.now_nsec + SEC, UPTIME + SEC));
    }
    lab_close(&lab);
}

static void test_annotations_from_the_future(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    annotated(&lab);
    annotate(&lab, "soon", "1,2026-01-02T03:09:05Z"); /* five minutes ahead */
    annotate(&lab, "late", "2,2026-01-02T03:09:06Z");
    lab_publish(&lab);
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "soon"), 1);
    assert_int_equal(lab_time(&lab, 2, "soon"), NOW); /* it counts as now */
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "late"), NAN);
    assert_int_equal(lab.loads.until_nsec, UPTIME + SEC); /* then it may be */
    lab_pass(&lab, SEC);
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "late"), 2);
    lab_close(&lab);
}

static void test_annotations_with_a_zone(void **state) {
    Lab lab;

    (void)state;
    lab_open(&lab);
    annotated(&lab);
    lab.gauges[2].zone = STR("Europe/Paris");
    annotate(&lab, "a", "1,2026-01-02T04:04:05Z");
    lab_publish(&lab);
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), NAN); /* nobody knows zones */
    lab.input.zones = &paris;
    lab_build(&lab);
    assert_number(lab_number(&lab, 2, LOAD_VALUE, "a"), 1);
    assert_int_equal(lab_time(&lab, 2, "a"), NOW);
    lab_close(&lab);
}

/* --- placements -------------------------------------------------------------------------- */

/* @resources may be NULL: it asks for nothing. */
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
        assert_int_equal(sampling_reserve_workloads(lab.input.measurements->items[3], 1), 0);
        assert_int_equal(
            sampling_set_workload(
                lab.input.measurements->items[3], STR("shop/StatefulSet/web"), cases[i].by),
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
    assert_int_equal(sampling_reserve_workloads(lab->input.measurements->items[3], 1), 0);
    assert_int_equal(
        sampling_set_workload(lab->input.measurements->items[3], STR("shop/StatefulSet/web"), 1.5),
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
    assert_int_equal(loads_build(&lab.input,
                         lab_table(&lab),
                         &(KnownLoads){lab_table(&lab), &lab.loads},
                         lab.arena,
                         &loads),
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
    annotated(&lab);
    lab.gauges[2].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 60 * SEC};
    lab.gauges[0].placements = lab.gauges[2].placements;
    annotate(&lab, "a", "1,2026-01-02T03:03:05Z");
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

    assert_int_equal(loads_build_counted(&lab->input,
                         lab_table(lab),
                         &(KnownLoads){snapshot_table(before), &lab->loads},
                         lab->arena,
                         ret),
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
    assert_int_equal(store_remove_node(lab.store, STR("n1")), 0);
    lab_publish(&lab);
    assert_int_equal(build_next(&lab, before, &next), 3);
    loads_release(&next);
    lab_renew(&lab); /* the same samplings, but who knows */
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
    assert_int_equal(loads_build(&lab.input,
                         lab_table(&lab),
                         &(KnownLoads){snapshot_table(before), &next},
                         arena,
                         &borrowing),
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
    assert_int_equal(store_remove_node(lab.store, STR("n5")), 0);
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
        cmocka_unit_test(test_texts_of_annotations),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_annotations_after_a_step),
        cmocka_unit_test(test_annotations_from_the_future),
        cmocka_unit_test(test_annotations_with_a_zone),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_age_of_workloads),
        cmocka_unit_test(test_pods_that_are_not_shown),
        cmocka_unit_test(test_placements_on_annotations),
        cmocka_unit_test(test_old_pods_are_not_looked_at),
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
