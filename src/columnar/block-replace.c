/*
 * A block of which some rows have changed: the new ones are put between the old.
 *
 * What is kept is a row's own: its entries of the columns of rows, and a stretch of those of the
 * columns of elements. So the new block is stretches of both, one after the other. Only codes are a
 * block's: each string that is still there gets a new one, and is copied, since what the old
 * block borrowed it from may be gone tomorrow.
 */
#include <errno.h>

#include "columnar/evaluator-internal.h"

#define NO_CODE UINT32_MAX

/* Rows that follow each other in one of both blocks, and in the new one. */
typedef struct Piece {
    const PlanBlock *block;
    size_t row, n;
} Piece;

typedef struct Splice {
    const Plan *plan;
    const PlanBlock *old, *fresh;
    Piece pieces[2 * PLAN_BLOCK_ROWS + 1];
    size_t n_pieces;
    Arena *scratch, *keep;
} Splice;

static void add_piece(Splice *splice, const PlanBlock *block, size_t row, size_t n) {
    if (n > 0)
        splice->pieces[splice->n_pieces++] = (Piece){.block = block, .row = row, .n = n};
}

static void cut(Splice *splice, const uint32_t *rows, size_t n_rows) {
    size_t at = 0;

    for (size_t i = 0; i < n_rows; i++) {
        add_piece(splice, splice->old, at, rows[i] - at);
        add_piece(splice, splice->fresh, i, 1);
        at = rows[i] + (size_t)1;
    }
    add_piece(splice, splice->old, at, splice->old->n - at);
}

/* Where the entries of @row begin. */
static size_t entry_of(const Splice *splice, const PlanBlock *block, uint32_t space, size_t row) {
    if (space == ROW_SPACE)
        return row;
    return block->offsets[splice->plan->spaces.items[space].store].starts[row];
}

/* The entries of a piece: from @ret_from on. */
static size_t entries_of(
    const Splice *splice, const Piece *piece, uint32_t space, size_t *ret_from) {
    *ret_from = entry_of(splice, piece->block, space, piece->row);
    return entry_of(splice, piece->block, space, piece->row + piece->n) - *ret_from;
}

static size_t count_entries(const Splice *splice, uint32_t space) {
    size_t total = 0, from;

    for (size_t i = 0; i < splice->n_pieces; i++)
        total += entries_of(splice, &splice->pieces[i], space, &from);
    return total;
}

/* --- columns ----------------------------------------------------------------------------- */

static bool has_trouble(const uint8_t *states, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (states[i] != COLUMN_OK)
            return true;
    return false;
}

/* As in a block that was worked out anew, none where all is fine. */
static int splice_states(
    const Splice *splice, const PlanColumn *column, size_t total, Column *ret) {
    uint8_t *states;
    size_t at = 0, from;

    if (!splice->old->columns[column->store].states &&
        !splice->fresh->columns[column->store].states)
        return 0;
    states = ARENA_RAW(splice->keep, uint8_t, total);
    if (!states)
        return -ENOMEM;
    for (size_t i = 0; i < splice->n_pieces; i++) {
        const uint8_t *those = splice->pieces[i].block->columns[column->store].states;
        size_t n = entries_of(splice, &splice->pieces[i], column->space, &from);

        if (those && n > 0)
            memcpy(states + at, those + from, n);
        else if (n > 0)
            memset(states + at, COLUMN_OK, n);
        at += n;
    }
    if (column->lane == LANE_BOOL || has_trouble(states, total))
        ret->states = states;
    return 0;
}

static int splice_numbers(
    const Splice *splice, const PlanColumn *column, size_t total, Column *ret) {
    size_t at = 0, from;

    ret->ints = ARENA_RAW(splice->keep, int64_t, total);
    if (!ret->ints)
        return -ENOMEM;
    for (size_t i = 0; i < splice->n_pieces; i++) {
        const int64_t *those = splice->pieces[i].block->columns[column->store].ints;
        size_t n = entries_of(splice, &splice->pieces[i], column->space, &from);

        if (n > 0)
            memcpy(ret->ints + at, those + from, n * sizeof(*those));
        at += n;
    }
    return 0;
}

/* --- strings ----------------------------------------------------------------------------- */

/* From the codes of one of both blocks to the new ones. */
typedef struct Codes {
    const Column *of;
    uint32_t *now; /* NO_CODE: nobody asked yet */
} Codes;

static int codes_open(Codes *codes, const Column *of, Arena *scratch) {
    codes->of = of;
    codes->now = ARENA_RAW(scratch, uint32_t, of->dictionary->n);
    if (!codes->now)
        return -ENOMEM;
    if (of->dictionary->n > 0)
        memset(codes->now, 0xff, of->dictionary->n * sizeof(uint32_t));
    return 0;
}

