#pragma once

/*
 * MetricGuess: whether a PromQL query gives the load of a node, and in which unit.
 *
 * For queries of well-known series only, whose arithmetic is followed; of all others nothing is
 * said. A wrong guess would add a pod's cores to bytes, or to what is free, and is worse than
 * none.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/gauge.h"

typedef struct MetricGuess {
    bool is_load;
    Str resource; /* cpu, memory */
    GaugeUnit unit;
    int64_t range_nsec; /* over how long it averages, as far as that is seen; 0: not */
} MetricGuess;

MetricGuess metric_guess(Str query);
