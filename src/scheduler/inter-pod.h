#pragma once

/*
 * InterPod: the plugin InterPodAffinity, with its default settings.
 *
 * For each term of a TermIndex it counts, by domain, the running pods that the term selects and the
 * running pods that have the term. Counts change with each pod that is placed or ends; a cycle only
 * reads them: for a node one number for each term that the pod has or that selects it.
 */

#include "scheduler/term-index.h"

/* Arrays by domain; NULL until the first pod that counts there. */
typedef struct TermCounts {
    uint32_t *selected; /* running pods that the term selects */
    uint32_t *repels;   /* pods with it as a required anti-affinity */
    int64_t *weights;   /* sums over pods that have it in another role */
    size_t n_selected, n_repels, n_weighted;
} TermCounts;

typedef struct InterPod {
    Arena *arena;
    const TermIndex *index;
    TermCounts *terms; /* by number */
} InterPod;

/* Makes counts without pods, in @arena. Borrows @index, which must be settled. 0, or -ENOMEM. */
int inter_pod_new(const TermIndex *index, Arena *arena, InterPod **ret) MUST_CHECK;

/* Counts a pod on the node of @row. 0, or -ENOMEM. */
int inter_pod_add(InterPod *state, uint32_t row, const PodTerms *terms) MUST_CHECK;
/* The pod must have been added to this row. */
void inter_pod_remove(InterPod *state, uint32_t row, const PodTerms *terms);

/* The counts of one term, as a cycle reads them. */
typedef struct InterPodCount {
    const uint32_t *domains; /* by row */
    const uint32_t *counts;  /* by domain; NULL: 0 in all */
    const int64_t *weights;  /* by domain: sums of weights; NULL: counts × weight */
    int64_t weight;          /* of each counted pod */
} InterPodCount;

typedef struct InterPodCounts {
    InterPodCount *items;
    size_t n;
} InterPodCounts;

/* One pod to be placed. */
typedef struct InterPodCycle {
    InterPodCounts affinity; /* each must be above 0 */
    bool is_first;           /* no pod is selected yet, and it selects itself: it may go anywhere */
    InterPodCounts anti;     /* each must be 0 */
    InterPodCounts existing; /* running pods with anti-affinity to this one: each must be 0 */
    InterPodCounts scores;
} InterPodCycle;

/* Collects the counts for a pod in @arena; valid until the next pod is added or removed. @state
 * NULL: no pod has terms. 0, or -ENOMEM. */
int inter_pod_begin(const InterPod *state, const PodTerms *terms, Arena *arena, InterPodCycle *ret)
    MUST_CHECK;

/* Whether the cycle has anything to filter. */
static inline bool inter_pod_filters(const InterPodCycle *cycle) {
    return cycle->affinity.n + cycle->anti.n + cycle->existing.n > 0;
}

/* REJECTION_NONE, or one of the three by pod affinity. */
Rejection inter_pod_filter(const InterPodCycle *cycle, uint32_t row);

/* The sum of weights, not yet scaled: any number. */
int64_t inter_pod_score(const InterPodCycle *cycle, uint32_t row);
