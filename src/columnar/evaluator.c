/* Evaluator: the loop over steps, registers, and the columns that kernels compute. */

#include "columnar/evaluator-internal.h"

#include <errno.h>

#include "cel/code.h"

#define CHECK_EVERY PLAN_BLOCK_ROWS    /* evaluations between two checks of the deadline, */
#define CHECK_FUEL 50000               /* or the fuel they used: about 0.25 ms */
#define SCRATCH_USED ((size_t)1 << 18) /* bytes after which it is emptied */

void evaluator_begin(Evaluator *e, uint32_t n_registers) {
    e->registers = ARENA_ARRAY(e->arena, ColumnRegister, n_registers);
    e->frames = ARENA_ARRAY(e->arena, EntryFrame, e->plan->spaces.n);
    e->inputs = ARENA_ARRAY(e->arena, CelValue, e->plan->n_inputs_max);
    e->buffers = ARENA_ARRAY(e->arena, SelectionBuffer, 2 * (size_t)e->plan->depth + 4);
    (void)evaluator_check(e, e->registers && e->frames && e->inputs && e->buffers, -ENOMEM);
}

/* Memory that grows is doubled. */
void *evaluator_grow(Evaluator *e, void *buffer, size_t *capacity, size_t n, size_t size) {
    if (buffer && n <= *capacity)
        return buffer;
    *capacity = n > 2 * *capacity ? n : 2 * *capacity;
    buffer = arena_alloc(e->arena, *capacity * size);
    (void)evaluator_check(e, buffer, -ENOMEM);
    return buffer;
}

bool register_open(Evaluator *e, ColumnRegister *reg, ColumnLane lane, size_t n) {
    if (n > reg->capacity || !reg->states) {
        reg->capacity = n > 2 * reg->capacity ? n : 2 * reg->capacity;
        reg->states = ARENA_RAW(e->arena, uint8_t, reg->capacity);
        reg->values = NULL;
    }
    if (lane != LANE_BOOL && !reg->values)
        reg->values = ARENA_RAW(e->arena, int64_t, reg->capacity);
    reg->column = (Column){.lane = lane, .states = reg->states, .ints = reg->values};
    reg->has_texts = reg->has_codes = false;
    return evaluator_check(e, reg->states && (lane == LANE_BOOL || reg->values), -ENOMEM);
}

bool register_open_texts(Evaluator *e, ColumnRegister *reg, size_t n, bool is_borrowed) {
    if (n > reg->texts_capacity || !reg->texts) {
        reg->texts = ARENA_ARRAY(e->arena, CelValue, n);
        reg->texts_capacity = n;
    }
    reg->has_texts = true;
    reg->is_borrowed = is_borrowed;
    return evaluator_check(e, reg->texts, -ENOMEM);
}

bool register_open_values(
    Evaluator *e, ColumnRegister *reg, ColumnLane lane, size_t n, bool is_borrowed) {
    return register_open(e, reg, lane, n) &&
           (lane != LANE_TEXT || register_open_texts(e, reg, n, is_borrowed));
}

KernelOperand evaluator_operand(const Evaluator *e, uint32_t number) {
    const PlanColumn *column = plan_column_at(e->plan, number);

    if (column->is_constant)
        return (KernelOperand){&column->single, true};
    if (plan_column_is_single(column))
        return (KernelOperand){&e->session->singles[column->reg].column, true};
    return (KernelOperand){&evaluator_register(e, column)->column, false};
}

CelValue evaluator_single(const Evaluator *e, const PlanColumn *column) {
    return column->is_constant ? column->constant : e->session->singles[column->reg].value;
}

/* Kernels read all entries, also those that were not computed. */
static void clear(ColumnRegister *reg, size_t n) {
    memset(reg->states, COLUMN_OK, n);
    if (reg->column.lane != LANE_BOOL)
        memset(reg->values, 0, n * sizeof(*reg->values));
}

static bool open_known(Evaluator *e, ColumnRegister *reg, size_t n) {
    reg->known = evaluator_grow(e, reg->known, &reg->known_capacity, n, 1);
    if (!reg->known)
        return false;
    memset(reg->known, 0, n);
    clear(reg, n);
    return true;
}

