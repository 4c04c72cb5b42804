#pragma once

/*
 * Annotator: writes measured values to annotations of nodes, as crane does.
 *
 *     cpu_usage_avg_5m: "0.25000,2026-01-02T11:04:05Z"
 *
 * The metrics of the policies in force define the annotations and their time zone.
 */

#include "demo/demo-cluster.h"
#include "extender/view.h"

#define ANNOTATOR_ANNOTATIONS_MAX 32u /* of a node */

/* Whether @rules read a metric from annotations. */
bool annotator_is_needed(const Program *rules);

/* Writes the annotations of all nodes in @view, as of @now_nsec since 1970. 0, or -ENOMEM. */
int annotator_write(DemoCluster *cluster, const View *view, int64_t now_nsec);
