/*
 * The loop over steps, registers, and what is done by kernels.
 */
#include "columnar/evaluator-internal.h"

#include <errno.h>

#include "cel/machine.h"

#define ASK_EVERY PLAN_BLOCK_ROWS      /* evaluations between two looks at the time, */
#define ASK_FUEL 50000                 /* or what they burnt: a quarter of a millisecond or so */
#define SCRATCH_USED ((size_t)1 << 18) /* bytes after which it is emptied */
#define NO_ROW UINT32_MAX

int evaluator_begin(Evaluator *work, uint32_t n_registers) {
    work->registers = ARENA_ARRAY(work->arena, ColumnRegister, n_registers);
    work->frames = ARENA_ARRAY(work->arena, EntryFrame, work->plan->spaces.n);
    work->inputs = ARENA_ARRAY(work->arena, CelValue, work->plan->n_inputs_max);
    work->rooms = ARENA_ARRAY(work->arena, SelectionBuffer, 2 * (size_t)work->plan->depth + 4);
    work->row_known = NO_ROW;
    if (!work->registers || !work->frames || !work->inputs || !work->rooms)
        return -ENOMEM;
    return 0;
}

/* --- registers --------------------------------------------------------------------------- */

/* Room that grows is twice as large; what was in it is gone. */
int register_open(Evaluator *work, ColumnRegister *reg, ColumnLane lane, size_t n) {
    if (n > reg->room || !reg->states) {
        size_t room = n > 2 * reg->room ? n : 2 * reg->room;

        reg->states = ARENA_RAW(work->arena, uint8_t, room);
        reg->values = NULL;
        reg->room = room;
        if (!reg->states)
            return -ENOMEM;
    }
    if (lane != LANE_BOOL && !reg->values) {
        reg->values = ARENA_RAW(work->arena, int64_t, reg->room);
        if (!reg->values)
            return -ENOMEM;
    }
    reg->column = (Column){.lane = lane, .states = reg->states, .ints = reg->values};
    reg->has_texts = reg->has_codes = false;
    return 0;
}

int register_open_texts(Evaluator *work, ColumnRegister *reg, size_t n) {
    if (n <= reg->room_texts && reg->texts)
        return 0;
    reg->texts = ARENA_ARRAY(work->arena, CelValue, n);
    reg->room_texts = n;
    return reg->texts ? 0 : -ENOMEM;
}

KernelOperand evaluator_operand(const Evaluator *work, uint32_t number) {
    const PlanColumn *column = plan_column_at(work->plan, number);

    if (column->is_constant)
        return (KernelOperand){&column->single, true};
    if (plan_column_is_single(column))
        return (KernelOperand){&work->singles[column->reg].column, true};
    return (KernelOperand){&evaluator_register(work, column)->column, false};
}

CelValue evaluator_single(const Evaluator *work, const PlanColumn *column) {
    return column->is_constant ? column->constant : work->singles[column->reg].value;
}

/* --- what is missing --------------------------------------------------------------------- */

/* Kernels go over all entries, also those where nothing was worked out. */
static void clear(ColumnRegister *reg, size_t n) {
    memset(reg->states, COLUMN_OK, n);
    if (reg->column.lane != LANE_BOOL)
        memset(reg->values, 0, n * sizeof(*reg->values));
}

static bool open_known(Evaluator *work, ColumnRegister *reg, const EntryFrame *frame) {
    if (frame->n > reg->room_known || !reg->known) {
        reg->known = ARENA_RAW(work->arena, uint8_t, frame->n);
        reg->room_known = frame->n;
        if (!reg->known)
            return false;
    }
    memset(reg->known, 0, frame->n);
    clear(reg, frame->n);
    return true;
}

/* NULL: out of memory. */
static uint32_t *open_room(Evaluator *work, size_t n) {
    SelectionBuffer *room = &work->rooms[work->depth];

    if (n > room->room || !room->entries) {
        room->entries = ARENA_RAW(work->arena, uint32_t, n);
        room->room = n;
    }
    return room->entries;
}

