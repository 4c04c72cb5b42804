#pragma once

/*
 * Scheduler: chooses the node that kube-scheduler 1.37 would choose for a pod.
 *
 * One cycle as in kube-scheduler: starting where the last cycle ended, it filters nodes in turn
 * until enough are feasible (a share of a large cluster); it calls the extender's filter with
 * these; every plugin scores the remaining nodes; the weighted scores are added to the extender's;
 * the best node wins, one at random on a tie.
 *
 *     plugin                            filter   score × weight
 *     NodeUnschedulable                 yes
 *     TaintToleration                   yes      3, fewest taints PreferNoSchedule
 *     NodeAffinity, nodeSelector        yes      2, preferred terms
 *     NodePorts                         yes
 *     NodeResourcesFit                  yes      1, LeastAllocated of cpu and memory
 *     NodeResourcesBalancedAllocation            1, of cpu and memory
 *     ImageLocality                              1
 *     VolumeBinding, VolumeZone         yes, for bound claims
 *     PodTopologySpread                 yes      2
 *     InterPodAffinity                  yes      2
 *     the extender                      yes      its weight × 10
 *
 * docs/simulate.md lists what is not modelled.
 */

#include "scheduler/cluster-state.h"
#include "scheduler/forecast.h"
#include "scheduler/pod-request.h"

/* A reason for rejecting a node, as an index for counting nodes. */
typedef uint32_t SchedulingReason;

#define REASON_NONE 0u               /* below REJECTION_MAX: a Rejection */
#define REASON_RESOURCE 64u          /* + column of a resource: too little is free */
#define REASON_UNKNOWN_RESOURCE 512u /* + index of a resource that no node has */
#define REASON_UNKNOWN_RESOURCE_MAX 64u
#define REASON_NO_NODES 1000u
#define REASON_GATED 1001u    /* spec.schedulingGates: the pod is not tried */
#define REASON_EXTENDER 1024u /* + the extender's own number */
_Static_assert(REASON_RESOURCE + TABLE_RESOURCES_MAX <= REASON_UNKNOWN_RESOURCE, "no overlap");

#define EXTENDER_PASSES UINT16_MAX

/* An extender: in this process, or behind HTTP. All zero: no extender. Its functions return 0; 1 if
 * the call failed, which ends the cycle without a node; or -ENOMEM. */
typedef struct SchedulerExtender {
    void *context;
    size_t n_reasons; /* higher values from filter() mean "left out: others are better" */

    /* Sets EXTENDER_PASSES or the number of the reason for each of @rows; in @arena. */
    int (*filter)(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
        Arena *arena, const uint16_t **ret_verdicts);
    /* Sets a score for each of @rows, 0 to 10 or to the policies' maximum; NULL: no scores. */
    int (*prioritize)(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
        size_t n, Arena *arena, const uint8_t **ret_scores);
    void (*print_reason)(const void *context, size_t reason, Buf *out);
} SchedulerExtender;

typedef struct SchedulerOptions {
    int64_t weight;      /* of the extender in kube-scheduler's configuration */
    unsigned percentage; /* percentageOfNodesToScore; 0: adaptive, as in kube-scheduler */
    uint64_t seed;
    ForecastOptions plugins;
    bool ignores_extended_resources; /* the extender manages them, with ignoredByScheduler */
} SchedulerOptions;

typedef struct Scheduler Scheduler;

/* Borrows @cluster and copies the rest. 0, or -ENOMEM. */
int scheduler_new(const SchedulerOptions *options, const ClusterState *cluster,
    SchedulerExtender extender, Scheduler **ret);
Scheduler *scheduler_free(Scheduler *scheduler); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Scheduler *, scheduler_free)

/* Replaces the cluster, which may have other nodes; borrowed. 0, or -ENOMEM. */
int scheduler_set_cluster(Scheduler *scheduler, const ClusterState *cluster);
void scheduler_set_weight(Scheduler *scheduler, int64_t weight);
void scheduler_set_percentage(Scheduler *scheduler, unsigned percentage);

typedef struct Choice {
    uint32_t row;            /* NO_ROW: none */
    SchedulingReason reason; /* if none: the most frequent one */
    size_t n_feasible;
    size_t n_best;      /* nodes with the best score, the chosen one included */
    int64_t score;      /* of the chosen node; 0 if only one node was feasible */
    uint32_t any_best;  /* the first of the best */
    int extender_score; /* of the extender alone; -1: none */

    /* About the inspected row. */
    bool is_feasible, is_best;
    int64_t inspected_score;
} Choice;

/* Chooses a node for @request at @now_nsec (since 1970). @inspected: a row to describe in @ret, or
 * NO_ROW; with a row all nodes are tried. Changes only the start of the next cycle. 0; 1 if the
 * extender's filter failed; or -ENOMEM. */
int scheduler_choose(Scheduler *scheduler, const PodRequest *request, int64_t now_nsec,
    uint32_t inspected, Choice *ret);

/* "Insufficient cpu". */
void scheduling_reason_print(const Scheduler *scheduler, SchedulingReason reason, Buf *out);

/* "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.", for the last choice. */
void scheduler_print_fit_error(const Scheduler *scheduler, Buf *out);
