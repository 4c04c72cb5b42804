#pragma once

/* Shared by metric.c and metric-placements.c. */

#include "policy/metric.h"

/* Stores `cpu` or `memory` as a Str. */
void metric_read_resource(YamlReader *reader, const YamlNode *value, const char *what, Str *ret);
extern const Shape metric_resource_shape;

/* The section `placements`; @into is a Gauge. */
void metric_read_placements(YamlReader *reader, const YamlNode *value, void *into);
extern const Shape metric_placements_shape;

/* After all other fields of @metric: how placements count. */
void metric_complete_placements(YamlReader *reader, const YamlNode *metric, Gauge *gauge);
