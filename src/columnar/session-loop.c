/* Reductions of a session: over the elements of its rows, or for groups over those of all rows of
 * the table. They run piece by piece: a piece is some rows with all their elements, few enough that
 * a dozen columns fit into the processor's cache. */

#include <assert.h>
#include <errno.h>

#include "columnar/evaluator-internal.h"

#define PIECE_ITEMS 4096u

/* Consecutive rows of one block that are consecutive in the rows' frame, too. */
typedef struct Run {
    size_t entry; /* of the frame: the first */
    uint32_t block, from, n;
} Run;

/* The run that begins with the @i-th of @n @entries (NULL: with entry @i). Writes field by field,
 * because reading a struct as a whole right after its parts were written stalls the processor. */
static void find_run(
    const EntryFrame *rows, const uint32_t *entries, size_t i, size_t n, Run *ret) {
    size_t entry = entries ? entries[i] : i;
    uint32_t row = entry_frame_row(rows, entry), from = row % PLAN_BLOCK_ROWS;
    size_t rest = PLAN_BLOCK_ROWS - from < n - i ? PLAN_BLOCK_ROWS - from : n - i;
    size_t length = entries || rows->rows ? 1 : rest;

    while (entries && !rows->rows && length < rest && entries[i + length] == entry + length)
        length++;
    ret->entry = entry;
    ret->block = row / PLAN_BLOCK_ROWS;
    ret->from = from;
    ret->n = (uint32_t)length;
}

static ListOffsets offsets_of(const Evaluator *e, const PlanSpace *space, const Run *run) {
    return e->session->blocks[run->block]->offsets[space->store];
}

/* The number of @entries of the rows' frame, from the @from-th on (NULL: of all entries), that go
 * into one piece; through @ret_items: the number of their elements. */
static size_t piece_length(const Evaluator *e, const PlanSpace *space, const uint32_t *entries,
    size_t from, size_t n, size_t *ret_items) {
    size_t length = 0, items = 0;

    while (from + length < n) {
        const uint32_t *starts;
        uint32_t more;
        Run run;

        find_run(&e->frames[ROW_SPACE], entries, from + length, n, &run);
        starts = offsets_of(e, space, &run).starts + run.from;
        more = starts[run.n] - starts[0];
        if (length > 0 && items + more > PIECE_ITEMS)
            break;
        items += more;
        length += run.n;
    }
    *ret_items = items;
    return length;
}

/* Allocates memory for the rows of a batch and @n elements, and empties the frame. */
static bool open_piece(Evaluator *e, EntryFrame *frame, size_t n, bool with_elements) {
    if (!frame->starts || !frame->list_states || !frame->ranges) {
        frame->starts = ARENA_RAW(e->arena, uint32_t, PLAN_BATCH_ROWS + 1);
        frame->list_states = ARENA_RAW(e->arena, uint8_t, PLAN_BATCH_ROWS);
        frame->ranges = ARENA_RAW(e->arena, BlockRange, PLAN_BATCH_ROWS);
    }
    if (!frame->row_of || n > frame->capacity) {
        size_t least = frame->capacity > 0 ? 2 * frame->capacity : PIECE_ITEMS;

        frame->capacity = n > least ? n : least;
        frame->row_of = ARENA_RAW(e->arena, uint32_t, frame->capacity);
        frame->elements = NULL;
    }
    if (with_elements && !frame->elements)
        frame->elements = ARENA_RAW(e->arena, CelValue, frame->capacity);
    frame->n = 0;
    frame->n_ranges = 0;
    frame->stamp = ++e->last_stamp;
    return evaluator_check(e,
        frame->starts && frame->list_states && frame->ranges && frame->row_of &&
            (!with_elements || frame->elements),
        -ENOMEM);
}

static void add_range(EntryFrame *frame, uint32_t block, uint32_t from, uint32_t n) {
    BlockRange *last = frame->n_ranges > 0 ? &frame->ranges[frame->n_ranges - 1] : NULL;

    assert(frame->ranges); /* room was made for them */
    if (n == 0)
        return;
    if (last && last->block == block && last->from + last->n == from)
        last->n += n;
    else
        frame->ranges[frame->n_ranges++] =
            (BlockRange){.block = block, .from = from, .at = (uint32_t)frame->n, .n = n};
}

/* Stores the row's elements as values of the loop's variable. FALLBACK if one of them is an error,
 * or if the list is no longer that of the block. */
