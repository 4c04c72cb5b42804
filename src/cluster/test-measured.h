#pragma once

/* A small cluster whose nodes are measured, for tests of loads. */

#include <stdlib.h>

#include "base/test-assert.h"
#include "cluster/loads.h"
#include "cluster/store.h"

#define SEC INT64_C(1000000000)
#define NOW_SEC INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define NOW (NOW_SEC * SEC)
#define UPTIME (1000 * SEC)
#define FIXTURE_GAUGES 4u
#define FIXTURE_BUDGET ((size_t)64 << 20)

typedef struct LoadsFixture {
    Store *store;
    Snapshot *snapshot;
    Arena *arena;
    Gauge gauges[FIXTURE_GAUGES];
    LoadsInput input;
    Loads loads;
} LoadsFixture;

static inline const NodeTable *fixture_table(const LoadsFixture *fixture) {
    return snapshot_table(fixture->snapshot);
}

static inline void fixture_publish(LoadsFixture *fixture) {
    snapshot_unref(fixture->snapshot);
    fixture->snapshot = NULL;
    assert_int_equal(store_publish(fixture->store, &fixture->snapshot), 0);
}

/* With gauges of 60 s, and without nodes. */
static inline void fixture_open(LoadsFixture *fixture) {
    *fixture = (LoadsFixture){.store = store_new(), .arena = arena_new(FIXTURE_BUDGET)};
    assert_non_null(fixture->store);
    assert_non_null(fixture->arena);
    for (size_t i = 0; i < FIXTURE_GAUGES; i++)
        fixture->gauges[i] = (Gauge){.max_age_nsec = 60 * SEC};
    fixture->input = (LoadsInput){.is_counted = true,
        .gauges = fixture->gauges,
        .n_gauges = FIXTURE_GAUGES,
        .now_nsec = NOW,
        .uptime_nsec = UPTIME};
}

static inline void fixture_close(LoadsFixture *fixture) {
    loads_release(&fixture->loads);
    measurements_unref(fixture->input.measurements);
    snapshot_unref(fixture->snapshot);
    store_free(fixture->store);
    arena_free(fixture->arena);
}

/* With two cores and a million bytes. */
static inline void fixture_add_node(LoadsFixture *fixture, const char *name) {
    Resource resources[] = {{STR("cpu"), 2000}, {STR("memory"), 1000000}};
    Node node = {
        .name = str_from_c(name), .allocatable = {.items = resources, .n = ELEMENTS_OF(resources)}};

    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

/* Gauge 2 is the annotation "load", valid for eight minutes. */
static inline void fixture_use_annotations(LoadsFixture *fixture) {
    fixture->gauges[2] =
        (Gauge){.source = GAUGE_ANNOTATION, .annotation = STR("load"), .max_age_nsec = 480 * SEC};
}

static inline void fixture_annotate(LoadsFixture *fixture, const char *name, const char *text) {
    const Label label = {STR("load"), str_from_c(text)};
    const Node node = {.name = str_from_c(name), .annotations = {.items = &label, .n = 1}};

    assert_int_equal(store_apply_node(fixture->store, &node), 0);
}

/* A new list of measurements that includes the previous ones. */
static inline void fixture_renew(LoadsFixture *fixture) {
    Measurements *before = fixture->input.measurements;
    Measurements *made = measurements_new(1, FIXTURE_GAUGES);

    assert_non_null(made);
    for (size_t i = 0; before && i < FIXTURE_GAUGES; i++)
        if (before->items[i])
            made->items[i] = measurement_ref(before->items[i]);
    measurements_unref(before);
    fixture->input.measurements = made;
}

/* A new, empty measurement of gauge @i, of now; borrowed. */
static inline Measurement *fixture_sample(LoadsFixture *fixture, size_t i) {
    Measurement *measurement =
        measurement_new((NodeNames *)(uintptr_t)fixture_table(fixture)->names,
            fixture->input.now_nsec, fixture->input.uptime_nsec);

    assert_non_null(measurement);
    fixture_renew(fixture);
    measurement_unref(fixture->input.measurements->items[i]);
    fixture->input.measurements->items[i] = measurement;
    return measurement;
}

static inline void fixture_set(
    LoadsFixture *fixture, size_t i, const char *name, double value, int64_t lag) {
    Measurement *measurement = fixture->input.measurements->items[i];

    assert_int_equal(
        measurement_set(measurement, names_find(measurement->names, str_from_c(name)), value, lag),
        0);
}

static inline void fixture_pass(LoadsFixture *fixture, int64_t nsec) {
    fixture->input.now_nsec += nsec;
    fixture->input.uptime_nsec += nsec;
}

/* Without known loads. */
static inline void fixture_build(LoadsFixture *fixture) {
    loads_release(&fixture->loads);
    assert_int_equal(
        loads_build(&fixture->input, fixture_table(fixture), NULL, fixture->arena, &fixture->loads),
        0);
}

static inline double fixture_number(
    const LoadsFixture *fixture, size_t i, LoadKind kind, const char *name) {
    return loads_value(
        &fixture->loads, i, kind, table_find(fixture_table(fixture), str_from_c(name)));
}

static inline int64_t fixture_time(const LoadsFixture *fixture, size_t i, const char *name) {
    return loads_time(&fixture->loads, i, table_find(fixture_table(fixture), str_from_c(name)));
}

/* All NaN are equal. */
static inline bool is_number(double got, double want) {
    return isnan(want) ? isnan(got) : got == want;
}

#define assert_number(got, want)                                                                   \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        if (!is_number(got_, want_)) {                                                             \
            print_error("%s: got %.17g, want %.17g\n", #got, got_, want_);                         \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)
