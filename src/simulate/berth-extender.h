#pragma once

/*
 * BerthExtender: berth's filter and prioritize in this process, while pods come and go.
 *
 * The cluster is a Store and decisions use a View, as in the daemon. After a change the next call
 * makes a new view, at a cost proportional to the change.
 */

#include "extender/view.h"
#include "scheduler/scheduler.h"

typedef struct BerthExtender BerthExtender;

/* Starts with the nodes of @cluster and no pods. @parts: the parts of its views, without a
 * snapshot; their time stands still, so values never become stale. All must outlive the extender,
 * except @parts itself, which is copied. 0, or -ENOMEM. */
int berth_extender_new(const ViewParts *parts, const RelatedObjects *related,
    const ClusterState *cluster, BerthExtender **ret);
BerthExtender *berth_extender_free(BerthExtender *berth); /* takes NULL, returns NULL */
DEFINE_CLEANUP(BerthExtender *, berth_extender_free)

/* Adds or removes the node in @row of the cluster. The former returns 0, or -ENOMEM. */
int berth_extender_add_node(BerthExtender *berth, uint32_t row);
void berth_extender_remove_node(BerthExtender *berth, uint32_t row);

/* Adds @pod, which has a node. 0, or -ENOMEM. */
int berth_extender_add(BerthExtender *berth, const Pod *pod);
/* Removes @pod. */
void berth_extender_remove(BerthExtender *berth, const Pod *pod);

/* Returns @berth's filter and prioritize, for a Scheduler. */
SchedulerExtender berth_extender_verbs(BerthExtender *berth);

/* The effect of berth on schedulers and autoscalers that do not call it: published filters of
 * policies that admission can apply (policy/admission.h), and no scores. */
SchedulerExtender berth_extender_published(BerthExtender *berth);
