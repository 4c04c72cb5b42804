#pragma once

/*
 * MetricValues: metric values from a file, for explanations and tests.
 *
 *     metrics:                                  # by metric, by node
 *       load: {node-a: 0.25, node-b: 0.9}
 *     workloads:                                # by metric of pods, by workload
 *       podCpu: {default/Deployment/web: 1.5}
 *     age: 10s                                  # how long ago they were measured
 *
 * A name stands for the metrics of that name in all policies; if two names are the same metric, the
 * later one counts. .nan means absent. Metrics from annotations are set on the nodes, not here.
 */

#include "cluster/measurement.h"
#include "policy/program.h"

typedef struct MetricValues {
    const YamlNode *metrics, *workloads, *age; /* each may be NULL */
} MetricValues;

/* Reads the mapping @value, and reports unknown fields. @ret borrows from it. */
void metric_values_open(YamlReader *reader, const YamlNode *value, MetricValues *ret);

/* Makes measurements of @program's gauges for the nodes of a snapshot's @table, at @now_nsec (since
 * 1970) and @uptime_nsec (monotonic); *ret is a reference. Reports unknown metrics and nodes. 0 or
 * -ENOMEM. */
int metric_values_read(YamlReader *reader, const MetricValues *values, const Program *program,
    const NodeTable *table, int64_t now_nsec, int64_t uptime_nsec, Measurements **ret) MUST_CHECK;
