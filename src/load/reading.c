/* Gauges that are polled, their last measurements and states. */

#include "load/reading.h"

#include <errno.h>
#include <stdlib.h>

#define GAUGE_BUDGET ((size_t)4 * 1024 * 1024)  /* a query and a mapping fit many times */
#define NAMES_BUDGET ((size_t)64 * 1024 * 1024) /* of a list */

static Reading *reading_new(const Gauge *gauge) {
    Reading *reading = calloc(1, sizeof(*reading));

    if (!reading)
        return NULL;
    reading->ref = REF_ONE;
    reading->reported_nsec = INT64_MIN;
    reading->arena = arena_new(GAUGE_BUDGET);
    reading->memory = join_memory_new();
    reading->status.is_polled = gauge->source != GAUGE_ANNOTATION;
    reading->status.state = reading->status.is_polled ? POLL_WAITING : POLL_OK;
    reading->reported = reading->status.state;
    if (!reading->arena || !reading->memory || !gauge_copy(gauge, reading->arena, &reading->gauge))
        return reading_unref(reading);
    return reading;
}

Reading *reading_unref(Reading *reading) {
    if (!reading || !ref_drop(&reading->ref))
        return NULL;
    measurement_unref(reading->measurement);
    join_memory_free(reading->memory);
    arena_free(reading->arena);
    free(reading);
    return NULL;
}

static Reading *find_same(const Readings *readings, const Gauge *gauge) {
    for (size_t i = 0; readings && i < readings->n; i++)
        if (gauge_equal(&readings->items[i]->gauge, gauge))
            return readings->items[i];
    return NULL;
}

int readings_new(const Gauge *gauges, size_t n, uint64_t owner, Readings *before, Readings **ret) {
    _cleanup_(readings_unrefp) Readings *readings =
        calloc(1, sizeof(*readings) + n * sizeof(readings->items[0]));

    if (!readings)
        return -ENOMEM;
    readings->ref = REF_ONE;
    readings->owner = owner;
    readings->arena = arena_new(NAMES_BUDGET);
    readings->names = readings->arena ? ARENA_ARRAY(readings->arena, Str, n) : NULL;
    if (!readings->names)
        return -ENOMEM;
    for (; readings->n < n; readings->n++) {
        const Gauge *gauge = &gauges[readings->n];
        Reading *same = find_same(before, gauge);

        if (!same)
            same = find_same(readings, gauge);
        readings->names[readings->n] = arena_copy(readings->arena, gauge->name);
        readings->items[readings->n] = same ? reading_ref(same) : reading_new(gauge);
        if (!readings->items[readings->n])
            return -ENOMEM;
    }
    if (arena_has_failed(readings->arena))
        return -ENOMEM;
    *ret = TAKE_PTR(readings);
    return 0;
}

Readings *readings_unref(Readings *readings) {
    if (!readings || !ref_drop(&readings->ref))
        return NULL;
    for (size_t i = 0; i < readings->n; i++)
        reading_unref(readings->items[i]);
    arena_free(readings->arena);
    free(readings);
    return NULL;
}

Measurements *readings_measurements(const Readings *readings) {
    Measurements *measurements = measurements_new(readings->owner, readings->n);

    for (size_t i = 0; measurements && i < readings->n; i++)
        if (readings->items[i]->measurement)
            measurements->items[i] = measurement_ref(readings->items[i]->measurement);
    return measurements;
}
