#pragma once

/*
 * DecisionFilter: which decisions, or which nodes of one, a request to /api/v1/decisions selects.
 */

#include "api/query.h"
#include "history/outcomes.h"
#include "history/past.h"

/* Values of "outcome" other than those of a node. */
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

/* From the parameters pod, uid, node, rule, outcome and verb. False with the error in @error
 * (QUERY_ERROR_MAX). */
bool decision_filter_read(const Query *query, DecisionFilter *ret, char *error) MUST_CHECK;

/* The same from node, rule and outcome, of the nodes of one decision. */
bool decision_filter_read_nodes(const Query *query, DecisionFilter *ret, char *error) MUST_CHECK;

/* Whether the decision may match, by its summary. If the filter is by outcome of a node, one of the
 * functions below decides. */
bool decision_filter_matches(const DecisionFilter *filter, const PastDecision *past);

/* Whether it matches, by the outcome of the node. */
bool decision_filter_matches_outcome(
    const DecisionFilter *filter, const PastDecision *past, Outcome outcome);

/* The same for a bind, which is about one node that its headline names. */
bool decision_filter_matches_bind(const DecisionFilter *filter, const PastDecision *past);
