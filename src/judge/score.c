/* Scores: each rule made 0..100, their weighted mean. */

#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "base/wide-loops.h"
#include "judge/judge-internal.h"
#include "judge/normalize.h"

static bool score_applies(const Judge *judge, const Score *score) {
    return !score->policy->is_observed && judge_applies(judge, score->policy);
}

/* What a score rule gives. */
typedef struct Given {
    const double *values;
    const uint8_t *states; /* NULL: all fine */
} Given;

/* The column of a score rule, in @room if they are no doubles, and in @states if some fail for want
 * of a metric. 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
static int fetch_score(
    Judge *judge, const Score *score, size_t n, double *room, uint8_t *states, Given *ret) {
    const Column *column;
    int r = plan_session_root(judge->session, score->root, &column);

    if (r != 0)
        return r;
    *ret = (Given){.values = room, .states = column->states};
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

/* 0..100, whatever came out; NaN is no score. */
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

WIDE_LOOPS static void add_given(
    const Given *given, size_t n, double on_error, double share, double *restrict totals) {
    const double *restrict values = given->values;
    const uint8_t *restrict states = given->states;

    if (!states) {
        for (size_t i = 0; i < n; i++)
            totals[i] += share * settled(values[i], on_error);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double value = settled(values[i], on_error);

        totals[i] += share * (states[i] == COLUMN_ERROR ? on_error : value);
    }
}

/* Raw values of a rule that is normalised, by the order's rows. */
typedef struct Raw {
    double *values;
    uint8_t *states;
} Raw;

/* The rows and what they add up to. */
typedef struct Tally {
    Order order;
    double weights;
    double *totals; /* by the order's rows: rules that are not normalised; 0 behind the last */
    Raw *raws;      /* by number of the rule; of those that are */
    double batch[PLAN_BATCH_ROWS];
    uint8_t states[PLAN_BATCH_ROWS]; /* of a rule that fails for want of a metric */
} Tally;

static int keep_raw(
    Judge *judge, Tally *tally, const Score *score, size_t begin, const Given *given, size_t n) {
    Raw *raw = &tally->raws[score->number];

    if (!raw->values) {
        raw->values = ARENA_RAW(judge->question.arena, double, tally->order.n);
        raw->states = ARENA_ARRAY(judge->question.arena, uint8_t, tally->order.n);
    }
    if (!raw->values || !raw->states)
        return -ENOMEM;
    memcpy(raw->values + begin, given->values, n * sizeof(double));
    if (given->states)
        memcpy(raw->states + begin, given->states, n);
    return 0;
}

/* onMissing, which is 0 to 100, takes the place of what is missing: in the tally's own room. */
static void settle_missing(Tally *tally, double on_missing, size_t n, Given *given) {
    if (given->states != tally->states)
        return;
    for (size_t i = 0; i < n; i++) {
        bool is_missing = tally->states[i] == JUDGE_STATE_MISSING;

        tally->batch[i] = is_missing ? on_missing : given->values[i];
        tally->states[i] = is_missing ? COLUMN_OK : tally->states[i];
    }
    given->values = tally->batch;
}

static int count_failed(
    Judge *judge, Tally *tally, const Score *score, size_t begin, const Given *given, size_t n) {
    Count errors = {.state = COLUMN_ERROR,
        .n_rules = judge->question.program->n_scores,
        .rule = score->number,
        .counts = &judge->score_errors};
    Count missing = {.state = JUDGE_STATE_MISSING,
        .n_rules = errors.n_rules,
        .rule = score->number,
        .counts = &judge->score_missing};
    int r = order_count(judge, &tally->order, begin, given->states, n, errors);

    if (r == 0 && given->states == tally->states)
        r = order_count(judge, &tally->order, begin, given->states, n, missing);
    return r;
}

static int score_batch(Judge *judge, Tally *tally, size_t begin, size_t n) {
    const Program *program = judge->question.program;

    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        double share = score->weight / tally->weights;
        Given given;
        int r;

        if (!score_applies(judge, score))
            continue;
        r = fetch_score(judge, score, n, tally->batch, tally->states, &given);
        if (r != 0)
            return r;
        r = count_failed(judge, tally, score, begin, &given, n);
        if (r == 0 && score->normalize != NORMALIZE_NONE)
            r = keep_raw(judge, tally, score, begin, &given, n);
        if (r < 0)
            return r;
        if (score->normalize != NORMALIZE_NONE)
            continue;
        settle_missing(tally, score->on_missing, n, &given);
        add_given(&given, n, score->on_error, share, tally->totals + begin);
    }
    return 0;
}

