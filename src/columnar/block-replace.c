/* Makes a block from an old one of which some rows have changed: copies ranges of the old block and
 * of the changed rows' block. Codes of strings are valid in one block only: each string still used
 * gets a new code and is copied, because the owner of the old one may be freed. */

#include <errno.h>

#include "columnar/evaluator-internal.h"

#define NO_CODE UINT32_MAX

/* Consecutive rows of one of the two blocks, which stay consecutive in the new one. */
typedef struct Piece {
    const PlanBlock *block;
    size_t row, n;
} Piece;

typedef struct Replacement {
    const Plan *plan;
    const PlanBlock *old, *fresh;
    Piece pieces[2 * PLAN_BLOCK_ROWS + 1];
    size_t n_pieces;
    Arena *scratch, *keep;
} Replacement;

static void add_piece(Replacement *r, const PlanBlock *block, size_t row, size_t n) {
    if (n > 0)
        r->pieces[r->n_pieces++] = (Piece){.block = block, .row = row, .n = n};
}

static void find_pieces(Replacement *r, const uint32_t *rows, size_t n_rows) {
    size_t at = 0;

    for (size_t i = 0; i < n_rows; i++) {
        add_piece(r, r->old, at, rows[i] - at);
        add_piece(r, r->fresh, i, 1);
        at = rows[i] + (size_t)1;
    }
    add_piece(r, r->old, at, r->old->n - at);
}

/* The index of the first entry of @row. */
static size_t entry_of(const Replacement *r, const PlanBlock *block, uint32_t space, size_t row) {
    if (space == ROW_SPACE)
        return row;
    return block->offsets[r->plan->spaces.items[space].store].starts[row];
}

/* The number of entries of a piece; @ret_from: the index of the first. */
static size_t entries_of(
    const Replacement *r, const Piece *piece, uint32_t space, size_t *ret_from) {
    *ret_from = entry_of(r, piece->block, space, piece->row);
    return entry_of(r, piece->block, space, piece->row + piece->n) - *ret_from;
}

static size_t count_entries(const Replacement *r, uint32_t space) {
    size_t total = 0, from;

    for (size_t i = 0; i < r->n_pieces; i++)
        total += entries_of(r, &r->pieces[i], space, &from);
    return total;
}

/* Copies the entries of all pieces, @size bytes each, from the arrays @old and @fresh of the two
 * blocks (NULL: all 0). NULL: no memory. */
static void *copy_entries(const Replacement *r, uint32_t space, size_t total, size_t size,
    const void *old, const void *fresh) {
    char *to = arena_alloc(r->keep, total * size);
    size_t at = 0, from;

    for (size_t i = 0; to && i < r->n_pieces; i++) {
        const char *source = r->pieces[i].block == r->old ? old : fresh;
        size_t n = entries_of(r, &r->pieces[i], space, &from);

        if (source && n > 0)
            memcpy(to + at * size, source + from * size, n * size);
        else if (n > 0)
            memset(to + at * size, 0, n * size);
        at += n;
    }
    return to;
}

/* Maps the codes of one of the two blocks to the new ones. */
typedef struct Codes {
    const Column *of;
    uint32_t *now; /* NO_CODE: not used yet */
} Codes;

static bool codes_open(Codes *codes, const Column *of, Arena *scratch) {
    codes->of = of;
    codes->now = ARENA_RAW(scratch, uint32_t, of->dictionary->n);
    if (codes->now && of->dictionary->n > 0)
        memset(codes->now, 0xff, of->dictionary->n * sizeof(uint32_t));
    return codes->now != NULL;
}

/* Returns false if there are too many. */
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

