/*
 * Builds the columns of gauges, chunk by chunk: shares a chunk where nothing it is made of has
 * changed and nothing in it has expired.
 */

#include "cluster/loads.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/double.h"
#include "base/nsec.h"
#include "base/num.h"
#include "cluster/placements.h"

/* The input of all chunks. */
typedef struct LoadBuild {
    const LoadsInput *input;
    const NodeTable *table;
    const KnownLoads *known; /* of the same gauges; NULL: none */
    Placements *placements;  /* by gauge */
} LoadBuild;

/* --- annotations ------------------------------------------------------------------------- */

/* "2026-01-02T03:04:05" */
#define LOCAL_LEN 19u

/* Reads the digits as if they were UTC. A fraction, "Z" or offset after them must be valid. */
static bool read_local(Str text, int64_t *ret_sec, uint32_t *ret_nanos) {
    char local[LOCAL_LEN + 1];

    if (text.len < LOCAL_LEN || (text.len > LOCAL_LEN && !calendar_parse(text, ret_sec, ret_nanos)))
        return false;
    memcpy(local, text.ptr, LOCAL_LEN);
    local[LOCAL_LEN] = 'Z';
    return calendar_parse(str_of(local, sizeof(local)), ret_sec, ret_nanos);
}

static bool read_time(
    Str text, Str zone, const LoadZones *zones, int64_t *ret_sec, uint32_t *ret_nanos) {
    int64_t local_sec;

    if (str_is_empty(zone))
        return calendar_parse(text, ret_sec, ret_nanos);
    return zones && read_local(text, &local_sec, ret_nanos) &&
           zones->to_utc(zones, zone, local_sec, ret_sec);
}

bool annotation_read(
    Str text, Str zone, const LoadZones *zones, double *ret, int64_t *ret_at_nsec) {
    size_t comma = str_find(text, ',');
    uint32_t nanos;
    int64_t sec, at;
    double number;

    if (comma == SIZE_MAX || !double_parse(str_trim(str_take(text, comma)), &number, NULL) ||
        !read_time(str_trim(str_skip(text, comma + 1)), zone, zones, &sec, &nanos) ||
        __builtin_mul_overflow(sec, NSEC_PER_SEC, &at) || __builtin_add_overflow(at, nanos, &at))
        return false;
    *ret = number;
    *ret_at_nsec = at;
    return true;
}

/* A time that is further in the future is wrong; smaller differences are clock skew. */
#define AHEAD_NSEC_MAX (INT64_C(300) * 1000 * 1000 * 1000)

/* One chunk while it is made. */
typedef struct ChunkBuild {
    const LoadBuild *build;
    size_t index;
    const NodeChunk *nodes;
    LoadChunk *into;
    const NodeChunk *nodes_before; /* the known loads of these rows; NULL: none */
    const LoadChunk *before;
    const NodeNames *names; /* the measured names that @rows refer to; NULL: rows are not set */
    uint32_t rows[CHUNK_ROWS];
} ChunkBuild;

static double *column_of(LoadChunk *chunk, size_t gauge, LoadKind kind) {
    return chunk->columns + LOAD_COLUMN(gauge, kind);
}

static int64_t *times_of(LoadChunk *chunk, size_t gauge) {
    return (int64_t *)(void *)column_of(chunk, gauge, LOAD_TIME);
}

static int64_t read_int64(const double *place) {
    int64_t time;

    memcpy(&time, place, sizeof(time));
    return time;
}

/* When the value was measured; 0: absent. */
static int64_t load_chunk_time(const LoadChunk *chunk, size_t gauge, size_t slot) {
    return read_int64(&chunk->columns[LOAD_COLUMN(gauge, LOAD_TIME) + slot]);
}

static int64_t until_of(const LoadChunk *chunk, size_t n_gauges, size_t gauge) {
    return read_int64(&chunk->columns[LOAD_COLUMN(n_gauges, LOAD_VALUE) + gauge]);
}

static void set_until(LoadChunk *chunk, size_t n_gauges, size_t gauge, int64_t until_nsec) {
    memcpy(&chunk->columns[LOAD_COLUMN(n_gauges, LOAD_VALUE) + gauge], &until_nsec,
        sizeof(until_nsec));
    if (until_nsec < chunk->until_nsec)
        chunk->until_nsec = until_nsec;
}

