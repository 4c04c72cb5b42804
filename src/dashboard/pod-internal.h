#pragma once

/*
 * The parts of a pod's page: page-pod.c puts them together.
 *
 *   pod-attempt.c      one attempt: the outcomes of nodes, reasons grouped
 *   pod-suggestions.c  the smallest change that would make a node eligible
 *   pod-order.c        nodes by berth's score, and the chosen one
 *   pod-node.c         why not another node
 *
 * The record of an attempt has the rule that rejected each node. Values, limits and score parts are
 * computed again from its recorded inputs (replay/replayed-decision.h), while these are kept.
 */

#include "base/map.h"
#include "dashboard/dashboard.h"
#include "dashboard/page-parts.h"
#include "dashboard/widgets.h"
#include "extender/explain.h"
#include "history/pods-summary.h"

#define REASONS_MAX 240u /* of one attempt */

typedef struct PodPage {
    const PageContext *context;
    Html *html;
    Str namespace, name;
    Str node;       /* "why not this one?"; empty: not given */
    bool is_pinned; /* the attempt was selected by its id or its time; else it is the newest */

    const PodSummary *pod;
    const PodAttempt *attempt;
    size_t number;              /* of the attempt, from 1: the oldest that is kept */
    const PastDecision *filter; /* of the attempt; NULL: not kept */
    const Outcomes *outcomes;   /* of the filter; NULL: not kept */
    const Str *names;           /* by number - 1; NULL: there are no outcomes */

    View *view; /* of that time; NULL: the attempt can no longer be explained, because of ... */
    const char *obstacle;
    Pod as_sent;
    Explanation explanation;
    Map by_name;    /* indexes of explanation.nodes */
    uint8_t *kinds; /* by the same index: OutcomeKind of the filter; NULL: not kept */
    Arena *scratch; /* each user resets it */

    bool has_nomination; /* berth's own, of this pod */
    NominationRecord nomination;
} PodPage;

void pod_attempt(const PodPage *page);
void pod_suggestions(const PodPage *page);
void pod_order(const PodPage *page);
void pod_node(const PodPage *page);

/* The explanation of @node; NULL: only its recorded outcome is known. */
const NodeExplanation *pod_explained(const PodPage *page, Str node);

/* The outcome of @node. */
Outcome pod_outcome(const PodPage *page, Str node);

/* The node of the pod after this attempt; empty: not known. */
Str pod_chosen(const PodPage *page);

/* Draws why @node fails a rule: the rule's message, or the values it read. */
void pod_draw_why(const PodPage *page, const NodeExplanation *node, const FailedRule *failed);

/* Draws the parts of the node's score: "50.0 spread + 30.0 gpu + 7.0 cost". */
void pod_draw_sum(const PodPage *page, const NodeExplanation *node);

/* "(policy busy, rule cool)", in templates. */
#define RULE_NOTE "<span class='rule'>(policy <a href='/policies'>%.*s</a>, rule %.*s)</span>"
#define RULE_FMT(policy, rule) STR_FMT(policy), STR_FMT(rule)