/* False: there are too many. */
static bool add_codes(
    Codes *codes, size_t from, size_t n, DictionaryBuilder *encoder, uint16_t *out) {
    const Column *of = codes->of;

    for (size_t i = 0; i < n; i++) {
        uint32_t code = of->codes[from + i];

        out[i] = 0;
        if (of->states && of->states[from + i] != COLUMN_OK)
            continue;
        if (codes->now[code] == NO_CODE)
            codes->now[code] = dictionary_builder_add(encoder, of->dictionary->values[code]);
        if (codes->now[code] == DICTIONARY_MAX)
            return false;
        out[i] = (uint16_t)codes->now[code];
    }
    return true;
}

static int splice_texts(const Splice *splice, const PlanColumn *column, size_t total, Column *ret) {
    const Column *old = &splice->old->columns[column->store];
    const Column *fresh = &splice->fresh->columns[column->store];
    size_t n_strings = (size_t)old->dictionary->n + fresh->dictionary->n, at = 0, from;
    Codes of_old, of_fresh;
    DictionaryBuilder encoder;
    int r = codes_open(&of_old, old, splice->scratch);

    if (r == 0)
        r = codes_open(&of_fresh, fresh, splice->scratch);
    if (r == 0)
        r = dictionary_builder_open(&encoder, n_strings, splice->scratch);
    ret->codes = ARENA_RAW(splice->keep, uint16_t, total);
    if (r < 0 || !ret->codes)
        return -ENOMEM;
    for (size_t i = 0; i < splice->n_pieces; i++) {
        const Piece *piece = &splice->pieces[i];
        size_t n = entries_of(splice, piece, column->space, &from);

        if (!add_codes(piece->block == splice->old ? &of_old : &of_fresh,
                from,
                n,
                &encoder,
                ret->codes + at))
            return PLAN_BLOCK_FULL;
        at += n;
    }
    return dictionary_builder_finish(
        &encoder, /* with_strings= */ true, splice->keep, &ret->dictionary);
}

/* --- all of it ----------------------------------------------------------------------------- */

static int splice_column(const Splice *splice, const PlanColumn *column, Column *ret) {
    size_t total = count_entries(splice, column->space);
    int r;

    *ret = (Column){.lane = (ColumnLane)column->lane};
    r = splice_states(splice, column, total, ret);
    if (r < 0 || column->lane == LANE_BOOL)
        return r;
    if (column->lane == LANE_TEXT)
        r = splice_texts(splice, column, total, ret);
    else
        r = splice_numbers(splice, column, total, ret);
    return r < 0 ? r : r;
}

static int splice_offsets(const Splice *splice, uint32_t space, ListOffsets *ret) {
    uint32_t store = splice->plan->spaces.items[space].store;
    bool is_broken = splice->old->offsets[store].broken || splice->fresh->offsets[store].broken;
    uint32_t *starts = ARENA_RAW(splice->keep, uint32_t, splice->old->n + 1);
    uint8_t *broken = is_broken ? ARENA_ARRAY(splice->keep, uint8_t, splice->old->n) : NULL;
    size_t at = 0;

    if (!starts || (is_broken && !broken))
        return -ENOMEM;
    starts[0] = 0;
    for (size_t i = 0; i < splice->n_pieces; i++) {
        const Piece *piece = &splice->pieces[i];
        const ListOffsets *from = &piece->block->offsets[store];

        for (size_t row = piece->row; row < piece->row + piece->n; row++, at++) {
            starts[at + 1] = starts[at] + (from->starts[row + 1] - from->starts[row]);
            if (from->broken)
                broken[at] = from->broken[row];
        }
    }
    *ret = (ListOffsets){.starts = starts, .broken = broken};
    return 0;
}

int plan_block_replace_rows(const Plan *plan, const PlanBlock *old, const PlanBlock *fresh,
    const uint32_t *rows, size_t n_rows, Arena *scratch, Arena *keep, const PlanBlock **ret) {
    Splice splice = {.plan = plan, .old = old, .fresh = fresh, .scratch = scratch, .keep = keep};
    PlanBlock *kept = ARENA_NEW(keep, PlanBlock);
    Column *columns = ARENA_ARRAY(keep, Column, plan->n_stored);
    ListOffsets *offsets = ARENA_ARRAY(keep, ListOffsets, plan->n_offsets);
    int r = 0;

    if (!kept || !columns || !offsets)
        return -ENOMEM;
    cut(&splice, rows, n_rows);
    for (uint32_t i = 0; r == 0 && i < plan->n_stored; i++)
        r = splice_column(&splice, plan_column_at(plan, plan->stored[i]), &columns[i]);
    for (uint32_t i = 1; r == 0 && i < plan->spaces.n; i++)
        if (plan->spaces.items[i].is_stored)
            r = splice_offsets(&splice, i, &offsets[plan->spaces.items[i].store]);
    if (r != 0)
        return r < 0 ? r : r;
    *kept = (PlanBlock){.n = old->n, .columns = columns, .offsets = offsets};
    *ret = kept;
    return 0;
}
