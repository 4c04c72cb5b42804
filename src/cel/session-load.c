/*
 * What a session fetches: columns of blocks, for the rows or elements of a frame, and what the host
 * looks up for its rows by a key that is known once.
 */
#include <errno.h>

#include "base/wide-loops.h"
#include "cel/entry.h"
#include "cel/work.h"

static const CelColumn *column_in(
    const CelWork *work, const CelPlanColumn *column, const CelStretch *stretch) {
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
    const CelWork *work, const CelPlanColumn *column, const CelFrame *frame, CelRegister *reg) {
    const CelColumn *from = NULL;
    uint32_t block = 0;
    bool has_states = false;

    for (size_t i = 0; i < frame->n_stretches; i++) {
        const CelStretch *at = &frame->stretches[i];

        if (!from || at->block != block) {
            block = at->block;
            from = column_in(work, column, at);
            has_states |= from->states != NULL;
        }
        if (column->lane == CEL_LANE_TEXT)
            memcpy(reg->column.codes + at->at, from->codes + at->from, at->n * sizeof(uint16_t));
        else
            copy_numbers(reg->column.ints + at->at, from->ints + at->from, at->n);
    }
    return has_states;
}

static void load_states(
    const CelWork *work, const CelPlanColumn *column, const CelFrame *frame, CelRegister *reg) {
    for (size_t i = 0; i < frame->n_stretches; i++) {
        const CelStretch *at = &frame->stretches[i];
        const CelColumn *from = column_in(work, column, at);

        if (from->states)
            memcpy(reg->states + at->at, from->states + at->from, at->n);
        else
            memset(reg->states + at->at, CEL_STATE_FINE, at->n);
    }
}

int cel_work_load(CelWork *work, const CelPlanColumn *column) {
    const CelFrame *frame = &work->frames[column->space];
    CelRegister *reg = cel_work_register(work, column);
    int r = cel_register_open(work, reg, (CelLane)column->lane, frame->n);

    if (r < 0)
        return r;
    if (column->lane == CEL_LANE_BOOL || load_values(work, column, frame, reg))
        load_states(work, column, frame, reg);
    else
        reg->column.states = NULL; /* all fine */
    reg->has_codes = column->lane == CEL_LANE_TEXT;
    return 0;
}

/* --- by a key ----------------------------------------------------------------------------- */

static int open_keyed(CelWork *work, const CelPlanColumn *column, CelRegister *reg, size_t n) {
    int r = cel_register_open(work, reg, (CelLane)column->lane, n);

    if (r == 0 && column->lane == CEL_LANE_TEXT)
        r = cel_register_open_texts(work, reg, n);
    if (r == 0 && column->lane != CEL_LANE_BOOL)
        memset(reg->values, 0, n * sizeof(*reg->values)); /* not all rows may have one */
    reg->has_texts = column->lane == CEL_LANE_TEXT;
    reg->is_borrowed = true;
    return r;
}

/* Where there is no key, nobody has a value: an error, or what only the scalar machine can say. */
int cel_work_keyed(CelWork *work, const CelPlanColumn *column) {
    const CelFrame *frame = &work->frames[column->space];
    CelRegister *reg = cel_work_register(work, column);
    CelValue key = cel_work_single(work, cel_plan_at(work->plan, column->inputs[0]));
    uint8_t state = cel_entry_state(CEL_STRING, key);
    uint32_t rows[CEL_BATCH_ROWS];
    int r = open_keyed(work, column, reg, frame->n);

    if (r < 0)
        return r;
    if (state != CEL_STATE_FINE) {
        memset(reg->states, state, frame->n);
        return 0;
    }
    for (size_t i = 0; !frame->rows && i < frame->n; i++)
        rows[i] = cel_frame_row(frame, i);
    work->table->load_keyed(work->table,
        column->leaf,
        key,
        frame->rows ? frame->rows : rows,
        frame->n,
        &reg->column,
        reg->texts);
    return 0;
}
