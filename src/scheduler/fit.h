#pragma once

/*
 * Fit: NodeResourcesFit and NodeResourcesBalancedAllocation with their default settings, rounded as
 * the plugins round.
 */

#include "scheduler/cluster-state.h"
#include "scheduler/pod-request.h"

/* The best score of a plugin, what an extender's score (at most 10) is multiplied by, and the
 * weights other than 1. */
enum {
    SCORE_BEST = 100,
    POINTS_PER_SCORE = 10,
    WEIGHT_TAINTS = 3,
    WEIGHT_AFFINITY = 2,
    WEIGHT_INTER_POD = 2,
    WEIGHT_SPREAD = 2,
};

/* Resources of one pod. */
#define FIT_RESOURCES_MAX RESOURCES_MAX

/* Requests of a pod, by columns of the cluster. */
typedef struct Fit {
    struct {
        size_t column;
        int64_t amount;
    } requests[FIT_RESOURCES_MAX];
    size_t n_requests;
    Str unknown_resource; /* a requested resource that no node has; empty: none */
    int64_t cpu, memory;
    NonzeroRequests scored;
} Fit;

/* @ignores_extended: resources with a domain, such as nvidia.com/gpu, do not count. */
Fit fit_of(const ClusterState *cluster, const PodRequest *request, bool ignores_extended);

/* Whether the node has room for the pod. */
static inline bool fit_is_room(const Fit *fit, const ClusterState *cluster, uint32_t row) {
    if (cluster->pods == SIZE_MAX || cluster_state_free_amount(cluster, cluster->pods, row) < 1)
        return false;
    for (size_t i = 0; i < fit->n_requests; i++)
        if (fit->requests[i].amount >
            cluster_state_free_amount(cluster, fit->requests[i].column, row))
            return false;
    return str_is_empty(fit->unknown_resource);
}

/* LeastAllocated, 0 to 100. */
int64_t fit_least_allocated(const Fit *fit, const ClusterState *cluster, uint32_t row);

/* BalancedAllocation, 0 to 100: whether the pod balances the use of cpu and memory. 0 for pods that
 * request neither, for which the plugin is skipped. */
int64_t fit_balanced(const Fit *fit, const ClusterState *cluster, uint32_t row);

/* The formulas, for arrays by resource. least_allocated_score() skips allocatable 0. */
int64_t least_allocated_score(const int64_t *requested, const int64_t *allocatable, size_t n);
int64_t balanced_score(
    const int64_t *requested_with, const int64_t *requested_without, const int64_t *allocatable);

/* The weighted scores of TaintToleration and NodeAffinity, by the node's number of untolerated
 * taints PreferNoSchedule, its weight of matching terms, and the largest of each on any node. */
static inline int64_t score_preferences(
    int64_t n_untolerated, int64_t n_most, int64_t preferred, int64_t preferred_most) {
    int64_t taints = SCORE_BEST, affinity = 0;

    if (n_most > 0)
        taints -= SCORE_BEST * n_untolerated / n_most;
    if (preferred_most > 0)
        affinity = SCORE_BEST * preferred / preferred_most;
    return WEIGHT_TAINTS * taints + WEIGHT_AFFINITY * affinity;
}
