/* Scores: the values of each rule are clamped to 0..100; the result is their weighted mean. */

#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "base/wide-loops.h"
#include "judge/judge-internal.h"

static bool score_applies(const Judge *judge, const Score *score) {
    return !score->policy->is_observed && judge_applies(judge, score->policy);
}

/* The values of a score rule over a batch. */
typedef struct ScoreColumn {
    const double *values;
    const uint8_t *states; /* NULL: no value is absent, the usual case */
} ScoreColumn;

/* Reads the column of a score rule. Uses @room to convert ints, and @states if a metric is absent.
 * 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
static int fetch_score(
    Judge *judge, const Score *score, size_t n, double *room, uint8_t *states, ScoreColumn *ret) {
    const Column *column;
    int r = plan_session_root(judge->session, score->root, &column);

    if (r != 0)
        return r;
    *ret = (ScoreColumn){.values = room};
    if (column->states && memchr(column->states, COLUMN_ERROR, n))
        ret->states = column->states;
    r = missing_mark(judge, score->missing_root, n, states, &ret->states);
    if (r != 0)
        return r;
    if (column->lane == LANE_DOUBLE)
        ret->values = column->doubles;
    else
        for (size_t i = 0; i < n; i++)
            room[i] = (double)column->ints[i];
    return 0;
}

/* Clamped to 0..100; NaN is an error. */
static inline double settled(double value, double on_error) {
    double least = value > 0 ? value : 0;

    least = least < 100 ? least : 100;
    return value == value ? least : on_error;
}

static void settle(const Score *score, const uint8_t *states, size_t n, double *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = states[i] == COLUMN_ERROR          ? score->on_error
                    : states[i] == JUDGE_STATE_MISSING ? score->on_missing
                                                       : settled(values[i], score->on_error);
}

/* The same as share * settled(value, on_error), with one instruction for each step. It may multiply
 * first: rounding keeps the order, so min(a * s, b * s) == min(a, b) * s. */
static inline double settled_share(double value, double on_error, double share) {
    double least = (value > 0 ? value : 0) * share, most = 100 * share;

    least = least < most ? least : most;
    return value == value ? least : on_error * share;
}

/* Adds to @totals; with @is_first sets them. */
WIDE_LOOPS static void add_values(const double *restrict values, size_t n, double on_error,
    double share, bool is_first, double *restrict totals) {
    for (size_t i = 0; is_first && i < n; i++)
        totals[i] = settled_share(values[i], on_error, share);
    for (size_t i = 0; !is_first && i < n; i++)
        totals[i] += settled_share(values[i], on_error, share);
}

/* Values of a rule before normalization, by the order's rows. */
typedef struct RawScores {
    double *values;
    uint8_t *states;
} RawScores;

/* Candidate rows and their total scores. */
typedef struct ScoreBatch {
    RowOrder order;
    double weights;
    double *totals;  /* without normalized rules, by the order's rows; a 0 follows the last */
    RawScores *raws; /* by number of the rule; empty unless it is normalized */
    double values[PLAN_BATCH_ROWS];
    uint8_t states[PLAN_BATCH_ROWS]; /* room for fetch_score() */
} ScoreBatch;

static int keep_raw(Judge *judge, ScoreBatch *batch, const Score *score, size_t begin,
    const ScoreColumn *column, size_t n) {
    RawScores *raw = &batch->raws[score->number];

    if (!raw->values) {
        raw->values = ARENA_RAW(judge->input.arena, double, batch->order.n);
        raw->states = ARENA_ARRAY(judge->input.arena, uint8_t, batch->order.n);
    }
    if (!raw->values || !raw->states)
        return -ENOMEM;
    memcpy(raw->values + begin, column->values, n * sizeof(double));
    if (column->states)
        memcpy(raw->states + begin, column->states, n);
    return 0;
}

static int score_batch(Judge *judge, ScoreBatch *batch, size_t begin, size_t n) {
    const Program *program = judge->input.program;
    bool is_first = true;

    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        double share = score->weight / batch->weights;
        ScoreColumn column;
        int r;

        if (!score_applies(judge, score))
            continue;
        r = fetch_score(judge, score, n, batch->values, batch->states, &column);
        if (r != 0)
            return r;
        order_count(judge, &batch->order, begin, column.states, n,
            (FailureCounts){.n_rules = program->n_scores,
                .rule = score->number,
                .errors = &judge->notes.score_errors,
                .missing = column.states == batch->states ? &judge->notes.score_missing : NULL});
        if (score->normalize != NORMALIZE_NONE) {
            r = keep_raw(judge, batch, score, begin, &column, n);
            if (r < 0)
                return r;
            continue;
        }
        if (column.states) {
            memmove(batch->values, column.values, n * sizeof(double));
            settle(score, column.states, n, batch->values);
            column.values = batch->values;
        }
        add_values(column.values, n, score->on_error, share, is_first, batch->totals + begin);
        is_first = false;
    }
    if (is_first) /* all rules are normalized */
        memset(batch->totals + begin, 0, n * sizeof(double));
    return 0;
}

