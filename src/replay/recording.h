#pragma once

/*
 * Recording: past decisions, with everything needed to replay them.
 *
 * The history of a daemon (history/decisions.h) or of a bundle (bundle/bundle.h) in one form,
 * oldest first, for what-if and later explanations. Everything is in an arena of the caller, except
 * saved views, which are references: recording_done().
 *
 * Pure. Threads: read from any.
 */

#include "base/digest.h"
#include "extender/verbs.h"
#include "replay/saved-view.h"

/* The outcome of a node. */
typedef enum OutcomeKind {
    OUTCOME_NOT_ASKED, /* the request did not name it: not in a recording */
    OUTCOME_PASSED,
    OUTCOME_REJECTED,
    OUTCOME_UNKNOWN,  /* berth did not know the node */
    OUTCOME_NARROWED, /* passed, but narrowing did not return it */
    OUTCOME_LATE,     /* not evaluated before the deadline, so rejected */
    OUTCOME_SCORED,   /* prioritize */
    _OUTCOME_MAX,
} OutcomeKind;

#define RECORDED_NO_RULE UINT16_MAX
#define RECORDED_NO_SCORE UINT8_MAX

typedef struct RecordedNode {
    uint32_t name; /* an index into Recording.names */
    uint16_t rule; /* an index into RecordedDecision.rules; RECORDED_NO_RULE: none, or not known */
    uint8_t kind;  /* OutcomeKind */
    uint8_t score; /* as it went over the wire; RECORDED_NO_SCORE: none */
} RecordedNode;

typedef struct RecordedRule {
    Str policy, name, reason;
} RecordedRule;

typedef struct RecordedDecision {
    uint64_t id;
    Verb verb;
    int64_t now_nsec;      /* since 1970: the time that rules were evaluated at */
    int64_t duration_nsec; /* -1: not known */
    Str pod_namespace, pod_name, pod_uid;
    Str target;                  /* bind: the node */
    Str error;                   /* the error, or empty */
    Digest policy;               /* of the program that decided */
    Str pod_text;                /* JSON: the pod as it was sent; ptr NULL: not kept any more */
    const SavedView *saved_view; /* one of the recording's; NULL: not kept any more */
    bool had_names; /* the request named nodes; else it carried Node objects: no replay */
    bool is_late;   /* the deadline passed for some nodes: no replay can be exact */
    bool is_exempt;
    size_t n_in, n_out;
    const RecordedNode *nodes; /* the candidates, in the order of berth's names, not that of the
                                  request; NULL: not kept any more */
    size_t n_nodes;
    const RecordedRule *rules; /* those that rejected one of its nodes */
    size_t n_rules;
} RecordedDecision;

typedef struct Recording {
    const RecordedDecision *decisions; /* oldest first */
    size_t n;
    const Str *names; /* of nodes */
    size_t n_names;
    SavedView **saved_views; /* references, oldest first */
    size_t n_saved_views;
} Recording;

/* Releases the saved views. @recording may be zeroed. */
void recording_done(Recording *recording);

/* Merges @n recordings by time, as if one berth had made all decisions; ids may then repeat. Takes
 * its own references to saved views; the rest is borrowed from @parts, or in @arena. 0, or
 * -ENOMEM. */
int recording_merge(const Recording *parts, size_t n, Arena *arena, Recording *ret) MUST_CHECK;

/* Why @decision cannot be replayed, as a text for users; NULL: it can. */
const char *recorded_obstacle(const RecordedDecision *decision);

static inline bool recorded_is_filter_or_score(const RecordedDecision *decision) {
    return decision->verb == VERB_FILTER || decision->verb == VERB_PRIORITIZE;
}

/* Returns @decision's nodes in recorded_request()'s order: narrowed nodes after the others.
 * Among nodes of equal score narrowing returns the first of the request (judge/narrow.c), so this
 * order returns the same nodes again. In @arena; NULL when out of memory. */
const RecordedNode **recorded_order(const RecordedDecision *decision, Arena *arena);

/* The request as kube-scheduler may have sent it, {"Pod":…,"NodeNames":[…]}, in @arena: the same
 * nodes, in another order. ptr NULL when out of memory. For filter and prioritize that have no
 * obstacle. */
Str recorded_request(const Recording *recording, const RecordedDecision *decision, Arena *arena);
