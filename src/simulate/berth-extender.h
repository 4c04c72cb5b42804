#pragma once

/*
 * BerthExtender: berth's filter and prioritize in this process, while pods come and go.
 *
 * The cluster is a Store and decisions use a View, as in the daemon. After a change the next call
 * makes a new view, at a cost proportional to the change.
 */

#include "cluster/measurement.h"
#include "extender/view.h"
#include "scheduler/scheduler.h"

/* All of it must outlive the BerthExtender. */
typedef struct BerthExtenderOptions {
    Program *program;
    const CelZones *zones;         /* may be NULL */
    const Exemptions *exemptions;  /* may be NULL */
    Measurements *measurements;    /* may be NULL; values never become stale here */
    const RelatedObjects *related; /* may be NULL */
    int64_t now_nsec, uptime_nsec;
} BerthExtenderOptions;

typedef struct BerthExtender BerthExtender;

/* With the nodes of @cluster, which is borrowed, and no pods. 0, or -ENOMEM. */
int berth_extender_new(
    const BerthExtenderOptions *options, const ClusterState *cluster, BerthExtender **ret);
BerthExtender *berth_extender_free(BerthExtender *berth); /* takes NULL, returns NULL */
DEFINE_CLEANUP(BerthExtender *, berth_extender_free)

/* The node of @row of the cluster is new, or removed; the former 0, or -ENOMEM. */
int berth_extender_add_node(BerthExtender *berth, uint32_t row);
void berth_extender_remove_node(BerthExtender *berth, uint32_t row);

/* @pod has a node now. 0, or -ENOMEM. */
int berth_extender_add(BerthExtender *berth, const Pod *pod);
/* @pod is removed. */
void berth_extender_remove(BerthExtender *berth, const Pod *pod);

/* Its filter and prioritize, for a Scheduler. */
SchedulerExtender berth_extender_verbs(BerthExtender *berth);

/* What schedulers and autoscalers see at nodes: published filters of policies that admission can
 * apply (policy/admission.h), and no scores. */
SchedulerExtender berth_extender_published(BerthExtender *berth);
