#pragma once

/*
 * Total: the values of several pods as one, for a node or for a workload.
 *
 * WorkloadTotals: one for each workload. For the files of join.h only.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/sampling.h"
#include "model/gauge.h"
#include "model/pod.h"

typedef struct Total {
    double sum, max;
    uint32_t n;       /* 0: nothing was added */
    int64_t lag_nsec; /* of the oldest */
} Total;

void total_add(Total *total, double value, int64_t lag_nsec);

/* Of a total to which something was added. May be infinite. */
double total_value(const Total *total, GaugeAggregate aggregate);

typedef struct WorkloadTotal {
    Str key; /* as a sampling has it */
    Total total;
} WorkloadTotal;

typedef struct WorkloadTotals {
    VEC(WorkloadTotal) items;
    Map map; /* of keys to places in them */
    Arena *arena;
} WorkloadTotals;

/* Empty, in @arena. */
WorkloadTotals workload_totals_in(Arena *arena);

/* Of the workload of @pod, if it has one. 0 or -ENOMEM. */
int workload_totals_add(WorkloadTotals *totals, const Pod *pod, double value, int64_t lag_nsec)
    MUST_CHECK;

/* Into @sampling, each once. 0 or -ENOMEM. */
int workload_totals_store(
    const WorkloadTotals *totals, GaugeAggregate aggregate, Sampling *sampling) MUST_CHECK;
