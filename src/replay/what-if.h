#pragma once

/*
 * WhatIf: replays recorded decisions with other policies.
 *
 * Replays every filter and prioritize it can, by the same code that serves kube-scheduler, on the
 * cluster and the metrics as they were then, and compares the results. Exact for berth's verdicts
 * and scores: with the policies that were in force every decision is equal.
 *
 * kube-scheduler's final choice is not replayed. Each decision is replayed by itself: a pod that
 * would have been placed elsewhere does not change later decisions. "Moved": the node of the pod
 * (from a Binding that berth saw or made) is rejected now, or no longer berth's best.
 *
 * Pure: the caller provides the clock. Threads: one at a time.
 */

#include "policy/program.h"
#include "replay/recording.h"

/* How a decision compares. */
typedef enum WhatIfChange {
    WHAT_IF_EQUAL,          /* the same for every node, scores included */
    WHAT_IF_NODES,          /* filter: other nodes pass, but some do before and after */
    WHAT_IF_NEWLY_REJECTED, /* filter: some node passed, now none does */
    WHAT_IF_NEWLY_PASSING,  /* filter: no node passed, now some does */
    WHAT_IF_REASONS,   /* filter: the same nodes pass; others are rejected for another reason */
    WHAT_IF_SCORES,    /* prioritize: other scores, but the same best */
    WHAT_IF_BEST,      /* prioritize: another best node */
    WHAT_IF_NOMINATED, /* filter: only the nominated node was a candidate, and it passes where it
                          was rejected or the reverse; kube-scheduler tries others if it is rejected
                        */
    WHAT_IF_SKIPPED,   /* it cannot be replayed */
    _WHAT_IF_MAX,
} WhatIfChange;

/* "equal", "nodes", "newly-rejected", … */
const char *what_if_change_name(WhatIfChange change);

/* One decision that changed. */
typedef struct WhatIfCase {
    const RecordedDecision *decision;
    WhatIfChange change;
    size_t n_before, n_after;    /* filter: nodes that passed, and that pass */
    Str best_before, best_after; /* prioritize: of equals the first by name; empty: none */
    Str rule; /* POLICY/RULE that rejects, or no longer rejects, most of the nodes that differ;
                 empty: none, scores did */
    bool was_chosen;  /* the pod got one of the decision's nodes: */
    Str chosen;       /* this node */
    bool chosen_lost; /* it would be rejected now */
} WhatIfCase;

/* The effect of one rule on all decisions. */
typedef struct WhatIfRule {
    Str policy, name;
    uint64_t n_rejected_before, n_rejected_after; /* pairs of pod and node */
    size_t n_newly_rejected; /* pods: it rejects most nodes of a newly rejected decision */
    size_t n_newly_passing;  /* pods: it rejected most nodes of a newly passing decision */
} WhatIfRule;

/* How often a node was the best. */
typedef struct WhatIfNode {
    Str name;
    size_t n_best_before, n_best_after;
} WhatIfNode;

typedef struct WhatIfReport {
    size_t n;                       /* filter and prioritize */
    size_t n_changes[_WHAT_IF_MAX]; /* by WhatIfChange; they add up to n */
    size_t n_moved;                 /* pods whose node is lost, or no longer berth's best */
    size_t n_pods;                  /* pods that these were about */
    bool is_whole; /* false: the deadline passed; decisions that were not reached are not in n */
    size_t n_unmeasured;     /* metrics of the new policies that were not polled then */
    const WhatIfCase *cases; /* all but equal and skipped ones, the newest first */
    size_t n_cases;          /* at most WHAT_IF_CASES_MAX */
    const WhatIfRule *rules; /* those that reject more or fewer nodes than before, most first */
    size_t n_rules;
    const WhatIfNode *nodes; /* nodes that were best more or less often, largest change first */
    size_t n_nodes;          /* at most WHAT_IF_NODES_MAX */
    const char *skipped_why; /* the obstacle of one that was skipped, or NULL */
} WhatIfReport;

#define WHAT_IF_CASES_MAX 1000u
#define WHAT_IF_NODES_MAX 1000u

/* Replays the newest decisions first, in case the deadline passes: the clock of @setting is called
 * repeatedly, also during a decision, which then does not count. @progress may be NULL. Strings are
 * borrowed from the recording and from @program, the rest is in @arena. 0, or -ENOMEM. */
int what_if_run(const Recording *recording, Program *program, const RestoreOptions *setting,
    void (*progress)(size_t done, size_t of), Arena *arena, WhatIfReport *ret) MUST_CHECK;

/* As JSON, for -o json and /api/v1/what-if, one object and a newline:
 *
 *   decisions, pods, moved        numbers
 *   whole                         false: the deadline passed; the oldest decisions are missing
 *   unmeasured                    metrics of the new policies that were not polled then
 *   changes                       {"equal", "nodes", "newly-rejected", "newly-passing", "reasons",
 *                                 "scores", "best", "nominated", "skipped"}: numbers of decisions
 *   skippedWhy                    why one of those was skipped; absent: none was
 *   rules[]                       policy, rule, rejectedBefore, rejectedAfter (pairs of pod and
 *                                 node), newlyRejected, newlyPassing (pods)
 *   nodes[]                       node, bestBefore, bestAfter
 *   cases[]                       id, time, verb, pod {namespace, name, uid}, change; of a filter
 *                                 passedBefore, passedAfter, rule ("POLICY/RULE" or empty); of a
 *                                 prioritize bestBefore, bestAfter (empty: none); if the pod got
 * one of the decision's nodes: chosen, chosenLost
 */
void what_if_write(const WhatIfReport *report, Buf *out);
