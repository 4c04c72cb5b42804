/*
 * A chunk of loads is a function of the chunk of the table, of the measurements and of the time;
 * and of the time only in that numbers grow too old. So it knows until when it holds, as a whole
 * and gauge by gauge (behind its columns), and a gauge of it is copied if nothing that it is made
 * of has changed by then.
 */

#include "cluster/load-chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cluster/annotation.h"

/* A time that is further ahead of us is wrong; up to that, clocks differ. */
#define AHEAD_NSEC_MAX (INT64_C(300) * 1000 * 1000 * 1000)

/* One chunk while it is made. */
typedef struct ChunkBuild {
    const LoadBuild *build;
    size_t index;
    const NodeChunk *nodes;
    LoadChunk *into;
    const NodeChunk *nodes_before; /* what is known of these rows; NULL: nothing */
    const LoadChunk *before;
    const NodeNames *names; /* which names @rows are of; NULL: of none yet */
    uint32_t rows[CHUNK_ROWS];
} ChunkBuild;

static size_t chunk_bytes(size_t n_gauges) {
    return sizeof(LoadChunk) + (LOAD_COLUMN(n_gauges, LOAD_VALUE) + n_gauges) * sizeof(double);
}

static double *column_of(LoadChunk *chunk, size_t gauge, LoadKind kind) {
    return chunk->columns + LOAD_COLUMN(gauge, kind);
}

static int64_t *times_of(LoadChunk *chunk, size_t gauge) {
    return (int64_t *)(void *)column_of(chunk, gauge, LOAD_TIME);
}

static int64_t read_time(const double *place) {
    int64_t time;

    memcpy(&time, place, sizeof(time));
    return time;
}

int64_t load_chunk_time(const LoadChunk *chunk, size_t gauge, size_t slot) {
    return read_time(&chunk->columns[LOAD_COLUMN(gauge, LOAD_TIME) + slot]);
}

static int64_t until_of(const LoadChunk *chunk, size_t n_gauges, size_t gauge) {
    return read_time(&chunk->columns[LOAD_COLUMN(n_gauges, LOAD_VALUE) + gauge]);
}

static void set_until(LoadChunk *chunk, size_t n_gauges, size_t gauge, int64_t until_nsec) {
    memcpy(&chunk->columns[LOAD_COLUMN(n_gauges, LOAD_VALUE) + gauge],
        &until_nsec,
        sizeof(until_nsec));
    if (until_nsec < chunk->until_nsec)
        chunk->until_nsec = until_nsec;
}

/* Whoever may read a chunk may share it: counting is not a change. */
static Ref *counted(const LoadChunk *chunk) {
    return (Ref *)(uintptr_t)&chunk->ref;
}

const LoadChunk *load_chunk_ref(const LoadChunk *chunk) {
    ref_take(counted(chunk));
    return chunk;
}

void load_chunk_unref(const LoadChunk *chunk) {
    if (ref_drop(counted(chunk)))
        free((void *)(uintptr_t)chunk);
}

LoadChunk *load_chunk_new(Arena *arena, size_t n_gauges, bool is_counted) {
    size_t size = chunk_bytes(n_gauges);
    LoadChunk *chunk = is_counted ? malloc(size) : arena_alloc(arena, size);

    if (chunk) {
        chunk->ref = REF_ONE;
        chunk->until_nsec = INT64_MAX;
    }
    return chunk;
}

/* --- age --------------------------------------------------------------------------------- */

int64_t load_end(int64_t since_nsec, int64_t max_age_nsec) {
    return num_add_sat(num_add_sat(since_nsec, max_age_nsec), 1);
}

size_t load_by_gauge(const LoadsInput *input, size_t i) {
    const GaugePlacements *how = &input->gauges[i].placements;

    return str_is_empty(how->by) || how->by_gauge >= input->n_gauges ? SIZE_MAX : how->by_gauge;
}

/* --- what was measured ------------------------------------------------------------------- */

/* Which row of @measurement each row of the chunk is. Samplings mostly have the names of the one
 * before, and those the names of the table. */