/* Normalizes the values of a rule over the candidates. */
static int normalize_rule(
    Judge *judge, const RowOrder *order, const Score *score, const RawScores *raw, double *ret) {
    uint8_t *states = ARENA_ARRAY(judge->input.arena, uint8_t, order->n_candidates);
    double least = 0;
    int r;

    if (!states)
        return -ENOMEM;
    for (size_t i = 0; i < order->n_candidates; i++) {
        size_t place = order_place(order, i);
        uint8_t state = place < order->n ? raw->states[place] : COLUMN_ERROR;
        bool is_missing = state == JUDGE_STATE_MISSING;

        ret[i] = place < order->n ? raw->values[place] : 0;
        states[i] = is_missing ? COLUMN_ERROR : state;
        if (!normalize_counts(states[i], ret[i]) &&
            (is_missing ? score->on_missing : score->on_error) == 0)
            least = NORMALIZE_LEAST;
    }
    r = normalize(score->normalize, score->on_error, least, states, order->n_candidates,
        judge->input.arena, ret);
    for (size_t i = 0; r == 0 && score->missing_root != UINT32_MAX && i < order->n_candidates;
         i++) {
        size_t place = order_place(order, i);

        if (place < order->n && raw->states[place] == JUDGE_STATE_MISSING)
            ret[i] = score->on_missing;
    }
    return r;
}

/* Adds the normalized rules, which need the values of all rows. */
static int add_normalized(Judge *judge, const ScoreBatch *batch, double *totals) {
    const Program *program = judge->input.program;
    size_t n = batch->order.n_candidates;
    double *values = ARENA_RAW(judge->input.arena, double, n);

    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        int r;

        if (!batch->raws[i].values)
            continue;
        r = normalize_rule(judge, &batch->order, score, &batch->raws[i], values);
        if (r < 0)
            return r;
        for (size_t j = 0; j < n; j++)
            totals[j] += score->weight / batch->weights * values[j];
    }
    return 0;
}

static int score_batch_init(Judge *judge, const uint32_t *rows, size_t n, ScoreBatch *ret) {
    const Program *program = judge->input.program;
    Arena *arena = judge->input.arena;
    int r = order_find(judge, rows, n, &ret->order);

    if (r < 0)
        return r;
    ret->weights = 0;
    for (size_t i = 0; i < program->n_scores; i++)
        if (score_applies(judge, program->scores[i]))
            ret->weights += program->scores[i]->weight;
    ret->totals = ARENA_RAW(arena, double, ret->order.n + 1);
    ret->raws = ARENA_ARRAY(arena, RawScores, program->n_scores);
    if (!ret->totals || !ret->raws)
        return -ENOMEM;
    ret->totals[ret->order.n] = 0;
    return 0;
}

/* Copies scores to candidates; the unknown node gets the 0 after the last total. */
static void hand_out(const ScoreBatch *batch, double *restrict ret) {
    UNROLLED
    for (size_t i = 0; i < batch->order.n_candidates; i++)
        ret[i] = batch->totals[order_place(&batch->order, i)];
}

int score_rows(Judge *judge, const uint32_t *rows, size_t n_rows, double *ret) {
    ScoreBatch *batch = ARENA_RAW(judge->input.arena, ScoreBatch, 1);
    size_t n = 0;
    int r = batch ? score_batch_init(judge, rows, n_rows, batch) : -ENOMEM;

    if (r < 0)
        return r;
    if (!judge->session) { /* the deadline passed before scoring began */
        judge->notes.n_late = judge->input.n;
        memset(ret, 0, n_rows * sizeof(*ret));
        return 0;
    }
    for (size_t begin = 0; begin < batch->order.n && r == 0; begin += n) {
        n = order_begin(judge, &batch->order, begin);
        r = score_batch(judge, batch, begin, n);
        if (r == PLAN_DEADLINE_PASSED) {
            memset(batch->totals + begin, 0, (batch->order.n - begin) * sizeof(double));
            order_note_late(judge, &batch->order, begin);
        }
    }
    if (r < 0 || judge->lacks_memory)
        return -ENOMEM;
    hand_out(batch, ret);
    if (r == PLAN_DEADLINE_PASSED)
        return 0;
    return add_normalized(judge, batch, ret);
}

int judge_scores(Judge *judge, double *ret_scores) {
    return score_rows(judge, judge->input.rows, judge->input.n, ret_scores);
}

int judge_score_values(
    Judge *judge, const Score *score, double *ret_raw, uint8_t *ret_states, double *ret_values) {
    RowOrder order;
    RawScores raw;
    size_t n = 0;
    int r = order_find(judge, judge->input.rows, judge->input.n, &order);

    assert(judge->session);
    raw.values = ARENA_ARRAY(judge->input.arena, double, order.n);
    raw.states = ARENA_ARRAY(judge->input.arena, uint8_t, order.n);
    if (r < 0 || !raw.values || !raw.states)
        return -ENOMEM;
    for (size_t begin = 0; begin < order.n; begin += n) {
        ScoreColumn column;

        n = order_begin(judge, &order, begin);
        r = fetch_score(judge, score, n, raw.values + begin, raw.states + begin, &column);
        if (r != 0)
            return error_fold(r);
        if (column.values != raw.values + begin)
            memcpy(raw.values + begin, column.values, n * sizeof(double));
        if (column.states && column.states != raw.states + begin)
            memcpy(raw.states + begin, column.states, n);
    }
    for (size_t i = 0; i < order.n_candidates; i++) {
        size_t place = order_place(&order, i);

        ret_raw[i] = ret_values[i] = place < order.n ? raw.values[place] : 0;
        ret_states[i] = place < order.n ? raw.states[place] : COLUMN_ERROR;
    }
    if (score->normalize != NORMALIZE_NONE)
        return normalize_rule(judge, &order, score, &raw, ret_values);
    settle(score, ret_states, order.n_candidates, ret_values);
    return 0;
}