/* A chunk on the heap with one reference, or (not @is_counted) in @arena. Columns are not set. NULL
 * when out of memory. */
static LoadChunk *load_chunk_new(Arena *arena, size_t n_gauges, bool is_counted) {
    size_t size =
        sizeof(LoadChunk) + (LOAD_COLUMN(n_gauges, LOAD_VALUE) + n_gauges) * sizeof(double);
    LoadChunk *chunk = is_counted ? malloc(size) : arena_alloc(arena, size);

    if (chunk) {
        chunk->ref = REF_ONE;
        chunk->until_nsec = INT64_MAX;
    }
    return chunk;
}

/* --- age --------------------------------------------------------------------------------- */

/* When a value of @since_nsec expires: just after it has reached @max_age_nsec. */
static int64_t load_end(int64_t since_nsec, int64_t max_age_nsec) {
    return num_add_sat(num_add_sat(since_nsec, max_age_nsec), 1);
}

/* The gauge whose values of workloads weigh the placements of gauge @i; SIZE_MAX: none. */
static size_t load_by_gauge(const LoadsInput *input, size_t i) {
    const GaugePlacements *rule = &input->gauges[i].placements;

    return str_is_empty(rule->by) || rule->by_gauge >= input->n_gauges ? SIZE_MAX : rule->by_gauge;
}

/* --- measurements ------------------------------------------------------------------------ */

/* The row in @measurement of each row of the chunk. All measurements mostly have the names of the
 * table, so the last result is kept. */
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

/* Fills the empty columns of gauge @i. Returns until when they hold (monotonic). */
static int64_t read_measurement(ChunkBuild *chunk, size_t i, const Measurement *measurement) {
    const LoadsInput *input = chunk->build->input;
    double *measured = column_of(chunk->into, i, LOAD_MEASURED);
    int64_t *times = times_of(chunk->into, i), until = INT64_MAX;
    const uint32_t *rows = rows_in(chunk, measurement);

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        uint32_t row = rows[slot];
        int64_t lag, end;

        if (row >= measurement->names->n_rows || isnan(measurement->values[row]))
            continue;
        lag = measurement->lags_nsec ? measurement->lags_nsec[row] : 0;
        end = load_end(num_sub_sat(measurement->uptime_nsec, lag), input->gauges[i].max_age_nsec);
        if (input->uptime_nsec >= end)
            continue;
        measured[slot] = measurement->values[row];
        times[slot] = num_sub_sat(measurement->at_nsec, lag);
        until = clock_earlier(until, end);
    }
    return until;
}

/* A value of the same node as before is not parsed again. @until becomes earlier, because the value
 * may have been from the future. */
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
    *until = clock_earlier(*until, end);
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

/* Returns until when the columns hold. Times come from other clocks: a time ahead of ours counts as
 * now until it is reached, and a value too far ahead is absent and checked again later. */
static int64_t read_annotations(ChunkBuild *chunk, size_t i) {
    const LoadsInput *input = chunk->build->input;
    double *measured = column_of(chunk->into, i, LOAD_MEASURED), number;
    int64_t *times = times_of(chunk->into, i), until = INT64_MAX, at;

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
        int64_t ahead, left;

        if (!find_annotation(chunk, i, slot, &number, &at, &until))
            continue;
        ahead = num_sub_sat(at, input->now_nsec);
        if (ahead > AHEAD_NSEC_MAX) {
            until = clock_earlier(until, num_add_sat(input->uptime_nsec, ahead - AHEAD_NSEC_MAX));
            continue;
        }
        if (ahead > 0) {
            until = clock_earlier(until, num_add_sat(input->uptime_nsec, ahead));
            at = input->now_nsec;
        }
        left = num_sub_sat(load_end(at, input->gauges[i].max_age_nsec), input->now_nsec);
        if (left <= 0)
            continue;
        measured[slot] = number;
        times[slot] = at;
        until = clock_earlier(until, num_add_sat(input->uptime_nsec, left));
    }
    return until;
}

