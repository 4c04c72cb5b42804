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

#include "cel/entry.h"
#include "cel/work.h"

#define PIECE_ITEMS 4096u

/* --- pieces ------------------------------------------------------------------------------ */

/* Rows of one block that follow each other, in the order of the rows' frame. */
typedef struct Run {
    size_t entry; /* of the frame: the first */
    uint32_t block, from, n;
} Run;

/* The run that begins with the @i-th of @n @entries (NULL: with entry @i). Field by field: a Run
 * that is copied as a whole right after waits for its parts to be written. */
static void find_run(const CelFrame *rows, const uint32_t *entries, size_t i, size_t n, Run *ret) {
    size_t entry = entries ? entries[i] : i;
    uint32_t row = cel_frame_row(rows, entry), from = row % CEL_BLOCK_ROWS;
    size_t rest = CEL_BLOCK_ROWS - from < n - i ? CEL_BLOCK_ROWS - from : n - i;

    ret->entry = entry;
    ret->block = row / CEL_BLOCK_ROWS;
    ret->from = from;
    ret->n = entries || rows->rows ? 1 : (uint32_t)rest;
}

static CelOffsets offsets_of(const CelWork *work, const CelSpace *space, const Run *run) {
    return work->blocks[run->block]->offsets[space->store];
}

static uint32_t n_items(const CelWork *work, const CelSpace *space, const Run *run) {
    const uint32_t *starts = offsets_of(work, space, run).starts + run->from;

    return starts[run->n] - starts[0];
}

/* How many of @entries (NULL: those from @from on) of the rows' frame go into one piece; through
 * @ret_items: their elements. */
