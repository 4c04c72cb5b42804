#pragma once

/*
 * `berth check --live` with policies: queries every metric source once, and prints which nodes have
 * a value.
 */

#include "cli/cluster-source.h"
#include "cli/metrics-source.h"
#include "policy/program.h"

/* Prints one paragraph a metric. EXIT_FINE when every metric has a value of some node; EXIT_FAILED
 * when not; or another exit code, after complaining. */
int check_metric_sources(
    const MetricsSource *metrics, const ClusterSource *cluster, Program *program);
