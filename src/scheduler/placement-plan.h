#pragma once

/*
 * PlacementPlan: the nodes that kube-scheduler would choose for pending pods, one after another, in
 * the cluster of a View; each chosen pod counts for those after it.
 *
 * A plan serves one round: what its pods have in common is computed once. Nominated pods of the
 * cluster count on their nodes.
 */

#include "cluster/needs.h"
#include "extender/view.h"
#include "scheduler/scheduler.h"

#define PLACEMENT_PLAN_BUDGET ((size_t)1024 * 1024 * 1024)

/* Fields and objects of the cluster that a plan needs. */
extern const ClusterNeeds placement_plan_needs;
#define PLACEMENT_PLAN_RELATED (RELATED_BIT(RELATED_NAMESPACES) | RELATED_BIT(RELATED_SERVICES))

typedef struct PlannedPod {
    PodRequest request;
    bool is_modelled; /* kube-scheduler's plugins are modelled for it; otherwise it is not placed */
} PlannedPod;

typedef struct PlacementPlan PlacementPlan;

/* Takes a reference to @view; borrows @pods, which are JSON, and @images, of the view's nodes.
 * @weight: the extender's in kube-scheduler's configuration. 0, or -ENOMEM. */
int placement_plan_new(View *view, const Str *pods, size_t n, int64_t weight, Images *images,
    PlacementPlan **ret) MUST_CHECK;
PlacementPlan *placement_plan_free(PlacementPlan *plan); /* takes NULL, returns NULL */
DEFINE_CLEANUP(PlacementPlan *, placement_plan_free)

const PlannedPod *placement_plan_pod(const PlacementPlan *plan, size_t i);

/* Chooses a node for pod @i, which must be modelled, and counts the pod there. @ret->row NO_ROW: no
 * node is feasible. 0, or -ENOMEM. */
int placement_plan_choose(PlacementPlan *plan, size_t i, int64_t now_nsec, Choice *ret) MUST_CHECK;
