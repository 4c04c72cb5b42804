#pragma once

/* Shared by the files of this folder. */

#include "judge/judge.h"
#include "schema/schema.h"

struct Judge {
    JudgeInput input;
    PlanTable rows;
    CelRun run;
    CelValue *variables;  /* by slot */
    PlanSession *session; /* NULL: the facts are late */
    JudgeMatch match;
    JudgeNotes notes;
    bool lacks_memory; /* for the notes */
};

/* A run of the scalar machine, with the fuel of one evaluation, in @arena: an error for lack of
 * fuel is part of the run (cel/run.h). NULL when out of memory. */
CelRun *judge_run_new(const Judge *judge, Arena *arena);

/* The rows to evaluate for some candidates. */
typedef struct RowOrder {
    const uint32_t *candidates; /* rows of the request */
    size_t n_candidates;
    const uint32_t *rows; /* those that are evaluated, each once and rising, none the unknown node;
                             NULL: all of the table */
    const uint32_t *places; /* by row of the table, if not all are evaluated: its place in rows */
    size_t n;
    uint8_t *is_candidate; /* by row of the table, if all are evaluated; NULL: not needed so far */
} RowOrder;

/* 0 or -ENOMEM. */
int order_find(const Judge *judge, const uint32_t *candidates, size_t n, RowOrder *ret);

/* Sets the session's rows to the batch from @begin on; returns its size. */
size_t order_begin(Judge *judge, const RowOrder *order, size_t begin);

/* The index of candidate @i's result among the evaluated rows; the unknown node's is after the
 * last. */
static inline size_t order_place(const RowOrder *order, size_t i) {
    return order->places ? order->places[order->candidates[i]] : order->candidates[i];
}

/* The deadline has passed: candidates from row @begin of the order on are late. Rows that are late
 * for filters and for scores count once. */
void order_note_late(Judge *judge, const RowOrder *order, size_t begin);

/* By chunk of the table: a bit for each candidate, except the unknown node. NULL when out of
 * memory. */
uint64_t *order_mark_candidates(const Judge *judge, const RowOrder *order);

/* Adds @n to the count of @rule in @counts, which is allocated for @n_rules rules when it is first
 * needed. Without memory judge->lacks_memory is set. */
void count_add(Judge *judge, uint32_t **counts, size_t n_rules, size_t rule, uint32_t n);

/* Adds, in the same way, the candidates of a batch on which the rule failed. @states may be NULL:
 * none. */
typedef struct FailureCounts {
    size_t n_rules, rule;
    uint32_t **errors, **missing; /* missing may be NULL: no metric is */
} FailureCounts;
void order_count(Judge *judge, RowOrder *order, size_t begin, const uint8_t *states, size_t n,
    FailureCounts counts);

/* The states of a rule over a batch, with JUDGE_STATE_MISSING where a metric was absent:
 * @states themselves, or a copy in @room, which has room for PLAN_BATCH_ROWS. @root: the rule's
 * missing_root; @states may be NULL: all fine. 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
int missing_mark(Judge *judge, uint32_t root, size_t n, uint8_t *room, const uint8_t **states);

/* Whether a value of a score rule takes part in normalization: its state is not COLUMN_ERROR, and
 * it is finite. */
bool normalize_counts(uint8_t state, double value);

/* The lowest value of minMax where another candidate has no value and 0 for it: a point on the
 * wire, so that the worst of the known ones stays ahead of it. */
#define NORMALIZE_LEAST 10.0

/* Maps the values of a score rule to 0..100 over the candidates of a request, in place. Those that
 * do not take part become @on_error and do not affect the others.
 *
 *   MIN_MAX   the lowest is @least, the highest 100; all 100 when they are equal
 *   RANK      100 × the share of the others that have less: equals have the same; 100 for one
 *             that is alone
 *
 * 0 or -ENOMEM. */
int normalize(Normalize mode, double on_error, double least, const uint8_t *states, size_t n,
    Arena *arena, double *values) MUST_CHECK;

/* The scores of any rows, like judge_scores(). 0 or an error of it. */
int score_rows(Judge *judge, const uint32_t *rows, size_t n, double *ret);
