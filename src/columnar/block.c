/*
 * A block: what is known of some rows from the rows alone.
 *
 * The plan's list of steps, worked out in the run's arena; then what sessions read is copied to
 * where it stays. Elements of lists are one long array with the places where each row's begin.
 */
#include <errno.h>

#include "columnar/evaluator-internal.h"

#define BLOCK_STAMP 1
#define ITEMS_MAX (1u << 24) /* elements of one list over a block */

/* --- what the host gives ----------------------------------------------------------------- */

int evaluate_leaf(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ColumnRegister *reg = evaluator_register(work, column);
    int r = register_open(work, reg, (ColumnLane)column->lane, frame->n);

    if (r == 0 && column->lane != LANE_BOOL)
        memset(reg->values, 0, frame->n * sizeof(*reg->values)); /* not all rows may have one */
    if (r == 0 && column->lane == LANE_TEXT)
        r = register_open_texts(work, reg, frame->n);
    if (r < 0)
        return r;
    if (column->space == ROW_SPACE)
        work->table->load(
            work->table, column->leaf, frame->rows, frame->n, &reg->column, reg->texts);
    else
        work->table->load_elements(
            work->table, column->leaf, frame->elements, frame->n, &reg->column, reg->texts);
    reg->has_texts = column->lane == LANE_TEXT;
    reg->is_borrowed = true;
    return 0;
}

/* --- elements ---------------------------------------------------------------------------- */

/* The list of one row; what cannot be one is broken, and empty. */
static const CelList *list_of(
    Evaluator *work, const PlanSpace *space, size_t row, uint8_t *broken) {
    CelValue v = evaluator_list(work, space, row);

    *broken = 0;
    if (v.kind == CEL_LIST)
        return v.list;
    *broken = v.kind == CEL_ERROR && !v.error->is_limit ? COLUMN_ERROR : COLUMN_FALLBACK;
    return NULL;
}

/* Fetches all; an element that cannot be fetched breaks its list. */
static void fetch_elements(Evaluator *work, const CelList *list, CelValue *out, uint8_t *broken) {
    for (uint32_t i = 0; i < list->n; i++) {
        out[i] = cel_list_at(list, i, work->run);
        if (out[i].kind == CEL_ERROR)
            *broken = COLUMN_FALLBACK;
    }
}

static int fill_elements(Evaluator *work, const CelList *const *lists, uint32_t *starts,
    uint8_t *broken, EntryFrame *ret) {
    size_t n_rows = work->frames[ROW_SPACE].n;
    CelValue *elements = ARENA_RAW(work->arena, CelValue, starts[n_rows]);
    uint32_t *row_of = ARENA_RAW(work->arena, uint32_t, starts[n_rows]);

    if (!elements || !row_of)
        return -ENOMEM;
    for (size_t i = 0; i < n_rows; i++) {
        for (uint32_t k = starts[i]; k < starts[i + 1]; k++)
            row_of[k] = (uint32_t)i;
        if (lists[i])
            fetch_elements(work, lists[i], elements + starts[i], &broken[i]);
    }
    *ret = (EntryFrame){
        .n = starts[n_rows],
        .stamp = BLOCK_STAMP,
        .starts = starts,
        .row_of = row_of,
        .broken = broken,
        .elements = elements,
    };
    return 0;
}

int evaluate_range(Evaluator *work, uint32_t number) {
    const PlanSpace *space = &work->plan->spaces.items[number];
    size_t n_rows = work->frames[ROW_SPACE].n;
    const CelList **lists = ARENA_ARRAY(work->arena, const CelList *, n_rows);
    uint32_t *starts = ARENA_ARRAY(work->arena, uint32_t, n_rows + 1);
    uint8_t *broken = ARENA_ARRAY(work->arena, uint8_t, n_rows);

    if (!lists || !starts || !broken)
        return -ENOMEM;
    for (size_t i = 0; i < n_rows; i++) {
        lists[i] = list_of(work, space, i, &broken[i]);
        if (lists[i] && lists[i]->n > ITEMS_MAX - starts[i]) {
            lists[i] = NULL;
            broken[i] = COLUMN_FALLBACK;
        }
        starts[i + 1] = starts[i] + (lists[i] ? lists[i]->n : 0);
    }
    return fill_elements(work, lists, starts, broken, &work->frames[number]);
}

/* --- keeping ----------------------------------------------------------------------------- */

static void *keep_bytes(Arena *keep, const void *from, size_t size) {
    void *to = arena_alloc(keep, size);

    if (to && size > 0)
        memcpy(to, from, size);
    return to;
}

