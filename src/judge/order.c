/*
 * Decides which rows are evaluated, in which order, and counts failed rows.
 *
 * Rows are evaluated in the order of the table, so that facts are read chunk by chunk. If many of
 * them are candidates, all rows are evaluated, since whole chunks are cheap; else only the
 * candidates. The results are looked up for each node of the request.
 */

#include <errno.h>
#include <math.h>

#include "base/wide-loops.h"
#include "cluster/loads.h"
#include "judge/judge-internal.h"

/* If more than one row in five is a candidate, evaluating all rows in order is cheaper than
 * evaluating only the candidates. */
#define SPARSE 5u

uint64_t *order_mark_candidates(const Judge *judge, const RowOrder *order) {
    size_t n_rows = judge->input.table->n_rows;
    uint64_t *marks = ARENA_ARRAY(judge->input.arena, uint64_t, n_rows / CHUNK_ROWS + 1);

    if (!marks)
        return NULL;
    for (size_t i = 0; i < order->n_candidates; i++)
        marks[order->candidates[i] / CHUNK_ROWS] |= UINT64_C(1) << table_slot(order->candidates[i]);
    marks[n_rows / CHUNK_ROWS] &= ~(UINT64_C(1) << table_slot((uint32_t)n_rows)); /* unknown */
    return marks;
}

/* Evaluates only the candidates, each once. */
static int order_few(const Judge *judge, RowOrder *order) {
    size_t n_rows = judge->input.table->n_rows;
    uint64_t *marks = order_mark_candidates(judge, order);
    uint32_t *rows = ARENA_RAW(judge->input.arena, uint32_t, order->n_candidates);
    uint32_t *places = ARENA_RAW(judge->input.arena, uint32_t, n_rows + 1);

    if (!marks || !rows || !places)
        return -ENOMEM;
    for (size_t i = 0; i <= n_rows / CHUNK_ROWS; i++) {
        for (uint64_t left = marks[i]; left != 0; left &= left - 1) {
            uint32_t row = (uint32_t)(i * CHUNK_ROWS) + (uint32_t)__builtin_ctzll(left);

            places[row] = (uint32_t)order->n;
            rows[order->n++] = row;
        }
    }
    places[n_rows] = (uint32_t)order->n;
    order->rows = rows;
    order->places = places;
    return 0;
}

int order_find(const Judge *judge, const uint32_t *candidates, size_t n, RowOrder *ret) {
    *ret = (RowOrder){.candidates = candidates, .n_candidates = n};
    if (n <= judge->input.table->n_rows / SPARSE)
        return order_few(judge, ret);
    ret->n = judge->input.table->n_rows;
    return 0;
}

size_t order_begin(Judge *judge, const RowOrder *order, size_t begin) {
    size_t left = order->n - begin;
    size_t n = left < PLAN_BATCH_ROWS ? left : PLAN_BATCH_ROWS;

    if (order->rows)
        plan_session_set_rows(judge->session, order->rows + begin, n);
    else
        plan_session_set_range(judge->session, (uint32_t)begin, n);
    return n;
}

void order_note_late(Judge *judge, const RowOrder *order, size_t begin) {
    size_t n = 0;

    for (size_t i = 0; i < order->n_candidates; i++) {
        size_t place = order_place(order, i);

        n += place >= begin && place < order->n;
    }
    judge->notes.n_late = judge->notes.n_late > n ? judge->notes.n_late : n;
}

static void find_candidates(Judge *judge, RowOrder *order) {
    order->is_candidate = ARENA_ARRAY(judge->input.arena, uint8_t, judge->input.table->n_rows + 1);
    judge->lacks_memory |= !order->is_candidate;
    for (size_t i = 0; order->is_candidate && i < order->n_candidates; i++)
        order->is_candidate[order->candidates[i]] = 1;
}

WIDE_LOOPS static uint32_t count_states(const uint8_t *states, size_t n, uint8_t state) {
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += states[i] == state;
    return found;
}

WIDE_LOOPS static uint32_t count_candidates(
    const uint8_t *restrict states, const uint8_t *restrict is_candidate, size_t n, uint8_t state) {
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += (states[i] == state) & is_candidate[i];
    return found;
}

void count_add(Judge *judge, uint32_t **counts, size_t n_rules, size_t rule, uint32_t n) {
    if (n == 0)
        return;
    if (!*counts)
        *counts = ARENA_ARRAY(judge->input.arena, uint32_t, n_rules);
    if (*counts)
        (*counts)[rule] += n;
    judge->lacks_memory |= !*counts;
}

static uint32_t count_state(
    Judge *judge, RowOrder *order, size_t begin, const uint8_t *states, size_t n, uint8_t state) {
    if (!states || !memchr(states, state, n))
        return 0;
    if (order->rows)
        return count_states(states, n, state);
    if (!order->is_candidate)
        find_candidates(judge, order);
    return order->is_candidate ? count_candidates(states, order->is_candidate + begin, n, state)
                               : 0;
}

void order_count(Judge *judge, RowOrder *order, size_t begin, const uint8_t *states, size_t n,
    FailureCounts counts) {
    count_add(judge, counts.errors, counts.n_rules, counts.rule,
        count_state(judge, order, begin, states, n, COLUMN_ERROR));
    if (counts.missing)
        count_add(judge, counts.missing, counts.n_rules, counts.rule,
            count_state(judge, order, begin, states, n, JUDGE_STATE_MISSING));
}

WIDE_LOOPS static void mark(const uint8_t *restrict states, const uint8_t *restrict missing,
    size_t n, uint8_t *restrict ret) {
    for (size_t i = 0; i < n; i++)
        ret[i] = states[i] == COLUMN_ERROR && missing[i] == COLUMN_TRUE ? JUDGE_STATE_MISSING
                                                                        : states[i];
}

int missing_mark(Judge *judge, uint32_t root, size_t n, uint8_t *room, const uint8_t **states) {
    const Column *missing;
    int r;

    if (root == UINT32_MAX || !*states || !memchr(*states, COLUMN_ERROR, n))
        return 0;
    r = plan_session_root(judge->session, root, &missing);
    if (r != 0)
        return r; /* also PLAN_DEADLINE_PASSED */
    mark(*states, missing->states, n, room);
    *states = room;
    return 0;
}

static void append_name(Buf *out, size_t n, const char *before, Str name) {
    buf_printf(out, "%s%s%.*s", n > 0 ? ", " : "", before, STR_FMT(name));
}

size_t judge_absent(const Judge *judge, const Expression *expression, uint32_t row, Buf *out) {
    const SchemaMetrics *metrics = &expression->scope->metrics;
    const Loads *loads = judge->input.table->loads;
    size_t n = 0;

    for (uint32_t i = 0; i < metrics->type.n_fields; i++)
        if ((expression->metrics >> i & 1) &&
            isnan(loads_value(loads, metrics->gauges[i], LOAD_VALUE, row)))
            append_name(out, n++, "", metrics->fields[i].name);
    for (uint32_t i = 0; i < metrics->workload_type.n_fields; i++) {
        CelValue workload = judge->variables[metrics->workload_slot];
        CelRun run = judge->run;

        if ((expression->workload_metrics >> i & 1) && workload.kind == CEL_RECORD &&
            workload.record->type->get(workload.record, i, &run).kind == CEL_ABSENT)
            append_name(out, n++, "workload.metrics.", metrics->workload_fields[i].name);
    }
    return n;
}
