/* Blocks: columns that depend on nothing but their rows. Steps run in the run's arena; columns that
 * sessions read are copied to `keep`. The elements of all rows' lists are one array, with the index
 * of each row's first element. */

#include <errno.h>

#include "columnar/evaluator-internal.h"

#define BLOCK_STAMP 1
#define ITEMS_MAX (1u << 24) /* elements of one list over a block */

void evaluate_leaf(Evaluator *e, const PlanColumn *column) {
    const EntryFrame *frame = &e->frames[column->space];
    ColumnRegister *reg = evaluator_register(e, column);

    if (!register_open_values(e, reg, (ColumnLane)column->lane, frame->n, true))
        return;
    if (column->lane != LANE_BOOL)
        memset(reg->values, 0, frame->n * sizeof(*reg->values)); /* rows may be without a value */
    if (column->space == ROW_SPACE)
        e->table->load(e->table, column->leaf, frame->rows, frame->n, &reg->column, reg->texts);
    else
        e->table->load_elements(
            e->table, column->leaf, frame->elements, frame->n, &reg->column, reg->texts);
}

/* An element that cannot be fetched makes its list FALLBACK. */
static void fetch_elements(Evaluator *e, const CelList *list, CelValue *out, uint8_t *list_state) {
    for (uint32_t i = 0; i < list->n; i++) {
        out[i] = cel_list_at(list, i, e->run);
        if (out[i].kind == CEL_ERROR)
            *list_state = COLUMN_FALLBACK;
    }
}

static void fill_elements(Evaluator *e, const CelList *const *lists, EntryFrame *frame) {
    size_t n_rows = e->frames[ROW_SPACE].n;

    frame->n = frame->starts[n_rows];
    frame->elements = ARENA_RAW(e->arena, CelValue, frame->n);
    frame->row_of = ARENA_RAW(e->arena, uint32_t, frame->n);
    if (!evaluator_check(e, frame->elements && frame->row_of, -ENOMEM))
        return;
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t from = frame->starts[i];

        for (uint32_t k = from; k < frame->starts[i + 1]; k++)
            frame->row_of[k] = (uint32_t)i;
        if (lists[i])
            fetch_elements(e, lists[i], frame->elements + from, &frame->list_states[i]);
    }
}

/* A value that is not a list counts as an empty one with an error or fallback state. */
void evaluate_range(Evaluator *e, uint32_t number) {
    const PlanSpace *space = &e->plan->spaces.items[number];
    size_t n_rows = e->frames[ROW_SPACE].n;
    uint64_t work_before = e->work;
    const CelList **lists = ARENA_ARRAY(e->arena, const CelList *, n_rows);
    EntryFrame frame = {
        .stamp = BLOCK_STAMP,
        .starts = ARENA_ARRAY(e->arena, uint32_t, n_rows + 1),
        .list_states = ARENA_ARRAY(e->arena, uint8_t, n_rows),
    };

    if (!evaluator_check(e, lists && frame.starts && frame.list_states, -ENOMEM))
        return;
    for (size_t i = 0; i < n_rows; i++) {
        CelValue v = evaluator_list(e, space, i);
        uint32_t start = frame.starts[i];

        if (v.kind == CEL_ERROR && !v.error->is_limit)
            frame.list_states[i] = COLUMN_ERROR;
        else if (v.kind != CEL_LIST || v.list->n > ITEMS_MAX - start)
            frame.list_states[i] = COLUMN_FALLBACK;
        else
            lists[i] = v.list;
        frame.starts[i + 1] = start + (lists[i] ? lists[i]->n : 0);
    }
    fill_elements(e, lists, &frame);
    e->frames[number] = frame;
    e->work += frame.n;
    if (e->meter)
        e->meter->spaces[number].work += e->work - work_before;
}

static void *keep_bytes(Evaluator *e, Arena *keep, const void *from, size_t size) {
    void *to = arena_alloc(keep, size);

    if (evaluator_check(e, to, -ENOMEM) && size > 0)
        memcpy(to, from, size);
    return to;
}

