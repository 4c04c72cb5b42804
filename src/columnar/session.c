/* Sessions: the roots of a plan for one pod. Rows are located in their blocks when they are set;
 * single values are computed when the first step needs them. After the steps of a root, the scalar
 * machine computes its FALLBACK entries. */

#include <errno.h>

#include "base/bytes.h"
#include "base/wide-loops.h"
#include "cel/code.h"
#include "columnar/evaluator-internal.h"

int plan_session_new(
    const Plan *plan, const PlanSessionOptions *options, Arena *arena, PlanSession **ret) {
    PlanSession *session = ARENA_NEW(arena, PlanSession);
    BlockRange *ranges = ARENA_RAW(arena, BlockRange, PLAN_BATCH_ROWS);
    Evaluator *e;

    if (!session || !ranges)
        return -ENOMEM;
    *session = (PlanSession){
        .run = *options->run,
        .once_run = *options->run,
        .blocks = options->blocks,
        .totals = options->totals,
        .n_rows = options->n_rows,
        .scratch = options->scratch,
        .cached_row = NO_ROW,
        .singles = ARENA_ARRAY(arena, SingleValue, plan->n_singles),
        .stack = ARENA_RAW(arena, uint32_t, plan->n_singles),
        .caches = ARENA_ARRAY(arena, StringCache *, plan->n_caches),
        .row_states = ARENA_ARRAY(arena, uint8_t *, plan->n_caches),
        .single_roots = ARENA_ARRAY(arena, ColumnRegister, plan->n_roots),
    };
    session->once_run.arena = arena;
    if (options->scratch)
        session->run.arena = options->scratch;
    e = &session->evaluator;
    *e = (Evaluator){
        .plan = plan,
        .table = options->table,
        .session = session,
        .arena = arena,
        .run = &session->run,
        .fuel = options->fuel,
        .deadline = options->deadline,
        .variables = options->variables,
    };
    evaluator_begin(e, plan->n_regs);
    if (e->status < 0 || !session->singles || !session->stack || !session->caches ||
        !session->row_states || !session->single_roots)
        return -ENOMEM;
    e->frames[ROW_SPACE].ranges = ranges;
    for (size_t i = 1; options->totals && i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].kind == SPACE_GROUPS)
            e->frames[i] =
                (EntryFrame){.n = options->totals->groups[i].n, .stamp = ++e->last_stamp};
    }
    *ret = session;
    return 0;
}

void plan_session_set_rows(PlanSession *session, const uint32_t *rows, size_t n) {
    EntryFrame *frame = &session->evaluator.frames[ROW_SPACE];
    BlockRange *last = NULL;

    frame->n = n;
    frame->rows = rows;
    frame->stamp = ++session->evaluator.last_stamp;
    frame->n_ranges = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t block = rows[i] / PLAN_BLOCK_ROWS, from = rows[i] % PLAN_BLOCK_ROWS;

        if (last && last->block == block && last->from + last->n == from) {
            last->n++;
            continue;
        }
        last = &frame->ranges[frame->n_ranges++];
        *last = (BlockRange){.block = block, .from = from, .at = (uint32_t)i, .n = 1};
    }
}

void evaluator_set_range(Evaluator *e, uint32_t first, size_t n) {
    EntryFrame *frame = &e->frames[ROW_SPACE];

    frame->n = n;
    frame->rows = NULL;
    frame->first = first;
    frame->stamp = ++e->last_stamp;
    frame->n_ranges = 0;
    for (size_t i = 0; i < n; i += frame->ranges[frame->n_ranges++].n) {
        uint32_t row = first + (uint32_t)i, from = row % PLAN_BLOCK_ROWS;
        size_t rest = PLAN_BLOCK_ROWS - from < n - i ? PLAN_BLOCK_ROWS - from : n - i;

        frame->ranges[frame->n_ranges] = (BlockRange){
            .block = row / PLAN_BLOCK_ROWS, .from = from, .at = (uint32_t)i, .n = (uint32_t)rest};
    }
}

void plan_session_set_range(PlanSession *session, uint32_t first, size_t n) {
    evaluator_set_range(&session->evaluator, first, n);
}

static const Column *column_in(
    const Evaluator *e, const PlanColumn *column, const BlockRange *range) {
    return &e->session->blocks[range->block]->columns[column->store];
}

/* Mostly a whole block, or a single row. Single rows are scattered, so each waits for memory: with
 * fewer instructions the processor starts more reads at a time. */
static inline void copy_numbers(int64_t *to, const int64_t *from, size_t n) {
    if (n == 1)
        *to = *from;
    else if (n == PLAN_BLOCK_ROWS)
        for (size_t i = 0; i < PLAN_BLOCK_ROWS * sizeof(int64_t); i += sizeof(BytesWide))
            bytes_copy_wide((char *)to + i, (const char *)from + i);
    else
        memcpy(to, from, n * sizeof(int64_t));
}

