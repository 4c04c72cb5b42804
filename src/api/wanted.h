#pragma once

/*
 * Wanted: which decisions, or which nodes of one, a question to /api/v1/decisions is about.
 */

#include <stdbool.h>

#include "api/query.h"
#include "base/str.h"
#include "history/outcomes.h"
#include "history/past.h"

/* What a question may ask for beside the outcome of a node. */
enum {
    WANTED_ANY = _OUTCOME_MAX,
    WANTED_ERROR,
    WANTED_NONE_PASSED,
};

typedef struct Wanted {
    Str namespace, name, uid, node; /* ptr NULL: any */
    Str policy, rule;
    int verb;    /* -1: any */
    int outcome; /* an OutcomeKind, or one of the above */
} Wanted;

/* From the parameters pod, uid, node, rule, outcome and verb. False with what is wrong in
 * @error (QUERY_ERROR_MAX). */
bool wanted_read(const Query *query, Wanted *ret, char *error) MUST_CHECK;

/* The same from node, rule and outcome, of the nodes of one decision. */
bool wanted_read_nodes(const Query *query, Wanted *ret, char *error) MUST_CHECK;

/* Whether the headline is of one that is wanted. With a node the outcome of which is wanted,
 * one of those below has the last word. */
bool wanted_fits(const Wanted *wanted, const PastDecision *past);

/* Whether it is, by what became of the node. */
bool wanted_fits_outcome(const Wanted *wanted, const PastDecision *past, Outcome outcome);

/* The same for a bind, which is about one node that its headline names. */
bool wanted_fits_bind(const Wanted *wanted, const PastDecision *past);
