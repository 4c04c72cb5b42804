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
    bool lacks_memory; /* an allocation for @notes failed */
};

/* Prepares a run of the scalar machine in @arena, with the fuel of one evaluation. A new run for
 * each: it owns the error for lack of fuel (cel/run.h). NULL when out of memory. */
CelRun *judge_run_new(const Judge *judge, Arena *arena);

/* The rows to evaluate for some candidates. */
typedef struct RowOrder {
    const uint32_t *candidates; /* rows of the request */
    size_t n_candidates;
    const uint32_t *rows; /* rows to evaluate, each once, ascending, without the unknown node; NULL:
                             all rows of the table */
    const uint32_t *places; /* by row of the table: its index in rows; NULL if rows is NULL */
    size_t n;
    uint8_t *is_candidate; /* by row of the table, made when first needed; only if rows is NULL */
} RowOrder;

/* Chooses the rows to evaluate for @candidates, which are borrowed. 0 or -ENOMEM. */
int order_find(const Judge *judge, const uint32_t *candidates, size_t n, RowOrder *ret);

/* Sets the session's rows to the batch that begins at @begin of the order; returns its size. */
size_t order_begin(Judge *judge, const RowOrder *order, size_t begin);

/* The index of candidate @i's result among the evaluated rows; the unknown node's is after the
 * last. */
static inline size_t order_place(const RowOrder *order, size_t i) {
    return order->places ? order->places[order->candidates[i]] : order->candidates[i];
}

/* After the deadline: counts candidates from row @begin of the order on as late. A row that is late
 * for filters and for scores counts once. */
void order_note_late(Judge *judge, const RowOrder *order, size_t begin);

/* By chunk of the table: one bit for each candidate, except the unknown node. In the judge's arena;
 * NULL when out of memory. */
uint64_t *order_mark_candidates(const Judge *judge, const RowOrder *order);

/* Adds @n to the count of @rule in @counts, which is allocated for @n_rules rules when first
 * needed. Sets judge->lacks_memory if that fails. */
void count_add(Judge *judge, uint32_t **counts, size_t n_rules, size_t rule, uint32_t n);

/* Counts, by count_add(), the candidates of a batch on which the rule failed. @states may be NULL:
 * none failed. */
typedef struct FailureCounts {
    size_t n_rules, rule;
    uint32_t **errors, **missing; /* missing is NULL if no metric is absent */
} FailureCounts;
void order_count(Judge *judge, RowOrder *order, size_t begin, const uint8_t *states, size_t n,
    FailureCounts counts);

/* Sets *states to the states of a rule with JUDGE_STATE_MISSING for rows on which a metric was
 * absent: the same array, or @room, which has room for PLAN_BATCH_ROWS. *states may be NULL: no
 * errors. @root: the rule's missing_root. 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
int missing_mark(Judge *judge, uint32_t root, size_t n, uint8_t *room, const uint8_t **states);

/* Whether a value of a score rule takes part in normalization: its state is not COLUMN_ERROR, and
 * it is finite. */
bool normalize_counts(uint8_t state, double value);

/* minMax maps the lowest value to this, not to 0, if a candidate without a value gets 0: one point
 * of the score sent, so that the worst known value stays ahead of it. */
#define NORMALIZE_LEAST 10.0

/* Maps the values of a score rule to 0..100 over the candidates of a request, in place. Values that
 * do not take part (normalize_counts()) become @on_error.
 *
 *   MIN_MAX   the lowest is @least, the highest 100; all 100 when they are equal
 *   RANK      100 × the share of the others that have less: equals have the same; 100 for one
 *             that is alone
 *
 * 0 or -ENOMEM. */
int normalize(Normalize mode, double on_error, double least, const uint8_t *states, size_t n,
    Arena *arena, double *values) MUST_CHECK;

/* Like judge_scores(), for any rows. */
int score_rows(Judge *judge, const uint32_t *rows, size_t n, double *ret);
