#pragma once

/*
 * Guessed pods: keeps room for them on nodes near a limit.
 *
 * Without bind, a pod whose filter left several nodes counts on a guessed one (live/expectation.h)
 * until the watch shows its real node, which may be any. So a node is near its limit (maxPods with
 * one number for each node) if all guessed pods that the rule counts would fill it. Such nodes are
 * left out, as narrowing does. If no other node passes, or if the nodes that pass have few places
 * in total, only the node with the most room is returned: then the pod's own node is known.
 */

#include "extender/wire.h"
#include "judge/judge.h"

/* Places that kube-scheduler can take before the watch shows the first pod: it places some hundred
 * pods a second, and the watch usually takes less than 100 ms. */
#define GUESSED_FEW_PLACES 64

/* Sets VERDICT_NARROWED for nodes near a limit among those that pass by @verdicts; at least one
 * stays. Does nothing if no pod is guessed. 0, or -ENOMEM. */
int guessed_pods_leave_room(const Judge *judge, const Program *program, const FilterArgs *args,
    Arena *arena, uint16_t *verdicts) MUST_CHECK;
