#pragma once

/*
 * DecisionFilter: which decisions, or which nodes of one, a request to /api/v1/decisions selects.
 */

#include <stdbool.h>

#include "api/query.h"
#include "base/str.h"
#include "history/outcomes.h"
#include "history/past.h"

/* Values of "outcome" besides those of a node. */
enum {
    DECISION_FILTER_ANY = _OUTCOME_MAX,
    DECISION_FILTER_ERROR,
    DECISION_FILTER_NONE_PASSED,
};

typedef struct DecisionFilter {
    Str namespace, name, uid, node; /* ptr NULL: any */
    Str policy, rule;
    int verb;    /* -1: any */
    int outcome; /* an OutcomeKind, or one of the above */
} DecisionFilter;

/* From the parameters pod, uid, node, rule, outcome and verb. False with what is wrong in
 * @error (QUERY_ERROR_MAX). */
bool decision_filter_read(const Query *query, DecisionFilter *ret, char *error) MUST_CHECK;

/* The same from node, rule and outcome, of the nodes of one decision. */
bool decision_filter_read_nodes(const Query *query, DecisionFilter *ret, char *error) MUST_CHECK;

/* Whether the headline is of one that is filter. With a node the outcome of which is filter,
 * one of those below has the last word. */
bool decision_filter_matches(const DecisionFilter *filter, const PastDecision *past);

/* Whether it is, by what became of the node. */
bool decision_filter_matches_outcome(
    const DecisionFilter *filter, const PastDecision *past, Outcome outcome);

/* The same for a bind, which is about one node that its headline names. */
bool decision_filter_matches_bind(const DecisionFilter *filter, const PastDecision *past);
