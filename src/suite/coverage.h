#pragma once

/*
 * Coverage: the rules of all policies that were tested, and which effects of each the cases showed.
 *
 * A filter is exercised if it rejects a node in one case and passes a node in one; a score if it
 * gives two nodes of a case different values. Not counted: scores in mode Observe, which are never
 * evaluated, and policies that are written in a case, which nothing else uses.
 */

#include "base/vec.h"
#include "suite/suite.h"

typedef struct CoveredRule {
    Str real; /* the file of its policy, without links and "..": two paths may name one file */
    Str policy, rule;
    bool is_score;
    bool is_applied;      /* its policy applies to the pod of a case */
    bool passes, rejects; /* a filter */
    bool differs;         /* a score: between nodes of a case */
} CoveredRule;

typedef struct Coverage {
    Arena *arena; /* owns all of it */
    VEC(CoveredRule) rules;
} Coverage;

/* A SuiteVisit: adds the rules of all policies of the decision to @coverage, a Coverage, and notes
 * their effects. 0, or -ENOMEM. */
int coverage_note(void *coverage, const SuiteDecision *decision) MUST_CHECK;

/* The effect of the rule that no case shows: "never rejects a node"; NULL: it is exercised. */
const char *coverage_gap(const CoveredRule *rule);
