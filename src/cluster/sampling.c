#include "cluster/sampling.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Numbers and lags of 50,000 nodes, and a million workloads of names as long as may be. */
#define SAMPLING_BUDGET ((size_t)1024 * 1024 * 1024)

/* Names of a request's own table are its arena's, and nobody counts them. */
static NodeNames *take_names(NodeNames *names) {
    return names->arena ? names_ref(names) : names;
}

static void drop_names(NodeNames *names) {
    if (names && names->arena)
        names_unref(names);
}

Sampling *sampling_new(NodeNames *names, int64_t at_nsec, int64_t uptime_nsec) {
    _cleanup_(sampling_unrefp) Sampling *sampling = calloc(1, sizeof(*sampling));

    if (!sampling)
        return NULL;
    sampling->ref = REF_ONE;
    sampling->names = take_names(names);
    sampling->at_nsec = at_nsec;
    sampling->uptime_nsec = uptime_nsec;
    sampling->arena = arena_new(SAMPLING_BUDGET);
    if (!sampling->arena)
        return NULL;
    sampling->workloads = MAP_INIT_IN(sampling->arena);
    sampling->values = ARENA_RAW(sampling->arena, double, names->n_rows);
    if (!sampling->values)
        return NULL;
    for (size_t row = 0; row < names->n_rows; row++)
        sampling->values[row] = NAN;
    return TAKE_PTR(sampling);
}

Sampling *sampling_ref(Sampling *sampling) {
    ref_take(&sampling->ref);
    return sampling;
}

Sampling *sampling_unref(Sampling *sampling) {
    if (sampling && ref_drop(&sampling->ref)) {
        drop_names(sampling->names);
        arena_free(sampling->arena);
        free(sampling);
    }
    return NULL;
}

int sampling_set(Sampling *sampling, uint32_t row, double value, int64_t lag_nsec) {
    assert(row < sampling->names->n_rows);
    if (lag_nsec > 0 && !sampling->lags_nsec) {
        sampling->lags_nsec = ARENA_ARRAY(sampling->arena, int64_t, sampling->names->n_rows);
        if (!sampling->lags_nsec)
            return -ENOMEM;
    }
    sampling->values[row] = isfinite(value) ? value : NAN;
    if (sampling->lags_nsec)
        sampling->lags_nsec[row] = lag_nsec > 0 ? lag_nsec : 0;
    return 0;
}

/* --- workloads --------------------------------------------------------------------------- */

int sampling_reserve_workloads(Sampling *sampling, size_t n) {
    double *values = ARENA_ARRAY(sampling->arena, double, sampling->n_workloads + n);

    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < sampling->n_workloads; i++)
        values[i] = sampling->workload_values[i];
    sampling->workload_values = values;
    return 0;
}

/* The place of @key, which is not there yet. */
static int add_workload(Sampling *sampling, Str key, uint32_t *ret_place) {
    Str kept = arena_copy(sampling->arena, key);
    int r;

    if (!kept.ptr)
        return -ENOMEM;
    r = map_add(&sampling->workloads, kept, (uint32_t)sampling->n_workloads);
    if (r < 0)
        return r;
    *ret_place = (uint32_t)sampling->n_workloads++;
    return 0;
}

int sampling_set_workload(Sampling *sampling, Str key, double value) {
    uint32_t place = map_find(&sampling->workloads, key);
    int r = place == MAP_NONE ? add_workload(sampling, key, &place) : 0;

    if (r < 0)
        return r;
    sampling->workload_values[place] = isfinite(value) ? value : NAN;
    return 0;
}

double sampling_workload(const Sampling *sampling, Str key) {
    uint32_t place = map_find(&sampling->workloads, key);

    return place == MAP_NONE ? NAN : sampling->workload_values[place];
}

uint32_t sampling_row(const Sampling *sampling, const NodeNames *now, uint32_t row, Str name) {
    const NodeNames *names = sampling->names;

    if (str_is_empty(name))
        return (uint32_t)names->n_rows;
    if (names == now || (row < names->n_rows && str_eq(names->names[row], name)))
        return row;
    return names_find(names, name);
}

/* --- measurements ------------------------------------------------------------------------ */

Measurements *measurements_new(uint64_t owner, size_t n) {
    Measurements *measurements = calloc(1, sizeof(*measurements) + n * sizeof(Sampling *));

    if (!measurements)
        return NULL;
    measurements->ref = REF_ONE;
    measurements->owner = owner;
    measurements->n = n;
    return measurements;
}

Measurements *measurements_ref(Measurements *measurements) {
    ref_take(&measurements->ref);
    return measurements;
}

Measurements *measurements_unref(Measurements *measurements) {
    if (measurements && ref_drop(&measurements->ref)) {
        for (size_t i = 0; i < measurements->n; i++)
            sampling_unref(measurements->items[i]);
        free(measurements);
    }
    return NULL;
}