/* NULL: no memory. */
static uint32_t *open_buffer(Evaluator *e, size_t n) {
    SelectionBuffer *buffer = &e->buffers[e->depth];

    buffer->entries = evaluator_grow(e, buffer->entries, &buffer->capacity, n, sizeof(uint32_t));
    return buffer->entries;
}

bool evaluator_open_missing(Evaluator *e, const PlanColumn *column, ColumnRegister *reg,
    const uint32_t **ret, size_t *ret_n) {
    const EntryFrame *frame = &e->frames[column->space];
    const EntrySelection *selection = e->selection;
    size_t n = selection ? selection->n : frame->n, n_missing = 0;
    bool is_new = reg->stamp != frame->stamp;
    uint32_t *missing;

    if ((is_new || !reg->is_partial) &&
        !register_open_values(e, reg, (ColumnLane)column->lane, frame->n, false))
        return false;
    *ret = NULL;
    *ret_n = frame->n;
    reg->column.states = reg->states;
    if (is_new && !selection)
        return true;
    if ((is_new || !reg->is_partial) && !open_known(e, reg, frame->n))
        return false;
    missing = open_buffer(e, frame->n);
    if (!missing)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t entry = selection ? selection->entries[i] : (uint32_t)i;

        if (reg->known[entry])
            continue;
        reg->known[entry] = 1;
        missing[n_missing++] = entry;
    }
    *ret = missing;
    *ret_n = n_missing;
    return true;
}

void evaluator_check_deadline(Evaluator *e) {
    bool is_over = e->meter && e->meter->work + e->work > e->meter->work_max;

    if (is_over || (e->deadline.is_over && e->deadline.is_over(e->deadline.context)))
        (void)evaluator_check(e, false, PLAN_DEADLINE_PASSED);
}

/* In a block each row's value is made only once, since the run's arena is not reset. */
CelValue evaluator_row(Evaluator *e, size_t entry) {
    uint32_t row = entry_frame_row(&e->frames[ROW_SPACE], entry);
    PlanSession *session = e->session;

    if (!session) {
        if (e->block_rows[entry].kind == CEL_ABSENT)
            e->block_rows[entry] = e->table->row(e->table, row, e->run);
        return e->block_rows[entry];
    }
    if (session->cached_row != row) {
        session->row = e->table->row(e->table, row, e->run);
        session->cached_row = row;
    }
    return session->row;
}

CelValue evaluator_run(Evaluator *e, const CelCode *code, const CelValue *variables, bool is_kept) {
    Arena *arena = e->run->arena;
    CelValue v;

    e->n_evaluations++;
    e->run->fuel = e->fuel;
    e->run->limit = NULL;
    if (e->scratch && !is_kept)
        e->run->arena = e->scratch;
    v = cel_run(code, e->run, variables);
    e->run->arena = arena;
    e->fuel_used += e->fuel - e->run->fuel;
    e->work += (uint64_t)(e->fuel - e->run->fuel);
    return v;
}

/* May reset the last evaluation's memory: its result is in a lane. */
bool evaluator_continue(Evaluator *e) {
    PlanSession *session = e->session;
    Arena *scratch = session ? session->scratch : e->scratch;

    if (scratch && !(session && session->keeps_scratch) && arena_used(scratch) >= SCRATCH_USED) {
        arena_reset(scratch);
        if (session)
            session->cached_row = NO_ROW;
    }
    if (e->n_evaluations % CHECK_EVERY == 0 || e->fuel_used >= CHECK_FUEL) {
        e->fuel_used = 0;
        evaluator_check_deadline(e);
    }
    return e->status == 0;
}

static void evaluate_kernel(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    KernelArgs args = {.n = e->frames[column->space].n, .out = &reg->column};

    if (!register_open(e, reg, (ColumnLane)column->lane, args.n))
        return;
    for (uint32_t i = 0; i < column->n_inputs; i++)
        args.operands[i] = evaluator_operand(e, column->inputs[i]);
    if (args.n > 0)
        column->kernel(&args);
}

