#pragma once

/*
 * Autoscaler: adds nodes of a AutoscalePool for pending pods, as Karpenter and Cluster Autoscaler
 * do.
 *
 * They simulate kube-scheduler's own filters and do not ask berth, so of berth's rules they know
 * the published ones only. For a pod that some node could take by these, they add none. A node that
 * is added is ready at once; one whose last pod has ended is removed.
 */

#include "scheduler/scheduler.h"
#include "simulate/autoscale-pool.h"
#include "simulate/berth-extender.h"

typedef enum ScaleResult {
    SCALE_HAS_ROOM,   /* a node could take it, for all the autoscaler knows: none is added */
    SCALE_UNSUITABLE, /* a new node could not take it either */
    SCALE_AT_MAX,     /* all nodes of the pool are there */
    SCALE_ADDED,
} ScaleResult;

typedef struct Autoscaler Autoscaler;

/* The nodes of @pool must be hidden in @cluster, and not be known to @berth, which may be NULL. All
 * are borrowed. 0, or -ENOMEM. */
int autoscaler_new(const AutoscalePool *pool, const SchedulerOptions *options,
    ClusterState *cluster, BerthExtender *berth, Autoscaler **ret);
Autoscaler *autoscaler_free(Autoscaler *autoscaler); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Autoscaler *, autoscaler_free)

/* Whether a node could take @request, for all the autoscaler knows. 0 or -ENOMEM. */
int autoscaler_has_room(
    Autoscaler *autoscaler, const PodRequest *request, int64_t now_nsec, bool *ret);

/* Adds a node if @request, which is pending, needs one. 0 or -ENOMEM. */
int autoscaler_scale(
    Autoscaler *autoscaler, const PodRequest *request, int64_t now_nsec, ScaleResult *ret);

/* Removes nodes of the pool without pods. */
void autoscaler_remove_empty(Autoscaler *autoscaler);

/* Nodes of the pool that are there. */
size_t autoscaler_count(const Autoscaler *autoscaler);
