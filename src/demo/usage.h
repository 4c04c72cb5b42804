#pragma once

/*
 * Usage: what the demo's nodes and pods really do, as if somebody could measure it.
 *
 * Each workload uses a share of what it asks for, some more than all of it: which share is told by
 * its name, so it is the same in every demo. Pods of it differ a little and drift; so do nodes,
 * which go through busier and calmer minutes. An average over some time shows a pod that has just
 * come by as much of it as it has been there.
 *
 * Nobody here evaluates PromQL: by its words a query is taken for one of the numbers below, all
 * of which follow from what is used.
 *
 * Pure functions: the cluster and the time are arguments.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cluster/table.h"
#include "model/gauge.h"

typedef enum UsageKind {
    USAGE_USED,
    USAGE_FREE,
    USAGE_DEVIATION,   /* how much of the node goes up and down, 0 to 1 */
    USAGE_QUEUE,       /* processes that want to run, for each core */
    USAGE_TEMPERATURE, /* °C */
    USAGE_OTHER,       /* nobody knows what: 0 to 1, follows the cpu */
} UsageKind;

/* What a number is. */
typedef struct Usage {
    UsageKind kind;
    size_t resource;    /* TABLE_CPU, TABLE_MEMORY */
    GaugeUnit unit;     /* of USAGE_USED and USAGE_FREE */
    int64_t range_nsec; /* over how long it averages; 0: it does not */
} Usage;

/* What @query seems to ask for, and what @gauge does. */
Usage usage_of_query(Str query);
Usage usage_of_gauge(const Gauge *gauge);

/* It at @now_nsec since 1970. NaN: nobody can say, as of a node that is not ready. @row is a
 * node's. */
double usage_measure(const Usage *usage, const NodeTable *cluster, uint32_t row, int64_t now_nsec);

/* @share, 0 to 1, of what the node has, as @usage tells it. */
double usage_in_unit(const Usage *usage, const NodeTable *cluster, uint32_t row, double share);

/* What a pod on a node uses, in cores or bytes. */
double usage_measure_pod(const Usage *usage, const Pod *pod, int64_t now_nsec);
