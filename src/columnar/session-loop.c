/*
 * Loops of a session: over the elements of its rows, piece by piece, and over those of all rows
 * of the table for what is known of groups.
 *
 * A piece is some rows and all their elements, few enough that a dozen columns of them stay
 * near the processor. Rows of a block that follow each other are taken together: what they have
 * more than that is a piece of its own.
 */
#include <assert.h>
#include <errno.h>

#include "columnar/evaluator-internal.h"

#define PIECE_ITEMS 4096u

/* --- pieces ------------------------------------------------------------------------------ */

/* Rows of one block that follow each other, in the order of the rows' frame. */
typedef struct Run {
    size_t entry; /* of the frame: the first */
    uint32_t block, from, n;
} Run;

/* The run that begins with the @i-th of @n @entries (NULL: with entry @i). Field by field: a Run
 * that is copied as a whole right after waits for its parts to be written. */
static void find_run(
    const EntryFrame *rows, const uint32_t *entries, size_t i, size_t n, Run *ret) {
    size_t entry = entries ? entries[i] : i;
    uint32_t row = entry_frame_row(rows, entry), from = row % PLAN_BLOCK_ROWS;
    size_t rest = PLAN_BLOCK_ROWS - from < n - i ? PLAN_BLOCK_ROWS - from : n - i;

    ret->entry = entry;
    ret->block = row / PLAN_BLOCK_ROWS;
    ret->from = from;
    ret->n = entries || rows->rows ? 1 : (uint32_t)rest;
}

static ListOffsets offsets_of(const Evaluator *work, const PlanSpace *space, const Run *run) {
    return work->blocks[run->block]->offsets[space->store];
}

static uint32_t n_items(const Evaluator *work, const PlanSpace *space, const Run *run) {
    const uint32_t *starts = offsets_of(work, space, run).starts + run->from;

    return starts[run->n] - starts[0];
}

/* How many of @entries (NULL: those from @from on) of the rows' frame go into one piece; through
 * @ret_items: their elements. */
static size_t piece_length(const Evaluator *work, const PlanSpace *space, const uint32_t *entries,
    size_t from, size_t n, size_t *ret_items) {
    size_t length = 0, items = 0;

    while (from + length < n) {
        uint32_t more;
        Run run;

        find_run(&work->frames[ROW_SPACE], entries, from + length, n, &run);
        more = n_items(work, space, &run);
        if (length > 0 && items + more > PIECE_ITEMS)
            break;
        items += more;
        length += run.n;
    }
    *ret_items = items;
    return length;
}

/* Room for the rows of a batch and @n elements. */
static int open_piece(Evaluator *work, EntryFrame *frame, size_t n, bool with_elements) {
    if (!frame->starts) {
        uint32_t *starts = ARENA_RAW(work->arena, uint32_t, PLAN_BATCH_ROWS + 1);

        frame->broken = ARENA_RAW(work->arena, uint8_t, PLAN_BATCH_ROWS);
        frame->stretches = ARENA_RAW(work->arena, BlockRange, PLAN_BATCH_ROWS);
        if (!starts || !frame->broken || !frame->stretches)
            return -ENOMEM;
        frame->starts = starts;
    }
    if (!frame->row_of || n > frame->room) {
        size_t least = frame->room > 0 ? 2 * frame->room : PIECE_ITEMS;

        frame->room = n > least ? n : least;
        frame->row_of = ARENA_RAW(work->arena, uint32_t, frame->room);
        frame->elements = NULL;
        if (!frame->row_of)
            return -ENOMEM;
    }
    if (with_elements && !frame->elements) {
        frame->elements = ARENA_RAW(work->arena, CelValue, frame->room);
        if (!frame->elements)
            return -ENOMEM;
    }
    frame->n = 0;
    frame->n_stretches = 0;
    frame->stamp = ++work->last_stamp;
    return 0;
}

static void add_stretch(EntryFrame *frame, uint32_t block, uint32_t from, uint32_t n) {
    BlockRange *last = frame->n_stretches > 0 ? &frame->stretches[frame->n_stretches - 1] : NULL;

    assert(frame->stretches); /* room was made for them */
    if (n == 0)
        return;
    if (last && last->block == block && last->from + last->n == from)
        last->n += n;
    else
        frame->stretches[frame->n_stretches++] =
            (BlockRange){.block = block, .from = from, .at = (uint32_t)frame->n, .n = n};
}

