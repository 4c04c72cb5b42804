#pragma once

/*
 * What the files that read an entry of `metrics:` share. metric.h is the contract: nobody else
 * includes this.
 *
 *     metric.c              an entry: its source, pods, times
 *     metric-prometheus.c   its section `prometheus`
 *     metric-placements.c   its section `placements`, and what that says of other metrics
 *     metric-value.c        values that several fields have
 */

#include "policy/metric.h"

#define METRIC_TEXT_MAX 128u /* bytes of names of labels and zones */

/* An entry while it is read: where what was given stands. */
typedef struct MetricReading {
    Gauge *gauge;
    const YamlNode *resource, *annotation;
    const YamlNode *pods, *interval, *max_age;
    const YamlNode *placements; /* a mapping or `none` */
    const YamlNode *unit, *placed, *settle;
    const YamlNode *of_nodes;       /* the first field that joins series to nodes */
    const char *of_nodes_name;      /* its name */
    const YamlNode *of_pods_labels; /* namespaceLabel or podLabel */
} MetricReading;

/* cpu or memory. */
void metric_read_resource(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret);

/* A label of Prometheus: a letter or '_', then letters, digits and '_'. */
void metric_read_label(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret);

/* A length of time from @min to @max. False, with an error reported, when it is none. */
bool metric_read_time(PolicyReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret);

/* The two sections; @into is a MetricReading. */
void metric_read_prometheus(PolicyReader *reader, const YamlNode *value, void *into);
void metric_read_placements(PolicyReader *reader, const YamlNode *value, void *into);

/* When all else has been read: how placements count. */
void metric_settle_placements(PolicyReader *reader, const MetricReading *reading);

extern const Shape metric_resource_shape, metric_label_shape;
extern const Shape metric_prometheus_shape, metric_placements_shape;
