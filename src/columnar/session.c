/*
 * A session: the roots of a plan for the rows that are asked about.
 *
 * Rows are found in their blocks once, when they are named; then each root runs its list. What is
 * odd in the end is asked of the scalar machine.
 */
#include <errno.h>

#include "columnar/evaluator-internal.h"

struct PlanSession {
    Evaluator work;
    CelRun once_run, run;
    ColumnRegister *singles; /* by root: a single value for all rows */
};

static int open_session(PlanSession *session, const PlanSessionOptions *options, Arena *arena) {
    const Plan *plan = session->work.plan;
    Evaluator *work = &session->work;
    int r = evaluator_begin(work, plan->n_regs);

    if (r < 0)
        return r;
    session->singles = ARENA_ARRAY(arena, ColumnRegister, plan->n_roots);
    work->singles = ARENA_ARRAY(arena, SingleValue, plan->n_singles);
    work->memos = ARENA_ARRAY(arena, StringCache *, plan->n_memos);
    work->stack = ARENA_RAW(arena, uint32_t, plan->n_singles);
    work->frames[ROW_SPACE].stretches = ARENA_RAW(arena, BlockRange, PLAN_BATCH_ROWS);
    if (!session->singles || !work->singles || !work->memos || !work->stack ||
        !work->frames[ROW_SPACE].stretches)
        return -ENOMEM;
    for (size_t i = 1; options->whole && i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].kind == SPACE_GROUPS)
            work->frames[i] =
                (EntryFrame){.n = options->whole->groups[i].n, .stamp = ++work->last_stamp};
    }
    return 0;
}

int plan_session_new(
    const Plan *plan, const PlanSessionOptions *options, Arena *arena, PlanSession **ret) {
    PlanSession *session = ARENA_NEW(arena, PlanSession);
    int r;

    if (!session)
        return -ENOMEM;
    session->run = *options->run;
    session->once_run = *options->run;
    session->once_run.arena = arena;
    if (options->scratch)
        session->run.arena = options->scratch;
    session->work = (Evaluator){
        .plan = plan,
        .table = options->table,
        .arena = arena,
        .run = &session->run,
        .fuel = options->fuel,
        .scratch = options->scratch,
        .variables = options->variables,
        .clock = options->clock,
        .blocks = options->blocks,
        .whole = options->whole,
        .n_rows = options->n_rows,
        .once_run = &session->once_run,
    };
    r = open_session(session, options, arena);
    if (r < 0)
        return r;
    *ret = session;
    return 0;
}

void plan_session_set_rows(PlanSession *session, const uint32_t *rows, size_t n) {
    EntryFrame *frame = &session->work.frames[ROW_SPACE];
    BlockRange *last = NULL;

    frame->n = n;
    frame->rows = rows;
    frame->stamp = ++session->work.last_stamp;
    frame->n_stretches = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t block = rows[i] / PLAN_BLOCK_ROWS, from = rows[i] % PLAN_BLOCK_ROWS;

        if (last && last->block == block && last->from + last->n == from) {
            last->n++;
            continue;
        }
        last = &frame->stretches[frame->n_stretches++];
        *last = (BlockRange){.block = block, .from = from, .at = (uint32_t)i, .n = 1};
    }
}

void plan_session_set_range(PlanSession *session, uint32_t first, size_t n) {
    EntryFrame *frame = &session->work.frames[ROW_SPACE];

    frame->n = n;
    frame->rows = NULL;
    frame->first = first;
    frame->stamp = ++session->work.last_stamp;
    frame->n_stretches = 0;
    for (size_t i = 0; i < n; i += frame->stretches[frame->n_stretches++].n) {
        uint32_t row = first + (uint32_t)i, from = row % PLAN_BLOCK_ROWS;
        size_t rest = PLAN_BLOCK_ROWS - from < n - i ? PLAN_BLOCK_ROWS - from : n - i;

        frame->stretches[frame->n_stretches] = (BlockRange){
            .block = row / PLAN_BLOCK_ROWS, .from = from, .at = (uint32_t)i, .n = (uint32_t)rest};
    }
}

/* One value for all rows. */
static int repeat_single(
    Evaluator *work, const PlanColumn *column, ColumnRegister *reg, const Column **ret) {
    size_t n = work->frames[ROW_SPACE].n;
    KernelOperand single = evaluator_operand(work, (uint32_t)(column - work->plan->columns.items));
    uint8_t state = single.column->states[0];
    int r;

    r = register_open(work, reg, (ColumnLane)column->lane, n);
    if (r < 0)
        return r;
    memset(reg->states, state < COLUMN_FALLBACK ? state : COLUMN_ERROR, n);
    for (size_t i = 0; column->lane != LANE_BOOL && i < n; i++)
        reg->values[i] = single.column->ints[0]; /* or the bits of a double */
    *ret = &reg->column;
    return 0;
}

int plan_session_root(PlanSession *session, size_t number, const Column **ret) {
    Evaluator *work = &session->work;
    const PlanRoot *root = &work->plan->roots[number];
    const PlanColumn *column = plan_column_at(work->plan, root->column);
    ColumnRegister *reg;
    int r;

    if (evaluator_is_over(work))
        return PLAN_DEADLINE_PASSED;
    r = evaluate_singles(work, root->steps.singles, root->steps.n_singles);
    if (r != 0)
        return r;
    if (plan_column_is_single(column))
        return repeat_single(work, column, &session->singles[number], ret);
    reg = evaluator_register(work, column);
    *ret = &reg->column;
    if (reg->stamp == work->frames[ROW_SPACE].stamp && !reg->is_partial && reg->is_mended)
        return 0; /* asked for again */
    r = evaluator_run_steps(work, &root->steps, ROW_SPACE);
    if (r == 0)
        r = evaluate_fallbacks(work, root->node, (CelKind)column->kind, reg);
    reg->is_mended = r == 0;
    return r;
}

int plan_session_once(PlanSession *session, size_t number, CelValue *ret) {
    Evaluator *work = &session->work;
    const PlanRoot *root = &work->plan->roots[number];
    int r = evaluate_singles(work, root->steps.singles, root->steps.n_singles);

    if (r == 0)
        *ret = evaluator_single(work, plan_column_at(work->plan, root->column));
    return r;
}
