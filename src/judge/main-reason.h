#pragma once

/*
 * MainReason: the one reason that stands for a decision in which no node passed.
 *
 * It is the reason of the nodes closest to eligible: of the nodes that could take the pod, those
 * that fail the fewest rules. These are also the nodes whose smallest change (judge/remedy.h) pages
 * suggest. The commonest reason would mislead: a pod that waits for a GPU is rejected by most nodes
 * for being in another pool.
 *
 * Nodes that can never take the pod are counted apart: a permanent filter rejects them (another
 * pool, a taint), or they do not offer a resource as it is requested. Where all nodes are such, the
 * closest are found among them.
 */

#include "judge/judge.h"

typedef struct MainReason {
    uint32_t n_nodes; /* that the filter rejects, of the same kind as the closest; 0: no reason */
    uint16_t filter;  /* its number */
    uint16_t never_filter; /* that rejects most of the others that can never take the pod, */
    Str never_resource;    /* or the resource that most of these lack, of the pod; else empty */
    uint32_t n_never;      /* how many these are; 0: there are none */
} MainReason;

/* For @verdicts of judge_filters(), none of which is VERDICT_PASS. After the deadline the fewest
 * rules are not known, and the rule that rejects most of the nodes that could take the pod counts.
 * 0, or -ENOMEM. */
int main_reason_find(Judge *judge, const uint16_t *verdicts, MainReason *ret) MUST_CHECK;
