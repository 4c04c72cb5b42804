#pragma once

/* Metric: reads the section `metrics:` of a policy. docs/metrics.md has its fields. */

#include "base/nsec.h"
#include "model/gauge.h"
#include "policy/reader.h"

/* Reads one entry, and reports errors; sets the name even then. Strings are in the reader's arena
 * or in the document. */
void metric_read(YamlReader *reader, const YamlNode *value, Gauge *ret);

/* Checks across entries: `by` of placements must name a metric of pods of the same policy. */
void metrics_check(YamlReader *reader, const YamlNode *metrics, const Gauge *gauges, size_t n);

extern const Shape metric_shape;

/* Appends, for users, how placements count: "cpu, as a fraction of the node (inferred from its
 * query)". Nothing if they do not count. */
void metric_describe_placements(const Gauge *gauge, Buf *out);

#define METRIC_INTERVAL_DEFAULT (15 * NSEC_PER_SEC)
#define METRIC_INTERVAL_MIN NSEC_PER_SEC
#define METRIC_AGE_INTERVALS 3 /* the default of maxAge */
#define METRIC_AGE_DEFAULT_MAX (300 * NSEC_PER_SEC)
/* The minimum for resourceMetrics: metrics-server measures every 15 to 60 seconds. */
#define METRIC_AGE_RESOURCES_MIN (180 * NSEC_PER_SEC)
#define METRIC_SETTLE_DEFAULT (60 * NSEC_PER_SEC)      /* the minimum of the default */
#define METRIC_SETTLE_DEFAULT_MAX (600 * NSEC_PER_SEC) /* the maximum of the default */

/* Limits. */
#define METRIC_INTERVAL_MAX (86400 * NSEC_PER_SEC)
#define METRIC_SETTLE_MAX (3600 * NSEC_PER_SEC)
#define METRIC_QUERY_MAX 4096u /* bytes */
#define METRIC_NODES_MAX 8192u /* entries of `nodes` */