static size_t piece_length(const CelWork *work, const CelSpace *space, const uint32_t *entries,
    size_t from, size_t n, size_t *ret_items) {
    size_t length = 0, items = 0;

    while (from + length < n) {
        uint32_t more;
        Run run;

        find_run(&work->frames[CEL_ROWS], entries, from + length, n, &run);
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
static int open_piece(CelWork *work, CelFrame *frame, size_t n, bool with_elements) {
    if (!frame->starts) {
        uint32_t *starts = ARENA_RAW(work->arena, uint32_t, CEL_BATCH_ROWS + 1);

        frame->broken = ARENA_RAW(work->arena, uint8_t, CEL_BATCH_ROWS);
        frame->stretches = ARENA_RAW(work->arena, CelStretch, CEL_BATCH_ROWS);
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

static void add_stretch(CelFrame *frame, uint32_t block, uint32_t from, uint32_t n) {
    CelStretch *last = frame->n_stretches > 0 ? &frame->stretches[frame->n_stretches - 1] : NULL;

    assert(frame->stretches); /* room was made for them */
    if (n == 0)
        return;
    if (last && last->block == block && last->from + last->n == from)
        last->n += n;
    else
        frame->stretches[frame->n_stretches++] =
            (CelStretch){.block = block, .from = from, .at = (uint32_t)frame->n, .n = n};
}

/* The loop's variable itself for the row's elements. A list that is not as it was when it was kept
 * is odd. */
static void add_elements(CelWork *work, const CelReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *broken) {
    CelFrame *frame = &work->frames[reduction->space];
    CelValue v = cel_work_list(work, &work->plan->spaces.items[reduction->space], entry);
    bool is_list = v.kind == CEL_LIST && v.list->n == n;

    for (uint32_t i = 0; i < n; i++) {
        CelValue *element = &frame->elements[at + i];

        *element = is_list ? cel_list_at(v.list, i, work->run) : cel_absent();
        if (!is_list || element->kind == CEL_ERROR)
            *broken = CEL_STATE_ODD;
    }
}

/* What is asked for the elements of one row, beginning with the frame's @at. */
static void add_row(CelWork *work, const CelReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *broken) {
    CelFrame *frame = &work->frames[reduction->space];

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
static void add_run(CelWork *work, const CelReduction *reduction, size_t i, const Run *run) {
    CelFrame *frame = &work->frames[reduction->space];
    CelOffsets offsets = offsets_of(work, &work->plan->spaces.items[reduction->space], run);
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
static int next_piece(CelWork *work, const CelReduction *reduction, const uint32_t *entries,
    size_t from, size_t n, size_t *ret) {
    const CelSpace *space = &work->plan->spaces.items[reduction->space];
    CelFrame *frame = &work->frames[reduction->space];
    size_t items;
    int r;

    *ret = piece_length(work, space, entries, from, n, &items);
    r = open_piece(work, frame, items, reduction->needs_elements);
    if (r < 0)
        return r;
    work->is_held = true;
    for (size_t i = 0; i < *ret;) {
        Run run;

        find_run(&work->frames[CEL_ROWS], entries, from + i, from + *ret, &run);
        add_run(work, reduction, i, &run);
        i += run.n;
    }
    if (frame->n > 0)
        r = cel_work_steps(work, &reduction->steps, reduction->space);
    work->is_held = false;
    if (r == 0 && cel_work_is_over(work))
        r = CEL_SESSION_OVER;
    return r;
}

/* --- elements of rows -------------------------------------------------------------------- */

static int reduce_pieces(CelWork *work, const CelPlanColumn *column, const uint32_t *entries,
    size_t n, CelRegister *reg) {
    int r = 0;

    for (size_t from = 0, length; r == 0 && from < n; from += length) {
        r = next_piece(work, column->reduction, entries, from, n, &length);
        if (r == 0)
            r = cel_reduce_rows(work, column, entries ? entries + from : NULL, from, length, reg);
    }
    return r;
}

int cel_work_reduce(CelWork *work, const CelPlanColumn *column) {
    const CelFrame *frame = &work->frames[column->space];
    CelRegister *reg = cel_work_register(work, column);
    const uint32_t *entries = NULL;
    size_t n = 0;
    int r = 0;

    if (reg->stamp != frame->stamp || !reg->is_partial)
        r = cel_register_open(work, reg, (CelLane)column->lane, frame->n);
    if (r < 0)
        return r;
    if (work->is_kept)
        return cel_reduce_rows(work, column, NULL, 0, frame->n, reg);
    r = cel_work_missing(work, reg, frame, &entries, &n);
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
static int add_piece(CelWork *work, const CelReduction *reduction, const CelGroups *groups,
    size_t from, size_t length, CelAccount *accounts) {
    const CelFrame *frame = &work->frames[reduction->space];
    CelReduceArgs args;
    int r = cel_reduce_begin(work, reduction, &args);

    if (r < 0)
        return r;
    for (size_t i = 0; i < length; i++) {
        uint32_t group = groups->of_row[from + i];

        if (group == UINT32_MAX)
            continue;
        if (frame->broken[i])
            accounts[group].bad = CEL_STATE_ODD;
        cel_reduce_range(&args, frame->starts[i], frame->starts[i + 1], &accounts[group]);
    }
    return 0;
}

/* All rows of the table take the place of the session's own for a while. */
static int reduce_table(
    CelWork *work, const CelReduction *reduction, const CelGroups *groups, CelAccount *accounts) {
    CelFrame own = work->frames[CEL_ROWS];
    int r = 0;

    for (size_t from = 0; r == 0 && from < work->n_rows; from += CEL_BATCH_ROWS) {
        size_t n = work->n_rows - from < CEL_BATCH_ROWS ? work->n_rows - from : CEL_BATCH_ROWS;

        work->frames[CEL_ROWS] = (CelFrame){.n = n, .first = (uint32_t)from};
        for (size_t at = 0, length; r == 0 && at < n; at += length) {
            r = next_piece(work, reduction, NULL, at, n, &length);
            if (r == 0)
                r = add_piece(work, reduction, groups, from + at, length, accounts);
        }
    }
    work->frames[CEL_ROWS] = own;
    return r;
}

int cel_work_group(CelWork *work, const CelPlanColumn *column) {
    const CelReduction *reduction = column->reduction;
    const CelGroups *groups = &work->whole->groups[column->space];
    const CelColumn *known = &work->whole->columns[column->store];
    CelRegister *reg = cel_work_register(work, column);
    CelAccount *accounts;
    int r;

    if (reduction->partial != CEL_NO_COLUMN) {
        reg->column = *known;
        return 0;
    }
    accounts = ARENA_ARRAY(work->arena, CelAccount, groups->n);
    if (!accounts)
        return -ENOMEM;
    r = cel_register_open(work, reg, (CelLane)column->lane, groups->n);
    if (r == 0)
        r = reduce_table(work, reduction, groups, accounts);
    for (uint32_t i = 0; r == 0 && i < groups->n; i++)
        cel_reduce_end((CelReduce)reduction->op, &accounts[i], &reg->column, i);
    return r;
}

/* A row without a group has a union of nothing. */
int cel_work_lookup(CelWork *work, const CelPlanColumn *column) {
    const CelPlanColumn *of = cel_plan_at(work->plan, column->inputs[0]);
    const CelGroups *groups = &work->whole->groups[of->space];
    const CelColumn *from = &cel_work_register(work, of)->column;
    const CelFrame *frame = &work->frames[CEL_ROWS];
    CelRegister *reg = cel_work_register(work, column);
    const CelAccount nothing = {0};
    int r = cel_register_open(work, reg, (CelLane)column->lane, frame->n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++) {
        uint32_t group = groups->of_row[cel_frame_row(frame, i)];

        if (group == UINT32_MAX) {
            cel_reduce_end((CelReduce)of->reduction->op, &nothing, &reg->column, i);
            continue;
        }
        reg->states[i] = from->states ? from->states[group] : CEL_STATE_FINE;
        if (column->lane != CEL_LANE_BOOL)
            reg->values[i] = from->ints[group]; /* or the bits of a double */
    }
    return 0;
}
