#pragma once

/*
 * Judge: evaluates a program over rows of a table, for one pod.
 *
 * judge_open() finds the policies that apply and computes what is the same for all nodes; then
 * nodes are filtered and scored, a batch of rows at a time. The same input always gives the same
 * results; the caller provides the clock (@is_over).
 */

#include "cel/zone.h"
#include "cluster/related-objects.h"
#include "cluster/table.h"
#include "judge/facts.h"
#include "model/pod.h"
#include "policy/program.h"

/* Verdicts other than the numbers of filters and VERDICT_PASS. */
#define VERDICT_UNKNOWN_NODE (VERDICT_PASS - 1) /* only callers set it */
#define VERDICT_NARROWED (VERDICT_PASS - 2)     /* passed, but narrow or a caller left it out */
#define VERDICT_LATE                                                                               \
    (VERDICT_PASS - 3) /* not evaluated before the deadline, and onTimeout is reject */

typedef struct JudgeInput {
    const Program *program;
    const NodeTable *table;
    const NodeFacts *facts; /* of that program and that table */
    const Pod *pod;
    const RelatedObjects *related; /* to find the pod's namespace and claims; NULL: unknown */
    bool is_exempt;                /* no policy applies to this pod */
    const uint32_t *rows;          /* candidates; table->n_rows stands for the unknown node */
    size_t n;
    int64_t now_nsec;
    const CelZones *zones;          /* may be NULL */
    bool (*is_over)(void *context); /* whether the deadline has passed; NULL: never */
    void *context;
    Arena *arena;
    Arena *scratch; /* the judge resets it; NULL: it uses @arena */
} JudgeInput;

typedef struct Judge Judge;

/* Lies in the input's arena; borrows what the input points to. 0 or -ENOMEM. */
int judge_open(const JudgeInput *input, Judge **ret) MUST_CHECK;

/* The policies that apply to the pod. */
typedef struct JudgeMatch {
    uint8_t *applies;         /* by policy; 0 also if its match fails */
    const CelError **errors;  /* by policy: the error of its match; NULL: none */
    const Expression **unmet; /* by policy: the expression of its match (or of its
                                 namespaceSelector) that is false or fails; NULL: none */

    /* About the policies that apply: */
    bool has_filters, has_observed, has_scores; /* has_observed: filters in mode Observe */
    uint32_t wire_max;                          /* the highest score sent */
    uint32_t narrow_to;                         /* the maximum number of nodes to return; 0: all */
} JudgeMatch;

/* Lives as long as the judge. */
const JudgeMatch *judge_match(const Judge *judge);

/* Whether policy @policy applies to the pod. */
bool judge_applies(const Judge *judge, const Policy *policy);

/* verdicts[i] = number of the first filter that rejects row i, or one of the verdicts above.
 * Ignores policies in mode Observe; the unknown node passes. 0, or -ENOMEM. */
int judge_filters(Judge *judge, uint16_t *ret_verdicts) MUST_CHECK;

/* Like judge_filters(), only for policies in mode Observe. */
int judge_observed(Judge *judge, uint16_t *ret_verdicts) MUST_CHECK;

/* scores[i] = weighted mean of the score rules that apply, 0..100; all 0 when none does. 0, or
 * -ENOMEM. */
int judge_scores(Judge *judge, double *ret_scores) MUST_CHECK;

/* An annotation that a policy sets on the pod when it is bound. */
typedef struct BindValue {
    const Policy *policy;
    const BindAnnotation *annotation;
    Str value;
    const CelError *error; /* not NULL: the expression failed, there is no value */
} BindValue;

/* The annotations of all policies that apply and are not in mode Observe, sorted by key, in
 * @arena; if several policies set a key, the last wins. The judge must be open for one row. 0, or
 * -ENOMEM. */
int judge_bind_annotations(Judge *judge, Arena *arena, BindValue **ret, size_t *ret_n) MUST_CHECK;

/* Of the rows that pass by @verdicts, keeps the @to with the best scores (of equal scores the
 * first) and sets VERDICT_NARROWED for the others. Does nothing if at most @to pass, or if the
 * deadline passed while judging or scoring: the best are not known then. @ret_scores (may be NULL)
 * gets the score of each row that passed, -1 for the others, in the judge's arena; NULL if nothing
 * was done. 0 or -ENOMEM. */
int judge_narrow(Judge *judge, uint32_t to, uint16_t *verdicts, const double **ret_scores)
    MUST_CHECK;

/* Counts since judge_open(). The first four are by number of the rule: rows of the input on which
 * it failed and onError decided, and rows on which a metric was absent and onMissing decided. */
typedef struct JudgeNotes {
    uint32_t *filter_errors, *score_errors;   /* NULL: none */
    uint32_t *filter_missing, *score_missing; /* NULL: none */
    const CelError *const *match_errors;      /* as in judge_match(); NULL: none */
    bool is_exempt;                           /* from the input */
    size_t n_late; /* rows of the input not judged or not scored before the deadline */
} JudgeNotes;
JudgeNotes judge_notes(const Judge *judge);

/* Whether a node with @state passes @filter. */
static inline bool judge_state_passes(const Filter *filter, uint8_t state) {
    return state == COLUMN_TRUE || (state == COLUMN_ERROR && filter->on_error == FALLBACK_ALLOW) ||
           (state == JUDGE_STATE_MISSING && filter->on_missing == FALLBACK_ALLOW);
}

/* Evaluate one rule over the rows. States are of columnar/column.h or JUDGE_STATE_MISSING. @ret_raw
 * are values before onError, @ret_values after it and normalize. The unknown node passes filters,
 * and has an error as score. The input's facts must not be late. 0; -ENOMEM; or -ENOTRECOVERABLE
 * after the deadline. */
int judge_filter_states(Judge *judge, const Filter *filter, uint8_t *ret_states) MUST_CHECK;
int judge_score_values(Judge *judge, const Score *score, double *ret_raw, uint8_t *ret_states,
    double *ret_values) MUST_CHECK;

/* Evaluates any expression of the program for one row with the scalar machine, in @arena. Returns a
 * CEL_ERROR value on failure, also when out of memory. */
CelValue judge_value(Judge *judge, const Expression *expression, uint32_t row, Arena *arena);

/* Why @expression failed on row @row, where its state is COLUMN_ERROR. If judge_value() succeeds,
 * the cause is lack of fuel: precomputed rules have less. In @arena; never NULL. */
const CelError *judge_error(Judge *judge, const Expression *expression, uint32_t row, Arena *arena);

/* Appends the metrics that @expression reads and that are absent for row @row: "load,
 * workload.metrics.x". Returns their number. */
size_t judge_absent(const Judge *judge, const Expression *expression, uint32_t row, Buf *out);