/* The loop's variable itself for the row's elements. A list that is not as it was when it was kept
 * is odd. */
static void add_elements(Evaluator *work, const PlanReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *broken) {
    EntryFrame *frame = &work->frames[reduction->space];
    CelValue v = evaluator_list(work, &work->plan->spaces.items[reduction->space], entry);
    bool is_list = v.kind == CEL_LIST && v.list->n == n;

    for (uint32_t i = 0; i < n; i++) {
        CelValue *element = &frame->elements[at + i];

        *element = is_list ? cel_list_at(v.list, i, work->run) : cel_absent();
        if (!is_list || element->kind == CEL_ERROR)
            *broken = COLUMN_FALLBACK;
    }
}

/* What is asked for the elements of one row, beginning with the frame's @at. */
static void add_row(Evaluator *work, const PlanReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *broken) {
    EntryFrame *frame = &work->frames[reduction->space];

    for (uint32_t k = 0; reduction->needs_rows && k < n; k++)
        frame->row_of[at + k] = (uint32_t)entry;
    if (reduction->needs_elements && n > 0)
        add_elements(work, reduction, entry, at, n, broken);
}

/* Where the elements of @n rows begin, and the last end, when the first begins at @begin. */
static void move_starts(
    const uint32_t *restrict from, uint32_t n, uint32_t begin, uint32_t *restrict starts) {
    uint32_t by = begin - from[0];

    for (uint32_t k = 0; k <= n; k++)
        starts[k] = from[k] + by; /* modulo 2^32, if they move down */
}

/* Rows @i on of the piece. */
static void add_run(Evaluator *work, const PlanReduction *reduction, size_t i, const Run *run) {
    EntryFrame *frame = &work->frames[reduction->space];
    ListOffsets offsets = offsets_of(work, &work->plan->spaces.items[reduction->space], run);
    const uint32_t *from = offsets.starts + run->from;
    uint32_t *starts = frame->starts + i;

    move_starts(from, run->n, (uint32_t)frame->n, starts);
    if (offsets.broken)
        memcpy(frame->broken + i, offsets.broken + run->from, run->n);
    else
        memset(frame->broken + i, 0, run->n);
    add_stretch(frame, run->block, from[0], from[run->n] - from[0]);
    for (uint32_t k = 0; (reduction->needs_rows || reduction->needs_elements) && k < run->n; k++)
        add_row(work,
            reduction,
            run->entry + k,
            starts[k],
            starts[k + 1] - starts[k],
            &frame->broken[i + k]);
    frame->n += from[run->n] - from[0];
}

/* The next piece of @n entries, from @from on: sets up the frame of the reduction's space and
 * works out its columns. Through @ret: how many rows it has. */
static int next_piece(Evaluator *work, const PlanReduction *reduction, const uint32_t *entries,
    size_t from, size_t n, size_t *ret) {
    const PlanSpace *space = &work->plan->spaces.items[reduction->space];
    EntryFrame *frame = &work->frames[reduction->space];
    size_t items;
    int r;

    *ret = piece_length(work, space, entries, from, n, &items);
    r = open_piece(work, frame, items, reduction->needs_elements);
    if (r < 0)
        return r;
    work->is_held = true;
    for (size_t i = 0; i < *ret;) {
        Run run;

        find_run(&work->frames[ROW_SPACE], entries, from + i, from + *ret, &run);
        add_run(work, reduction, i, &run);
        i += run.n;
    }
    if (frame->n > 0)
        r = evaluator_run_steps(work, &reduction->steps, reduction->space);
    work->is_held = false;
    if (r == 0 && evaluator_is_over(work))
        r = PLAN_DEADLINE_PASSED;
    return r;
}

/* --- elements of rows -------------------------------------------------------------------- */

static int reduce_pieces(Evaluator *work, const PlanColumn *column, const uint32_t *entries,
    size_t n, ColumnRegister *reg) {
    int r = 0;

    for (size_t from = 0, length; r == 0 && from < n; from += length) {
        r = next_piece(work, column->reduction, entries, from, n, &length);
        if (r == 0)
            r = reduce_rows(work, column, entries ? entries + from : NULL, from, length, reg);
    }
    return r;
}

