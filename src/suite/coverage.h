#pragma once

/*
 * Coverage: the rules of all policies that were tested, and what the cases showed of each.
 *
 * A filter is exercised if it rejects a node in one case and passes a node in one; a score if it
 * gives two nodes of a case different values. Scores in mode Observe are never evaluated, and are
 * not here; nor are policies that are written in a case, which nothing else uses.
 */

#include "base/vec.h"
#include "suite/suite.h"

typedef struct CoveredRule {
    Str real; /* the file of its policy, without links and "..": two paths may name one file */
    Str policy, rule;
    bool is_score;
    bool is_applied;        /* its policy is for the pod of a case */
    bool passes, rejects;   /* a filter */
    bool tells_nodes_apart; /* a score */
} CoveredRule;

typedef struct Coverage {
    Arena *arena; /* owns all of it */
    VEC(CoveredRule) rules;
} Coverage;

/* A visit of suite_run(): adds the rules of all policies of the decision to a Coverage, and what it
 * shows of them. 0, or -ENOMEM. */
int coverage_note(void *coverage, const SuiteDecision *decision) MUST_CHECK;

/* The effect of the rule that no case shows: "never rejects a node"; NULL: it is exercised. */
const char *coverage_gap(const CoveredRule *rule);
