#pragma once

/*
 * What the files of this folder share. judge.h is the contract: nobody else includes this.
 *
 *     judge.c      opening; which policies apply
 *     order.c      which rows are judged in which order; counting errors
 *     missing.c    errors for want of a metric
 *     verdict.c    filters
 *     score.c      scores
 *     narrow.c     the best of those that pass
 *     probe.c      one expression for one row, part by part
 *     remedy*.c    what would have to be different
 */

#include "judge/judge.h"
#include "schema/schema.h"

struct Judge {
    JudgeInput input;
    PlanTable rows;
    CelRun run;
    CelValue *variables;           /* by slot */
    PlanSession *session;          /* NULL: the facts are late, and nothing is judged */
    uint8_t *applies;              /* by policy */
    const CelError **match_errors; /* by policy */
    bool has_match_errors;
    uint32_t *filter_errors, *score_errors;   /* by number of the rule; NULL: none */
    uint32_t *filter_missing, *score_missing; /* the same */
    size_t n_late;
};

/* A run of the scalar machine, with the fuel of one evaluation. It lies in @arena, since an error
 * for want of fuel lies in the run (cel/run.h) and lives as long as what it says is needed. NULL
 * when out of memory. */
CelRun *judge_run_new(const Judge *judge, Arena *arena);

/* Which rows are judged, and for whom. */
typedef struct RowOrder {
    const uint32_t *candidates; /* the rows that somebody wants to know of */
    size_t n_candidates;
    const uint32_t *rows;   /* those that are judged, each once and rising, none the unknown node;
                               NULL: all of the table */
    const uint32_t *places; /* by row of the table, if not all are judged: where it is in rows */
    size_t n;
    uint8_t *is_candidate; /* by row of the table, if all are judged; NULL: not needed so far */
} RowOrder;

/* 0 or -ENOMEM. */
int order_find(const Judge *judge, const uint32_t *candidates, size_t n, RowOrder *ret);

/* The batch that begins at @begin becomes the session's; mode many rows it has. */
size_t order_begin(Judge *judge, const RowOrder *order, size_t begin);

/* Where the results of row @i of those candidates for are, among those judged; behind the last if it was
 * not judged, since nobody knows it. */
static inline size_t order_place(const RowOrder *order, size_t i) {
    return order->places ? order->places[order->candidates[i]] : order->candidates[i];
}

/* Time is up: the order's rows from @begin on are late, those of them that somebody candidates for. Rows
 * that are late several times, for filters and for scores, count once. */
void order_note_late(Judge *judge, const RowOrder *order, size_t begin);

/* By chunk of the table: a bit for each row that somebody candidates for, the unknown node aside. NULL
 * when out of memory. */
uint64_t *order_mark_candidates(const Judge *judge, const RowOrder *order);

/* Adds @n to what @counts has of @rule. It is made, for @n_rules rules, when it is first needed;
 * mostly it never is. 0 or -ENOMEM. */
int count_add(const Judge *judge, uint32_t **counts, size_t n_rules, size_t rule, uint32_t n);

/* Adds, in the same way, the rows of a batch whose state is @state, if somebody candidates for them. 0
 * or -ENOMEM. */
typedef struct StateCount {
    uint8_t state;
    size_t n_rules;
    uint16_t rule;
    uint32_t **counts;
} StateCount;
int order_count(
    const Judge *judge, RowOrder *order, size_t begin, const uint8_t *states, size_t n, StateCount count);

/* The states of a rule over a batch, with JUDGE_STATE_MISSING where it failed for want of a metric:
 * @states themselves, or a copy in @room, which has room for PLAN_BATCH_ROWS. @root: the rule's
 * missing_root; @states may be NULL: all fine. 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
int missing_mark(Judge *judge, uint32_t root, size_t n, uint8_t *room, const uint8_t **states);

/* The scores of any rows; see judge_scores(). */
int score_rows(Judge *judge, const uint32_t *rows, size_t n, double *ret);
