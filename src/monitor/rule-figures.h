#pragma once

/*
 * RuleFigures: how often each rule rejected a node, would have, or failed; and how often each
 * policy applied.
 *
 * By the names of policy and rule, so that a counter continues when a policy is reloaded. Counting
 * takes a lock, for a short walk over the rules: in every filter, and in other decisions in which a
 * rule failed. The number of series is bounded.
 *
 * A node that several policies reject is counted for the one whose rule comes first, so a policy
 * may reject all nodes more often than counted.
 *
 * Threads: any.
 */

#include "extender/verbs.h"
#include "policy/program.h"

/* Rules and policies since the start; those beyond are not counted. */
#define RULE_FIGURES_MAX 8192u

typedef struct RuleFigures RuleFigures;

RuleFigures *rule_figures_new(void); /* NULL when out of memory */
RuleFigures *rule_figures_free(RuleFigures *figures);

/* @at_nsec: since 1970. */
void rule_figures_note(
    RuleFigures *figures, Program *program, const Decision *decision, int64_t at_nsec);

/* All zero when it never applied. */
typedef struct PolicyFigure {
    uint64_t n_matched;       /* filters to which it applied */
    uint64_t n_rejected_all;  /* of these: its rules rejected every node that berth knows */
    uint64_t n_none_eligible; /* of these: no node passed, and its rules rejected some */
    int64_t matched_nsec;     /* since 1970: the newest of them; 0: none */
} PolicyFigure;
PolicyFigure rule_figures_of_policy(RuleFigures *figures, Str policy);

/* The nodes of a rule since the start, by outcome; all 0 for a rule that was never evaluated. */
typedef struct RuleFigure {
    uint64_t n_rejected, n_observed, n_failed, n_missing;
} RuleFigure;
RuleFigure rule_figures_of_rule(RuleFigures *figures, Str policy, Str rule);

/* As parts of /metrics. All rules of @program are there, also those that never spoke. */
void rule_figures_print(RuleFigures *figures, const Program *program, Buf *out);
