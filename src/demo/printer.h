#pragma once

/*
 * DemoPrinter: the output of the demo: a line per placement, explanations for new users, on a
 * terminal a status line, and a summary.
 */

#include "base/diag.h"
#include "demo/environment.h"

/* Counts of a run, in fixed memory: durations are of the last STATS_SAMPLES calls, and reasons have
 * a limit. */
#define STATS_SAMPLES 4096u
#define STATS_REASONS_MAX 32u
#define STATS_TEXT_MAX 256u

typedef struct CallStats {
    uint64_t n;
    int64_t samples[STATS_SAMPLES]; /* nsec; the last ones, in no order */
} CallStats;

typedef struct PlacementStats {
    uint64_t n_pods; /* first attempts */
    uint64_t n_placed;
    uint64_t n_retries;
    uint64_t n_errors; /* attempts in which a call failed */
    CallStats calls[_VERB_MAX];
    NodeReason reasons[STATS_REASONS_MAX];
    size_t n_reasons;
    char texts[STATS_REASONS_MAX][STATS_TEXT_MAX]; /* of the reasons */
    /* By number of the workload: why its last pod was pending. */
    char pending[DEMO_WORKLOADS_MAX][STATS_TEXT_MAX];
} PlacementStats;

void stats_add(PlacementStats *stats, const Placement *placement);

/* The @permille quantile of durations; 0 without calls. */
int64_t stats_quantile(const PlacementStats *stats, Verb verb, unsigned permille);

typedef struct DemoPrinter {
    DemoEnvironment *env;
    const Program *rules; /* in force */
    PlacementStats stats;
    size_t n_shown; /* placements since the last heading */

    /* Each kind of placement is explained once. */
    bool has_placed, has_retried, has_suggested;
    const Workload *pending[2]; /* workloads whose pending pods were explained */
    size_t n_pending;
    size_t n_attempts;  /* so far */
    char explained[64]; /* "NAMESPACE/NAME" of the last pod without a node; else of the first pod */
} DemoPrinter;

void printer_start(DemoPrinter *printer);

/* Counts and prints an attempt, and the status line. True: there is a text to read. */
bool printer_placement(DemoPrinter *printer, const Placement *placement);

/* The policy was edited: it is in force, or has errors. */
void printer_reload(DemoPrinter *printer);
void printer_refusal(DemoPrinter *printer, const DiagList *diags);

/* The summary. */
void printer_end(DemoPrinter *printer);
