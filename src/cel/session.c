/*
 * A session: the roots of a plan for the rows that are asked about.
 *
 * Rows are found in their blocks once, when they are named; then each root runs its list. What is
 * odd in the end is asked of the scalar machine.
 */
#include <errno.h>

#include "cel/entry.h"
#include "cel/work.h"

struct CelSession {
    CelWork work;
    CelRun once_run, run;
    CelRegister *singles; /* by root: a single value for all rows */
};

static int open_session(CelSession *session, const CelSessionOptions *options, Arena *arena) {
    const CelPlan *plan = session->work.plan;
    CelWork *work = &session->work;
    int r = cel_work_begin(work, plan->n_regs);

    if (r < 0)
        return r;
    session->singles = ARENA_ARRAY(arena, CelRegister, plan->n_roots);
    work->singles = ARENA_ARRAY(arena, CelSingle, plan->n_singles);
    work->memos = ARENA_ARRAY(arena, CelMemo *, plan->n_memos);
    work->stack = ARENA_RAW(arena, uint32_t, plan->n_singles);
    work->frames[CEL_ROWS].stretches = ARENA_RAW(arena, CelStretch, CEL_BATCH_ROWS);
    if (!session->singles || !work->singles || !work->memos || !work->stack ||
        !work->frames[CEL_ROWS].stretches)
        return -ENOMEM;
    for (size_t i = 1; options->whole && i < plan->spaces.n; i++) {
        if (plan->spaces.items[i].kind == CEL_SPACE_GROUPS)
            work->frames[i] =
                (CelFrame){.n = options->whole->groups[i].n, .stamp = ++work->last_stamp};
    }
    return 0;
}

int cel_session_new(
    const CelPlan *plan, const CelSessionOptions *options, Arena *arena, CelSession **ret) {
    CelSession *session = ARENA_NEW(arena, CelSession);
    int r;

    if (!session)
        return -ENOMEM;
    session->run = *options->run;
    session->once_run = *options->run;
    session->once_run.arena = arena;
    if (options->scratch)
        session->run.arena = options->scratch;
    session->work = (CelWork){
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

void cel_session_rows(CelSession *session, const uint32_t *rows, size_t n) {
    CelFrame *frame = &session->work.frames[CEL_ROWS];
    CelStretch *last = NULL;

    frame->n = n;
    frame->rows = rows;
    frame->stamp = ++session->work.last_stamp;
    frame->n_stretches = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t block = rows[i] / CEL_BLOCK_ROWS, from = rows[i] % CEL_BLOCK_ROWS;

        if (last && last->block == block && last->from + last->n == from) {
            last->n++;
            continue;
        }
        last = &frame->stretches[frame->n_stretches++];
        *last = (CelStretch){.block = block, .from = from, .at = (uint32_t)i, .n = 1};
    }
}

void cel_session_range(CelSession *session, uint32_t first, size_t n) {
    CelFrame *frame = &session->work.frames[CEL_ROWS];

    frame->n = n;
    frame->rows = NULL;
    frame->first = first;
    frame->stamp = ++session->work.last_stamp;
    frame->n_stretches = 0;
    for (size_t i = 0; i < n; i += frame->stretches[frame->n_stretches++].n) {
        uint32_t row = first + (uint32_t)i, from = row % CEL_BLOCK_ROWS;
        size_t rest = CEL_BLOCK_ROWS - from < n - i ? CEL_BLOCK_ROWS - from : n - i;

        frame->stretches[frame->n_stretches] = (CelStretch){
            .block = row / CEL_BLOCK_ROWS, .from = from, .at = (uint32_t)i, .n = (uint32_t)rest};
    }
}

/* One value for all rows. */
static int repeat_single(
    CelWork *work, const CelPlanColumn *column, CelRegister *reg, const CelColumn **ret) {
    size_t n = work->frames[CEL_ROWS].n;
    CelOperand single = cel_work_operand(work, (uint32_t)(column - work->plan->columns.items));
    uint8_t state = single.column->states[0];
    int r;

    r = cel_register_open(work, reg, (CelLane)column->lane, n);
    if (r < 0)
        return r;
    memset(reg->states, state < CEL_STATE_ODD ? state : CEL_STATE_ERROR, n);
    for (size_t i = 0; column->lane != CEL_LANE_BOOL && i < n; i++)
        reg->values[i] = single.column->ints[0]; /* or the bits of a double */
    *ret = &reg->column;
    return 0;
}

int cel_session_root(CelSession *session, size_t number, const CelColumn **ret) {
    CelWork *work = &session->work;
    const CelPlanRoot *root = &work->plan->roots[number];
    const CelPlanColumn *column = cel_plan_at(work->plan, root->column);
    CelRegister *reg;
    int r;

    if (cel_work_is_over(work))
        return CEL_SESSION_OVER;
    r = cel_work_singles(work, root->steps.singles, root->steps.n_singles);
    if (r != 0)
        return r;
    if (cel_column_is_single(column))
        return repeat_single(work, column, &session->singles[number], ret);
    reg = cel_work_register(work, column);
    *ret = &reg->column;
    if (reg->stamp == work->frames[CEL_ROWS].stamp && !reg->is_partial && reg->is_mended)
        return 0; /* asked for again */
    r = cel_work_steps(work, &root->steps, CEL_ROWS);
    if (r == 0)
        r = cel_work_mend(work, root->node, (CelKind)column->kind, reg);
    reg->is_mended = r == 0;
    return r;
}

int cel_session_once(CelSession *session, size_t number, CelValue *ret) {
    CelWork *work = &session->work;
    const CelPlanRoot *root = &work->plan->roots[number];
    int r = cel_work_singles(work, root->steps.singles, root->steps.n_singles);

    if (r == 0)
        *ret = cel_work_single(work, cel_plan_at(work->plan, root->column));
    return r;
}
