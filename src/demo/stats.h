#pragma once

/*
 * PlacementStats: counts of a run, in fixed memory: durations are of the last STATS_SAMPLES calls,
 * and reasons have a limit.
 */

#include "demo/demo-scheduler.h"
#include "extender/verbs.h"

#define STATS_SAMPLES 4096u
#define STATS_REASONS_MAX 32u
#define STATS_TEXT_MAX 256u

typedef struct CallStats {
    uint64_t n;
    int64_t samples[STATS_SAMPLES]; /* nsec; the last ones, in no order */
} CallStats;

typedef struct ReasonStats {
    char text[STATS_TEXT_MAX];
    uint64_t n_nodes;
} ReasonStats;

typedef struct PlacementStats {
    uint64_t n_pods; /* without further attempts */
    uint64_t n_placed;
    uint64_t n_retries;
    uint64_t n_errors; /* attempts in which a call failed */
    CallStats calls[_VERB_MAX];
    ReasonStats reasons[STATS_REASONS_MAX];
    size_t n_reasons;
    char pending[DEMO_WORKLOADS_MAX][STATS_TEXT_MAX]; /* by workload: why its last pod was */
} PlacementStats;

void stats_add(PlacementStats *stats, const Placement *placement);

/* The @permille quantile of durations; 0 without calls. */
int64_t stats_quantile(const PlacementStats *stats, Verb verb, unsigned permille);

/* Sorts reasons by frequency. */
void stats_sort(PlacementStats *stats);