/* The register has the states of this frame; it is whole after this, or partial. */
int evaluator_missing(Evaluator *work, ColumnRegister *reg, const EntryFrame *frame,
    const uint32_t **ret, size_t *ret_n) {
    const EntrySelection *selection = work->selection;
    size_t n = selection ? selection->n : frame->n, n_missing = 0;
    bool is_new = reg->stamp != frame->stamp;
    uint32_t *missing;

    *ret = NULL;
    *ret_n = frame->n;
    reg->column.states = reg->states;
    if (is_new && !selection)
        return 0;
    if ((is_new || !reg->is_partial) && !open_known(work, reg, frame))
        return -ENOMEM;
    missing = open_room(work, frame->n);
    if (!missing)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t entry = selection ? selection->entries[i] : (uint32_t)i;

        if (reg->known[entry])
            continue;
        reg->known[entry] = 1;
        missing[n_missing++] = entry;
    }
    *ret = missing;
    *ret_n = n_missing;
    return 0;
}

/* --- evaluations ------------------------------------------------------------------------- */

bool evaluator_is_over(Evaluator *work) {
    return work->clock.is_over && work->clock.is_over(work->clock.context);
}

/* In a block every row is made once: all evaluations happen before its arena is reset. */
CelValue evaluator_row(Evaluator *work, size_t entry) {
    uint32_t row = entry_frame_row(&work->frames[ROW_SPACE], entry);

    if (work->rows) {
        if (work->rows[entry].kind == CEL_ABSENT)
            work->rows[entry] = work->table->row(work->table, row, work->run);
        return work->rows[entry];
    }
    if (work->row_known != row) {
        work->row = work->table->row(work->table, row, work->run);
        work->row_known = row;
    }
    return work->row;
}

CelValue evaluator_run(Evaluator *work, const CelCode *code, const CelValue *variables) {
    CelValue v;

    work->n_evaluations++;
    work->run->fuel = work->fuel;
    work->run->limit = NULL;
    v = cel_run(code, work->run, variables);
    work->burnt += work->fuel - work->run->fuel;
    return v;
}

/* Nothing of the last evaluation is needed any more: a result is in its lane. */
static void empty_scratch(Evaluator *work) {
    if (!work->scratch || work->is_held || arena_used(work->scratch) < SCRATCH_USED)
        return;
    arena_reset(work->scratch);
    work->row_known = NO_ROW;
}

int evaluator_between(Evaluator *work) {
    empty_scratch(work);
    if (work->n_evaluations % ASK_EVERY != 0 && work->burnt < ASK_FUEL)
        return 0;
    work->burnt = 0;
    return evaluator_is_over(work) ? PLAN_DEADLINE_PASSED : 0;
}

/* --- columns ----------------------------------------------------------------------------- */

static int work_kernel(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    KernelArgs args = {.n = work->frames[column->space].n, .out = &reg->column};
    int r = register_open(work, reg, (ColumnLane)column->lane, args.n);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < column->n_inputs; i++)
        args.operands[i] = evaluator_operand(work, column->inputs[i]);
    if (args.n > 0)
        column->kernel(&args);
    return 0;
}

/* From the left, by turns in two registers, the last one being the column's. */
static int work_fold(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    KernelArgs args = {
        .n = work->frames[column->space].n,
        .operands = {evaluator_operand(work, column->inputs[0])},
    };

    for (uint32_t i = 1; i < column->n_inputs; i++) {
        ColumnRegister *out = i + 1 == column->n_inputs ? reg : &work->spare[i % 2];
        int r = register_open(work, out, (ColumnLane)column->lane, args.n);

        if (r < 0)
            return r;
        args.operands[1] = evaluator_operand(work, column->inputs[i]);
        args.out = &out->column;
        if (args.n > 0)
            column->kernel(&args);
        args.operands[0] = (KernelOperand){&out->column, false};
    }
    return 0;
}

static int work_element(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    const EntryFrame *frame = &work->frames[column->space];
    int r = register_open(work, reg, (ColumnLane)column->lane, frame->n);

    if (r == 0 && column->lane == LANE_TEXT)
        r = register_open_texts(work, reg, frame->n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++) {
        if (column->lane == LANE_TEXT) {
            reg->texts[i] = frame->elements[i];
            reg->states[i] = column_state_of((CelKind)column->kind, frame->elements[i]);
        } else {
            column_set(&reg->column, i, (CelKind)column->kind, frame->elements[i]);
        }
    }
    reg->has_texts = column->lane == LANE_TEXT;
    reg->is_borrowed = false;
    return 0;
}

