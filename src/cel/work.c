/*
 * The loop over steps, registers, and what is done by kernels.
 */
#include "cel/work.h"

#include <errno.h>

#include "cel/entry.h"
#include "cel/machine.h"

#define ASK_EVERY CEL_BLOCK_ROWS       /* evaluations between two looks at the time, */
#define ASK_FUEL 50000                 /* or what they burnt: a quarter of a millisecond or so */
#define SCRATCH_USED ((size_t)1 << 18) /* bytes after which it is emptied */
#define NO_ROW UINT32_MAX

int cel_work_begin(CelWork *work, uint32_t n_registers) {
    work->registers = ARENA_ARRAY(work->arena, CelRegister, n_registers);
    work->frames = ARENA_ARRAY(work->arena, CelFrame, work->plan->spaces.n);
    work->inputs = ARENA_ARRAY(work->arena, CelValue, work->plan->n_inputs_max);
    work->rooms = ARENA_ARRAY(work->arena, CelRoom, 2 * (size_t)work->plan->depth + 4);
    work->row_known = NO_ROW;
    if (!work->registers || !work->frames || !work->inputs || !work->rooms)
        return -ENOMEM;
    return 0;
}

/* --- registers --------------------------------------------------------------------------- */

/* Room that grows is twice as large; what was in it is gone. */
int cel_register_open(CelWork *work, CelRegister *reg, CelLane lane, size_t n) {
    if (n > reg->room || !reg->states) {
        size_t room = n > 2 * reg->room ? n : 2 * reg->room;

        reg->states = ARENA_RAW(work->arena, uint8_t, room);
        reg->values = NULL;
        reg->room = room;
        if (!reg->states)
            return -ENOMEM;
    }
    if (lane != CEL_LANE_BOOL && !reg->values) {
        reg->values = ARENA_RAW(work->arena, int64_t, reg->room);
        if (!reg->values)
            return -ENOMEM;
    }
    reg->column = (CelColumn){.lane = lane, .states = reg->states, .ints = reg->values};
    reg->has_texts = reg->has_codes = false;
    return 0;
}

int cel_register_open_texts(CelWork *work, CelRegister *reg, size_t n) {
    if (n <= reg->room_texts && reg->texts)
        return 0;
    reg->texts = ARENA_ARRAY(work->arena, CelValue, n);
    reg->room_texts = n;
    return reg->texts ? 0 : -ENOMEM;
}

CelOperand cel_work_operand(const CelWork *work, uint32_t number) {
    const CelPlanColumn *column = cel_plan_at(work->plan, number);

    if (column->is_constant)
        return (CelOperand){&column->single, true};
    if (cel_column_is_single(column))
        return (CelOperand){&work->singles[column->reg].column, true};
    return (CelOperand){&cel_work_register(work, column)->column, false};
}

CelValue cel_work_single(const CelWork *work, const CelPlanColumn *column) {
    return column->is_constant ? column->constant : work->singles[column->reg].value;
}

/* --- what is missing --------------------------------------------------------------------- */

/* Kernels go over all entries, also those where nothing was worked out. */
static void clear(CelRegister *reg, size_t n) {
    memset(reg->states, CEL_STATE_FINE, n);
    if (reg->column.lane != CEL_LANE_BOOL)
        memset(reg->values, 0, n * sizeof(*reg->values));
}