/* What a rule gives those who asked, made 0..100 over them. */
static int normalize_rule(
    Judge *judge, const Order *order, const Score *score, const Raw *raw, double *ret) {
    uint8_t *states = ARENA_ARRAY(judge->question.arena, uint8_t, order->n_asked);
    int r;

    if (!states)
        return -ENOMEM;
    for (size_t i = 0; i < order->n_asked; i++) {
        size_t place = order_place(order, i);
        uint8_t state = place < order->n ? raw->states[place] : COLUMN_ERROR;

        ret[i] = place < order->n ? raw->values[place] : 0;
        states[i] = state == JUDGE_STATE_MISSING ? COLUMN_ERROR : state;
    }
    r = normalize(
        score->normalize, score->on_error, states, order->n_asked, judge->question.arena, ret);
    for (size_t i = 0; r == 0 && score->missing_root != UINT32_MAX && i < order->n_asked; i++) {
        size_t place = order_place(order, i);

        if (place < order->n && raw->states[place] == JUDGE_STATE_MISSING)
            ret[i] = score->on_missing;
    }
    return r;
}

/* Rules that are normalised are added when all rows are known. */
static int add_normalized(Judge *judge, const Tally *tally, double *totals) {
    const Program *program = judge->question.program;
    size_t n = tally->order.n_asked;
    double *values = ARENA_RAW(judge->question.arena, double, n);

    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];
        int r;

        if (!tally->raws[i].values)
            continue;
        r = normalize_rule(judge, &tally->order, score, &tally->raws[i], values);
        if (r < 0)
            return r;
        for (size_t j = 0; j < n; j++)
            totals[j] += score->weight / tally->weights * values[j];
    }
    return 0;
}

static int start_tally(Judge *judge, const uint32_t *rows, size_t n, Tally *ret) {
    const Program *program = judge->question.program;
    Arena *arena = judge->question.arena;
    int r = order_find(judge, rows, n, &ret->order);

    if (r < 0)
        return r;
    ret->weights = 0;
    for (size_t i = 0; i < program->n_scores; i++)
        if (score_applies(judge, program->scores[i]))
            ret->weights += program->scores[i]->weight;
    ret->totals = ARENA_ARRAY(arena, double, ret->order.n + 1);
    ret->raws = ARENA_ARRAY(arena, Raw, program->n_scores);
    return ret->totals && ret->raws ? 0 : -ENOMEM;
}

/* Totals of the order's rows, to those who asked. The unknown node's place is behind the last. */
static void hand_out(const Tally *tally, double *ret) {
    for (size_t i = 0; i < tally->order.n_asked; i++)
        ret[i] = tally->totals[order_place(&tally->order, i)];
}

int score_rows(Judge *judge, const uint32_t *rows, size_t n_rows, double *ret) {
    Tally *tally = ARENA_RAW(judge->question.arena, Tally, 1);
    size_t n = 0;
    int r = tally ? start_tally(judge, rows, n_rows, tally) : -ENOMEM;

    if (r < 0)
        return r;
    if (!judge->session) { /* time was up before it began */
        judge->n_late = judge->question.n;
        memset(ret, 0, n_rows * sizeof(*ret));
        return 0;
    }
    for (size_t begin = 0; begin < tally->order.n && r == 0; begin += n) {
        n = order_begin(judge, &tally->order, begin);
        r = score_batch(judge, tally, begin, n);
        if (r == PLAN_DEADLINE_PASSED) /* they are worth nothing */
            order_note_late(judge, &tally->order, begin);
    }
    if (r < 0)
        return r;
    hand_out(tally, ret);
    if (r == PLAN_DEADLINE_PASSED)
        return 0;
    return add_normalized(judge, tally, ret);
}

int judge_scores(Judge *judge, double *ret_scores) {
    return score_rows(judge, judge->question.rows, judge->question.n, ret_scores);
}

/* --- one rule, for explanations ------------------------------------------------------------ */

int judge_score_values(
    Judge *judge, const Score *score, double *ret_raw, uint8_t *ret_states, double *ret_values) {
    Order order;
    Raw raw;
    size_t n = 0;
    int r = order_find(judge, judge->question.rows, judge->question.n, &order);

    assert(judge->session);
    raw.values = ARENA_ARRAY(judge->question.arena, double, order.n);
    raw.states = ARENA_ARRAY(judge->question.arena, uint8_t, order.n);
    if (r < 0 || !raw.values || !raw.states)
        return -ENOMEM;
    for (size_t begin = 0; begin < order.n; begin += n) {
        Given given;

        n = order_begin(judge, &order, begin);
        r = fetch_score(judge, score, n, raw.values + begin, raw.states + begin, &given);
        if (r != 0)
            return error_fold(r);
        if (given.values != raw.values + begin)
            memcpy(raw.values + begin, given.values, n * sizeof(double));
        if (given.states && given.states != raw.states + begin)
            memcpy(raw.states + begin, given.states, n);
    }
    for (size_t i = 0; i < order.n_asked; i++) {
        size_t place = order_place(&order, i);

        ret_raw[i] = ret_values[i] = place < order.n ? raw.values[place] : 0;
        ret_states[i] = place < order.n ? raw.states[place] : COLUMN_ERROR;
    }
    if (score->normalize != NORMALIZE_NONE)
        return normalize_rule(judge, &order, score, &raw, ret_values);
    settle(score, ret_states, order.n_asked, ret_values);
    return 0;
}
