/*
 * What a session fetches: columns of blocks, for the rows or elements of a frame, and what the host
 * looks up for its rows by a key that is known once.
 */
#include <errno.h>

#include "base/wide-loops.h"
#include "columnar/evaluator-internal.h"

static const Column *column_in(
    const Evaluator *work, const PlanColumn *column, const BlockRange *stretch) {
    return &work->blocks[stretch->block]->columns[column->store];
}

/* A copy of eight at once is a few instructions; blocks are mostly whole. If not, rows mostly come
 * one by one, and each has to wait for memory: the fewer instructions, the more wait at a time. */
static inline void copy_numbers(int64_t *to, const int64_t *from, size_t n) {
    size_t i = 0;

    if (n == 1) {
        *to = *from;
        return;
    }
    for (; i + 8 <= n; i += 8)
        memcpy(to + i, from + i, 8 * sizeof(int64_t));
    for (; i < n; i++)
        to[i] = from[i];
}

/* Whether any of them has states. */
WIDE_LOOPS static bool load_values(
    const Evaluator *work, const PlanColumn *column, const EntryFrame *frame, ColumnRegister *reg) {
    const Column *from = NULL;
    uint32_t block = 0;
    bool has_states = false;

    for (size_t i = 0; i < frame->n_stretches; i++) {
        const BlockRange *at = &frame->stretches[i];

        if (!from || at->block != block) {
            block = at->block;
            from = column_in(work, column, at);
            has_states |= from->states != NULL;
        }
        if (column->lane == LANE_TEXT)
            memcpy(reg->column.codes + at->at, from->codes + at->from, at->n * sizeof(uint16_t));
        else
            copy_numbers(reg->column.ints + at->at, from->ints + at->from, at->n);
    }
    return has_states;
}

static void load_states(
    const Evaluator *work, const PlanColumn *column, const EntryFrame *frame, ColumnRegister *reg) {
    for (size_t i = 0; i < frame->n_stretches; i++) {
        const BlockRange *at = &frame->stretches[i];
        const Column *from = column_in(work, column, at);

        if (from->states)
            memcpy(reg->states + at->at, from->states + at->from, at->n);
        else
            memset(reg->states + at->at, COLUMN_OK, at->n);
    }
}

int evaluate_load(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ColumnRegister *reg = evaluator_register(work, column);
    int r = register_open(work, reg, (ColumnLane)column->lane, frame->n);

    if (r < 0)
        return r;
    if (column->lane == LANE_BOOL || load_values(work, column, frame, reg))
        load_states(work, column, frame, reg);
    else
        reg->column.states = NULL; /* all fine */
    reg->has_codes = column->lane == LANE_TEXT;
    return 0;
}

/* --- by a key ----------------------------------------------------------------------------- */

static int open_keyed(Evaluator *work, const PlanColumn *column, ColumnRegister *reg, size_t n) {
    int r = register_open(work, reg, (ColumnLane)column->lane, n);

    if (r == 0 && column->lane == LANE_TEXT)
        r = register_open_texts(work, reg, n);
    if (r == 0 && column->lane != LANE_BOOL)
        memset(reg->values, 0, n * sizeof(*reg->values)); /* not all rows may have one */
    reg->has_texts = column->lane == LANE_TEXT;
    reg->is_borrowed = true;
    return r;
}

/* Where there is no key, nobody has a value: an error, or what only the scalar machine can say. */
int evaluate_keyed(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ColumnRegister *reg = evaluator_register(work, column);
    CelValue key = evaluator_single(work, plan_column_at(work->plan, column->inputs[0]));
    uint8_t state = column_state_of(CEL_STRING, key);
    uint32_t rows[PLAN_BATCH_ROWS];
    int r = open_keyed(work, column, reg, frame->n);

    if (r < 0)
        return r;
    if (state != COLUMN_OK) {
        memset(reg->states, state, frame->n);
        return 0;
    }
    for (size_t i = 0; !frame->rows && i < frame->n; i++)
        rows[i] = entry_frame_row(frame, i);
    work->table->load_keyed(work->table,
        column->leaf,
        key,
        frame->rows ? frame->rows : rows,
        frame->n,
        &reg->column,
        reg->texts);
    return 0;
}
