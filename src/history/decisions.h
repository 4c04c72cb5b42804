#pragma once

/*
 * Decisions: the history of answered verbs, and the inputs needed to replay them.
 *
 * Each answer has a summary (history/past.h) and the outcome of each node (history/outcomes.h).
 * Filter and prioritize also have inputs: the pod (history/pod-text.h) and the saved view, with
 * everything else that the answer depended on (replay/saved-view.h). A fixed number of summaries is
 * kept, and outcomes and inputs as long as everything fits into a limit of bytes. Above it the
 * oldest are dropped, in this order:
 *
 *   1. inputs, while they take more than half of the limit: such decisions can no longer be
 *      explained in full or replayed, but the rule that rejected a node is still known;
 *   2. outcomes, while there are any, then the rest of the inputs;
 *   3. summaries, but never the newest.
 *
 * Memory: a filter over 5,000 nodes takes about 5 KB, 15 KB if it narrows; a prioritize 10 KB; a
 * pod its text, once for adjacent decisions about it; a saved view 5 to 12 KB for each 64 nodes of
 * which one changed until the next view. The newest view shares its memory with the view in force.
 * Node names are kept once (history/node-numbers.h), rule names once for each program
 * (history/past.h); the limit includes both, and the programs of saved views, at most
 * SAVED_VIEWS_PROGRAMS_MAX (history/saved-views.h).
 *
 * Threads: any. One lock, held while an answer is added (some microseconds; a walk over all saved
 * views when a new program evicts another) and while references are taken; reading needs no lock.
 */

#include "extender/verbs.h"
#include "extender/view.h"
#include "history/outcomes.h"
#include "history/past.h"
#include "history/pod-text.h"
#include "history/recent-pods.h"
#include "replay/saved-view.h"

#define DECISIONS_DEFAULT 20000u /* 1 hour at 5 a second */
#define DECISIONS_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)
#define DECISIONS_MAX 1000000u

typedef struct Decisions Decisions;

/* Keeps @max decisions (1 to DECISIONS_MAX) within @bytes_max bytes. NULL when out of memory. */
Decisions *decisions_new(size_t max, size_t bytes_max);
Decisions *decisions_free(Decisions *decisions); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Decisions *, decisions_free)

/* Adds an answer from @view. times.at_nsec: when rules were evaluated. @decisions NULL: none are
 * kept. */
void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times);

/* Adds a decision of an earlier process, before the first decisions_note(). Takes @past and
 * @outcomes (may be NULL). The first one keeps its id; later ones get the next ids, without
 * gaps. */
void decisions_restore(Decisions *decisions, PastDecision *past, Outcomes *outcomes);

/* A decision with references to its parts; found_done() releases them. */
typedef struct FoundDecision {
    PastDecision *past;
    Outcomes *outcomes;    /* NULL: dropped, or there were none */
    SavedView *saved_view; /* NULL: the same */
    PodText *pod_text;     /* NULL: the same */
} FoundDecision;

void found_done(FoundDecision *found); /* takes a zeroed one */

/* Finds up to @n decisions with an id below @below (0: any), newest first. Returns their number. */
size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n);

/* A walk over the decisions with an id below @below (0: any), newest first. It takes a few
 * references at a time, because decisions wait for the lock. Zero the other fields. */
#define DECISIONS_AT_ONCE 64u
typedef struct DecisionsWalk {
    Decisions *decisions; /* NULL: there are none */
    uint64_t below;
    FoundDecision some[DECISIONS_AT_ONCE]; /* references not returned yet */
    size_t n, next;
    const NodeNumbers *numbers; /* number is for these: most decisions share one */
    uint32_t number;
} DecisionsWalk;

/* Returns the next decision, a reference for the caller. False: there are no more. */
bool decisions_next(DecisionsWalk *walk, FoundDecision *ret);
void decisions_walk_done(DecisionsWalk *walk);

/* Returns the outcome of @node, the same node in each call, in @outcomes of the last decision. */
Outcome decisions_walk_outcome(DecisionsWalk *walk, const Outcomes *outcomes, Str node);

/* Finds the decision with this id; references for the caller. False: it is not kept. */
bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret);

/* The number of @node for @outcomes; NODE_NUMBER_NONE: it has no entry. */
uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node);

/* The names for the numbers of @outcomes: number n is [n - 1]. The names live as long as @outcomes,
 * the array as long as @arena. NULL when out of memory. */
const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena);

/* The candidate nodes as rows of @table, in @arena, without nodes that @table lacks. NULL when out
 * of memory. */
const uint32_t *decisions_rows(Decisions *decisions, const Outcomes *outcomes,
    const NodeTable *table, Arena *arena, size_t *ret_n);

/*
 * Reduces raw pods to the fields that policies can read. Call it about four times a second, not on
 * a worker thread: raw pods contain secrets (environment values, arguments, volumes), which no
 * explanation or replay needs. The raw text is wiped with its last reference. Handles at most
 * REMOVE_SECRETS_MAX decisions, for about REMOVE_SECRETS_NSEC. @decisions may be NULL. False: there
 * are more.
 */
#define REMOVE_SECRETS_MAX 4096u
#define REMOVE_SECRETS_NSEC INT64_C(20000000)
bool decisions_remove_secrets(Decisions *decisions);

/*
 * Finds the main reason (judge/main-reason.h) of filters in which no node passed. Call it about
 * four times a second, not on a worker thread; takes about MAIN_REASONS_NSEC. Until then, and if
 * the inputs are dropped, past_main_rule() has the next best. @view is in force; @recent gets the
 * policy that keeps each pod pending. @decisions and @recent may be NULL. False: there are more.
 */
#define MAIN_REASONS_NSEC INT64_C(20000000) /* CPU time */
bool decisions_find_reasons(Decisions *decisions, const View *view, RecentPods *recent);

typedef struct DecisionsFigures {
    size_t n;                    /* kept decisions */
    size_t n_with_outcomes;      /* of these: with outcomes */
    size_t n_replayable;         /* of these: with inputs */
    size_t n_saved_views;        /* distinct saved views */
    size_t bytes;                /* everything together */
    size_t inputs_bytes;         /* of these bytes: pods, saved views and their programs */
    uint64_t oldest, newest;     /* ids; 0 when there are none */
    uint64_t n_dropped;          /* summaries dropped because of bytes, not of their number */
    uint64_t n_outcomes_dropped; /* dropped because of bytes; the summary stayed */
} DecisionsFigures;

void decisions_figures(Decisions *decisions, DecisionsFigures *ret);
