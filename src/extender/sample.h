#pragma once

/* Sample: the number of feasible nodes after which kube-scheduler stops and sends them to its
 * extenders (its function numFeasibleNodesToFind()). */

#include <stddef.h>

#define SAMPLE_LEAST 100u /* with fewer nodes, all are evaluated */
#define SAMPLE_PERCENTAGE_LEAST 5u

/* The sample in a cluster with @n_nodes. @percentage is percentageOfNodesToScore; 0: the default of
 * kube-scheduler, which is 50 % minus 1 % for each 125 nodes. */
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
