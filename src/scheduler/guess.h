#pragma once

/*
 * Guess: the node that kube-scheduler would choose among those that passed all filters.
 *
 * Without bind, kube-scheduler does not report its choice; until the watch shows it, the pod counts
 * on this node (live/expectation.h). Only the rows that passed are read, with the scores of
 *
 *     TaintToleration, NodeAffinity, NodeResourcesFit (LeastAllocated),
 *     NodeResourcesBalancedAllocation, PodTopologySpread (by node, of pods of the same owner),
 *     and the extender's own, at a weight of 1
 *
 * at their default weights. Not known here: images, inter-pod affinity, spread over zones, other
 * profiles. Among equals kube-scheduler takes one at random; the guess is the first.
 */

#include "cluster/table.h"
#include "scheduler/pod-request.h"

typedef struct GuessInput {
    const NodeTable *table; /* without the pod itself */
    const uint32_t *rows;   /* of nodes in the table; each once */
    size_t n;               /* at least 1 */
    const uint8_t *scores;  /* the extender's, on the wire; NULL: none */
    const PodRequest *request;
} GuessInput;

/* An index of @input->rows; SIZE_MAX: out of memory. */
size_t guess_choose(const GuessInput *input, Arena *arena);
