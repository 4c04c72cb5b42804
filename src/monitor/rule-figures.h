#pragma once

/*
 * RuleFigures: how many nodes each rule rejected, would have rejected, or failed on; and how often
 * each policy applied.
 *
 * Counted by the names of policy and rule, so that a counter continues over reloads. Counting takes
 * a lock for a short walk over the rules: in every filter, and in other decisions in which a rule
 * failed. The number of series is limited.
 *
 * A node that several policies reject counts for the policy whose rule comes first, so a policy may
 * reject all nodes more often than counted.
 *
 * Threads: any.
 */

#include "extender/verbs.h"
#include "policy/program.h"

/* Limit of rules and policies since the start; further ones are not counted. */
#define RULE_FIGURES_MAX 8192u

typedef struct RuleFigures RuleFigures;

RuleFigures *rule_figures_new(void); /* NULL when out of memory */
RuleFigures *rule_figures_free(RuleFigures *figures);

/* @at_nsec: since 1970. */
void rule_figures_note(
    RuleFigures *figures, Program *program, const Decision *decision, int64_t at_nsec);

/* The counts of a policy; all zero if it never applied. */
typedef struct PolicyFigure {
    uint64_t n_matched;       /* filters to which it applied */
    uint64_t n_rejected_all;  /* of these: it rejected every node that berth knows */
    uint64_t n_none_eligible; /* of these: no node passed, and it rejected some */
    int64_t matched_nsec;     /* since 1970: the newest; 0: none */
} PolicyFigure;
PolicyFigure rule_figures_of_policy(RuleFigures *figures, Str policy);

/* Nodes counted for a rule since the start, by outcome; all 0 if it was never evaluated. */
typedef struct RuleFigure {
    uint64_t n_rejected, n_observed, n_failed, n_missing;
} RuleFigure;
RuleFigure rule_figures_of_rule(RuleFigures *figures, Str policy, Str rule);

/* Writes the metrics of rules and policies. All rules of @program have series, even at 0. */
void rule_figures_print(RuleFigures *figures, const Program *program, Buf *out);
