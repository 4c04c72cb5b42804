#pragma once

/*
 * RuleFigures: how often each rule rejected a node, would have, or failed.
 *
 * By the names of policy and rule, so that a counter goes on where it was when a policy is loaded
 * again. Counting takes a lock, for a short walk over the rules: in every filter, and in what else
 * a rule failed in. The number of series is bounded.
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "extender/verbs.h"
#include "monitor/policy-figures.h"
#include "policy/program.h"

/* Rules of all policies since the start; those beyond are not counted. */
#define RULE_FIGURES_MAX 4096u

typedef struct RuleFigures RuleFigures;

RuleFigures *rule_figures_new(void); /* NULL when out of memory */
RuleFigures *rule_figures_free(RuleFigures *figures);
DEFINE_CLEANUP(RuleFigures *, rule_figures_free)

void rule_figures_note(RuleFigures *figures, Program *program, const Decision *decision);

/* Of a policy: how many filters it was for. */
PolicyFigure rule_figures_of_policy(RuleFigures *figures, Str policy);

/* Of a rule: nodes, since the start; all zero when it never spoke. */
typedef struct RuleFigure {
    uint64_t n_rejected, n_observed, n_failed, n_missing;
} RuleFigure;
RuleFigure rule_figures_of_rule(RuleFigures *figures, Str policy, Str rule);

/* As parts of /metrics. All rules of @program are there, also those that never spoke. */
void rule_figures_print(RuleFigures *figures, const Program *program, Buf *out);