static const uint32_t *rows_in(ChunkBuild *chunk, const Measurement *measurement) {
    const NodeNames *now = chunk->build->table->names;

    if (chunk->names == measurement->names)
        return chunk->rows;
    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        uint32_t row = (uint32_t)(chunk->index * CHUNK_ROWS + slot);
        const Node *node = chunk->nodes->nodes[slot];

        chunk->rows[slot] = measurement_row(measurement, now, row, node ? node->name : STR_NULL);
    }
    chunk->names = measurement->names;
    return chunk->rows;
}

/* Until when it holds. */
static int64_t read_sampling(ChunkBuild *chunk, size_t i, const Measurement *measurement) {
    const LoadsInput *input = chunk->build->input;
    double *measured = column_of(chunk->into, i, LOAD_MEASURED);
    int64_t *times = times_of(chunk->into, i), until = INT64_MAX;
    const uint32_t *rows = rows_in(chunk, measurement);

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        uint32_t row = rows[slot];
        int64_t lag, end;

        measured[slot] = NAN;
        times[slot] = 0;
        if (row >= measurement->names->n_rows || isnan(measurement->values[row]))
            continue;
        lag = measurement->lags_nsec ? measurement->lags_nsec[row] : 0;
        end = load_end(num_sub_sat(measurement->uptime_nsec, lag), input->gauges[i].max_age_nsec);
        if (input->uptime_nsec >= end)
            continue;
        measured[slot] = measurement->values[row];
        times[slot] = num_sub_sat(measurement->at_nsec, lag);
        until = load_earlier(until, end);
    }
    return until;
}

/* Of the same node as before, while that holds: it is not read again. @until becomes earlier: it
 * may have been ahead of its time. */
static bool find_before(
    const ChunkBuild *chunk, size_t i, size_t slot, double *ret, int64_t *ret_at, int64_t *until) {
    const LoadsInput *input = chunk->build->input;
    const LoadChunk *before = chunk->before;
    size_t place = LOAD_COLUMN(i, LOAD_MEASURED) + slot;
    int64_t end;

    if (!before || chunk->nodes_before->nodes[slot] != chunk->nodes->nodes[slot] ||
        isnan(before->columns[place]))
        return false;
    end = until_of(before, input->n_gauges, i);
    if (input->uptime_nsec >= end)
        return false;
    *ret = before->columns[place];
    *ret_at = load_chunk_time(before, i, slot);
    *until = load_earlier(*until, end);
    return true;
}

static bool find_annotation(
    const ChunkBuild *chunk, size_t i, size_t slot, double *ret, int64_t *ret_at, int64_t *until) {
    const LoadsInput *input = chunk->build->input;
    const Gauge *gauge = &input->gauges[i];
    const Node *node = chunk->nodes->nodes[slot];
    const Str *text;

    if (!node)
        return false;
    if (find_before(chunk, i, slot, ret, ret_at, until))
        return true;
    text = labels_find(&node->annotations, gauge->annotation);
    return text && annotation_read(*text, gauge->zone, input->zones, ret, ret_at);
}

/* Until when it holds. Times are others': what is ahead of ours is as good as now until that time
 * has come, and what is too far ahead is looked at again when it is no longer. */
static int64_t read_annotations(ChunkBuild *chunk, size_t i) {
    const LoadsInput *input = chunk->build->input;
    double *measured = column_of(chunk->into, i, LOAD_MEASURED), number;
    int64_t *times = times_of(chunk->into, i), until = INT64_MAX, at;

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        int64_t ahead, left;

        measured[slot] = NAN;
        times[slot] = 0;
        if (!find_annotation(chunk, i, slot, &number, &at, &until))
            continue;
        ahead = num_sub_sat(at, input->now_nsec);
        if (ahead > AHEAD_NSEC_MAX) {
            until = load_earlier(until, num_add_sat(input->uptime_nsec, ahead - AHEAD_NSEC_MAX));
            continue;
        }
        if (ahead > 0) {
            until = load_earlier(until, num_add_sat(input->uptime_nsec, ahead));
            at = input->now_nsec;
        }
        left = num_sub_sat(load_end(at, input->gauges[i].max_age_nsec), input->now_nsec);
        if (left <= 0)
            continue;
        measured[slot] = number;
        times[slot] = at;
        until = load_earlier(until, num_add_sat(input->uptime_nsec, left));
    }
    return until;
}

