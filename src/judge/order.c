/*
 * Rows are judged in the order of the table if many of them are asked about: then a kept column
 * is copied chunk by chunk, and only the verdicts are looked up for each node of the request.
 * If few are asked about, they are judged in the order of the request.
 */

#include <errno.h>

#include "base/error.h"
#include "base/vector.h"
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

static int find_asked(const Judge *judge, Order *order) {
    if (order->rows || order->is_asked)
        return 0;
    order->is_asked =
        ARENA_ARRAY(judge->question.arena, uint8_t, judge->question.table->n_rows + 1);
    if (!order->is_asked)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < order->n_asked; i++)
        order->is_asked[order->asked[i]] = 1;
    return 0;
}

VECTOR static uint32_t count_states(const uint8_t *states, size_t n, uint8_t state) {
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += states[i] == state;
    return found;
}

VECTOR static uint32_t count_asked(
    const uint8_t *restrict states, const uint8_t *restrict is_asked, size_t n, uint8_t state) {
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += (states[i] == state) & is_asked[i];
    return found;
}

int order_count(
    const Judge *judge, Order *order, size_t begin, const uint8_t *states, size_t n, Count count) {
    int r;

    if (!states || !memchr(states, count.state, n))
        return 0;
    if (!*count.counts)
        *count.counts = ARENA_ARRAY(judge->question.arena, uint32_t, count.n_rules);
    r = find_asked(judge, order);
    if (r < 0 || !*count.counts)
        return error_origin(-ENOMEM);
    (*count.counts)[count.rule] +=
        order->is_asked ? count_asked(states, order->is_asked + begin, n, count.state)
                        : count_states(states, n, count.state);
    return 0;
}
