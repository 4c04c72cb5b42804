/* Loads leaves of measured values. Consecutive rows of one chunk are copied at once. */

#include <math.h>

#include "cluster/loads.h"
#include "schema/leaf.h"

/* Consecutive rows of one chunk. */
typedef struct RowRun {
    const double *from; /* the value of the first row */
    size_t at, n;       /* places among the rows to load */
} RowRun;

/* How many of @rows, at most @max, are consecutive. Usually all are: the first loop, without an
 * early exit, is faster for that. */
static size_t count_following(const uint32_t *rows, size_t max) {
    uint32_t differ = 0;
    size_t n = 1;

    for (uint32_t i = 0; i < max; i++)
        differ |= rows[i] ^ (rows[0] + i);
    if (!differ)
        return max;
    while (rows[n] == rows[0] + n)
        n++;
    return n;
}

/* The run that begins with row @at of @rows. */
static RowRun find_run(
    const Loads *loads, size_t gauge, LoadKind kind, const uint32_t *rows, size_t n, size_t at) {
    static const double none[CHUNK_ROWS] = {[0 ... CHUNK_ROWS - 1] = NAN}, no_time[CHUNK_ROWS];
    size_t slot = table_slot(rows[at]), left = n - at;
    RowRun run = {.from = kind == LOAD_TIME ? no_time : none, .at = at};

    run.n = count_following(rows + at, left < CHUNK_ROWS - slot ? left : CHUNK_ROWS - slot);
    if (loads && gauge < loads->n_gauges)
        run.from = loads->chunks[rows[at] / CHUNK_ROWS]->columns + LOAD_COLUMN(gauge, kind) + slot;
    return run;
}

static void load_times(RowRun run, Column *ret) {
    int64_t *times = ret->ints + run.at;
    uint8_t *states = ret->states + run.at;

    memcpy(times, run.from, run.n * sizeof(*times));
    for (size_t i = 0; i < run.n; i++)
        states[i] = times[i] != 0 ? COLUMN_OK : COLUMN_ERROR;
}

static void load_presence(RowRun run, Column *ret) {
    const double *restrict from = run.from;
    uint8_t *restrict states = ret->states + run.at;

    for (size_t i = 0; i < run.n; i++)
        states[i] = isnan(from[i]) ? COLUMN_FALSE : COLUMN_TRUE;
}

static void load_values(const Leaf *leaf, RowRun run, Column *ret) {
    bool is_else = leaf->mode == LEAF_ELSE;
    uint8_t absent = is_else ? COLUMN_OK : COLUMN_ERROR;
    double otherwise = is_else ? leaf->otherwise.d : 0.0;
    const double *restrict from = run.from;
    double *restrict values = ret->doubles + run.at;
    uint8_t *restrict states = ret->states + run.at;

    for (size_t i = 0; i < run.n; i++) {
        values[i] = isnan(from[i]) ? otherwise : from[i];
        states[i] = isnan(from[i]) ? absent : COLUMN_OK;
    }
}

void leaf_load_metric(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret) {
    LoadKind kind = leaf->source == LEAF_MEASURED_AT ? LOAD_TIME
                    : leaf->source == LEAF_MEASURED  ? LOAD_MEASURED
                                                     : LOAD_VALUE;

    for (size_t at = 0; at < n;) {
        RowRun run = find_run(table->loads, leaf->gauge, kind, rows, n, at);

        if (leaf->source == LEAF_MEASURED_AT)
            load_times(run, ret);
        else if (leaf->mode == LEAF_IS_SET)
            load_presence(run, ret);
        else
            load_values(leaf, run, ret);
        at += run.n;
    }
}