/* States are stored only if one is not OK. */
static void keep_column(Evaluator *e, const PlanColumn *column, Arena *keep, Column *ret) {
    ColumnRegister *reg = evaluator_register(e, column);
    size_t n = e->frames[column->space].n;
    size_t width = column->lane == LANE_TEXT ? sizeof(uint16_t) : sizeof(int64_t);

    if (column->lane == LANE_TEXT && !evaluator_encode(e, reg, n, keep))
        return;
    *ret = reg->column;
    ret->states = NULL;
    if (column->lane == LANE_BOOL || column_has_states(reg->column.states, n))
        ret->states = keep_bytes(e, keep, reg->column.states, n);
    ret->ints = column->lane != LANE_BOOL ? keep_bytes(e, keep, reg->column.ints, n * width) : NULL;
}

static const PlanBlock *keep_all(Evaluator *e, Arena *keep) {
    const Plan *plan = e->plan;
    PlanBlock *block = ARENA_NEW(keep, PlanBlock);
    Column *columns = ARENA_ARRAY(keep, Column, plan->n_stored);
    ListOffsets *offsets = ARENA_ARRAY(keep, ListOffsets, plan->n_offsets);
    size_t n = e->frames[ROW_SPACE].n;

    if (!evaluator_check(e, block && columns && offsets, -ENOMEM))
        return NULL;
    for (uint32_t i = 0; e->status == 0 && i < plan->n_stored; i++) {
        size_t used = arena_used(keep);

        keep_column(e, plan_column_at(plan, plan->stored[i]), keep, &columns[i]);
        if (e->meter)
            e->meter->columns[plan->stored[i]].bytes += arena_used(keep) - used;
    }
    for (size_t i = 1; e->status == 0 && i < plan->spaces.n; i++) {
        const EntryFrame *frame = &e->frames[i];
        ListOffsets *kept = &offsets[plan->spaces.items[i].store];

        if (!plan->spaces.items[i].is_stored)
            continue;
        kept->starts = keep_bytes(e, keep, frame->starts, (n + 1) * sizeof(uint32_t));
        if (column_has_states(frame->list_states, n))
            kept->list_states = keep_bytes(e, keep, frame->list_states, n);
    }
    *block = (PlanBlock){.n = n, .columns = columns, .offsets = offsets};
    return block;
}

/* Roots of a block have no FALLBACK entries. */
static void finish_roots(Evaluator *e) {
    for (size_t i = 0; i < e->plan->n_roots; i++) {
        const PlanRoot *root = &e->plan->roots[i];
        const PlanColumn *column = plan_column_at(e->plan, root->column);
        uint64_t work_before = e->work;

        if (column->frequency != PLAN_PRECOMPUTED)
            continue;
        evaluate_fallbacks(e, root->node, (CelKind)column->kind, evaluator_register(e, column));
        evaluator_note_column(e, root->column, work_before);
    }
}

PlanStrings *plan_strings_new(const Plan *plan, Arena *arena) {
    PlanStrings *strings = ARENA_NEW(arena, PlanStrings);
    StringCache **caches = ARENA_ARRAY(arena, StringCache *, plan->n_block_regs);

    if (!strings || !caches)
        return NULL;
    *strings = (PlanStrings){.arena = arena, .caches = caches};
    return strings;
}

int plan_block_new(const Plan *plan, const PlanTable *table, const uint32_t *rows, size_t n,
    const PlanBlockOptions *options, const PlanBlock **ret) {
    CelRun *run = options->run;
    Evaluator e = {
        .plan = plan,
        .table = table,
        .arena = run->arena,
        .run = run,
        .scratch = options->scratch,
        .fuel = run->fuel,
        .deadline = options->deadline,
        .meter = options->meter,
        .strings = options->strings,
        .block_rows = ARENA_ARRAY(run->arena, CelValue, n),
    };

    (void)evaluator_check(&e, e.block_rows, -ENOMEM);
    evaluator_begin(&e, plan->n_block_regs);
    if (e.status != 0)
        return e.status;
    e.frames[ROW_SPACE] = (EntryFrame){.n = n, .stamp = BLOCK_STAMP, .rows = rows};
    evaluator_run_steps(&e, &plan->block_steps, ROW_SPACE);
    finish_roots(&e);
    run->fuel = e.fuel;
    run->limit = NULL;
    if (e.status == 0)
        *ret = keep_all(&e, options->keep);
    if (e.meter)
        e.meter->work += e.work;
    return e.status;
}

Column plan_block_root(const Plan *plan, const PlanBlock *block, size_t root) {
    return block->columns[plan_column_at(plan, plan->roots[root].column)->store];
}
