#pragma once

/*
 * Decisions: what was answered lately, per node and rule.
 *
 * Every answer of a verb is remembered: a headline (serve/past.h), and what became of each
 * node (serve/outcomes.h). The last so many headlines are kept; what became of the nodes is
 * kept as long as everything together stays below a ceiling of bytes, and goes first, the
 * oldest before the others. Should headlines alone be over the ceiling, they go too.
 *
 *   a filter over 5,000 nodes takes about 5 KB, 15 KB where it narrows, a prioritize over as
 *   many 10 KB;
 *   names of nodes are kept once (serve/roll.h), names of rules once a policy
 *   (serve/rulebook.h), and both are part of the count.
 *
 * Threads: any. One lock, held while an answer is written down (some microseconds) and
 * while references to old ones are taken; reading happens without it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "serve/outcomes.h"
#include "serve/past.h"

#define DECISIONS_DEFAULT 10000u
#define DECISIONS_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)
#define DECISIONS_MAX 1000000u

typedef struct Decisions Decisions;

/* Keeps @max decisions (1 to DECISIONS_MAX) in @bytes_max. NULL when out of memory. */
Decisions *decisions_new(size_t max, size_t bytes_max);
Decisions *decisions_free(Decisions *decisions); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Decisions *, decisions_free)

/* A verb has been answered from @view. @decisions NULL: none are kept. */
void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times);

/* One that was found; both are references, to be given back with found_done(). */
typedef struct FoundDecision {
    PastDecision *past;
    Outcomes *outcomes; /* NULL: not kept any more, or there were none */
} FoundDecision;

void found_done(FoundDecision *found);

/* Up to @n of those with an id below @below, the newest first; 0: of all. Returns how many. */
size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n);

/* The one with this id. False: it is not kept, or never was. */
bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret);

/* The number of @node for @outcomes, or ROLL_NONE: it has no entry. */
uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node);

/* The names behind the numbers of @outcomes: number n is [n - 1]. They live as long as it is
 * referenced, the array as long as @arena. NULL when out of memory. */
const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena);

typedef struct DecisionsFigures {
    size_t n;                /* kept */
    size_t n_with_outcomes;  /* of these: also what became of the nodes */
    size_t bytes;            /* everything together */
    uint64_t oldest, newest; /* ids; 0 when there are none */
    uint64_t n_dropped;      /* headlines dropped for bytes, before there were too many */
    uint64_t
        n_outcomes_dropped; /* what became of nodes, dropped for room while the headline stayed */
} DecisionsFigures;

void decisions_figures(Decisions *decisions, DecisionsFigures *ret);
