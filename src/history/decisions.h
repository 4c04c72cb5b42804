#pragma once

/*
 * Decisions: the history of answered verbs, and what it takes to replay them.
 *
 * Of every answer a headline is kept (history/past.h) and the outcome of each node
 * (history/outcomes.h); of filter and prioritize also the inputs: the pod (history/pod-text.h) and
 * the saved view, everything else that the answer depended on (replay/saved-view.h). The last so
 * many headlines are kept, the rest as long as all together stay below a ceiling of bytes. Above it
 * the oldest are dropped, in this order:
 *
 *   1. inputs, while they take more than half of the ceiling: such decisions cannot be explained in
 *      full or replayed any more, but the rule that rejected a node is still known;
 *   2. outcomes, while there are any, then the rest of the inputs;
 *   3. headlines, but never the newest.
 *
 *   a filter over 5,000 nodes takes about 5 KB, 15 KB where it narrows, a prioritize over as
 *   many 10 KB; a pod its text, once for neighbouring decisions about it;
 *   a saved view takes what changed until the next one, 5 to 12 KB for each 64 nodes of which one
 *   did; the newest, which is in force anyway, next to nothing;
 *   names of nodes are kept once (history/node-numbers.h), names of rules once a program
 *   (history/rule-names.h), and both are counted; so are the programs of saved views, of which
 * there are at most SAVED_VIEWS_PROGRAMS_MAX (history/saved-views.h).
 *
 * Threads: any. One lock, held while an answer is kept (some microseconds; when that is the first
 * of a program which makes another one go, a walk over all saved views) and while references to old
 * ones are taken; reading happens without it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "history/outcomes.h"
#include "history/past.h"
#include "history/pod-text.h"
#include "replay/saved-view.h"

#define DECISIONS_DEFAULT 10000u
#define DECISIONS_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)
#define DECISIONS_MAX 1000000u

typedef struct Decisions Decisions;

/* Keeps @max decisions (1 to DECISIONS_MAX) in @bytes_max. NULL when out of memory. */
Decisions *decisions_new(size_t max, size_t bytes_max);
Decisions *decisions_free(Decisions *decisions); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Decisions *, decisions_free)

/* A verb has been answered from @view. times.at_nsec is the time that rules were evaluated at.
 * @decisions NULL: none are kept. */
void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times);

/* One that was found; all are references, to be given back with found_done(). */
typedef struct FoundDecision {
    PastDecision *past;
    Outcomes *outcomes;    /* NULL: not kept any more, or there were none */
    SavedView *saved_view; /* NULL: the same */
    PodText *pod_text;     /* NULL: the same */
} FoundDecision;

void found_done(FoundDecision *found); /* takes a zeroed one */

/* Up to @n decisions with an id below @below (0: any), the newest first. Returns how many. */
size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n);

/* The one with this id. False: it is not kept, or never was. */
bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret);

/* The number of @node for @outcomes, or NODE_NUMBER_NONE: it has no entry. */
uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node);

/* The names for the numbers of @outcomes: number n is [n - 1]. They live as long as it is
 * referenced, the array as long as @arena. NULL when out of memory. */
const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena);

/*
 * Replaces pods as they were sent by what policies can read of them, on another thread than the
 * workers, about four times a second: a pod as it was sent has secrets in it (environment values,
 * arguments, volumes), and no decision needs them to be explained or replayed. The text as it was
 * sent is wiped with its last reference. At most REMOVE_SECRETS_MAX decisions, for about
 * REMOVE_SECRETS_NSEC. @decisions may be NULL. False: there are more.
 */
#define REMOVE_SECRETS_MAX 4096u
#define REMOVE_SECRETS_NSEC INT64_C(20000000)
bool decisions_remove_secrets(Decisions *decisions);

typedef struct DecisionsFigures {
    size_t n;                    /* kept */
    size_t n_with_outcomes;      /* of these: with outcomes */
    size_t n_replayable;         /* of these: with inputs */
    size_t n_saved_views;        /* distinct ones */
    size_t bytes;                /* everything together */
    size_t inputs_bytes;         /* of these: pods, saved views and their programs */
    uint64_t oldest, newest;     /* ids; 0 when there are none */
    uint64_t n_dropped;          /* headlines dropped for bytes, before there were too many */
    uint64_t n_outcomes_dropped; /* dropped for bytes while the headline stayed */
} DecisionsFigures;

void decisions_figures(Decisions *decisions, DecisionsFigures *ret);