static int64_t read_nothing(ChunkBuild *chunk, size_t i) {
    double *measured = column_of(chunk->into, i, LOAD_MEASURED);

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
        measured[slot] = NAN;
    memset(times_of(chunk->into, i), 0, CHUNK_ROWS * sizeof(int64_t));
    return INT64_MAX;
}

static int64_t read_measured(ChunkBuild *chunk, size_t i) {
    const LoadsInput *input = chunk->build->input;
    const Measurement *measurement = measurements_at(input->measurements, i);

    if (input->gauges[i].source == GAUGE_ANNOTATION)
        return read_annotations(chunk, i);
    return measurement ? read_sampling(chunk, i, measurement) : read_nothing(chunk, i);
}

/* --- a gauge of a chunk ------------------------------------------------------------------ */

/* Until when it holds: what a pod's workload uses may grow too old too. */
static int64_t add_placements(ChunkBuild *chunk, size_t i) {
    const LoadsInput *input = chunk->build->input;
    const Placements *placements = &chunk->build->placements[i];
    const double *measured = column_of(chunk->into, i, LOAD_MEASURED);
    double *values = column_of(chunk->into, i, LOAD_VALUE);
    const int64_t *times = times_of(chunk->into, i);
    int64_t until = INT64_MAX;

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        double sum;

        if (isnan(measured[slot]) ||
            !placements_are_there(placements, chunk->nodes, slot, times[slot]))
            continue;
        sum = measured[slot] + placements_sum(placements, chunk->nodes, slot, times[slot]);
        if (isfinite(sum))
            values[slot] = sum;
        if (placements->by)
            until = load_end(
                placements->by->uptime_nsec, input->gauges[load_by_gauge(input, i)].max_age_nsec);
    }
    return until;
}

static bool has_same_sampling(const LoadBuild *build, size_t gauge) {
    return gauge == SIZE_MAX || measurements_at(build->known->loads->measurements, gauge) ==
                                    measurements_at(build->input->measurements, gauge);
}

/* Whether gauge @i of the chunk is what it was before. */
static bool is_unchanged(const ChunkBuild *chunk, size_t i) {
    const LoadBuild *build = chunk->build;

    return chunk->before && chunk->nodes_before == chunk->nodes &&
           build->input->uptime_nsec < until_of(chunk->before, build->input->n_gauges, i) &&
           has_same_sampling(build, i) && has_same_sampling(build, load_by_gauge(build->input, i));
}

static void make_gauge(ChunkBuild *chunk, size_t i) {
    size_t n_gauges = chunk->build->input->n_gauges;
    double *values = column_of(chunk->into, i, LOAD_VALUE);
    int64_t until;

    if (is_unchanged(chunk, i)) {
        memcpy(values,
            chunk->before->columns + LOAD_COLUMN(i, LOAD_VALUE),
            (size_t)_LOAD_KINDS * CHUNK_ROWS * sizeof(*values));
        set_until(chunk->into, n_gauges, i, until_of(chunk->before, n_gauges, i));
        return;
    }
    until = read_measured(chunk, i);
    memcpy(values, column_of(chunk->into, i, LOAD_MEASURED), CHUNK_ROWS * sizeof(*values));
    if (chunk->build->input->gauges[i].placements.is_counted)
        until = load_earlier(until, add_placements(chunk, i));
    set_until(chunk->into, n_gauges, i, until);
}

void load_chunk_fill(const LoadBuild *build, size_t i, const LoadChunk *before, LoadChunk *into) {
    ChunkBuild chunk = {
        .build = build,
        .index = i,
        .nodes = build->table->chunks[i],
        .into = into,
        .nodes_before = before ? build->known->table->chunks[i] : NULL,
        .before = before,
    };

    for (size_t gauge = 0; gauge < build->input->n_gauges; gauge++)
        make_gauge(&chunk, gauge);
}
