/*
 * Chunk by chunk: shared where nothing has happened to it and it still holds, made otherwise
 * (cluster/load-chunk.h).
 */

#include "cluster/loads.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "cluster/load-chunk.h"

/* Of two clocks that are read one after the other, and of which one is slewed now and then, less is
 * no step. */
#define CLOCK_STEP_NSEC (INT64_C(1000) * 1000 * 1000)

/* What is known of workloads by gauge @i; NULL: nothing, or it is too old. */
static const Measurement *workloads_of(const LoadsInput *input, size_t i) {
    const Measurement *measurement = measurements_at(input->measurements, i);

    if (!measurement || measurement->n_workloads == 0 ||
        input->uptime_nsec >= load_end(measurement->uptime_nsec, input->gauges[i].max_age_nsec))
        return NULL;
    return measurement;
}

static const LoadChunk *find_before_chunk(const LoadBuild *build, size_t i) {
    const KnownLoads *known = build->known;

    return known && i < known->table->n_chunks && i < known->loads->n_chunks
               ? known->loads->chunks[i]
               : NULL;
}

static bool is_shared(const LoadBuild *build, size_t i, const LoadChunk *before) {
    return before && build->known->table->chunks[i] == build->table->chunks[i] &&
           build->known->loads->measurements == build->input->measurements &&
           build->input->uptime_nsec < before->until_nsec;
}

static int make_chunk(const LoadBuild *build, size_t i, Arena *arena, Loads *ret) {
    const LoadChunk *before = find_before_chunk(build, i);
    LoadChunk *made;

    if (is_shared(build, i, before)) {
        ret->chunks[ret->n_chunks++] = ret->is_counted ? load_chunk_ref(before) : before;
        return 0;
    }
    made = load_chunk_new(arena, build->input->n_gauges, ret->is_counted);
    if (!made)
        return -ENOMEM;
    load_chunk_fill(build, i, before, made);
    ret->chunks[ret->n_chunks++] = made;
    return 0;
}

static int find_placements(LoadBuild *build, Arena *arena) {
    const LoadsInput *input = build->input;

    build->placements = ARENA_ARRAY(arena, Placements, input->n_gauges);
    if (!build->placements)
        return -ENOMEM;
    for (size_t i = 0; i < input->n_gauges; i++) {
        size_t by = load_by_gauge(input, i);

        build->placements[i] = (Placements){
            .gauge = &input->gauges[i],
            .column = table_find_resource(build->table, input->gauges[i].placements.resource),
            .by = by == SIZE_MAX ? NULL : workloads_of(input, by),
        };
    }
    return 0;
}

/* Which gauges know what workloads use. That can grow too old too, without any row. */
static int find_workloads(const LoadsInput *input, Arena *arena, Loads *ret) {
    ret->workloads = ARENA_ARRAY(arena, const Measurement *, input->n_gauges);
    if (!ret->workloads)
        return -ENOMEM;
    for (size_t i = 0; i < input->n_gauges; i++) {
        ret->workloads[i] = workloads_of(input, i);
        if (ret->workloads[i])
            ret->until_nsec = load_earlier(ret->until_nsec,
                load_end(ret->workloads[i]->uptime_nsec, input->gauges[i].max_age_nsec));
    }
    return 0;
}

static int build_chunks(LoadBuild *build, Arena *arena, Loads *ret) {
    int r = find_placements(build, arena);

    if (r == 0)
        r = find_workloads(build->input, arena, ret);
    for (size_t i = 0; r == 0 && i < build->table->n_chunks; i++) {
        r = make_chunk(build, i, arena, ret);
        if (r == 0)
            ret->until_nsec = load_earlier(ret->until_nsec, ret->chunks[i]->until_nsec);
    }
    return r;
}

static bool reads_annotations(const LoadsInput *input) {
    for (size_t i = 0; i < input->n_gauges; i++)
        if (input->gauges[i].source == GAUGE_ANNOTATION)
            return true;
    return false;
}

bool loads_clock_was_set(const Loads *loads, int64_t now_nsec, int64_t uptime_nsec) {
    int64_t step = num_sub_sat(num_sub_sat(now_nsec, uptime_nsec), loads->clock_nsec);

    return loads->reads_clock && (step > CLOCK_STEP_NSEC || step < -CLOCK_STEP_NSEC);
}

static int build_loads(const LoadsInput *input, const NodeTable *table, const KnownLoads *known,
    bool is_counted, Arena *arena, Loads *ret) {
    LoadBuild build = {.input = input, .table = table};

    if (known && known->loads && known->loads->n_gauges == input->n_gauges &&
        !loads_clock_was_set(known->loads, input->now_nsec, input->uptime_nsec))
        build.known = known;
    *ret = (Loads){
        .n_gauges = input->n_gauges,
        .until_nsec = INT64_MAX,
        .clock_nsec = num_sub_sat(input->now_nsec, input->uptime_nsec),
        .reads_clock = reads_annotations(input),
        .is_counted = is_counted,
    };
    ret->chunks = ARENA_ARRAY(arena, const LoadChunk *, table->n_chunks);
    if (!ret->chunks)
        return -ENOMEM;
    ret->measurements = input->measurements;
    if (is_counted && input->measurements)
        measurements_ref(input->measurements);
    return build_chunks(&build, arena, ret);
}

int loads_build_counted(const LoadsInput *input, const NodeTable *table, const KnownLoads *known,
    Arena *arena, Loads *ret) {
    return build_loads(input, table, known, /* is_counted= */ true, arena, ret);
}

int loads_build(const LoadsInput *input, const NodeTable *table, const KnownLoads *known,
    Arena *arena, Loads *ret) {
    return build_loads(input, table, known, /* is_counted= */ false, arena, ret);
}

void loads_release(Loads *loads) {
    if (loads->is_counted) {
        for (size_t i = 0; i < loads->n_chunks; i++)
            load_chunk_unref(loads->chunks[i]);
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
