#pragma once

/*
 * Decisions, for decisions.c and main-reasons.c only.
 *
 * A ring of decisions by id. The lock orders ids, so the kept ones are the last n without a gap,
 * and the decision with id i is at index i % max.
 */

#include <assert.h>

#include "base/thread.h"
#include "history/decisions.h"
#include "history/node-numbers.h"
#include "history/saved-views.h"

typedef struct Kept {
    PastDecision *past;
    Outcomes *outcomes;
    SavedViewEntry *saved_view; /* the inputs: both are set, */
    PodText *pod_text;          /* or neither */
} Kept;

struct Decisions {
    size_t max, bytes_max;

    pthread_mutex_t mutex; /* guards the rest */
    Kept *ring;
    size_t n;
    uint64_t next;          /* id of the next one */
    uint64_t next_outcomes; /* older decisions have no outcomes, */
    uint64_t next_inputs;   /* ... older than this no inputs, */
    uint64_t next_raw;      /* ... and older than this no raw pod */
    uint64_t next_reason;   /* find_reasons() has checked older filters */
    NodeNumbers *numbers;   /* for new decisions */
    RuleNames *rule_names;  /* for new decisions, ... */
    Program *program;       /* ... of this program: a reference, so that its address is not
                               reused */
    RowNumbers row_numbers;
    SavedViews saved_views;
    PodTexts pods;
    size_t pods_bytes;
    DecisionsFigures figures; /* bytes: without pods and saved views */
};

/* Call all functions below with the lock held. */

/* The entry of the decision with this id. */
static inline Kept *decisions_at(Decisions *decisions, uint64_t id) {
    assert(decisions->max > 0);
    return &decisions->ring[id % decisions->max];
}

/* The id of the oldest decision. */
static inline uint64_t decisions_oldest(const Decisions *decisions) {
    return decisions->next - decisions->n;
}

static inline void decisions_raise(uint64_t *id, uint64_t least) {
    *id = *id < least ? least : *id;
}

/* Returns references to all parts of a decision. */
FoundDecision decisions_take(const Kept *kept);

/* Drops decisions until the limit holds. The newest comes last, and keeps its summary. */
void decisions_make_room(Decisions *decisions);
