#pragma once

/*
 * Annotator: writes what is measured onto nodes, as crane's does.
 *
 *     cpu_usage_avg_5m: "0.25000,2026-01-02T11:04:05Z"
 *
 * Which annotations there are, and in whose local time, is read off the metrics of the policies in
 * force.
 */

#include <stdbool.h>
#include <stdint.h>

#include "demo/demo-cluster.h"
#include "extender/view.h"

#define ANNOTATOR_ANNOTATIONS_MAX 32u /* of a node */

/* Whether one of the metrics is read from annotations. */
bool annotator_is_needed(const Program *rules);

/* Writes them on every node of @view's cluster, as of @now_nsec since 1970. 0, or -ENOMEM. */
int annotator_write(DemoCluster *cluster, const View *view, int64_t now_nsec);
