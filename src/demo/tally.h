#pragma once

/*
 * Tally: what the placements of a run amount to.
 *
 * A run may go on for days, so nothing here grows: durations are of the last
 * TALLY_SAMPLES calls, reasons and workloads beyond the ceilings are not told
 * apart.
 */

#include <stddef.h>
#include <stdint.h>

#include "demo/driver.h"
#include "extender/verbs.h"

#define TALLY_SAMPLES 4096u
#define TALLY_REASONS_MAX 32u
#define TALLY_WORKLOADS_MAX 16u
#define TALLY_TEXT_MAX 256u

typedef struct CallTally {
    uint64_t n;
    int64_t samples[TALLY_SAMPLES]; /* nsec; the last ones, in no order */
} CallTally;

typedef struct ReasonTally {
    char text[TALLY_TEXT_MAX];
    uint64_t n_nodes;
} ReasonTally;

/* Pods of a workload that found no node and still have none. */
typedef struct PendingTally {
    const Workload *workload;
    size_t n;
    char why[TALLY_TEXT_MAX]; /* of the last one */
} PendingTally;

typedef struct Tally {
    uint64_t n_pods; /* new ones; further attempts do not count */
    uint64_t n_placed;
    uint64_t n_retries;
    uint64_t n_errors; /* attempts in which a call went wrong */
    CallTally calls[_VERB_MAX];
    ReasonTally reasons[TALLY_REASONS_MAX];
    size_t n_reasons;
    PendingTally pending[TALLY_WORKLOADS_MAX];
    size_t n_pending;
} Tally;

void tally_add(Tally *tally, const Placement *placement);

/* The duration that @permille of 1,000 calls do not exceed; 0 without calls. */
int64_t tally_quantile(const Tally *tally, Verb verb, unsigned permille);

/* Puts what is most frequent first. */
void tally_sort(Tally *tally);