static int spread_texts(Evaluator *work, const PlanColumn *column, ColumnRegister *reg) {
    const PlanColumn *input = plan_column_at(work->plan, column->inputs[0]);
    ColumnRegister *of_row = evaluator_register(work, input);
    const EntryFrame *frame = &work->frames[column->space];
    int r = evaluator_texts(work, input, of_row);

    if (r == 0)
        r = register_open_texts(work, reg, frame->n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++)
        reg->texts[i] = of_row->texts[frame->row_of[i]];
    reg->has_texts = true;
    reg->is_borrowed = of_row->is_borrowed;
    return 0;
}

static int work_spread(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    const EntryFrame *frame = &work->frames[column->space];
    const Column *from = evaluator_operand(work, column->inputs[0]).column;
    int r = register_open(work, reg, (ColumnLane)column->lane, frame->n);

    if (r < 0)
        return r;
    if (!from->states)
        reg->column.states = NULL;
    for (size_t i = 0; from->states && i < frame->n; i++)
        reg->states[i] = from->states[frame->row_of[i]];
    if (column->lane == LANE_TEXT)
        return spread_texts(work, column, reg);
    for (size_t i = 0; reg->values && column->lane != LANE_BOOL && i < frame->n; i++)
        reg->values[i] = from->ints[frame->row_of[i]]; /* or the bits of a double */
    return 0;
}

static int work_by_how(Evaluator *work, const PlanColumn *column) {
    switch ((PlanMethod)column->how) {
    case METHOD_SCALAR:
        return evaluate_scalar(work, column);
    case METHOD_BY_STRING:
        return evaluate_by_string(work, column);
    case METHOD_LEAF:
        return evaluate_leaf(work, column);
    case METHOD_KEYED:
        return evaluate_keyed(work, column);
    case METHOD_ELEMENT:
        return work_element(work, column);
    case METHOD_KERNEL:
        return work_kernel(work, column);
    case METHOD_FOLD:
        return work_fold(work, column);
    case METHOD_SAME_STRING:
        return evaluate_same_string(work, column);
    case METHOD_CHOOSE:
        return evaluate_choose(work, column);
    case METHOD_SPREAD:
        return work_spread(work, column);
    case METHOD_REDUCE:
        return evaluate_reduce(work, column);
    case METHOD_GROUP:
        return evaluate_group(work, column);
    case METHOD_LOOKUP:
        return evaluate_lookup(work, column);
    }
    return 0;
}

/* --- steps ------------------------------------------------------------------------------- */

/* What is worked out for a selection counts only there, and what is made of it. */
static bool is_partial(const Evaluator *work, const PlanColumn *column) {
    if (!work->selection)
        return false;
    if (column->how == METHOD_SCALAR || column->how == METHOD_BY_STRING ||
        column->how == METHOD_REDUCE || column->op == OP_AND || column->op == OP_OR ||
        column->op == OP_CONDITIONAL)
        return true;
    for (uint32_t i = 0; i < column->n_inputs; i++) {
        const PlanColumn *input = plan_column_at(work->plan, column->inputs[i]);

        if (input->space == column->space && !input->is_constant && !plan_column_is_single(input) &&
            evaluator_register(work, input)->is_partial)
            return true;
    }
    return false;
}

/* The register of a column, empty if it was another's. */
static ColumnRegister *take_register(Evaluator *work, uint32_t number) {
    ColumnRegister *reg = evaluator_register(work, plan_column_at(work->plan, number));

    if (reg->column_of != number) {
        reg->column_of = number;
        reg->stamp = 0;
        reg->is_partial = false;
    }
    return reg;
}