int evaluate_reduce(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ColumnRegister *reg = evaluator_register(work, column);
    const uint32_t *entries = NULL;
    size_t n = 0;
    int r = 0;

    if (reg->stamp != frame->stamp || !reg->is_partial)
        r = register_open(work, reg, (ColumnLane)column->lane, frame->n);
    if (r < 0)
        return r;
    if (work->is_kept)
        return reduce_rows(work, column, NULL, 0, frame->n, reg);
    r = evaluator_missing(work, reg, frame, &entries, &n);
    if (r < 0)
        return r;
    work->depth++; /* the entries stay while selections of elements come and go */
    r = reduce_pieces(work, column, entries, n, reg);
    work->depth--;
    return r;
}

/* --- groups ------------------------------------------------------------------------------ */

/* Adds the rows of the piece, which are rows @from on of the table, to the accounts of their
 * groups. The scalar machine knows what a broken list means for a union. */
static int add_piece(Evaluator *work, const PlanReduction *reduction, const RowGroups *groups,
    size_t from, size_t length, ReduceState *accounts) {
    const EntryFrame *frame = &work->frames[reduction->space];
    ReduceArgs args;
    int r = reduce_begin(work, reduction, &args);

    if (r < 0)
        return r;
    for (size_t i = 0; i < length; i++) {
        uint32_t group = groups->of_row[from + i];

        if (group == UINT32_MAX)
            continue;
        if (frame->broken[i])
            accounts[group].bad = COLUMN_FALLBACK;
        reduce_range(&args, frame->starts[i], frame->starts[i + 1], &accounts[group]);
    }
    return 0;
}

/* All rows of the table take the place of the session's own for a while. */
static int reduce_table(Evaluator *work, const PlanReduction *reduction, const RowGroups *groups,
    ReduceState *accounts) {
    EntryFrame own = work->frames[ROW_SPACE];
    int r = 0;

    for (size_t from = 0; r == 0 && from < work->n_rows; from += PLAN_BATCH_ROWS) {
        size_t n = work->n_rows - from < PLAN_BATCH_ROWS ? work->n_rows - from : PLAN_BATCH_ROWS;

        work->frames[ROW_SPACE] = (EntryFrame){.n = n, .first = (uint32_t)from};
        for (size_t at = 0, length; r == 0 && at < n; at += length) {
            r = next_piece(work, reduction, NULL, at, n, &length);
            if (r == 0)
                r = add_piece(work, reduction, groups, from + at, length, accounts);
        }
    }
    work->frames[ROW_SPACE] = own;
    return r;
}

int evaluate_group(Evaluator *work, const PlanColumn *column) {
    const PlanReduction *reduction = column->reduction;
    const RowGroups *groups = &work->whole->groups[column->space];
    const Column *known = &work->whole->columns[column->store];
    ColumnRegister *reg = evaluator_register(work, column);
    ReduceState *accounts;
    int r;

    if (reduction->partial != NO_COLUMN) {
        reg->column = *known;
        return 0;
    }
    accounts = ARENA_ARRAY(work->arena, ReduceState, groups->n);
    if (!accounts)
        return -ENOMEM;
    r = register_open(work, reg, (ColumnLane)column->lane, groups->n);
    if (r == 0)
        r = reduce_table(work, reduction, groups, accounts);
    for (uint32_t i = 0; r == 0 && i < groups->n; i++)
        reduce_end((ReduceOp)reduction->op, &accounts[i], &reg->column, i);
    return r;
}

/* A row without a group has a union of nothing. */
int evaluate_lookup(Evaluator *work, const PlanColumn *column) {
    const PlanColumn *of = plan_column_at(work->plan, column->inputs[0]);
    const RowGroups *groups = &work->whole->groups[of->space];
    const Column *from = &evaluator_register(work, of)->column;
    const EntryFrame *frame = &work->frames[ROW_SPACE];
    ColumnRegister *reg = evaluator_register(work, column);
    const ReduceState nothing = {0};
    int r = register_open(work, reg, (ColumnLane)column->lane, frame->n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++) {
        uint32_t group = groups->of_row[entry_frame_row(frame, i)];

        if (group == UINT32_MAX) {
            reduce_end((ReduceOp)of->reduction->op, &nothing, &reg->column, i);
            continue;
        }
        reg->states[i] = from->states ? from->states[group] : COLUMN_OK;
        if (column->lane != LANE_BOOL)
            reg->values[i] = from->ints[group]; /* or the bits of a double */
    }
    return 0;
}
