#pragma once

/*
 * Usage: the resource use of the demo's nodes and pods.
 *
 * A workload uses a share of its requests, given by its name and above 100 % for some; pods vary
 * around it, and nodes have busy and calm minutes. An average includes a new pod in proportion to
 * its age.
 *
 * PromQL is not evaluated: the words of a query select one of the values below.
 *
 * Pure functions of cluster and time.
 */

#include "cluster/table.h"
#include "model/gauge.h"

typedef enum UsageKind {
    USAGE_USED,
    USAGE_FREE,
    USAGE_DEVIATION,   /* standard deviation, 0 to 1 */
    USAGE_QUEUE,       /* load average per core */
    USAGE_TEMPERATURE, /* °C */
    USAGE_OTHER,       /* unknown metric: 0 to 1, like cpu */
} UsageKind;

/* The meaning of a number. */
typedef struct Usage {
    UsageKind kind;
    size_t resource;    /* TABLE_CPU, TABLE_MEMORY */
    GaugeUnit unit;     /* of USAGE_USED and USAGE_FREE */
    int64_t range_nsec; /* of an average; 0: none */
} Usage;

Usage usage_of_query(Str query);
Usage usage_of_gauge(const Gauge *gauge);

/* The value of the node of @row at @now_nsec since 1970. NaN: the node is not ready. */
double usage_measure(const Usage *usage, const NodeTable *cluster, uint32_t row, int64_t now_nsec);

/* Converts @share, 0 to 1, of the node to the unit of @usage. */
double usage_in_unit(const Usage *usage, const NodeTable *cluster, uint32_t row, double share);

/* The usage of a pod, in cores or bytes. */
double usage_measure_pod(const Usage *usage, const Pod *pod, int64_t now_nsec);
