#pragma once

/*
 * Infers from a PromQL query whether it returns the load of a node, and in which unit.
 *
 * Only queries of well-known series with simple arithmetic have a result. A wrong one, which would
 * add a pod's cores to bytes or to free capacity, is worse than none.
 */

#include "model/gauge.h"

typedef struct PromqlLoad {
    bool is_load;
    Str resource; /* cpu, memory */
    GaugeUnit unit;
    int64_t range_nsec; /* time over which it averages; 0: unknown */
} PromqlLoad;

PromqlLoad promql_infer_load(Str query);

/* The longest range in a query ("[5m]", "[1h:1m]"), in nanoseconds; 0: none. */
int64_t promql_longest_range(Str query);

/* Cuts a duration ("1h30m", "7d") off the front of @text. Returns nanoseconds; 0: there is none; a
 * day if it is longer, and then the end of it may be left in @text. */
int64_t promql_cut_duration(Str *text);
