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
#include "policy/facts.h"
#include "policy/program.h"

typedef struct Question {
    const Program *program;
    const NodeTable *table;
    const Facts *facts; /* of that program and that table */
    const Pod *pod;
    const uint32_t *rows; /* each at most table->n_rows */
    size_t n;
    Arena *arena;
} Question;

/* verdicts[i] = number of the filter that speaks against row i, or VERDICT_PASS.
 * Policies in mode Observe are not asked. 0, or -ENOMEM. */
int evaluate_filters(const Question *question, uint16_t *ret_verdicts);

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
