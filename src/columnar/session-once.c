/*
 * What is known once a session: by the scalar machine, or all groups reduced to one value.
 *
 * Each is worked out when the first list needs it, after those that it reads.
 */
#include <errno.h>

#include "cel/machine.h"
#include "columnar/evaluator-internal.h"

/* Keeps the value, and for kernels as a column of one entry. */
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

/* Its results stay, so they lie where the session does. */
static int run_single(Evaluator *work, const PlanColumn *column) {
    const PlanCode *code = column->code;
    CelValue *inputs = work->inputs;

    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanInput *input = &code->inputs[i];

        inputs[i] = input->kind == PLAN_INPUT_VARIABLE ? work->variables[input->column]
                    : input->kind == PLAN_INPUT_COLUMN
                        ? evaluator_single(work, plan_column_at(work->plan, input->column))
                        : cel_absent();
    }
    work->once_run->fuel = work->fuel;
    work->once_run->limit = NULL;
    set_single(&work->singles[column->reg], column, cel_run(code->code, work->once_run, inputs));
    return evaluator_is_over(work) ? PLAN_DEADLINE_PASSED : 0;
}

/* An odd result is the scalar machine's, for the whole node. */
static int mend_single(Evaluator *work, const PlanColumn *column, CelValue *ret) {
    CelCode *code;
    int r = cel_emit(work->plan->graph, column->node, NULL, work->arena, &code);

    if (r < 0)
        return r;
    work->once_run->fuel = work->fuel;
    work->once_run->limit = NULL;
    *ret = cel_run(code, work->once_run, work->variables);
    return 0;
}

static int reduce_single(Evaluator *work, const PlanColumn *column) {
    uint8_t state = COLUMN_OK;
    int64_t number = 0;
    Column out = {.lane = (ColumnLane)column->lane, .states = &state, .ints = &number};
    ReduceState account = {0};
    ReduceArgs args;
    CelValue v;
    int r;

    r = evaluator_run_steps(work, &column->steps, column->reduction->space);
    if (r == 0)
        r = reduce_begin(work, column->reduction, &args);
    if (r != 0)
        return r;
    reduce_range(&args, 0, work->frames[column->reduction->space].n, &account);
    reduce_end(args.op, &account, &out, 0);
    v = column_get(&out, 0, (CelKind)column->kind);
    if (state == COLUMN_FALLBACK)
        r = mend_single(work, column, &v);
    if (r == 0)
        set_single(&work->singles[column->reg], column, v);
    return r;
}

/* What must be known before: the next of it that is not, or NO_COLUMN. */
static uint32_t find_missing(const Evaluator *work, const PlanColumn *column) {
    const uint32_t *inputs = column->reduction ? column->steps.singles : column->inputs;
    uint32_t n = column->reduction ? column->steps.n_singles : column->n_inputs;

    for (uint32_t i = 0; i < n; i++) {
        const PlanColumn *input = plan_column_at(work->plan, inputs[i]);

        if (!input->is_constant && !work->singles[input->reg].is_known)
            return inputs[i];
    }
    return NO_COLUMN;
}

static int work_single(Evaluator *work, uint32_t number) {
    uint32_t n = 0;
    int r = 0;

    work->stack[n++] = number;
    while (r == 0 && n > 0) {
        const PlanColumn *column = plan_column_at(work->plan, work->stack[n - 1]);
        uint32_t missing = find_missing(work, column);

        if (missing != NO_COLUMN) {
            work->stack[n++] = missing;
            continue;
        }
        r = column->reduction ? reduce_single(work, column) : run_single(work, column);
        n--;
    }
    return r;
}

int evaluate_singles(Evaluator *work, const uint32_t *singles, uint32_t n) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const PlanColumn *column = plan_column_at(work->plan, singles[i]);

        if (!column->is_constant && !work->singles[column->reg].is_known)
            r = work_single(work, singles[i]);
    }
    return r;
}