/* Folds from the left into two registers by turns; the last result is in the column's register. */
static void evaluate_fold(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    KernelArgs args = {
        .n = e->frames[column->space].n,
        .operands = {evaluator_operand(e, column->inputs[0])},
    };

    for (uint32_t i = 1; i < column->n_inputs; i++) {
        ColumnRegister *out = i + 1 == column->n_inputs ? reg : &e->spare[i % 2];

        if (!register_open(e, out, (ColumnLane)column->lane, args.n))
            return;
        args.operands[1] = evaluator_operand(e, column->inputs[i]);
        args.out = &out->column;
        if (args.n > 0)
            column->kernel(&args);
        args.operands[0] = (KernelOperand){&out->column, false};
    }
}

static void evaluate_element(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    const EntryFrame *frame = &e->frames[column->space];

    if (!register_open_values(e, reg, (ColumnLane)column->lane, frame->n, false))
        return;
    for (size_t i = 0; i < frame->n; i++) {
        if (column->lane == LANE_TEXT)
            reg->texts[i] = frame->elements[i];
        column_set(&reg->column, i, (CelKind)column->kind, frame->elements[i]);
    }
}

static void evaluate_spread(Evaluator *e, const PlanColumn *column) {
    const PlanColumn *input = plan_column_at(e->plan, column->inputs[0]);
    ColumnRegister *reg = evaluator_register(e, column), *of_row = evaluator_register(e, input);
    const EntryFrame *frame = &e->frames[column->space];
    const Column *from = evaluator_operand(e, column->inputs[0]).column;
    bool is_text = column->lane == LANE_TEXT;

    if ((is_text && !evaluator_texts(e, input, of_row)) ||
        !register_open_values(
            e, reg, (ColumnLane)column->lane, frame->n, is_text && of_row->is_borrowed))
        return;
    if (!from->states)
        reg->column.states = NULL;
    for (size_t i = 0; from->states && i < frame->n; i++)
        reg->states[i] = from->states[frame->row_of[i]];
    for (size_t i = 0; is_text && i < frame->n; i++)
        reg->texts[i] = of_row->texts[frame->row_of[i]];
    for (size_t i = 0; !is_text && column->lane != LANE_BOOL && i < frame->n; i++)
        reg->values[i] = from->ints[frame->row_of[i]]; /* or the bits of a double */
}

static void evaluate_column(Evaluator *e, const PlanColumn *column) {
    static Evaluate *const methods[] = {
        [METHOD_SCALAR] = evaluate_scalar,
        [METHOD_BY_STRING] = evaluate_by_string,
        [METHOD_LEAF] = evaluate_leaf,
        [METHOD_KEYED] = evaluate_keyed,
        [METHOD_ELEMENT] = evaluate_element,
        [METHOD_KERNEL] = evaluate_kernel,
        [METHOD_FOLD] = evaluate_fold,
        [METHOD_SAME_STRING] = evaluate_same_string,
        [METHOD_CHOOSE] = evaluate_choose,
        [METHOD_SPREAD] = evaluate_spread,
        [METHOD_REDUCE] = evaluate_reduce,
        [METHOD_GROUP] = evaluate_group,
        [METHOD_LOOKUP] = evaluate_lookup,
    };

    methods[column->method](e, column);
}

/* A column computed for a selection is valid only there, as are columns made from it. */
static bool is_partial(const Evaluator *e, const PlanColumn *column) {
    if (!e->selection)
        return false;
    if (column->method == METHOD_SCALAR || column->method == METHOD_BY_STRING ||
        column->method == METHOD_REDUCE || column->op == OP_AND || column->op == OP_OR ||
        column->op == OP_CONDITIONAL)
        return true;
    for (uint32_t i = 0; i < column->n_inputs; i++) {
        const PlanColumn *input = plan_column_at(e->plan, column->inputs[i]);

        if (input->space == column->space && !input->is_constant && !plan_column_is_single(input) &&
            evaluator_register(e, input)->is_partial)
            return true;
    }
    return false;
}

/* The register of a column; marked as empty if it has the entries of another column. */
static ColumnRegister *take_register(Evaluator *e, uint32_t number) {
    ColumnRegister *reg = evaluator_register(e, plan_column_at(e->plan, number));

    if (reg->column_of != number) {
        reg->column_of = number;
        reg->stamp = 0;
        reg->is_partial = false;
    }
    return reg;
}