static int step_column(Evaluator *work, uint32_t number, bool is_loaded) {
    const PlanColumn *column = plan_column_at(work->plan, number);
    ColumnRegister *reg = take_register(work, number);
    uint64_t stamp = work->frames[column->space].stamp;
    bool partial;
    int r;

    if (reg->stamp == stamp && !reg->is_partial)
        return 0;
    if (is_loaded) {
        r = evaluate_load(work, column);
        partial = false;
    } else {
        partial = is_partial(work, column);
        r = work_by_how(work, column);
    }
    reg->is_mended = false;
    reg->stamp = r == 0 ? stamp : 0; /* what was not finished is as good as not begun */
    reg->is_partial = partial;
    return r;
}

/* By state: whether it is wanted. */
static bool is_wanted(PlanCondition wanted, uint8_t state) {
    switch (wanted) {
    case WHERE_NOT_FALSE:
        return state != COLUMN_FALSE;
    case WHERE_NOT_TRUE:
        return state != COLUMN_TRUE;
    case WHERE_TRUE:
        return state == COLUMN_TRUE;
    default:
        return state == COLUMN_FALSE;
    }
}

/* What is known once is so for all entries, or for none. */
static int select_entries(
    Evaluator *work, const PlanStep *step, const EntryFrame *frame, EntrySelection *ret) {
    KernelOperand by = evaluator_operand(work, step->column);
    const EntrySelection *outer = work->selection;
    size_t n = outer ? outer->n : frame->n;
    uint32_t *entries;

    *ret = outer ? *outer : (EntrySelection){.n = n};
    if (by.is_single) {
        ret->n = is_wanted((PlanCondition)step->wanted, by.column->states[0]) ? n : 0;
        return 0;
    }
    entries = open_room(work, frame->n);
    *ret = (EntrySelection){.entries = entries};
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t entry = outer ? outer->entries[i] : (uint32_t)i;

        if (is_wanted((PlanCondition)step->wanted, by.column->states[entry]))
            entries[ret->n++] = entry;
    }
    return 0;
}

/* Registers of what is left out must be there: && and ?: have them as operands. */
static int open_left_out(Evaluator *work, const PlanSteps *steps, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const PlanColumn *column;
        ColumnRegister *reg;
        int r;

        if (steps->steps[i].kind != STEP_COLUMN && steps->steps[i].kind != STEP_LOAD)
            continue;
        column = plan_column_at(work->plan, steps->steps[i].column);
        reg = take_register(work, steps->steps[i].column);
        if (reg->stamp == work->frames[column->space].stamp)
            continue;
        r = register_open(work, reg, (ColumnLane)column->lane, work->frames[column->space].n);
        if (r < 0)
            return r;
        clear(reg, work->frames[column->space].n);
    }
    return 0;
}

/* The innermost of @n selections; NULL: all entries count. */
static const EntrySelection *innermost(const EntrySelection *selections, uint32_t n) {
    return n > 0 && selections[n - 1].entries ? &selections[n - 1] : NULL;
}

int evaluator_run_steps(Evaluator *work, const PlanSteps *steps, uint32_t space) {
    const EntrySelection *outer = work->selection;
    EntrySelection selections[PLAN_WHERE_MAX] = {0};
    uint32_t n_selections = 0;
    int r = 0;

    work->selection = NULL;
    for (uint32_t pc = 0; r == 0 && pc < steps->n; pc++) {
        const PlanStep *step = &steps->steps[pc];

        switch ((PlanStepKind)step->kind) {
        case STEP_COLUMN:
        case STEP_LOAD:
            r = step_column(work, step->column, step->kind == STEP_LOAD);
            break;
        case STEP_RANGE:
            r = evaluate_range(work, step->column);
            break;
        case STEP_WHERE:
            r = select_entries(work, step, &work->frames[space], &selections[n_selections++]);
            work->selection = innermost(selections, n_selections);
            work->depth++;
            if (r == 0 && selections[n_selections - 1].n == 0) {
                r = open_left_out(work, steps, pc + 1, step->target);
                pc = step->target - 1; /* on to its END */
            }
            break;
        case STEP_END:
            n_selections--;
            work->depth--;
            work->selection = innermost(selections, n_selections);
            break;
        }
    }
    work->depth -= n_selections;
    work->selection = outer;
    return r;
}