/* Returns until when the columns hold. */
static int64_t read_measured(ChunkBuild *chunk, size_t i) {
    const LoadsInput *input = chunk->build->input;
    const Measurement *measurement = measurements_at(input->measurements, i);
    double *measured = column_of(chunk->into, i, LOAD_MEASURED);

    for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
        measured[slot] = NAN;
    memset(times_of(chunk->into, i), 0, CHUNK_ROWS * sizeof(int64_t));
    if (input->gauges[i].source == GAUGE_ANNOTATION)
        return read_annotations(chunk, i);
    return measurement ? read_measurement(chunk, i, measurement) : INT64_MAX;
}

/* --- a gauge of a chunk ------------------------------------------------------------------ */

/* Returns until when the sums hold: the usage of a pod's workload may expire too. */
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

static bool is_same_measured(const LoadBuild *build, size_t gauge) {
    return gauge == SIZE_MAX || measurements_at(build->known->loads->measurements, gauge) ==
                                    measurements_at(build->input->measurements, gauge);
}

/* Whether gauge @i of the chunk is unchanged. */
static bool is_unchanged(const ChunkBuild *chunk, size_t i) {
    const LoadBuild *build = chunk->build;

    return chunk->before && chunk->nodes_before == chunk->nodes &&
           build->input->uptime_nsec < until_of(chunk->before, build->input->n_gauges, i) &&
           is_same_measured(build, i) && is_same_measured(build, load_by_gauge(build->input, i));
}

static void make_gauge(ChunkBuild *chunk, size_t i) {
    size_t n_gauges = chunk->build->input->n_gauges;
    double *values = column_of(chunk->into, i, LOAD_VALUE);
    int64_t until;

    if (is_unchanged(chunk, i)) {
        assert(chunk->before);
        memcpy(values, chunk->before->columns + LOAD_COLUMN(i, LOAD_VALUE),
            (size_t)_LOAD_KINDS * CHUNK_ROWS * sizeof(*values));
        set_until(chunk->into, n_gauges, i, until_of(chunk->before, n_gauges, i));
        return;
    }
    until = read_measured(chunk, i);
    memcpy(values, column_of(chunk->into, i, LOAD_MEASURED), CHUNK_ROWS * sizeof(*values));
    if (chunk->build->input->gauges[i].placements.is_counted)
        until = clock_earlier(until, add_placements(chunk, i));
    set_until(chunk->into, n_gauges, i, until);
}

/* Fills @into with all gauges of chunk @i of the table. @before: the known loads of the chunk at
 * the same place; NULL: none. */
