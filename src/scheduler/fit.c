/* The formulas of NodeResourcesFit and NodeResourcesBalancedAllocation. */

#include "scheduler/fit.h"

#include <math.h>

#include "base/num.h"

Fit fit_of(const ClusterState *cluster, const PodRequest *request, bool ignores_extended) {
    const Resources *requests = &request->pod.requests;
    Fit fit = {.scored = request->scored};

    for (size_t i = 0; i < requests->n && fit.n_requests < FIT_RESOURCES_MAX; i++) {
        const Resource *item = &requests->items[i];
        size_t column = table_find_resource(cluster->table, item->name);

        if (item->amount <= 0 || (column != SIZE_MAX && column == cluster->pods))
            continue;
        if (ignores_extended && str_find(item->name, '/') != SIZE_MAX)
            continue;
        if (column == SIZE_MAX) {
            fit.unknown_resource = item->name;
            continue;
        }
        fit.requests[fit.n_requests].column = column;
        fit.requests[fit.n_requests++].amount = item->amount;
        fit.cpu = column == TABLE_CPU ? item->amount : fit.cpu;
        fit.memory = column == TABLE_MEMORY ? item->amount : fit.memory;
    }
    return fit;
}

/* 100 × left / allocatable. Above 92 PB the product overflows 64 bits. */
static inline int64_t share_left(int64_t requested, int64_t allocatable) {
    int64_t left, scaled;

    if (requested > allocatable || __builtin_sub_overflow(allocatable, requested, &left))
        return 0;
    if (__builtin_mul_overflow(left, SCORE_BEST, &scaled))
        return (int64_t)((__int128)left * SCORE_BEST / allocatable);
    return scaled / allocatable;
}

int64_t least_allocated_score(const int64_t *requested, const int64_t *allocatable, size_t n) {
    int64_t score = 0, n_counted = 0;

    for (size_t i = 0; i < n; i++) {
        if (allocatable[i] == 0)
            continue;
        score += share_left(requested[i], allocatable[i]);
        n_counted++;
    }
    return n_counted == 0 ? 0 : score / n_counted;
}

int64_t fit_least_allocated(const Fit *fit, const ClusterState *cluster, uint32_t row) {
    int64_t allocatable[] = {
        cluster->allocatable[TABLE_CPU][row], cluster->allocatable[TABLE_MEMORY][row]};
    int64_t requested[] = {
        num_add_sat(cluster->nonzero_cpu[row], fit->scored.cpu),
        num_add_sat(cluster->nonzero_memory[row], fit->scored.memory),
    };

    return least_allocated_score(requested, allocatable, 2);
}

static inline double share_of(int64_t requested, int64_t allocatable) {
    double share = (double)requested / (double)allocatable;

    return share > 1 ? 1 : share;
}

/* 100 if the node has only one of the two. */
static inline int64_t evenness(const int64_t *requested, const int64_t *allocatable) {
    double deviation = 0;

    if (allocatable[0] != 0 && allocatable[1] != 0)
        deviation = fabs(
            (share_of(requested[0], allocatable[0]) - share_of(requested[1], allocatable[1])) / 2);
    return (int64_t)((1 - deviation) * SCORE_BEST);
}

int64_t balanced_score(
    const int64_t *requested_with, const int64_t *requested_without, const int64_t *allocatable) {
    int64_t with = evenness(requested_with, allocatable),
            without = evenness(requested_without, allocatable);

    return SCORE_BEST / 2 + (SCORE_BEST / 2 + with - without) / 2;
}

int64_t fit_balanced(const Fit *fit, const ClusterState *cluster, uint32_t row) {
    int64_t allocatable[] = {
        cluster->allocatable[TABLE_CPU][row], cluster->allocatable[TABLE_MEMORY][row]};
    int64_t without[] = {cluster->requested[TABLE_CPU][row], cluster->requested[TABLE_MEMORY][row]};
    int64_t with[] = {num_add_sat(without[0], fit->cpu), num_add_sat(without[1], fit->memory)};

    if (fit->cpu == 0 && fit->memory == 0)
        return 0;
    return balanced_score(with, without, allocatable);
}