static void step_column(Evaluator *e, uint32_t number, bool is_loaded) {
    const PlanColumn *column = plan_column_at(e->plan, number);
    ColumnRegister *reg = take_register(e, number);
    uint64_t stamp = e->frames[column->space].stamp, work_before = e->work;
    bool partial;

    if (reg->stamp == stamp && !reg->is_partial)
        return;
    partial = !is_loaded && is_partial(e, column);
    if (is_loaded)
        evaluate_load(e, column);
    else
        evaluate_column(e, column);
    e->work += e->frames[column->space].n;
    evaluator_note_column(e, number, work_before);
    reg->is_final = false;
    reg->stamp = e->status == 0 ? stamp : 0;
    reg->is_partial = partial;
}

static bool meets(PlanCondition condition, uint8_t state) {
    bool of_true = condition == WHERE_TRUE || condition == WHERE_NOT_TRUE;
    bool is_wanted = condition == WHERE_TRUE || condition == WHERE_FALSE;

    return (state == (of_true ? COLUMN_TRUE : COLUMN_FALSE)) == is_wanted;
}

/* A single value selects all entries, or none. */
static EntrySelection select_entries(Evaluator *e, const PlanStep *step, const EntryFrame *frame) {
    KernelOperand by = evaluator_operand(e, step->column);
    const EntrySelection *outer = e->selection;
    size_t n = outer ? outer->n : frame->n;
    EntrySelection selection = {.entries = outer ? outer->entries : NULL, .n = n};
    uint32_t *entries;

    if (by.is_single) {
        selection.n = meets((PlanCondition)step->condition, by.column->states[0]) ? n : 0;
        return selection;
    }
    entries = open_buffer(e, frame->n);
    selection = (EntrySelection){.entries = entries};
    for (size_t i = 0; entries && i < n; i++) {
        uint32_t entry = outer ? outer->entries[i] : (uint32_t)i;

        if (meets((PlanCondition)step->condition, by.column->states[entry]))
            entries[selection.n++] = entry;
    }
    if (selection.n == frame->n) /* as if there were no condition: whole runs of rows are faster */
        selection.entries = NULL;
    return selection;
}

/* Skipped steps still need registers: && and ?: read them. */
static void open_skipped(Evaluator *e, const PlanSteps *steps, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const PlanStep *step = &steps->steps[i];
        const PlanColumn *column;
        const EntryFrame *frame;
        ColumnRegister *reg;

        if (step->kind != STEP_COLUMN && step->kind != STEP_LOAD)
            continue;
        column = plan_column_at(e->plan, step->column);
        frame = &e->frames[column->space];
        reg = take_register(e, step->column);
        if (reg->stamp == frame->stamp)
            continue;
        if (!register_open(e, reg, (ColumnLane)column->lane, frame->n))
            return;
        clear(reg, frame->n);
    }
}

/* The innermost of @n selections; NULL: all entries count. */
static const EntrySelection *innermost(const EntrySelection *selections, uint32_t n) {
    return n > 0 && selections[n - 1].entries ? &selections[n - 1] : NULL;
}

void evaluator_run_steps(Evaluator *e, const PlanSteps *steps, uint32_t space) {
    const EntrySelection *outer = e->selection;
    EntrySelection selections[PLAN_WHERE_MAX] = {0};
    uint32_t n_selections = 0;

    e->selection = NULL;
    for (uint32_t pc = 0; e->status == 0 && pc < steps->n; pc++) {
        const PlanStep *step = &steps->steps[pc];

        switch ((PlanStepKind)step->kind) {
        case STEP_COLUMN:
        case STEP_LOAD:
            step_column(e, step->column, step->kind == STEP_LOAD);
            break;
        case STEP_RANGE:
            evaluate_range(e, step->column);
            break;
        case STEP_WHERE:
            selections[n_selections++] = select_entries(e, step, &e->frames[space]);
            e->selection = innermost(selections, n_selections);
            e->depth++;
            if (e->status == 0 && selections[n_selections - 1].n == 0) {
                open_skipped(e, steps, pc + 1, step->target);
                pc = step->target - 1; /* on to its END */
            }
            break;
        case STEP_END:
            n_selections--;
            e->depth--;
            e->selection = innermost(selections, n_selections);
            break;
        }
    }
    e->depth -= n_selections;
    e->selection = outer;
}