static void load_chunk_fill(
    const LoadBuild *build, size_t i, const LoadChunk *before, LoadChunk *into) {
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

/* A wall clock that moved at least this far against the monotonic clock was set. Less comes from
 * slewing, and from reading the clocks one after the other. */
#define CLOCK_STEP_NSEC (INT64_C(1000) * 1000 * 1000)

/* The usage of workloads by gauge @i; NULL: unknown, or expired. */
static const Measurement *workloads_of(const LoadsInput *input, size_t i) {
    const Measurement *measurement = measurements_at(input->measurements, i);

    if (!measurement || measurement->n_workloads == 0 ||
        input->uptime_nsec >= load_end(measurement->uptime_nsec, input->gauges[i].max_age_nsec))
        return NULL;
    return measurement;
}

static int make_chunk(const LoadBuild *build, size_t i, Arena *arena, Loads *ret) {
    const KnownLoads *known = build->known;
    bool is_known = known && i < known->table->n_chunks && i < known->loads->n_chunks;
    const LoadChunk *before = is_known ? known->loads->chunks[i] : NULL;
    LoadChunk *made;

    if (before && known->table->chunks[i] == build->table->chunks[i] &&
        known->loads->measurements == build->input->measurements &&
        build->input->uptime_nsec < before->until_nsec) {
        if (ret->is_counted)
            ref_take(&before->ref);
        ret->chunks[ret->n_chunks++] = before;
        return 0;
    }
    made = load_chunk_new(arena, build->input->n_gauges, ret->is_counted);
    if (!made)
        return -ENOMEM;
    load_chunk_fill(build, i, before, made);
    ret->chunks[ret->n_chunks++] = made;
    return 0;
}

/* Sets the usage of workloads and the placements by gauge. Usage expires even without any row. */
static void find_workloads(LoadBuild *build, Loads *ret) {
    const LoadsInput *input = build->input;

    for (size_t i = 0; i < input->n_gauges; i++) {
        const Gauge *gauge = &input->gauges[i];
        size_t by = load_by_gauge(input, i);

        build->placements[i] = (Placements){
            .gauge = gauge,
            .column = table_find_resource(build->table, gauge->placements.resource),
            .by = by == SIZE_MAX ? NULL : workloads_of(input, by),
        };
        ret->workloads[i] = workloads_of(input, i);
        if (ret->workloads[i])
            ret->until_nsec = clock_earlier(
                ret->until_nsec, load_end(ret->workloads[i]->uptime_nsec, gauge->max_age_nsec));
    }
}

bool loads_clock_was_set(const Loads *loads, int64_t now_nsec, int64_t uptime_nsec) {
    int64_t step = num_sub_sat(num_sub_sat(now_nsec, uptime_nsec), loads->clock_nsec);

    return loads->reads_clock && (step > CLOCK_STEP_NSEC || step < -CLOCK_STEP_NSEC);
}

int loads_build(const LoadsInput *input, const NodeTable *table, const KnownLoads *known,
    Arena *arena, Loads *ret) {
    LoadBuild build = {.input = input, .table = table};
    int r = 0;

    if (known && known->loads && known->loads->n_gauges == input->n_gauges &&
        !loads_clock_was_set(known->loads, input->now_nsec, input->uptime_nsec))
        build.known = known;
    *ret = (Loads){
        .n_gauges = input->n_gauges,
        .until_nsec = INT64_MAX,
        .clock_nsec = num_sub_sat(input->now_nsec, input->uptime_nsec),
        .is_counted = input->is_counted,
    };
    ret->chunks = ARENA_ARRAY(arena, const LoadChunk *, table->n_chunks);
    ret->workloads = ARENA_ARRAY(arena, const Measurement *, input->n_gauges);
    build.placements = ARENA_ARRAY(arena, Placements, input->n_gauges);
    if (!ret->chunks || !ret->workloads || !build.placements)
        return -ENOMEM;
    for (size_t i = 0; i < input->n_gauges; i++)
        ret->reads_clock |= input->gauges[i].source == GAUGE_ANNOTATION;
    ret->measurements = input->measurements;
    if (input->is_counted && input->measurements)
        measurements_ref(input->measurements);
    find_workloads(&build, ret);
    for (size_t i = 0; r == 0 && i < table->n_chunks; i++) {
        r = make_chunk(&build, i, arena, ret);
        if (r == 0)
            ret->until_nsec = clock_earlier(ret->until_nsec, ret->chunks[i]->until_nsec);
    }
    return r;
}

void loads_release(Loads *loads) {
    if (loads->is_counted) {
        for (size_t i = 0; i < loads->n_chunks; i++)
            if (ref_drop(&loads->chunks[i]->ref))
                free((void *)(uintptr_t)loads->chunks[i]);
        measurements_unref(loads->measurements);
    }
    *loads = (Loads){0};
}

/* --- reading ----------------------------------------------------------------------------- */

int64_t loads_time(const Loads *loads, size_t gauge, uint32_t row) {
    if (!loads || gauge >= loads->n_gauges)
        return 0;
    return load_chunk_time(loads->chunks[row / CHUNK_ROWS], gauge, table_slot(row));
}

double loads_workload(const Loads *loads, size_t gauge, Str key) {
    if (!loads || gauge >= loads->n_gauges || !loads->workloads[gauge])
        return NAN;
    return measurement_workload(loads->workloads[gauge], key);
}

void loads_figures(const Loads *loads, const NodeTable *table, size_t gauge, LoadsFigures *ret) {
    *ret = (LoadsFigures){0};
    for (uint32_t row = 0; row < table->n_rows; row++) {
        int64_t at = loads_time(loads, gauge, row);

        if (!table_node(table, row))
            continue;
        ret->n_nodes++;
        if (isnan(loads_value(loads, gauge, LOAD_VALUE, row)))
            continue;
        ret->n_present++;
        if (ret->oldest_nsec == 0 || at < ret->oldest_nsec)
            ret->oldest_nsec = at;
    }
}
