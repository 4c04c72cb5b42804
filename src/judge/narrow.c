/* Narrowing: filter returns only the best nodes, which saves kube-scheduler the work on the others.
 * The lowest score that stays is found without sorting; of nodes with that score the first in the
 * request stay. */

#include <errno.h>

#include "judge/judge-internal.h"

/* Moves the values over @pivot to the front of @values[0..n) and those equal to it behind them.
 * Returns the number of the former, and through @ret_same that of the latter. */
static size_t partition(double *values, size_t n, double pivot, size_t *ret_same) {
    size_t over = 0, same = 0;

    for (size_t i = 0; i < n; i++) {
        double value = values[i];

        if (value < pivot)
            continue;
        values[i] = values[over + same];
        values[over + same] = value;
        same++;
        if (value > pivot) {
            values[over + same - 1] = values[over];
            values[over++] = value;
            same--;
        }
    }
    *ret_same = same;
    return over;
}

/* The @k-th largest (from 1) of @n values; reorders them. The pivot is the median of three, so that
 * sorted lists, the usual case, are not the worst case. */
static double find_kth(double *values, size_t n, size_t k) {
    for (;;) {
        double a = values[0], b = values[n / 2], c = values[n - 1];
        double low = a < b ? a : b, high = a < b ? b : a;
        double pivot = c < low ? low : c > high ? high : c;
        size_t same, over = partition(values, n, pivot, &same);

        if (k <= over) {
            n = over;
        } else if (k <= over + same) {
            return pivot;
        } else {
            values += over + same;
            n -= over + same;
            k -= over + same;
        }
    }
}

/* The rows that pass. */
typedef struct PassedRows {
    uint32_t *places; /* in the input */
    uint32_t *rows;
    double *scores;
    size_t n;
} PassedRows;

static void leave_out(const PassedRows *passed, double least, uint32_t to, uint16_t *verdicts) {
    size_t ties = to; /* the number of scores equal to @least that may stay */

    for (size_t i = 0; i < passed->n; i++)
        ties -= passed->scores[i] > least;
    for (size_t i = 0; i < passed->n; i++) {
        bool is_tie = passed->scores[i] == least;
        bool stays = passed->scores[i] > least || (is_tie && ties > 0);

        if (is_tie && stays)
            ties--;
        if (!stays)
            verdicts[passed->places[i]] = VERDICT_NARROWED;
    }
}

int judge_narrow(Judge *judge, uint32_t to, uint16_t *verdicts, const double **ret_scores) {
    const JudgeInput *input = &judge->input;
    Arena *arena = input->arena;
    PassedRows passed = {
        .places = ARENA_RAW(arena, uint32_t, input->n + 1),
        .rows = ARENA_RAW(arena, uint32_t, input->n + 1),
    };
    double *moved, *scores;
    int r;

    if (ret_scores)
        *ret_scores = NULL;
    if (!passed.places || !passed.rows)
        return -ENOMEM;
    for (size_t i = 0; i < input->n; i++) {
        passed.places[passed.n] = (uint32_t)i;
        passed.rows[passed.n] = input->rows[i];
        passed.n += verdicts[i] == VERDICT_PASS;
    }
    if (passed.n <= to)
        return 0;
    passed.scores = ARENA_RAW(arena, double, passed.n);
    moved = ARENA_RAW(arena, double, passed.n);
    if (!passed.scores || !moved)
        return -ENOMEM;
    r = score_rows(judge, passed.rows, passed.n, passed.scores);
    if (r < 0 || judge->notes.n_late > 0) /* rows without a score could be the best */
        return r;
    memcpy(moved, passed.scores, passed.n * sizeof(*moved));
    leave_out(&passed, find_kth(moved, passed.n, to), to, verdicts);
    if (!ret_scores)
        return 0;
    scores = ARENA_RAW(arena, double, input->n);
    for (size_t i = 0; scores && i < input->n; i++)
        scores[i] = -1;
    for (size_t i = 0; scores && i < passed.n; i++)
        scores[passed.places[i]] = passed.scores[i];
    *ret_scores = scores;
    return scores ? 0 : -ENOMEM;
}