static void add_elements(Evaluator *e, const PlanReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *list_state) {
    EntryFrame *frame = &e->frames[reduction->space];
    CelValue v = evaluator_list(e, &e->plan->spaces.items[reduction->space], entry);
    bool is_list = v.kind == CEL_LIST && v.list->n == n;

    for (uint32_t i = 0; i < n; i++) {
        CelValue *element = &frame->elements[at + i];

        *element = is_list ? cel_list_at(v.list, i, e->run) : cel_absent();
        if (!is_list || element->kind == CEL_ERROR)
            *list_state = COLUMN_FALLBACK;
    }
}

/* Adds the elements of one row to the frame, from @at on. */
static void add_row(Evaluator *e, const PlanReduction *reduction, size_t entry, uint32_t at,
    uint32_t n, uint8_t *list_state) {
    EntryFrame *frame = &e->frames[reduction->space];

    for (uint32_t k = 0; reduction->needs_rows && k < n; k++)
        frame->row_of[at + k] = (uint32_t)entry;
    if (reduction->needs_elements && n > 0)
        add_elements(e, reduction, entry, at, n, list_state);
}

/* Copies the starts of @n rows, and the end of the last one, moved so that the first is @begin. */
static void move_starts(
    const uint32_t *restrict from, uint32_t n, uint32_t begin, uint32_t *restrict starts) {
    uint32_t by = begin - from[0];

    for (uint32_t k = 0; k <= n; k++)
        starts[k] = from[k] + by; /* modulo 2^32, if they move down */
}

/* Adds @run, which begins with row @i of the piece. */
static void add_run(Evaluator *e, const PlanReduction *reduction, size_t i, const Run *run) {
    EntryFrame *frame = &e->frames[reduction->space];
    ListOffsets offsets = offsets_of(e, &e->plan->spaces.items[reduction->space], run);
    const uint32_t *from = offsets.starts + run->from;
    uint32_t *starts = frame->starts + i;

    move_starts(from, run->n, (uint32_t)frame->n, starts);
    if (offsets.list_states)
        memcpy(frame->list_states + i, offsets.list_states + run->from, run->n);
    else
        memset(frame->list_states + i, 0, run->n);
    add_range(frame, run->block, from[0], from[run->n] - from[0]);
    for (uint32_t k = 0; (reduction->needs_rows || reduction->needs_elements) && k < run->n; k++)
        add_row(e, reduction, run->entry + k, starts[k], starts[k + 1] - starts[k],
            &frame->list_states[i + k]);
    frame->n += from[run->n] - from[0];
}

/* The next piece of @n entries, from @from on: sets up the frame of the reduction's space and
 * computes its columns. Returns how many rows it has. */
static size_t next_piece(
    Evaluator *e, const PlanReduction *reduction, const uint32_t *entries, size_t from, size_t n) {
    const PlanSpace *space = &e->plan->spaces.items[reduction->space];
    EntryFrame *frame = &e->frames[reduction->space];
    size_t items, length = piece_length(e, space, entries, from, n, &items);

    if (!open_piece(e, frame, items, reduction->needs_elements))
        return length;
    e->session->keeps_scratch = true;
    for (size_t i = 0; i < length;) {
        Run run;

        find_run(&e->frames[ROW_SPACE], entries, from + i, from + length, &run);
        add_run(e, reduction, i, &run);
        i += run.n;
    }
    if (frame->n > 0)
        evaluator_run_steps(e, &reduction->steps, reduction->space);
    e->session->keeps_scratch = false;
    evaluator_check_deadline(e);
    return length;
}

void evaluate_reduce(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    const uint32_t *entries = NULL;
    size_t n = 0;

    if (!evaluator_open_missing(e, column, reg, &entries, &n))
        return;
    if (!e->session) {
        reduce_rows(e, column, NULL, 0, n, reg);
        return;
    }
    e->depth++; /* so that selections of elements do not overwrite @entries */
    for (size_t from = 0, length; e->status == 0 && from < n; from += length) {
        length = next_piece(e, column->reduction, entries, from, n);
        if (e->status == 0)
            reduce_rows(e, column, entries ? entries + from : NULL, from, length, reg);
    }
    e->depth--;
}

/* Adds the rows of the piece, which begins with row @from of the table, to the results of their
 * groups. If a row's value is not a list, the scalar machine must compute the union. */
static void add_piece(Evaluator *e, const PlanReduction *reduction, const RowGroups *groups,
    size_t from, size_t length, ReduceState *results) {
    const EntryFrame *frame = &e->frames[reduction->space];
    ReduceArgs args;

    if (!reduce_begin(e, reduction, &args))
        return;
    for (size_t i = 0; i < length; i++) {
        uint32_t group = groups->of_row[from + i];

        if (group == UINT32_MAX)
            continue;
        if (frame->list_states[i])
            results[group].bad = COLUMN_FALLBACK;
        reduce_range(&args, frame->starts[i], frame->starts[i + 1], &results[group]);
    }
}

