#pragma once

/*
 * Measurement: the values of one gauge from one poll of its source.
 *
 * Numbers by row of the table as it was then, and by workload for gauges of pods. Made by src/load,
 * from a file, or by a test; immutable and refcounted once it is handed over.
 *
 * Measurements: the last measurement of each gauge of a program, in the program's order.
 *
 * Threads: reference and read from any.
 */

#include "base/map.h"
#include "base/ref.h"
#include "cluster/names.h"

typedef struct Measurement {
    Ref ref;
    Arena *arena;        /* of its own: all below */
    NodeNames *names;    /* the nodes of the rows: a reference */
    int64_t at_nsec;     /* since 1970, by berth's clock: when the query was sent */
    int64_t uptime_nsec; /* the same, monotonic: for its age */
    double *values;      /* by row of @names; NaN: none. Never infinite */
    int64_t *lags_nsec;  /* by row: how much older than @at_nsec it is; NULL: none is older */
    Map workloads;       /* "NAMESPACE/KIND/NAME" to an index of workload_values */
    double *workload_values;
    size_t n_workloads;
} Measurement;

/* Every value is NaN. Takes a reference to a snapshot's @names; others must outlive it. The caller
 * sets values by the functions below before it shares it. NULL when out of memory. */
Measurement *measurement_new(NodeNames *names, int64_t at_nsec, int64_t uptime_nsec) MUST_CHECK;

/* Sets the value of row @row, @lag_nsec older than the measurement; a value that is not finite is
 * ignored. 0 or -ENOMEM. */
int measurement_set(Measurement *measurement, uint32_t row, double value, int64_t lag_nsec)
    MUST_CHECK;

/* Reserves @n more workloads, then adds their values; a later value of the same key replaces it.
 * Keys are copied. 0 or -ENOMEM. */
int measurement_reserve_workloads(Measurement *measurement, size_t n) MUST_CHECK;
int measurement_set_workload(Measurement *measurement, Str key, double value) MUST_CHECK;

DEFINE_REF(Measurement, measurement)
Measurement *measurement_unref(Measurement *measurement); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Measurement *, measurement_unref)

/* NaN: no value. */
double measurement_workload(const Measurement *measurement, Str key);

/* The measurement's row of node @name, which has row @row in a table with names @now;
 * names->n_rows: the node did not exist then. Usually both rows are the same. */
uint32_t measurement_row(
    const Measurement *measurement, const NodeNames *now, uint32_t row, Str name);

typedef struct Measurements {
    Ref ref;
    uint64_t owner; /* identifies the gauges, as passed to poller_follow() */
    size_t n;
    Measurement *items[]; /* references; NULL: none yet */
} Measurements;

/* The last measurement of gauge @i; NULL: none. @measurements may be NULL. */
static inline const Measurement *measurements_at(const Measurements *measurements, size_t i) {
    return measurements && i < measurements->n ? measurements->items[i] : NULL;
}

/* A list whose items are all NULL. NULL when out of memory. */
Measurements *measurements_new(uint64_t owner, size_t n) MUST_CHECK;
DEFINE_REF(Measurements, measurements)
Measurements *measurements_unref(Measurements *measurements); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Measurements *, measurements_unref)
