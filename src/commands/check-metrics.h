#pragma once

/*
 * `berth check --live`: are the metrics of policies to be had, and whose are they? Asks every
 * source once and tells what was joined to which nodes and what was not.
 */

#include "cli/cluster-source.h"
#include "cli/metrics-source.h"
#include "policy/program.h"

/* Prints one paragraph a metric. EXIT_FINE when every metric has a value of some node; EXIT_FAILED
 * when not; or another exit code, after complaining. */
int check_metric_sources(
    const MetricsSource *metrics, const ClusterSource *cluster, Program *program);