static bool is_all_fine(const Column *column, size_t n) {
    if (!column->states)
        return true;
    for (size_t i = 0; i < n; i++) {
        if (column->states[i] != COLUMN_OK)
            return false;
    }
    return true;
}

static int keep_column(Evaluator *work, const PlanColumn *column, Arena *keep, Column *ret) {
    ColumnRegister *reg = evaluator_register(work, column);
    size_t n = work->frames[column->space].n;
    size_t width = column->lane == LANE_TEXT ? sizeof(uint16_t) : sizeof(int64_t);
    bool has_states;

    if (column->lane == LANE_TEXT) {
        int r = evaluator_encode(work, reg, n, keep);

        if (r < 0)
            return r;
    }
    has_states = column->lane == LANE_BOOL || !is_all_fine(&reg->column, n);
    *ret = reg->column;
    ret->states = has_states ? keep_bytes(keep, reg->column.states, n) : NULL;
    ret->ints = column->lane != LANE_BOOL ? keep_bytes(keep, reg->column.ints, n * width) : NULL;
    if ((has_states && !ret->states) || (column->lane != LANE_BOOL && !ret->ints))
        return -ENOMEM;
    return 0;
}

static int keep_offsets(const EntryFrame *frame, size_t n, Arena *keep, ListOffsets *ret) {
    bool is_broken = memchr(frame->broken, COLUMN_ERROR, n) != NULL ||
                     memchr(frame->broken, COLUMN_FALLBACK, n) != NULL;

    ret->starts = keep_bytes(keep, frame->starts, (n + 1) * sizeof(uint32_t));
    ret->broken = is_broken ? keep_bytes(keep, frame->broken, n) : NULL;
    return ret->starts && (ret->broken || !is_broken) ? 0 : -ENOMEM;
}

static int keep_all(Evaluator *work, Arena *keep, const PlanBlock **ret) {
    const Plan *plan = work->plan;
    PlanBlock *kept = ARENA_NEW(keep, PlanBlock);
    Column *columns = ARENA_ARRAY(keep, Column, plan->n_stored);
    ListOffsets *offsets = ARENA_ARRAY(keep, ListOffsets, plan->n_offsets);
    size_t n = work->frames[ROW_SPACE].n;
    int r = 0;

    if (!kept || !columns || !offsets)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < plan->n_stored; i++)
        r = keep_column(work, plan_column_at(plan, plan->stored[i]), keep, &columns[i]);
    for (size_t i = 1; r == 0 && i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].is_stored)
            r = keep_offsets(&work->frames[i], n, keep, &offsets[plan->spaces.items[i].store]);
    }
    if (r < 0)
        return r;
    *kept = (PlanBlock){.n = n, .columns = columns, .offsets = offsets};
    *ret = kept;
    return 0;
}

/* Roots that are kept are asked for as they are. */
static int mend_roots(Evaluator *work) {
    for (size_t i = 0; i < work->plan->n_roots; i++) {
        const PlanRoot *root = &work->plan->roots[i];
        const PlanColumn *column = plan_column_at(work->plan, root->column);
        int r;

        if (column->time != PLAN_PRECOMPUTED)
            continue;
        r = evaluate_fallbacks(
            work, root->node, (CelKind)column->kind, evaluator_register(work, column));
        if (r != 0)
            return r;
    }
    return 0;
}

int plan_block_new(const Plan *plan, const PlanTable *table, const uint32_t *rows, size_t n,
    CelRun *run, PlanDeadline clock, Arena *keep, const PlanBlock **ret) {
    Evaluator work = {
        .plan = plan,
        .table = table,
        .arena = run->arena,
        .run = run,
        .fuel = run->fuel,
        .is_kept = true,
        .clock = clock,
        .rows = ARENA_ARRAY(run->arena, CelValue, n),
    };
    int r;

    if (!work.rows)
        return -ENOMEM;
    r = evaluator_begin(&work, plan->n_kept_regs);
    if (r < 0)
        return r;
    work.frames[ROW_SPACE] = (EntryFrame){.n = n, .stamp = BLOCK_STAMP, .rows = rows};
    r = evaluator_run_steps(&work, &plan->kept, ROW_SPACE);
    if (r == 0)
        r = mend_roots(&work);
    run->fuel = work.fuel;
    run->limit = NULL;
    if (r == PLAN_DEADLINE_PASSED)
        return r;
    return r < 0 ? r : keep_all(&work, keep, ret);
}

Column plan_block_root(const Plan *plan, const PlanBlock *kept, size_t root) {
    return kept->columns[plan_column_at(plan, plan->roots[root].column)->store];
}
