#pragma once

/*
 * Measured: numbers that a person writes down instead of measuring them, for explanations and
 * tests.
 *
 *     metrics:                                  # by metric, by node
 *       load: {node-a: 0.25, node-b: 0.9}
 *     workloads:                                # by metric of pods, by workload
 *       podCpu: {default/Deployment/web: 1.5}
 *     age: 10s                                  # how long ago that was
 *
 * A metric is meant by the name that policies have for it, in all of them; of two names of the same
 * metric the later one counts. .nan is no number: absent, as what is not written. Metrics that are
 * annotations are read on the nodes, never here.
 */

#include "cluster/measurement.h"
#include "cluster/table.h"
#include "policy/program.h"
#include "policy/reader.h"

typedef struct Measured {
    const YamlNode *metrics, *workloads, *age; /* each may be NULL */
} Measured;

/* Picks the three from a mapping, in which nothing else may stand. */
void measured_open(PolicyReader *reader, const YamlNode *value, Measured *ret);

/* Measurements of @program's gauges for the nodes of @table, a snapshot's, at @now_nsec (since
 * 1970) and @uptime_nsec (monotonic). Metrics and nodes that nobody knows are reported. 0 or
 * -ENOMEM. */
int measured_read(PolicyReader *reader, const Measured *measured, const Program *program,
    const NodeTable *table, int64_t now_nsec, int64_t uptime_nsec, Measurements **ret) MUST_CHECK;
