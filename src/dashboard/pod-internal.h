#pragma once

/*
 * The parts of a pod's page: page-pod.c puts them together.
 *
 *   pod-attempt.c  one attempt: what became of the nodes, reasons grouped
 *   pod-suggestions.c     the least that would have to change
 *   pod-order.c    our order of nodes, and the one that was chosen
 *   pod-node.c     why not node X
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

    View *view; /* of that time; NULL: it cannot be explained any more, because ... */
    const char *obstacle;
    Pod as_sent;
    Explanation explanation;
    Map by_name;    /* places in explanation.nodes */
    uint8_t *kinds; /* by such a place: OutcomeKind of the filter; NULL: not kept */
    Arena *scratch; /* reset again and again */

    bool has_nomination; /* berth's own, of this pod */
    NominationRecord nomination;
} PodPage;

void pod_attempt(const PodPage *page);
void pod_suggestions(const PodPage *page);
void pod_order(const PodPage *page);
void pod_node(const PodPage *page);

/* NULL: only the recorded outcome of that node is known. */
const NodeExplanation *pod_explained(const PodPage *page, Str node);

/* The outcome of @node. */
Outcome pod_outcome(const PodPage *page, Str node);

/* Where the pod went after this attempt; empty: not known. */
Str pod_chosen(const PodPage *page);

/* Which value against which limit: the rule's message, or the values it read. */
void pod_draw_why(const PodPage *page, const NodeExplanation *node, const FailedRule *failed);

/* "50.0 spread + 30.0 gpu + 7.0 cost": the parts of its score. */
void pod_draw_sum(const PodPage *page, const NodeExplanation *node);

/* "(policy busy, rule cool)", in templates. */
#define RULE_NOTE "<span class='rule'>(policy <a href='/policies'>%.*s</a>, rule %.*s)</span>"
#define RULE_FMT(policy, rule) STR_FMT(policy), STR_FMT(rule)
