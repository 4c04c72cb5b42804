#pragma once

/*
 * Scheduler: where kube-scheduler 1.36 would put a pod.
 *
 * One cycle as it goes there: from where the last cycle ended, nodes are tried in turn until enough
 * can take the pod (kube-scheduler stops at a share of a large cluster); berth is asked about
 * those; of what is left every plugin gives its points, weighed and added up, and berth's with
 * them; the best node wins, of equals one by chance.
 *
 *     plugin                            filter   score × weight
 *     NodeUnschedulable                 yes
 *     TaintToleration                   yes      3, fewest taints PreferNoSchedule
 *     NodeAffinity, nodeSelector        yes      2, preferred terms
 *     NodePorts                         yes
 *     NodeResourcesFit                  yes      1, LeastAllocated of cpu and memory
 *     NodeResourcesBalancedAllocation            1, of cpu and memory
 *     ImageLocality                              1
 *     berth                             yes      its weight × 10
 *
 * What is not modelled is in docs/simulate.md.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/dice.h"
#include "simulate/berth-extender.h"
#include "simulate/cluster-state.h"
#include "simulate/forecast.h"
#include "simulate/pod-request.h"

/* Why a pod finds no node: numbers for what most of the nodes say. */
typedef uint32_t SchedulingReason;

#define REASON_NONE 0u               /* up to REJECTION_MAX: refusals */
#define REASON_RESOURCE 64u          /* and the column: too little of it */
#define REASON_UNKNOWN_RESOURCE 512u /* and a number: of something that no node has */
#define REASON_UNKNOWN_RESOURCE_MAX 64u
#define REASON_NO_NODES 1000u
#define REASON_FILTER 1024u /* and the number of the filter */
_Static_assert(
    REASON_RESOURCE + TABLE_RESOURCES_MAX <= REASON_UNKNOWN_RESOURCE, "ranges are apart");

typedef struct SchedulerOptions {
    int64_t weight;      /* berth's in kube-scheduler's configuration */
    unsigned percentage; /* of nodes to score; 0: as many as kube-scheduler thinks fit */
    uint64_t seed;
} SchedulerOptions;

typedef struct Scheduler Scheduler;

/* Borrows all; @berth NULL: no extender. 0, or -ENOMEM. */
int scheduler_new(const SchedulerOptions *options, const ClusterState *cluster,
    BerthExtender *berth, Scheduler **ret);
Scheduler *scheduler_free(Scheduler *scheduler); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Scheduler *, scheduler_free)

typedef struct Choice {
    uint32_t row;            /* NO_ROW: none */
    SchedulingReason reason; /* then: what most nodes say */
    size_t n_feasible;
    size_t n_best;     /* nodes as good as this one, itself included */
    int64_t score;     /* its points; 0 where there was but one node */
    uint32_t any_best; /* the first of the best */

    /* Of the row that was asked about. */
    bool is_feasible, is_best;
    int64_t inspected_score;
    SchedulingReason inspected_reason; /* why it is not feasible */
} Choice;

/* Where @request would go at @now_nsec. @inspected: a row about which more is to be told, or
 * NO_ROW; then all nodes are tried, however many there are. Changes nothing but where the next
 * cycle begins. 0, or -ENOMEM. */
int scheduler_choose(Scheduler *scheduler, const PodRequest *request, int64_t now_nsec,
    uint32_t inspected, Choice *ret);

/* "Insufficient cpu". Into @out. */
void scheduling_reason_print(const Scheduler *scheduler, SchedulingReason reason, Buf *out);