/* Copies the values of the rows from their blocks. Returns whether any block has states. */
WIDE_LOOPS static bool load_values(
    const Evaluator *e, const PlanColumn *column, const EntryFrame *frame, ColumnRegister *reg) {
    const Column *from = NULL;
    uint32_t block = 0;
    bool has_states = false;

    for (size_t i = 0; i < frame->n_ranges; i++) {
        const BlockRange *at = &frame->ranges[i];

        if (!from || at->block != block) {
            block = at->block;
            from = column_in(e, column, at);
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
    const Evaluator *e, const PlanColumn *column, const EntryFrame *frame, ColumnRegister *reg) {
    for (size_t i = 0; i < frame->n_ranges; i++) {
        const BlockRange *at = &frame->ranges[i];
        const Column *from = column_in(e, column, at);

        if (from->states)
            memcpy(reg->states + at->at, from->states + at->from, at->n);
        else
            memset(reg->states + at->at, COLUMN_OK, at->n);
    }
}

void evaluate_load(Evaluator *e, const PlanColumn *column) {
    const EntryFrame *frame = &e->frames[column->space];
    ColumnRegister *reg = evaluator_register(e, column);

    if (!register_open(e, reg, (ColumnLane)column->lane, frame->n))
        return;
    if (column->lane == LANE_BOOL || load_values(e, column, frame, reg))
        load_states(e, column, frame, reg);
    else
        reg->column.states = NULL; /* all OK */
    reg->has_codes = column->lane == LANE_TEXT;
}

#define STATE_UNKNOWN UINT8_MAX

/* Keyed bools are kept for the session, since groups read the same rows as batches. */
static bool recall_states(const Evaluator *e, const PlanColumn *column, ColumnRegister *reg) {
    const uint8_t *states = e->session->row_states[column->cache];
    const EntryFrame *frame = &e->frames[column->space];
    uint8_t worst = 0;

    if (column->lane != LANE_BOOL || !states)
        return false;
    for (size_t i = 0; i < frame->n; i++) {
        reg->states[i] = states[entry_frame_row(frame, i)];
        worst = reg->states[i] > worst ? reg->states[i] : worst;
    }
    return worst != STATE_UNKNOWN;
}

static void remember_states(Evaluator *e, const PlanColumn *column, const ColumnRegister *reg) {
    uint8_t **states = &e->session->row_states[column->cache];
    const EntryFrame *frame = &e->frames[column->space];

    if (column->lane != LANE_BOOL || e->plan->n_groups == 0)
        return;
    if (!*states) {
        *states = ARENA_RAW(e->arena, uint8_t, e->session->n_rows);
        if (!evaluator_check(e, *states, -ENOMEM))
            return;
        memset(*states, STATE_UNKNOWN, e->session->n_rows);
    }
    for (size_t i = 0; i < frame->n; i++)
        (*states)[entry_frame_row(frame, i)] = reg->states[i];
}

WIDE_LOOPS static void fill_range(uint32_t *rows, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        rows[i] = first + i;
}

/* If the key is an error or FALLBACK, so is every row. */
void evaluate_keyed(Evaluator *e, const PlanColumn *column) {
    const EntryFrame *frame = &e->frames[column->space];
    ColumnRegister *reg = evaluator_register(e, column);
    const PlanColumn *of_key = plan_column_at(e->plan, column->inputs[0]);
    CelValue key = evaluator_single(e, of_key);
    uint8_t state = column_state_of((CelKind)of_key->kind, key);
    SCRATCH uint32_t rows[PLAN_BATCH_ROWS];

    if (!register_open_values(e, reg, (ColumnLane)column->lane, frame->n, true))
        return;
    if (column->lane != LANE_BOOL)
        memset(reg->values, 0, frame->n * sizeof(*reg->values)); /* rows may be without a value */
    if (state != COLUMN_OK) {
        memset(reg->states, state, frame->n);
        return;
    }
    if (recall_states(e, column, reg))
        return;
    if (!frame->rows)
        fill_range(rows, frame->first, (uint32_t)frame->n);
    e->table->load_keyed(e->table, column->leaf, key, frame->rows ? frame->rows : rows, frame->n,
        &reg->column, reg->texts);
    remember_states(e, column, reg);
}

/* Stores the value, also as a column of one entry for kernels. */
static void set_single(SingleValue *single, const PlanColumn *column, CelValue v) {
    single->value = v;
    single->column = (Column){
        .lane = (ColumnLane)column->lane,
        .states = &single->state,
        .ints = &single->number.i,
    };
    single->state = column_state_of((CelKind)column->kind, v);
    if (column->lane != LANE_NONE && column->lane != LANE_TEXT)
        column_set(&single->column, 0, (CelKind)column->kind, v);
    single->is_known = true;
}

static CelValue run_once(PlanSession *session, const CelCode *code, const CelValue *variables) {
    session->once_run.fuel = session->evaluator.fuel;
    session->once_run.limit = NULL;
    return cel_run(code, &session->once_run, variables);
}

static void run_single(PlanSession *session, const PlanColumn *column) {
    Evaluator *e = &session->evaluator;

    evaluator_set_inputs(e, column->code);
    set_single(
        &session->singles[column->reg], column, run_once(session, column->code->code, e->inputs));
    evaluator_check_deadline(e);
}

/* If the result is FALLBACK, the scalar machine computes the whole node instead. */
static void reduce_single(PlanSession *session, const PlanColumn *column) {
    Evaluator *e = &session->evaluator;
    uint8_t state = COLUMN_OK;
    int64_t number = 0;
    Column out = {.lane = (ColumnLane)column->lane, .states = &state, .ints = &number};
    ReduceState result = {0};
    ReduceArgs args;
    CelCode *code;
    CelValue v;

    evaluator_run_steps(e, &column->steps, column->reduction->space);
    if (e->status != 0 || !reduce_begin(e, column->reduction, &args))
        return;
    reduce_range(&args, 0, e->frames[column->reduction->space].n, &result);
    reduce_end(args.op, &result, &out, 0);
    v = column_get(&out, 0, (CelKind)column->kind);
    if (state == COLUMN_FALLBACK) {
        if (!evaluator_check(
                e, cel_emit(e->plan->graph, column->node, NULL, e->arena, &code) == 0, -ENOMEM))
            return;
        v = run_once(session, code, e->variables);
    }
    set_single(&session->singles[column->reg], column, v);
}

/* A single value that @column needs and that is not known yet, or NO_COLUMN. */
static uint32_t find_missing(const PlanSession *session, const PlanColumn *column) {
    const uint32_t *inputs = column->reduction ? column->steps.singles : column->inputs;
    uint32_t n = column->reduction ? column->steps.n_singles : column->n_inputs;

    for (uint32_t i = 0; i < n; i++) {
        const PlanColumn *input = plan_column_at(session->evaluator.plan, inputs[i]);

        if (!input->is_constant && !session->singles[input->reg].is_known)
            return inputs[i];
    }
    return NO_COLUMN;
}

static void evaluate_single(PlanSession *session, uint32_t number) {
    uint32_t n = 0;

    session->stack[n++] = number;
    while (session->evaluator.status == 0 && n > 0) {
        const PlanColumn *column = plan_column_at(session->evaluator.plan, session->stack[n - 1]);
        uint32_t missing = find_missing(session, column);

        if (missing != NO_COLUMN) {
            session->stack[n++] = missing;
            continue;
        }
        if (column->reduction)
            reduce_single(session, column);
        else
            run_single(session, column);
        n--;
    }
}

/* Computes the single values that @steps read. */
static void evaluate_singles(PlanSession *session, const PlanSteps *steps) {
    for (uint32_t i = 0; i < steps->n_singles; i++) {
        const PlanColumn *column = plan_column_at(session->evaluator.plan, steps->singles[i]);

        if (!column->is_constant && !session->singles[column->reg].is_known)
            evaluate_single(session, steps->singles[i]);
    }
}

/* Fills a column with one value for all rows. */
static void repeat_single(Evaluator *e, uint32_t number, ColumnRegister *reg) {
    const PlanColumn *column = plan_column_at(e->plan, number);
    const Column *single = evaluator_operand(e, number).column;
    size_t n = e->frames[ROW_SPACE].n;
    uint8_t state = single->states[0];

    if (!register_open(e, reg, (ColumnLane)column->lane, n))
        return;
    memset(reg->states, state < COLUMN_FALLBACK ? state : COLUMN_ERROR, n);
    for (size_t i = 0; column->lane != LANE_BOOL && i < n; i++)
        reg->values[i] = single->ints[0]; /* or the bits of a double */
}

int plan_session_root(PlanSession *session, size_t number, const Column **ret) {
    Evaluator *e = &session->evaluator;
    const PlanRoot *root = &e->plan->roots[number];
    const PlanColumn *column = plan_column_at(e->plan, root->column);
    ColumnRegister *reg = &session->single_roots[number];

    e->status = 0;
    evaluator_check_deadline(e);
    evaluate_singles(session, &root->steps);
    if (!plan_column_is_single(column))
        reg = evaluator_register(e, column);
    *ret = &reg->column;
    if (e->status != 0)
        return e->status;
    if (plan_column_is_single(column)) {
        repeat_single(e, root->column, reg);
        return e->status;
    }
    if (reg->stamp == e->frames[ROW_SPACE].stamp && !reg->is_partial && reg->is_final)
        return 0; /* the same batch again */
    evaluator_run_steps(e, &root->steps, ROW_SPACE);
    evaluate_fallbacks(e, root->node, (CelKind)column->kind, reg);
    reg->is_final = e->status == 0;
    return e->status;
}

int plan_session_once(PlanSession *session, size_t number, CelValue *ret) {
    Evaluator *e = &session->evaluator;
    const PlanRoot *root = &e->plan->roots[number];

    e->status = 0;
    evaluate_singles(session, &root->steps);
    if (e->status == 0)
        *ret = evaluator_single(e, plan_column_at(e->plan, root->column));
    return e->status;
}
