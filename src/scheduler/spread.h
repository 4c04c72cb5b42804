#pragma once

/*
 * Spread: the plugin PodTopologySpread with its default settings, for one pod to be placed.
 *
 * Counts come from an InterPod: by domain, or, where not all nodes count, by node, added up here.
 */

#include "scheduler/cluster-state.h"
#include "scheduler/forecast.h"

/* One constraint. */
typedef struct SpreadCount {
    const SpreadUse *use;
    const uint32_t *domains; /* by row */
    size_t n_domains;
    const uint32_t *counts; /* by domain; NULL: 0 in all */
    int64_t least;          /* over the domains; 0 if there are fewer than minDomains */
} SpreadCount;

typedef struct SpreadCycle {
    SpreadCount *required, *preferred;
    size_t n_required, n_preferred;
} SpreadCycle;

/* In @arena; valid until the cluster changes. 0, or -ENOMEM. */
int spread_begin(const ClusterState *cluster, const PodTerms *terms, const Forecast *forecast,
    Arena *arena, SpreadCycle *ret) MUST_CHECK;

/* REJECTION_NONE, REJECTION_SPREAD_LABEL or REJECTION_SPREAD. */
Rejection spread_filter(const SpreadCycle *cycle, uint32_t row);

/* Scores of @rows, 0 to 100; NULL: it has nothing to score. 0, or -ENOMEM. */
int spread_score(const SpreadCycle *cycle, const uint32_t *rows, size_t n, Arena *arena,
    const int64_t **ret) MUST_CHECK;
