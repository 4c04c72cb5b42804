#pragma once

/*
 * Evaluate: a program over rows of a table, for one pod.
 *
 * Pure functions of (program, table, facts, pod, rows): the same arguments give
 * the same results, in the daemon, in the command line, in a fuzzer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "cluster/table.h"
#include "model/pod.h"
#include "policy/program.h"

/*
 * Facts: what a program can say of each node before any pod is known. They hold
 * for one pair of program and table; whoever changes either builds them anew.
 */
typedef struct Facts {
    /* By policy, then row: number of the first filter of class RULE_NODE, for all pods,
     * that the node fails, VERDICT_PASS when none. NULL: the policy has no such filter. */
    const uint16_t **failing;
    /* By number of the filter, then row: whether the node passes, for filters of class
     * RULE_NODE that are for some pods only. NULL: not one of those. */
    const uint8_t **passing;
    /* By number of the score, then row: its value. NULL: not of class RULE_NODE. */
    const double **scores;
} Facts;

/* Of which rules facts are wanted. */
typedef enum FactsOf {
    FACTS_OF_FILTERS = 1,
    FACTS_OF_SCORES = 2,
    FACTS_OF_ALL = FACTS_OF_FILTERS | FACTS_OF_SCORES,
} FactsOf;

/* 0, or -ENOMEM. The facts live in @arena. Rules that no facts are wanted of must not
 * be evaluated with them. */
int facts_build(
    const Program *program, const NodeTable *table, FactsOf of, Arena *arena, Facts *ret);

typedef struct Question {
    const Program *program;
    const NodeTable *table;
    const Facts *facts; /* of that program and that table */
    const Pod *pod;
    const uint32_t *rows; /* each at most table->n_rows */
    size_t n;
    Arena *arena;
} Question;

#define VERDICT_PASS UINT16_MAX

/* verdicts[i] = number of the filter that speaks against row i, or VERDICT_PASS.
 * With @only_unresolvable the other filters are passed over. Policies in mode
 * Observe are not asked. 0, or -ENOMEM. */
int evaluate_filters(const Question *question, bool only_unresolvable, uint16_t *ret_verdicts);

/* The same for the policies in mode Observe only: what they would have said.
 * False through @ret_any, and verdicts untouched, when none applies to the pod. */
int evaluate_observed(const Question *question, bool *ret_any, uint16_t *ret_verdicts);

/* scores[i] = weighted mean of the score rules that apply, 0..100. False through
 * @ret_any, and scores untouched, when none applies. */
int evaluate_scores(const Question *question, bool *ret_any, double *ret_scores);

/* Whether any filter (filter in mode Observe) applies to @pod. */
bool evaluate_has_filters(const Program *program, const Pod *pod);
bool evaluate_has_observed(const Program *program, const Pod *pod);

/* One rule over the rows, for explanations. */
int evaluate_filter(const Question *question, const Filter *filter, uint8_t *ret_pass);
int evaluate_score(const Question *question, const Score *score, double *ret_scores);
