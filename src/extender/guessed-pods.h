#pragma once

/*
 * Guessed pods: keeps room for them on nodes that they may take.
 *
 * Without bind, a pod whose filter left several nodes counts on a guessed one (live/expectation.h)
 * until the watch shows the truth: it may be on any node. So a node is near its limit (maxPods with
 * one number for each node) when it would have no room for the pod if all guessed pods that the
 * rule counts were there. Such nodes are left out, as narrowing does. If nothing else passes, or if
 * the nodes that pass have few places left in all, the node with the most room is the only one
 * returned: then the pod's own node is known.
 */

#include "extender/wire.h"
#include "judge/judge.h"

/* So many can be taken before the watch shows the first: kube-scheduler places some hundred pods a
 * second, and the watch mostly takes less than 100 ms. */
#define GUESSED_FEW_PLACES 64

/* Sets VERDICT_NARROWED for nodes to leave out among those that pass by @verdicts; at least one
 * stays. Does nothing if no pod is guessed. 0, or -ENOMEM. */
int guessed_pods_leave_room(const Judge *judge, const Program *program, const FilterArgs *args,
    Arena *arena, uint16_t *verdicts) MUST_CHECK;