/* Sets the frame to all rows of the table, and back to the session's own rows at the end. */
static void reduce_table(
    Evaluator *e, const PlanReduction *reduction, const RowGroups *groups, ReduceState *results) {
    EntryFrame own = e->frames[ROW_SPACE];
    size_t n_rows = e->session->n_rows;

    for (size_t from = 0; e->status == 0 && from < n_rows; from += PLAN_BATCH_ROWS) {
        size_t n = n_rows - from < PLAN_BATCH_ROWS ? n_rows - from : PLAN_BATCH_ROWS;

        e->frames[ROW_SPACE] = (EntryFrame){.n = n, .first = (uint32_t)from};
        for (size_t at = 0, length; e->status == 0 && at < n; at += length) {
            length = next_piece(e, reduction, NULL, at, n);
            if (e->status == 0)
                add_piece(e, reduction, groups, from + at, length, results);
        }
    }
    e->frames[ROW_SPACE] = own;
}

/* An evaluator for all rows of the table, made at the first call, with registers of its own: those
 * of the session's rows are still needed. NULL: no memory. */
static Evaluator *evaluator_of_table(Evaluator *e) {
    BlockRange *ranges;
    Evaluator *made;

    if (e->session->of_table)
        return e->session->of_table;
    made = ARENA_NEW(e->arena, Evaluator);
    ranges = ARENA_RAW(e->arena, BlockRange, PLAN_BATCH_ROWS);
    if (!evaluator_check(e, made && ranges, -ENOMEM))
        return NULL;
    *made = (Evaluator){
        .plan = e->plan,
        .table = e->table,
        .session = e->session,
        .arena = e->arena,
        .run = e->run,
        .fuel = e->fuel,
        .deadline = e->deadline,
        .variables = e->variables,
    };
    evaluator_begin(made, e->plan->n_regs);
    if (!evaluator_check(e, made->status == 0, made->status))
        return NULL;
    made->frames[ROW_SPACE].ranges = ranges;
    e->session->of_table = made;
    return made;
}

/* Reduces the rows of all groups, in the order of the table. */
static void reduce_members(
    Evaluator *e, const PlanReduction *reduction, const RowGroups *groups, ReduceState *results) {
    Evaluator *all = evaluator_of_table(e);
    size_t n_rows = e->session->n_rows;

    for (size_t from = 0; all && e->status == 0 && from < n_rows; from += PLAN_BATCH_ROWS) {
        size_t n = n_rows - from < PLAN_BATCH_ROWS ? n_rows - from : PLAN_BATCH_ROWS;
        ReduceArgs args;

        all->status = 0;
        evaluator_set_range(all, (uint32_t)from, n);
        evaluator_check_deadline(all);
        evaluator_run_steps(all, &reduction->steps, ROW_SPACE);
        if (all->status == 0 && reduce_begin(all, reduction, &args))
            for (size_t i = 0; i < n; i++)
                if (groups->of_row[from + i] != UINT32_MAX)
                    reduce_range(&args, i, i + 1, &results[groups->of_row[from + i]]);
        (void)evaluator_check(e, all->status == 0, all->status);
    }
}

void evaluate_group(Evaluator *e, const PlanColumn *column) {
    const PlanReduction *reduction = column->reduction;
    const RowGroups *groups = &e->session->totals->groups[column->space];
    ColumnRegister *reg = evaluator_register(e, column);
    ReduceState *results;

    if (reduction->partial != NO_COLUMN || reduction->is_total) {
        reg->column = e->session->totals->columns[column->store];
        return;
    }
    results = ARENA_ARRAY(e->arena, ReduceState, groups->n);
    if (!evaluator_check(e, results, -ENOMEM) ||
        !register_open(e, reg, (ColumnLane)column->lane, groups->n))
        return;
    if (reduction->space == ROW_SPACE)
        reduce_members(e, reduction, groups, results);
    else
        reduce_table(e, reduction, groups, results);
    for (uint32_t i = 0; e->status == 0 && i < groups->n; i++)
        reduce_end((ReduceOp)reduction->op, &results[i], &reg->column, i);
}

/* A row without a group gets the result for an empty list. */
void evaluate_lookup(Evaluator *e, const PlanColumn *column) {
    const PlanColumn *of = plan_column_at(e->plan, column->inputs[0]);
    const RowGroups *groups = &e->session->totals->groups[of->space];
    const Column *from = &evaluator_register(e, of)->column;
    const EntryFrame *frame = &e->frames[ROW_SPACE];
    ColumnRegister *reg = evaluator_register(e, column);
    const ReduceState nothing = {0};

    if (!register_open(e, reg, (ColumnLane)column->lane, frame->n))
        return;
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
}
