/*
 * Rows are judged in the order of the table if many of them are asked about: then a kept column
 * is copied chunk by chunk, and only the verdicts are looked up for each node of the request.
 * If few are asked about, they are judged in the order of the request.
 */

#include <errno.h>

#include "base/error.h"
#include "judge/judge-internal.h"

/* Judging all rows in order is cheaper than judging a part of them out of order, if the part
 * is more than one in so many. */
#define SPARSE 4u

/* Those that are asked for; row 0 stands in for the unknown node, of which nothing is read. */
static int order_as_asked(const Judge *judge, Order *order) {
    uint32_t *rows = NULL;

    order->rows = order->asked;
    order->n = order->n_asked;
    for (size_t i = 0; i < order->n_asked; i++) {
        if (order->asked[i] != judge->question.table->n_rows)
            continue;
        if (!rows) {
            rows = ARENA_RAW(judge->question.arena, uint32_t, order->n_asked);
            if (!rows)
                return error_origin(-ENOMEM);
            memcpy(rows, order->asked, order->n_asked * sizeof(*rows));
            order->rows = rows;
        }
        rows[i] = 0;
    }
    return 0;
}

int order_find(const Judge *judge, const uint32_t *asked, size_t n, Order *ret) {
    *ret = (Order){.asked = asked, .n_asked = n};
    if (n <= judge->question.table->n_rows / SPARSE)
        return error_trace(order_as_asked(judge, ret));
    ret->n = judge->question.table->n_rows;
    return 0;
}

/* The batch that begins at @begin. */
size_t order_begin(Judge *judge, const Order *order, size_t begin) {
    size_t left = order->n - begin;
    size_t n = left < CEL_BATCH_ROWS ? left : CEL_BATCH_ROWS;

    if (order->rows)
        cel_session_rows(judge->session, order->rows + begin, n);
    else
        cel_session_range(judge->session, (uint32_t)begin, n);
    return n;
}

/* --- what went wrong ---------------------------------------------------------------------- */

void order_note_late(Judge *judge, const Order *order, size_t begin) {
    size_t n = 0;

    for (size_t i = 0; i < order->n_asked; i++) {
        size_t place = order_place(judge, order, i);

        n += place != SIZE_MAX && place >= begin;
    }
    judge->n_late = judge->n_late > n ? judge->n_late : n;
}

/* Counts the rows of a batch that failed, if somebody asked for them. */
int order_count_errors(const Judge *judge, const Order *order, size_t begin, const uint8_t *states,
    size_t n, size_t n_rules, uint16_t rule, uint32_t **counts) {
    Arena *arena = judge->question.arena;
    uint8_t *is_asked = NULL;

    if (!states || !memchr(states, CEL_STATE_ERROR, n))
        return 0;
    if (!*counts)
        *counts = ARENA_ARRAY(arena, uint32_t, n_rules);
    if (!order->rows)
        is_asked = ARENA_ARRAY(arena, uint8_t, judge->question.table->n_rows + 1);
    if (!*counts || (!order->rows && !is_asked))
        return error_origin(-ENOMEM);
    for (size_t i = 0; is_asked && i < order->n_asked; i++)
        is_asked[order->asked[i]] = 1;
    for (size_t i = 0; i < n; i++)
        if (states[i] == CEL_STATE_ERROR && (!is_asked || is_asked[begin + i]))
            (*counts)[rule]++;
    return 0;
}