/* Returns false if there are too many distinct strings. */
static bool merge_texts(const Replacement *r, const PlanColumn *column, size_t total, Column *ret) {
    const Column *old = &r->old->columns[column->store];
    const Column *fresh = &r->fresh->columns[column->store];
    size_t n_strings = (size_t)old->dictionary->n + fresh->dictionary->n, at = 0, from;
    Codes of_old, of_fresh;
    DictionaryBuilder builder;

    ret->codes = ARENA_RAW(r->keep, uint16_t, total);
    if (!codes_open(&of_old, old, r->scratch) || !codes_open(&of_fresh, fresh, r->scratch) ||
        !dictionary_builder_open(&builder, n_strings, r->scratch) || !ret->codes)
        return true; /* an arena has failed */
    for (size_t i = 0; i < r->n_pieces; i++) {
        const Piece *piece = &r->pieces[i];
        size_t n = entries_of(r, piece, column->space, &from);
        Codes *codes = piece->block == r->old ? &of_old : &of_fresh;

        if (!add_codes(codes, from, n, &builder, ret->codes + at))
            return false;
        at += n;
    }
    ret->dictionary = dictionary_builder_finish(&builder, /* with_strings= */ true, r->keep);
    return true;
}

static bool merge_column(const Replacement *r, const PlanColumn *column, Column *ret) {
    const Column *old = &r->old->columns[column->store];
    const Column *fresh = &r->fresh->columns[column->store];
    size_t total = count_entries(r, column->space);
    uint8_t *states = NULL;

    *ret = (Column){.lane = (ColumnLane)column->lane};
    if (old->states || fresh->states)
        states = copy_entries(r, column->space, total, sizeof(*states), old->states, fresh->states);
    if (states && (column->lane == LANE_BOOL || column_has_states(states, total)))
        ret->states = states; /* NULL if all are OK, as in a new block */
    if (column->lane == LANE_TEXT)
        return merge_texts(r, column, total, ret);
    if (column->lane != LANE_BOOL)
        ret->ints =
            copy_entries(r, column->space, total, sizeof(*ret->ints), old->ints, fresh->ints);
    return true;
}

static void merge_offsets(const Replacement *r, uint32_t space, ListOffsets *ret) {
    uint32_t store = r->plan->spaces.items[space].store;
    bool has_states = r->old->offsets[store].list_states || r->fresh->offsets[store].list_states;
    uint32_t *starts = ARENA_ARRAY(r->keep, uint32_t, r->old->n + 1);
    uint8_t *states = has_states ? ARENA_ARRAY(r->keep, uint8_t, r->old->n) : NULL;
    size_t at = 0;

    if (arena_has_failed(r->keep))
        return;
    for (size_t i = 0; i < r->n_pieces; i++) {
        const Piece *piece = &r->pieces[i];
        const ListOffsets *from = &piece->block->offsets[store];

        for (size_t row = piece->row; row < piece->row + piece->n; row++, at++) {
            starts[at + 1] = starts[at] + (from->starts[row + 1] - from->starts[row]);
            if (from->list_states)
                states[at] = from->list_states[row];
        }
    }
    *ret = (ListOffsets){.starts = starts, .list_states = states};
}

int plan_block_replace_rows(const Plan *plan, const PlanBlock *old, const PlanBlock *fresh,
    const uint32_t *rows, size_t n_rows, Arena *scratch, Arena *keep, const PlanBlock **ret) {
    Replacement r = {.plan = plan, .old = old, .fresh = fresh, .scratch = scratch, .keep = keep};
    PlanBlock *block = ARENA_NEW(keep, PlanBlock);
    Column *columns = ARENA_ARRAY(keep, Column, plan->n_stored);
    ListOffsets *offsets = ARENA_ARRAY(keep, ListOffsets, plan->n_offsets);

    if (!block || !columns || !offsets)
        return -ENOMEM;
    find_pieces(&r, rows, n_rows);
    for (uint32_t i = 0; i < plan->n_stored; i++)
        if (!merge_column(&r, plan_column_at(plan, plan->stored[i]), &columns[i]))
            return PLAN_BLOCK_FULL;
    for (uint32_t i = 1; i < plan->spaces.n; i++)
        if (plan->spaces.items[i].is_stored)
            merge_offsets(&r, i, &offsets[plan->spaces.items[i].store]);
    if (arena_has_failed(keep) || arena_has_failed(scratch))
        return -ENOMEM;
    *block = (PlanBlock){.n = old->n, .columns = columns, .offsets = offsets};
    *ret = block;
    return 0;
}
