#pragma once

/*
 * Fit: whether there is room, and how good it is, as NodeResourcesFit and
 * NodeResourcesBalancedAllocation have it with their default settings.
 *
 * Numbers are whole, and divided as the plugins divide them: what they round down is rounded down
 * here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/cluster-state.h"
#include "simulate/pod-request.h"

/* Of one pod. */
#define FIT_RESOURCES_MAX RESOURCES_MAX

/* What a pod asks for, by columns of a ground. */
typedef struct Fit {
    struct {
        size_t column;
        int64_t amount;
    } requests[FIT_RESOURCES_MAX];
    size_t n_requests;
    Str unknown_resource; /* something that no node has; empty: nothing */
    int64_t cpu, memory, nonzero_cpu, nonzero_memory;
} Fit;

/* @ignores_extended: resources with a domain in their name, such as nvidia.com/gpu, do not count.
 */
Fit fit_of(const ClusterState *cluster, const PodRequest *request, bool ignores_extended);

/* Whether the pod fits on @row, as far as pods and resources say. */
static inline bool fit_is_room(const Fit *fit, const ClusterState *cluster, uint32_t row) {
    if (cluster->pods == SIZE_MAX || cluster_state_free_amount(cluster, cluster->pods, row) < 1)
        return false;
    for (size_t i = 0; i < fit->n_requests; i++)
        if (fit->requests[i].amount >
            cluster_state_free_amount(cluster, fit->requests[i].column, row))
            return false;
    return str_is_empty(fit->unknown_resource);
}

/* 0 to 100: the more is left of cpu and memory, the better. */
int64_t fit_least_allocated(const Fit *fit, const ClusterState *cluster, uint32_t row);

/* 0 to 100, about 75 where nothing changes: the more even cpu and memory are used with the pod than
 * without it, the better. A pod that asks for neither gets 0 everywhere: the plugin is left out. */
int64_t fit_balanced(const Fit *fit, const ClusterState *cluster, uint32_t row);

/* For tests: the two formulas. An offer of 0 does not count. */
int64_t least_allocated_score(const int64_t *requested, const int64_t *allocatable, size_t n);
int64_t balanced_score(
    const int64_t *requested_with, const int64_t *requested_without, const int64_t *allocatable);
