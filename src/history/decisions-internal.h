#pragma once

/*
 * Decisions, for decisions.c and main-reasons.c only.
 *
 * A ring of decisions by id. Ids are handed out under the lock, so the kept ones are the last n
 * without a gap, and the decision with id i is at i % max.
 */

#include <assert.h>

#include "base/thread.h"
#include "history/decisions.h"
#include "history/node-numbers.h"
#include "history/saved-views.h"

typedef struct Kept {
    PastDecision *past;
    Outcomes *outcomes;
    SavedViewEntry *saved_view; /* the inputs: both, */
    PodText *pod_text;          /* or neither */
} Kept;

struct Decisions {
    size_t max, bytes_max;

    pthread_mutex_t mutex; /* guards the rest */
    Kept *ring;
    size_t n;
    uint64_t next;          /* id of the next one */
    uint64_t next_outcomes; /* all that are older have no outcomes; */
    uint64_t next_inputs;   /* and these no inputs, */
    uint64_t next_raw;      /* or none with a pod as it was sent */
    uint64_t next_reason;   /* filters that are older have been looked at for their main reason */
    NodeNumbers *numbers;   /* the current ones */
    RuleNames *rule_names;  /* the current ones, ... */
    Program *program;       /* ... of this program: a reference, for its address */
    RowNumbers row_numbers;
    SavedViews saved_views;
    PodTexts pods;
    size_t pods_bytes;
    DecisionsFigures figures; /* bytes: all but those of pods and saved views */
};

/* All with the lock held. */

/* The place of the decision with this id. */
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

/* References to everything of a decision. */
FoundDecision decisions_take(const Kept *kept);

/* Back below the ceiling; the newest decision goes last, and its headline stays. */
void decisions_make_room(Decisions *decisions);
