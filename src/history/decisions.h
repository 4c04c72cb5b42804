#pragma once

/*
 * Decisions: what was answered lately, per node and rule, and what it takes to answer it again.
 *
 * Every answer of a verb is remembered: a headline (history/past.h); what became of each node
 * (history/outcomes.h); and of filter and prioritize the makings: the pod as it was sent, soon what
 * policies can read of it (history/pod-text.h, history/tidy.h), and the scene, all else that the
 * answer depended on (replay/scene.h). The last so many headlines are kept, the rest as long as
 * everything together stays below a ceiling of bytes. When it does not, the oldest go, in this
 * order:
 *
 *   1. makings, while they take more than half of the ceiling: then decisions further back cannot
 *      be explained in full or replayed any more, but who rejected which node is still told;
 *   2. what became of nodes, while there is any, then the rest of the makings;
 *   3. headlines, but never the newest.
 *
 *   a filter over 5,000 nodes takes about 5 KB, 15 KB where it narrows, a prioritize over as
 *   many 10 KB; a pod its text, once for neighbouring decisions about it;
 *   a scene takes what changed until the next one, 5 to 12 KB for each 64 nodes of which one did;
 *   the newest, which is in force anyway, next to nothing;
 *   names of nodes are kept once (history/roll.h), names of rules once a policy
 *   (history/rulebook.h), and both are part of the count; so are the programs of scenes, of which
 *   there are at most SCENES_PROGRAMS_MAX (history/scenes.h): older scenes are without theirs.
 *
 * Threads: any. One lock, held while an answer is written down (some microseconds; when that is the
 * first of a program which makes another one go, a walk over all scenes) and while references to
 * old ones are taken; reading happens without it.
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
#include "replay/scene.h"

#define DECISIONS_DEFAULT 10000u
#define DECISIONS_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)
#define DECISIONS_MAX 1000000u

typedef struct Decisions Decisions;

/* Keeps @max decisions (1 to DECISIONS_MAX) in @bytes_max. NULL when out of memory. */
Decisions *decisions_new(size_t max, size_t bytes_max);
Decisions *decisions_free(Decisions *decisions); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Decisions *, decisions_free)

/* A verb has been answered from @view. times.at_nsec is the time that rules were told. @decisions
 * NULL: none are kept. */
void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times);

/* One that was found; all are references, to be given back with found_done(). */
typedef struct FoundDecision {
    PastDecision *past;
    Outcomes *outcomes; /* NULL: not kept any more, or there were none */
    Scene *scene;       /* NULL: the same */
    PodText *pod_text;  /* NULL: the same */
} FoundDecision;

void found_done(FoundDecision *found); /* takes a zeroed one */

/* Up to @n of those with an id below @below, the newest first; 0: of all. Returns how many. */
size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n);

/* The same without the details, for who walks over all of them: references to headlines, to be
 * given back with past_unref(). */
size_t decisions_headlines(Decisions *decisions, uint64_t below, PastDecision **ret, size_t n);

/* The one with this id. False: it is not kept, or never was. */
bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret);

/* The number of @node for @outcomes, or ROLL_NONE: it has no entry. */
uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node);

/* The names behind the numbers of @outcomes: number n is [n - 1]. They live as long as it is
 * referenced, the array as long as @arena. NULL when out of memory. */
const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena);

/* A pod as it was sent, and the decision that has it. */
typedef struct RawPod {
    uint64_t id;
    PodText *text; /* a reference */
} RawPod;

/* Up to @n of the oldest decisions whose pod is still as it was sent. Returns how many. */
size_t decisions_raw(Decisions *decisions, RawPod *ret, size_t n);

/* What takes the place of these: @reduced[i], borrowed, of @pods[i]; NULL: nothing does, and the
 * decision cannot be made again. Where a decision has another text by now, or none, it stays so. */
void decisions_reduce(Decisions *decisions, const RawPod *pods, PodText *const *reduced, size_t n);

typedef struct DecisionsFigures {
    size_t n;                /* kept */
    size_t n_with_outcomes;  /* of these: also what became of the nodes */
    size_t n_with_makings;   /* of these: scene and pod, too: they can be made again */
    size_t n_scenes;         /* distinct ones */
    size_t bytes;            /* everything together */
    size_t makings_bytes;    /* of these: pods, scenes and their programs */
    uint64_t oldest, newest; /* ids; 0 when there are none */
    uint64_t n_dropped;      /* headlines dropped for bytes, before there were too many */
    uint64_t
        n_outcomes_dropped; /* what became of nodes, dropped for room while the headline stayed */
} DecisionsFigures;

void decisions_figures(Decisions *decisions, DecisionsFigures *ret);