static bool open_known(CelWork *work, CelRegister *reg, const CelFrame *frame) {
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
static uint32_t *open_room(CelWork *work, size_t n) {
    CelRoom *room = &work->rooms[work->depth];

    if (n > room->room || !room->entries) {
        room->entries = ARENA_RAW(work->arena, uint32_t, n);
        room->room = n;
    }
    return room->entries;
}

/* The register has the states of this frame; it is whole after this, or partial. */
int cel_work_missing(
    CelWork *work, CelRegister *reg, const CelFrame *frame, const uint32_t **ret, size_t *ret_n) {
    const CelSelection *selection = work->selection;
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

bool cel_work_is_over(CelWork *work) {
    return work->clock.is_over && work->clock.is_over(work->clock.context);
}

/* In a block every row is made once: all evaluations happen before its arena is reset. */
CelValue cel_work_row(CelWork *work, size_t entry) {
    uint32_t row = cel_frame_row(&work->frames[CEL_ROWS], entry);

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

CelValue cel_work_run(CelWork *work, const CelCode *code, const CelValue *variables) {
    CelValue v;

    work->n_evaluations++;
    work->run->fuel = work->fuel;
    work->run->limit = NULL;
    v = cel_run(code, work->run, variables);
    work->burnt += work->fuel - work->run->fuel;
    return v;
}

/* Nothing of the last evaluation is needed any more: a result is in its lane. */
static void empty_scratch(CelWork *work) {
    if (!work->scratch || work->is_held || arena_used(work->scratch) < SCRATCH_USED)
        return;
    arena_reset(work->scratch);
    work->row_known = NO_ROW;
}

int cel_work_between(CelWork *work) {
    empty_scratch(work);
    if (work->n_evaluations % ASK_EVERY != 0 && work->burnt < ASK_FUEL)
        return 0;
    work->burnt = 0;
    return cel_work_is_over(work) ? CEL_SESSION_OVER : 0;
}

/* --- columns ----------------------------------------------------------------------------- */

static int work_kernel(CelWork *work, const CelPlanColumn *column) {
    CelRegister *reg = cel_work_register(work, column);
    CelKernelArgs args = {.n = work->frames[column->space].n, .out = &reg->column};
    int r = cel_register_open(work, reg, (CelLane)column->lane, args.n);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < column->n_inputs; i++)
        args.operands[i] = cel_work_operand(work, column->inputs[i]);
    if (args.n > 0)
        column->kernel(&args);
    return 0;
}

/* From the left, by turns in two registers, the last one being the column's. */
static int work_fold(CelWork *work, const CelPlanColumn *column) {
    CelRegister *reg = cel_work_register(work, column);
    CelKernelArgs args = {
        .n = work->frames[column->space].n,
        .operands = {cel_work_operand(work, column->inputs[0])},
    };

    for (uint32_t i = 1; i < column->n_inputs; i++) {
        CelRegister *out = i + 1 == column->n_inputs ? reg : &work->spare[i % 2];
        int r = cel_register_open(work, out, (CelLane)column->lane, args.n);

        if (r < 0)
            return r;
        args.operands[1] = cel_work_operand(work, column->inputs[i]);
        args.out = &out->column;
        if (args.n > 0)
            column->kernel(&args);
        args.operands[0] = (CelOperand){&out->column, false};
    }
    return 0;
}

static int work_element(CelWork *work, const CelPlanColumn *column) {
    CelRegister *reg = cel_work_register(work, column);
    const CelFrame *frame = &work->frames[column->space];
    int r = cel_register_open(work, reg, (CelLane)column->lane, frame->n);

    if (r == 0 && column->lane == CEL_LANE_TEXT)
        r = cel_register_open_texts(work, reg, frame->n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++) {
        if (column->lane == CEL_LANE_TEXT) {
            reg->texts[i] = frame->elements[i];
            reg->states[i] = cel_entry_state((CelKind)column->kind, frame->elements[i]);
        } else {
            cel_entry_set(&reg->column, i, (CelKind)column->kind, frame->elements[i]);
        }
    }
    reg->has_texts = column->lane == CEL_LANE_TEXT;
    reg->is_borrowed = false;
    return 0;
}

static int spread_texts(CelWork *work, const CelPlanColumn *column, CelRegister *reg) {
    const CelPlanColumn *input = cel_plan_at(work->plan, column->inputs[0]);
    CelRegister *of_row = cel_work_register(work, input);
    const CelFrame *frame = &work->frames[column->space];
    int r = cel_work_texts(work, input, of_row);

    if (r == 0)
        r = cel_register_open_texts(work, reg, frame->n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < frame->n; i++)
        reg->texts[i] = of_row->texts[frame->row_of[i]];
    reg->has_texts = true;
    reg->is_borrowed = of_row->is_borrowed;
    return 0;
}

static int work_spread(CelWork *work, const CelPlanColumn *column) {
    CelRegister *reg = cel_work_register(work, column);
    const CelFrame *frame = &work->frames[column->space];
    const CelColumn *from = cel_work_operand(work, column->inputs[0]).column;
    int r = cel_register_open(work, reg, (CelLane)column->lane, frame->n);

    if (r < 0)
        return r;
    if (!from->states)
        reg->column.states = NULL;
    for (size_t i = 0; from->states && i < frame->n; i++)
        reg->states[i] = from->states[frame->row_of[i]];
    if (column->lane == CEL_LANE_TEXT)
        return spread_texts(work, column, reg);
    for (size_t i = 0; reg->values && column->lane != CEL_LANE_BOOL && i < frame->n; i++)
        reg->values[i] = from->ints[frame->row_of[i]]; /* or the bits of a double */
    return 0;
}

static int work_by_how(CelWork *work, const CelPlanColumn *column) {
    switch ((CelHow)column->how) {
    case CEL_HOW_SCALAR:
        return cel_work_scalar(work, column);
    case CEL_HOW_TEXT:
        return cel_work_by_text(work, column);
    case CEL_HOW_LEAF:
        return cel_work_leaf(work, column);
    case CEL_HOW_KEYED:
        return cel_work_keyed(work, column);
    case CEL_HOW_ELEMENT:
        return work_element(work, column);
    case CEL_HOW_KERNEL:
        return work_kernel(work, column);
    case CEL_HOW_FOLD:
        return work_fold(work, column);
    case CEL_HOW_SAME:
        return cel_work_same(work, column);
    case CEL_HOW_CHOOSE:
        return cel_work_choose(work, column);
    case CEL_HOW_SPREAD:
        return work_spread(work, column);
    case CEL_HOW_REDUCE:
        return cel_work_reduce(work, column);
    case CEL_HOW_GROUP:
        return cel_work_group(work, column);
    case CEL_HOW_LOOKUP:
        return cel_work_lookup(work, column);
    }
    return 0;
}

/* --- steps ------------------------------------------------------------------------------- */

/* What is worked out for a selection counts only there, and what is made of it. */
static bool is_partial(const CelWork *work, const CelPlanColumn *column) {
    if (!work->selection)
        return false;
    if (column->how == CEL_HOW_SCALAR || column->how == CEL_HOW_TEXT ||
        column->how == CEL_HOW_REDUCE || column->op == OP_AND || column->op == OP_OR ||
        column->op == OP_CONDITIONAL)
        return true;
    for (uint32_t i = 0; i < column->n_inputs; i++) {
        const CelPlanColumn *input = cel_plan_at(work->plan, column->inputs[i]);

        if (input->space == column->space && !input->is_constant && !cel_column_is_single(input) &&
            cel_work_register(work, input)->is_partial)
            return true;
    }
    return false;
}

/* The register of a column, empty if it was another's. */
static CelRegister *take_register(CelWork *work, uint32_t number) {
    CelRegister *reg = cel_work_register(work, cel_plan_at(work->plan, number));

    if (reg->column_of != number) {
        reg->column_of = number;
        reg->stamp = 0;
        reg->is_partial = false;
    }
    return reg;
}

static int step_column(CelWork *work, uint32_t number, bool is_loaded) {
    const CelPlanColumn *column = cel_plan_at(work->plan, number);
    CelRegister *reg = take_register(work, number);
    uint64_t stamp = work->frames[column->space].stamp;
    bool partial;
    int r;

    if (reg->stamp == stamp && !reg->is_partial)
        return 0;
    if (is_loaded) {
        r = cel_work_load(work, column);
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
static bool is_wanted(CelWanted wanted, uint8_t state) {
    switch (wanted) {
    case CEL_WANT_NOT_FALSE:
        return state != CEL_STATE_FALSE;
    case CEL_WANT_NOT_TRUE:
        return state != CEL_STATE_TRUE;
    case CEL_WANT_TRUE:
        return state == CEL_STATE_TRUE;
    default:
        return state == CEL_STATE_FALSE;
    }
}

/* What is known once is so for all entries, or for none. */
static int select_entries(
    CelWork *work, const CelStep *step, const CelFrame *frame, CelSelection *ret) {
    CelOperand by = cel_work_operand(work, step->column);
    const CelSelection *outer = work->selection;
    size_t n = outer ? outer->n : frame->n;
    uint32_t *entries;

    *ret = outer ? *outer : (CelSelection){.n = n};
    if (by.is_single) {
        ret->n = is_wanted((CelWanted)step->wanted, by.column->states[0]) ? n : 0;
        return 0;
    }
    entries = open_room(work, frame->n);
    *ret = (CelSelection){.entries = entries};
    if (!entries)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t entry = outer ? outer->entries[i] : (uint32_t)i;

        if (is_wanted((CelWanted)step->wanted, by.column->states[entry]))
            entries[ret->n++] = entry;
    }
    return 0;
}

/* Registers of what is left out must be there: && and ?: have them as operands. */
static int open_left_out(CelWork *work, const CelSteps *steps, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const CelPlanColumn *column;
        CelRegister *reg;
        int r;

        if (steps->steps[i].kind != CEL_STEP_COLUMN && steps->steps[i].kind != CEL_STEP_LOAD)
            continue;
        column = cel_plan_at(work->plan, steps->steps[i].column);
        reg = take_register(work, steps->steps[i].column);
        if (reg->stamp == work->frames[column->space].stamp)
            continue;
        r = cel_register_open(work, reg, (CelLane)column->lane, work->frames[column->space].n);
        if (r < 0)
            return r;
        clear(reg, work->frames[column->space].n);
    }
    return 0;
}

/* The innermost of @n selections; NULL: all entries count. */
static const CelSelection *innermost(const CelSelection *selections, uint32_t n) {
    return n > 0 && selections[n - 1].entries ? &selections[n - 1] : NULL;
}

int cel_work_steps(CelWork *work, const CelSteps *steps, uint32_t space) {
    const CelSelection *outer = work->selection;
    CelSelection selections[CEL_WHERE_MAX] = {0};
    uint32_t n_selections = 0;
    int r = 0;

    work->selection = NULL;
    for (uint32_t pc = 0; r == 0 && pc < steps->n; pc++) {
        const CelStep *step = &steps->steps[pc];

        switch ((CelStepKind)step->kind) {
        case CEL_STEP_COLUMN:
        case CEL_STEP_LOAD:
            r = step_column(work, step->column, step->kind == CEL_STEP_LOAD);
            break;
        case CEL_STEP_RANGE:
            r = cel_work_range(work, step->column);
            break;
        case CEL_STEP_WHERE:
            r = select_entries(work, step, &work->frames[space], &selections[n_selections++]);
            work->selection = innermost(selections, n_selections);
            work->depth++;
            if (r == 0 && selections[n_selections - 1].n == 0) {
                r = open_left_out(work, steps, pc + 1, step->target);
                pc = step->target - 1; /* on to its END */
            }
            break;
        case CEL_STEP_END:
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
