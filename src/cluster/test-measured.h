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
#define LAB_GAUGES 4u
#define LAB_BUDGET ((size_t)64 << 20)

typedef struct Lab {
    Store *store;
    Snapshot *snapshot;
    Arena *arena;
    Gauge gauges[LAB_GAUGES];
    LoadsInput input;
    Loads loads;
} Lab;

static inline const NodeTable *lab_table(const Lab *lab) {
    return snapshot_table(lab->snapshot);
}

static inline void lab_publish(Lab *lab) {
    snapshot_unref(lab->snapshot);
    lab->snapshot = NULL;
    assert_int_equal(store_publish(lab->store, &lab->snapshot), 0);
}

/* With gauges of 60 s that are asked for, and without nodes. */
static inline void lab_open(Lab *lab) {
    *lab = (Lab){.store = store_new(), .arena = arena_new(LAB_BUDGET)};
    assert_non_null(lab->store);
    assert_non_null(lab->arena);
    for (size_t i = 0; i < LAB_GAUGES; i++)
        lab->gauges[i] = (Gauge){.max_age_nsec = 60 * SEC};
    lab->input = (LoadsInput){
        .gauges = lab->gauges, .n_gauges = LAB_GAUGES, .now_nsec = NOW, .uptime_nsec = UPTIME};
}

static inline void lab_close(Lab *lab) {
    loads_release(&lab->loads);
    measurements_unref(lab->input.measurements);
    snapshot_unref(lab->snapshot);
    store_free(lab->store);
    arena_free(lab->arena);
}

/* Of two cores and a million bytes. */
static inline void lab_add_node(Lab *lab, const char *name) {
    Resource resources[] = {{STR("cpu"), 2000}, {STR("memory"), 1000000}};
    Node node = {
        .name = str_from_c(name), .allocatable = {.items = resources, .n = ELEMENTS_OF(resources)}};

    assert_int_equal(store_apply_node(lab->store, &node), 0);
}

/* Gauge 2 is an annotation, "load", of at most eight minutes. */
static inline void lab_use_annotations(Lab *lab) {
    lab->gauges[2] =
        (Gauge){.source = GAUGE_ANNOTATION, .annotation = STR("load"), .max_age_nsec = 480 * SEC};
}

static inline void lab_annotate(Lab *lab, const char *name, const char *text) {
    const Label label = {STR("load"), str_from_c(text)};
    const Node node = {.name = str_from_c(name), .annotations = {.items = &label, .n = 1}};

    assert_int_equal(store_apply_node(lab->store, &node), 0);
}

/* Another list of measurements, those of before in it. */
static inline void lab_renew(Lab *lab) {
    Measurements *before = lab->input.measurements;
    Measurements *made = measurements_new(1, LAB_GAUGES);

    assert_non_null(made);
    for (size_t i = 0; before && i < LAB_GAUGES; i++)
        if (before->items[i])
            made->items[i] = measurement_ref(before->items[i]);
    measurements_unref(before);
    lab->input.measurements = made;
}

/* A new measurement of gauge @i, of now, borrowed; empty. */
static inline Measurement *lab_sample(Lab *lab, size_t i) {
    Measurement *measurement = measurement_new(
        (NodeNames *)(uintptr_t)lab_table(lab)->names, lab->input.now_nsec, lab->input.uptime_nsec);

    assert_non_null(measurement);
    lab_renew(lab);
    measurement_unref(lab->input.measurements->items[i]);
    lab->input.measurements->items[i] = measurement;
    return measurement;
}

static inline void lab_set(Lab *lab, size_t i, const char *name, double value, int64_t lag) {
    Measurement *measurement = lab->input.measurements->items[i];

    assert_int_equal(
        measurement_set(measurement, names_find(measurement->names, str_from_c(name)), value, lag),
        0);
}

static inline void lab_pass(Lab *lab, int64_t nsec) {
    lab->input.now_nsec += nsec;
    lab->input.uptime_nsec += nsec;
}

/* Without anything known. */
static inline void lab_build(Lab *lab) {
    loads_release(&lab->loads);
    assert_int_equal(
        loads_build_counted(&lab->input, lab_table(lab), NULL, lab->arena, &lab->loads), 0);
}

static inline double lab_number(const Lab *lab, size_t i, LoadKind kind, const char *name) {
    return loads_value(&lab->loads, i, kind, table_find(lab_table(lab), str_from_c(name)));
}

static inline int64_t lab_time(const Lab *lab, size_t i, const char *name) {
    return loads_time(&lab->loads, i, table_find(lab_table(lab), str_from_c(name)));
}

/* NaN is NaN. */
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
