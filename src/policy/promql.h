#pragma once

/*
 * Infers from a PromQL query whether it returns the load of a node, and in which unit.
 *
 * Only for queries of well-known series with simple arithmetic; infers nothing from other queries.
 * A wrong result, which would add a pod's cores to bytes or to free capacity, is worse than none.
 */

#include "model/gauge.h"

typedef struct PromqlLoad {
    bool is_load;
    Str resource; /* cpu, memory */
    GaugeUnit unit;
    int64_t range_nsec; /* over which it averages; 0: not known */
} PromqlLoad;

PromqlLoad promql_infer_load(Str query);

/* The longest range of a query, in nanoseconds: "[5m]", "[1h:1m]". 0: none. */
int64_t promql_longest_range(Str query);

/* Cuts "1h30m", "7d" off the front of @text, in nanoseconds; anything else ends it. At most a day.
 */
int64_t promql_cut_duration(Str *text);
