/* Normalizes the values of a score rule over the candidates. */

#include "judge/normalize.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "columnar/column.h"

static bool counts(const uint8_t *states, const double *values, size_t i) {
    return states[i] != COLUMN_ERROR && isfinite(values[i]);
}

static void normalize_min_max(double on_error, const uint8_t *states, size_t n, double *values) {
    double least = INFINITY, most = -INFINITY, scale;

    for (size_t i = 0; i < n; i++) {
        if (!counts(states, values, i))
            continue;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    /* Halves where the difference is beyond a double, and only there: the least of all doubles
     * have none. */
    scale = isfinite(most - least) ? 1 : 0.5;
    for (size_t i = 0; i < n; i++) {
        if (!counts(states, values, i))
            values[i] = on_error;
        else if (most > least)
            values[i] =
                100 * ((values[i] * scale - least * scale) / (most * scale - least * scale));
        else
            values[i] = 100;
    }
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* How many of @n sorted values are less than @value. */
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
        if (counts(states, values, i))
            sorted[n_sorted++] = values[i];
    qsort(sorted, n_sorted, sizeof(*sorted), compare);
    for (size_t i = 0; i < n; i++) {
        if (!counts(states, values, i))
            values[i] = on_error;
        else if (n_sorted > 1)
            values[i] =
                100.0 * (double)count_less(sorted, n_sorted, values[i]) / (double)(n_sorted - 1);
        else
            values[i] = 100;
    }
    return 0;
}

int normalize(Normalize mode, double on_error, const uint8_t *states, size_t n, Arena *arena,
    double *values) {
    if (mode == NORMALIZE_RANK)
        return normalize_rank(on_error, states, n, arena, values);
    normalize_min_max(on_error, states, n, values);
    return 0;
}
