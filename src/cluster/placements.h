#pragma once

/*
 * Placements: the load that recently bound pods will add to a metric that was measured before them
 * (model/gauge.h).
 */

#include "cluster/measurement.h"
#include "cluster/table.h"
#include "model/gauge.h"

typedef struct Placements {
    const Gauge *gauge;
    size_t column;         /* of its resource in the table; SIZE_MAX: it has none */
    const Measurement *by; /* usage of pods by workload; NULL: their requests count */
} Placements;

/* Whether slot @slot of @chunk has a pod that a value measured at @measured_nsec (since 1970) does
 * not include, or only in part. Does not read the pods. */
bool placements_are_there(
    const Placements *placements, const NodeChunk *chunk, size_t slot, int64_t measured_nsec);

/* The load of these pods that the value lacks, in the gauge's unit; 0 if the unit is a share of the
 * node's resource, and the node offers none. */
double placements_sum(
    const Placements *placements, const NodeChunk *chunk, size_t slot, int64_t measured_nsec);
