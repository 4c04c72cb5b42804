#pragma once

/*
 * Sample: after how many feasible nodes kube-scheduler stops and sends those to its extenders
 * (numFeasibleNodesToFind() there).
 */

#include <stddef.h>

#define SAMPLE_LEAST 100u /* fewer nodes are all evaluated */
#define SAMPLE_PERCENTAGE_LEAST 5u

/* The sample of a cluster with @n_nodes. @percentage is percentageOfNodesToScore; 0: the default of
 * kube-scheduler, half of a small cluster, and less the larger it is. */
static inline size_t sample_size(size_t n_nodes, unsigned percentage) {
    size_t less = n_nodes / 125, n;

    if (n_nodes < SAMPLE_LEAST)
        return n_nodes;
    if (percentage == 0)
        percentage =
            less < 50 - SAMPLE_PERCENTAGE_LEAST ? 50 - (unsigned)less : SAMPLE_PERCENTAGE_LEAST;
    n = n_nodes * percentage / 100;
    return n < SAMPLE_LEAST ? SAMPLE_LEAST : n;
}
