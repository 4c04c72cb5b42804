/* Normalizes the values of a score rule over the candidates. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/double.h"
#include "judge/judge-internal.h"

bool normalize_counts(uint8_t state, double value) {
    return state != COLUMN_ERROR && isfinite(value);
}

static void normalize_min_max(
    double on_error, double least, const uint8_t *states, size_t n, double *values) {
    double low = INFINITY, high = -INFINITY, scale;

    for (size_t i = 0; i < n; i++) {
        if (!normalize_counts(states[i], values[i]))
            continue;
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    /* Halve values if their difference overflows, and only then: the smallest double has no
     * half. */
    scale = isfinite(high - low) ? 1 : 0.5;
    for (size_t i = 0; i < n; i++) {
        if (!normalize_counts(states[i], values[i]))
            values[i] = on_error;
        else if (high > low)
            values[i] = least + (100 - least) * ((values[i] * scale - low * scale) /
                                                    (high * scale - low * scale));
        else
            values[i] = 100;
    }
}

/* The number of @n sorted values that are less than @value. */
static size_t count_less(const double *sorted, size_t n, double value) {
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int normalize_rank(
    double on_error, const uint8_t *states, size_t n, Arena *arena, double *values) {
    double *sorted = ARENA_RAW(arena, double, n);
    size_t n_sorted = 0;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (normalize_counts(states[i], values[i]))
            sorted[n_sorted++] = values[i];
    qsort(sorted, n_sorted, sizeof(*sorted), double_compare);
    for (size_t i = 0; i < n; i++) {
        if (!normalize_counts(states[i], values[i]))
            values[i] = on_error;
        else if (n_sorted > 1)
            values[i] =
                100.0 * (double)count_less(sorted, n_sorted, values[i]) / (double)(n_sorted - 1);
        else
            values[i] = 100;
    }
    return 0;
}

int normalize(Normalize mode, double on_error, double least, const uint8_t *states, size_t n,
    Arena *arena, double *values) {
    if (mode == NORMALIZE_RANK)
        return normalize_rank(on_error, states, n, arena, values);
    normalize_min_max(on_error, least, states, n, values);
    return 0;
}
