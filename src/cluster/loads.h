#pragma once

/*
 * Loads: the gauges of a program as columns for a table.
 *
 * A chunk of loads for each chunk of the table, computed for one point in time from the last
 * measurements, the nodes' annotations and recently placed pods (model/gauge.h: placements). A
 * value older than its gauge allows is absent. If neither the chunk nor the measurements changed
 * and nothing expired, chunks are shared with the previous loads.
 *
 * Pure functions: time is an argument. Threads: read from any.
 */

#include <math.h>

#include "base/ref.h"
#include "cluster/measurement.h"
#include "cluster/table.h"
#include "model/gauge.h"

typedef struct LoadChunk {
    Ref ref;
    int64_t until_nsec; /* monotonic: when the first value in it expires; INT64_MAX: none */
    double columns[];   /* LOAD_COLUMN(); after them the builders' private columns */
} LoadChunk;

typedef enum LoadKind {
    LOAD_VALUE,    /* with placements; NaN: absent */
    LOAD_MEASURED, /* without placements */
    LOAD_TIME,     /* when it was measured: an int64_t in the place of a double, nanoseconds since
                      1970; 0 where the value is absent */
    _LOAD_KINDS,
} LoadKind;

/* The offset of the column of one gauge and kind, in entries; add the row's slot. */
#define LOAD_COLUMN(gauge, kind) (((size_t)(gauge)*_LOAD_KINDS + (kind)) * CHUNK_ROWS)

struct Loads {
    size_t n_gauges;
    const LoadChunk **chunks; /* as many as the table has */
    size_t n_chunks;
    Measurements *measurements;    /* a reference if is_counted; may be NULL */
    const Measurement **workloads; /* by gauge: values of workloads; NULL: none, or expired.
                                      Borrowed from @measurements */
    int64_t until_nsec;            /* monotonic: when to build again */
    int64_t clock_nsec;            /* wall clock minus monotonic clock */
    bool reads_clock;              /* there are annotations: their ages go by the wall clock */
    bool is_counted;               /* chunks are on the heap, shared and counted; else an arena's */
};

/* Local time to UTC, for gauges with a zone. Seconds since 1970 as if local time were UTC. Returns
 * false if there is no such zone. */
typedef struct LoadZones {
    bool (*to_utc)(const struct LoadZones *zones, Str zone, int64_t local_sec, int64_t *ret_sec);
} LoadZones;

typedef struct LoadsInput {
    const Gauge *gauges;
    size_t n_gauges;
    Measurements *measurements; /* in the order of @gauges; NULL: none */
    int64_t now_nsec;           /* since 1970 */
    int64_t uptime_nsec;        /* monotonic */
    const LoadZones *zones;     /* NULL: gauges with a zone have no values */
    bool is_counted;            /* chunks outlive the arena by references: for a view */
} LoadsInput;

/* Earlier loads of the same gauges, whose unchanged chunks are shared. */
typedef struct KnownLoads {
    const NodeTable *table;
    const Loads *loads;
} KnownLoads;

/* Builds the loads of @table in @arena; measurements find its nodes by name. Chunks and
 * measurements are borrowed, or references if input->is_counted. Call loads_release() also after a
 * failure. @known and known->loads may be NULL. 0 or -ENOMEM. */
int loads_build(const LoadsInput *input, const NodeTable *table, const KnownLoads *known,
    Arena *arena, Loads *ret) MUST_CHECK;
void loads_release(Loads *loads);

/* Whether the wall clock was set after @loads were built, and they depend on it. Then build them
 * again; loads_build() shares nothing with them. */
bool loads_clock_was_set(const Loads *loads, int64_t now_nsec, int64_t uptime_nsec);

/* A number of a row; NaN: absent. @loads may be NULL. */
static inline double loads_value(const Loads *loads, size_t gauge, LoadKind kind, uint32_t row) {
    if (!loads || gauge >= loads->n_gauges)
        return NAN;
    return loads->chunks[row / CHUNK_ROWS]->columns[LOAD_COLUMN(gauge, kind) + table_slot(row)];
}

/* When the value was measured, in nanoseconds since 1970; 0: absent. */
int64_t loads_time(const Loads *loads, size_t gauge, uint32_t row);

/* The usage of the pods of workload @key (measurement.h); NaN: unknown. @loads may be NULL. */
double loads_workload(const Loads *loads, size_t gauge, Str key);

/* For metrics: how many of the nodes have a value. */
typedef struct LoadsFigures {
    size_t n_present;
    size_t n_nodes;
    int64_t oldest_nsec; /* since 1970: the time of the oldest value; 0: none */
} LoadsFigures;
void loads_figures(const Loads *loads, const NodeTable *table, size_t gauge, LoadsFigures *ret);

/* Parses a value that another program wrote on a node, with an RFC 3339 time:
 * "0.25,2026-01-02T03:04:05Z". With a @zone (not empty) the time is local to it, and a "Z" or an
 * offset is ignored; @zones may be NULL: none. False, with nothing returned, when there is no
 * finite number with a time. */
bool annotation_read(Str text, Str zone, const LoadZones *zones, double *ret, int64_t *ret_at_nsec);
