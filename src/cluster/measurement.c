/* The values of one gauge by row and by workload, and the last of each gauge. */

#include "cluster/measurement.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Enough for values and lags of 50,000 nodes, and a million workloads with the longest names. */
#define MEASUREMENT_BUDGET ((size_t)1024 * 1024 * 1024)

Measurement *measurement_new(NodeNames *names, int64_t at_nsec, int64_t uptime_nsec) {
    _cleanup_(measurement_unrefp) Measurement *measurement = calloc(1, sizeof(*measurement));

    if (!measurement)
        return NULL;
    measurement->ref = REF_ONE;
    /* Names of a request's own table are in its arena, without references. */
    measurement->names = names->arena ? names_ref(names) : names;
    measurement->at_nsec = at_nsec;
    measurement->uptime_nsec = uptime_nsec;
    measurement->arena = arena_new(MEASUREMENT_BUDGET);
    if (!measurement->arena)
        return NULL;
    measurement->workloads = MAP_INIT_IN(measurement->arena);
    measurement->values = ARENA_RAW(measurement->arena, double, names->n_rows);
    if (!measurement->values)
        return NULL;
    for (size_t row = 0; row < names->n_rows; row++)
        measurement->values[row] = NAN;
    return TAKE_PTR(measurement);
}

Measurement *measurement_unref(Measurement *measurement) {
    if (measurement && ref_drop(&measurement->ref)) {
        if (measurement->names->arena)
            names_unref(measurement->names);
        arena_free(measurement->arena);
        free(measurement);
    }
    return NULL;
}

int measurement_set(Measurement *measurement, uint32_t row, double value, int64_t lag_nsec) {
    assert(row < measurement->names->n_rows);
    if (lag_nsec > 0 && !measurement->lags_nsec) {
        measurement->lags_nsec =
            ARENA_ARRAY(measurement->arena, int64_t, measurement->names->n_rows);
        if (!measurement->lags_nsec)
            return -ENOMEM;
    }
    measurement->values[row] = isfinite(value) ? value : NAN;
    if (measurement->lags_nsec)
        measurement->lags_nsec[row] = lag_nsec > 0 ? lag_nsec : 0;
    return 0;
}

int measurement_reserve_workloads(Measurement *measurement, size_t n) {
    size_t n_before = measurement->n_workloads;
    double *values = ARENA_ARRAY(measurement->arena, double, n_before + n);

    if (!values)
        return -ENOMEM;
    if (n_before > 0)
        memcpy(values, measurement->workload_values, n_before * sizeof(*values));
    measurement->workload_values = values;
    return 0;
}

int measurement_set_workload(Measurement *measurement, Str key, double value) {
    uint32_t place = map_find(&measurement->workloads, key);

    if (place == MAP_NONE) {
        Str kept = arena_copy(measurement->arena, key);

        place = (uint32_t)measurement->n_workloads;
        if (!kept.ptr || map_add(&measurement->workloads, kept, place) < 0)
            return -ENOMEM;
        measurement->n_workloads++;
    }
    measurement->workload_values[place] = isfinite(value) ? value : NAN;
    return 0;
}

double measurement_workload(const Measurement *measurement, Str key) {
    uint32_t place = map_find(&measurement->workloads, key);

    return place == MAP_NONE ? NAN : measurement->workload_values[place];
}

uint32_t measurement_row(
    const Measurement *measurement, const NodeNames *now, uint32_t row, Str name) {
    const NodeNames *names = measurement->names;

    if (str_is_empty(name))
        return (uint32_t)names->n_rows;
    if (names == now || (row < names->n_rows && str_eq(names->names[row], name)))
        return row;
    return names_find(names, name);
}

Measurements *measurements_new(uint64_t owner, size_t n) {
    Measurements *measurements = calloc(1, sizeof(*measurements) + n * sizeof(Measurement *));

    if (!measurements)
        return NULL;
    measurements->ref = REF_ONE;
    measurements->owner = owner;
    measurements->n = n;
    return measurements;
}

Measurements *measurements_unref(Measurements *measurements) {
    if (measurements && ref_drop(&measurements->ref)) {
        for (size_t i = 0; i < measurements->n; i++)
            measurement_unref(measurements->items[i]);
        free(measurements);
    }
    return NULL;
}
