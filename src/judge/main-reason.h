#pragma once

/*
 * MainReason: the one reason that stands for a decision in which no node passed.
 *
 * It is the reason of the nodes closest to eligible: of the nodes that could take the pod, those
 * that fail the fewest rules. These are also the nodes whose smallest change (judge/remedy.h) pages
 * suggest. The most frequent reason would mislead: a pending GPU pod is rejected by most nodes for
 * being in another pool.
 *
 * Nodes that can never take the pod are counted apart: a permanent filter rejects them (another
 * pool, a taint), or they do not have enough of a resource. If all nodes are such, the closest are
 * found among them.
 */

#include "judge/judge.h"

typedef struct MainReason {
    uint32_t n_nodes;      /* nodes with this main reason; 0: there is none */
    uint16_t filter;       /* number of the filter that is the main reason */
    uint16_t never_filter; /* of @n_never nodes: the permanent filter that rejects them */
    Str never_resource;    /* or the resource that they lack, borrowed from the pod; else empty */
    uint32_t n_never;      /* nodes with the most frequent cause that they can never take the pod */
} MainReason;

/* For @verdicts of judge_filters(), none of them VERDICT_PASS. After the deadline rules per node
 * are not counted, and the most frequent rule among nodes that could take the pod is the main
 * reason. 0, or -ENOMEM. */
int main_reason_find(Judge *judge, const uint16_t *verdicts, MainReason *ret) MUST_CHECK;
