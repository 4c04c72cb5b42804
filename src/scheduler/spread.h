#pragma once

/*
 * Spread: the plugin PodTopologySpread with its default settings, for one pod to be placed.
 *
 * Counts come from an InterPod: by domain, or by node and added up here if only some nodes count.
 */

#include "scheduler/cluster-state.h"
#include "scheduler/forecast.h"

/* One constraint. */
typedef struct SpreadCount {
    const SpreadUse *use;
    const uint32_t *domains; /* by row */
    size_t n_domains;
    const uint32_t *counts; /* by domain; NULL: 0 in all */
    int64_t least;          /* the smallest count; 0 with fewer domains than minDomains */
} SpreadCount;

typedef struct SpreadCycle {
    SpreadCount *required, *preferred;
    size_t n_required, n_preferred;
} SpreadCycle;

/* Counts pods by domain, in @arena; valid until the cluster changes. 0, or -ENOMEM. */
int spread_begin(const ClusterState *cluster, const PodTerms *terms, const Forecast *forecast,
    Arena *arena, SpreadCycle *ret) MUST_CHECK;

/* REJECTION_NONE, REJECTION_SPREAD_LABEL or REJECTION_SPREAD. */
Rejection spread_filter(const SpreadCycle *cycle, uint32_t row);

/* Sets scores of @rows, 0 to 100, in @arena; NULL: no constraint to score. 0, or -ENOMEM. */
int spread_score(const SpreadCycle *cycle, const uint32_t *rows, size_t n, Arena *arena,
    const int64_t **ret) MUST_CHECK;
