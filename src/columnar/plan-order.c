/*
 * The order of work: columns as lists of steps.
 *
 * A walk over what a target needs, arguments first, with a stack of columns that are being
 * worked on. What only decides rows that are not yet decided (the right side of &&, the
 * sides of ?:) is put between WHERE and END if it is dear, so that it runs for those rows only, or
 * not at all; and if the other side is known once, so that it runs for all or not at all. A column
 * inside of such a part counts as done only there: who needs it elsewhere has it made again.
 */
#include <assert.h>
#include <errno.h>

#include "columnar/plan-internal.h"

/* A list that makes things again too often stops being clever. */
#define STEPS_SPARE 256
#define STEPS_FACTOR 4

/* A column that is being worked on. */
typedef struct Doing {
    uint32_t column;
    uint32_t phase;
    uint32_t where;    /* the step to end */
    bool has_parts;    /* between WHERE and END */
    uint32_t sides[2]; /* of && and ||, in the order they are worked out */
} Doing;

/* A part of the list that may be left out. */
typedef struct Region {
    uint32_t outer;
} Region;

/* Where a column was made. */
typedef struct Made {
    uint32_t list; /* number of the list */
    uint32_t region;
} Made;

typedef struct Order {
    Planner *p;
    bool is_kept;    /* the list that makes blocks */
    Made *made;      /* by column */
    uint32_t *asked; /* by column: list in which a single or a row's column is noted */
    bool *is_open;   /* by space: the block has it */
    uint32_t n_lists;

    /* One list. */
    uint32_t list, region, depth, depth_max;
    size_t n_columns;
    VEC(Doing) doing;
    VEC(Region) regions;
    VEC(PlanStep) steps;
    VEC(uint32_t) singles, of_rows;
    uint32_t slow;
    bool needs_elements, needs_rows;
} Order;

static PlanColumn *at(const Order *o, uint32_t column) {
    return plan_column_at(o->p->plan, column);
}

/* --- writing ----------------------------------------------------------------------------- */

static int emit(Order *o, PlanStep step) {
    PlanStep *added = VEC_PUSH(&o->steps, o->p->arena);

    if (!added)
        return -ENOMEM;
    *added = step;
    return 0;
}

static int note(Order *o, uint32_t column, bool is_single) {
    uint32_t *added;

    if (o->asked[column] == o->list)
        return 0;
    o->asked[column] = o->list;
    added = is_single ? VEC_PUSH(&o->singles, o->p->arena) : VEC_PUSH(&o->of_rows, o->p->arena);
    if (!added)
        return -ENOMEM;
    *added = column;
    return 0;
}

static bool is_made(const Order *o, uint32_t column) {
    const Made *made = &o->made[column];

    if (made->list != o->list)
        return false;
    if (made->region == UINT32_MAX)
        return true; /* in no part: for all entries */
    for (uint32_t region = o->region; region != UINT32_MAX;
         region = o->regions.items[region].outer) {
        if (region == made->region)
            return true;
    }
    return false;
}

/* --- parts ------------------------------------------------------------------------------- */

static int open_part(Order *o, Doing *doing, uint32_t column, PlanCondition wanted) {
    Region *region = VEC_PUSH(&o->regions, o->p->scratch);

    if (!region)
        return -ENOMEM;
    region->outer = o->region;
    o->region = (uint32_t)o->regions.n - 1;
    if (++o->depth > o->depth_max)
        o->depth_max = o->depth;
    doing->where = (uint32_t)o->steps.n;
    return emit(o, (PlanStep){.kind = STEP_WHERE, .condition = (uint8_t)wanted, .column = column});
}

static int close_part(Order *o, const Doing *doing) {
    assert(o->steps.items); /* open_part() wrote one */
    o->region = o->regions.items[o->region].outer;
    o->depth--;
    o->steps.items[doing->where].target = (uint32_t)o->steps.n;
    return emit(o, (PlanStep){.kind = STEP_END});
}

/* Whether it pays to work it out for some entries only. */
static bool is_dear(const Order *o, uint32_t column) {
    return at(o, column)->frequency == PLAN_PER_BATCH && at(o, column)->is_costly &&
           !is_made(o, column);
}

/* Whether what is known once may save it for all entries of a batch. */
static bool is_spared(const Order *o, uint32_t by, uint32_t column) {
    return plan_column_is_single(at(o, by)) && !plan_column_is_single(at(o, column)) &&
           !is_made(o, column);
}

/* The sides of && and ||, the cheaper one first: which is which does not matter. */
static void sides_of(const Order *o, const PlanColumn *column, uint32_t sides[2]) {
    bool is_turned = is_spared(o, column->inputs[1], column->inputs[0]) ||
                     (is_dear(o, column->inputs[0]) && !is_dear(o, column->inputs[1]));

    sides[0] = column->inputs[is_turned];
    sides[1] = column->inputs[!is_turned];
}

static bool has_parts(const Order *o, const PlanColumn *column) {
    uint32_t sides[2];

    if (o->is_kept || o->depth == PLAN_WHERE_MAX || column->method != METHOD_KERNEL ||
        column->frequency != PLAN_PER_BATCH ||
        o->steps.n > STEPS_FACTOR * o->n_columns + STEPS_SPARE)
        return false;
    if (column->op == OP_CONDITIONAL)
        return is_dear(o, column->inputs[1]) || is_dear(o, column->inputs[2]) ||
               is_spared(o, column->inputs[0], column->inputs[1]) ||
               is_spared(o, column->inputs[0], column->inputs[2]);
    if (column->op != OP_AND && column->op != OP_OR)
        return false;
    sides_of(o, column, sides);
    return is_dear(o, sides[1]) || is_spared(o, sides[0], sides[1]);
}

/* --- visiting ---------------------------------------------------------------------------- */

static int visit(Order *o, uint32_t column) {
    Doing *doing;

    if (at(o, column)->is_constant || is_made(o, column))
        return 0;
    if (plan_column_is_single(at(o, column)))
        return note(o, column, true);
    doing = VEC_PUSH(&o->doing, o->p->scratch);
    if (!doing)
        return -ENOMEM;
    *doing = (Doing){.column = column};
    o->n_columns++;
    return 0;
}

/* The block's elements of a list, before the first column of them. */
static int open_space(Order *o, uint32_t space) {
    if (!o->is_kept || space == ROW_SPACE || o->is_open[space])
        return 0;
    o->is_open[space] = true;
    return emit(o, (PlanStep){.kind = STEP_RANGE, .column = space});
}

static void note_slow(Order *o, const PlanColumn *column) {
    if (column->method != METHOD_SCALAR || column->frequency != PLAN_PER_BATCH)
        return;
    if (o->slow == CEL_NO_NODE)
        o->slow = column->node;
    for (uint32_t i = 0; i < column->code->n_inputs; i++) {
        o->needs_elements |= column->code->inputs[i].kind == PLAN_INPUT_ELEMENT;
        o->needs_rows |= column->code->inputs[i].kind == PLAN_INPUT_ROW;
    }
}

static int finish(Order *o, uint32_t number) {
    const PlanColumn *column = at(o, number);
    bool is_loaded =
        !o->is_kept && column->frequency == PLAN_PRECOMPUTED && column->method != METHOD_SPREAD;
    int r;

    r = open_space(o, column->space);
    if (r == 0 && column->reduction)
        r = open_space(o, column->reduction->space);
    if (r < 0)
        return r;
    o->made[number] = (Made){o->list, o->region};
    note_slow(o, column);
    if (column->reduction && o->slow == CEL_NO_NODE && !o->is_kept)
        o->slow = column->reduction->slow;
    return emit(o, (PlanStep){.kind = is_loaded ? STEP_LOAD : STEP_COLUMN, .column = number});
}

/* What the elements read: other lists have it. */
static int adopt(Order *o, const PlanReduction *reduction) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < reduction->steps.n_singles; i++)
        r = note(o, reduction->steps.singles[i], true);
    return r;
}

/* What a column needs before it: argument @phase of it; false through @ret: there are no more. */
static int visit_next(Order *o, uint32_t number, uint32_t phase, bool *ret) {
    const PlanColumn *column = at(o, number);
    const PlanReduction *reduction = column->reduction;
    bool in_elements =
        reduction && (column->method == METHOD_GROUP || column->frequency == PLAN_PER_BATCH);
    const uint32_t *inputs = in_elements ? reduction->of_rows : column->inputs;
    uint32_t n = in_elements ? reduction->n_of_rows : column->n_inputs;
    int r = 0;

    *ret = false;
    if (!o->is_kept && column->frequency == PLAN_PRECOMPUTED && column->method != METHOD_SPREAD)
        return 0; /* loaded */
    if (in_elements && phase == 0)
        r = adopt(o, reduction);
    if (r < 0 || phase >= n)
        return r;
    if (column->method == METHOD_SPREAD && !o->is_kept)
        return note(o, inputs[0], false); /* of the rows' own list */
    *ret = true;
    return visit(o, inputs[phase]);
}

static int next_of_logic(Order *o, Doing *doing, bool *ret_done) {
    const PlanColumn *column = at(o, doing->column);
    PlanCondition wanted = column->op == OP_AND ? WHERE_NOT_FALSE : WHERE_NOT_TRUE;
    int r;

    switch (doing->phase++) {
    case 0:
        sides_of(o, column, doing->sides);
        return visit(o, doing->sides[0]);
    case 1:
        r = open_part(o, doing, doing->sides[0], wanted);
        return r < 0 ? r : visit(o, doing->sides[1]);
    default:
        *ret_done = true;
        return close_part(o, doing);
    }
}

static int next_of_choice(Order *o, Doing *doing, bool *ret_done) {
    const uint32_t *inputs = at(o, doing->column)->inputs;
    uint32_t phase = doing->phase++;
    int r = 0;

    if (phase == 0)
        return visit(o, inputs[0]);
    if (phase > 1)
        r = close_part(o, doing);
    *ret_done = phase == 3;
    if (r < 0 || *ret_done)
        return r;
    r = open_part(o, doing, inputs[0], phase == 1 ? WHERE_TRUE : WHERE_FALSE);
    return r < 0 ? r : visit(o, inputs[phase]);
}

static int advance(Order *o, Doing *doing, bool *ret_done) {
    bool is_more;
    int r;

    *ret_done = false;
    if (doing->phase == 0)
        doing->has_parts = has_parts(o, at(o, doing->column));
    if (doing->has_parts)
        return at(o, doing->column)->op == OP_CONDITIONAL ? next_of_choice(o, doing, ret_done)
                                                          : next_of_logic(o, doing, ret_done);
    r = visit_next(o, doing->column, doing->phase++, &is_more);
    *ret_done = !is_more;
    return r;
}

/* --- lists ------------------------------------------------------------------------------- */

static void begin_list(Order *o, bool is_kept) {
    o->is_kept = is_kept;
    o->list = ++o->n_lists;
    o->depth = o->depth_max = 0;
    o->n_columns = 0;
    o->regions.n = 0;
    o->region = UINT32_MAX;
    o->slow = CEL_NO_NODE;
    o->needs_elements = o->needs_rows = false;
    o->steps = (__typeof__(o->steps)){0};
    o->singles = (__typeof__(o->singles)){0};
    o->of_rows = (__typeof__(o->of_rows)){0};
}

static int add_target(Order *o, uint32_t target) {
    int r = visit(o, target);

    while (r == 0 && o->doing.n > 0) {
        size_t n = o->doing.n;
        Doing doing = o->doing.items[n - 1]; /* a visit may move them */
        bool is_done;

        r = advance(o, &doing, &is_done);
        o->doing.items[n - 1] = doing;
        if (r == 0 && is_done) {
            o->doing.n--;
            r = finish(o, doing.column);
        }
    }
    return r;
}

static PlanSteps end_list(Order *o) {
    if (o->depth_max > o->p->plan->depth)
        o->p->plan->depth = o->depth_max;
    return (PlanSteps){
        .steps = o->steps.items,
        .n = (uint32_t)o->steps.n,
        .singles = o->singles.items,
        .n_singles = (uint32_t)o->singles.n,
    };
}

/* Input @i of a reduction: what comes after a predicate is looked at only where that is true. */
static int add_element_target(
    Order *o, const PlanReduction *reduction, const uint32_t *inputs, uint32_t i) {
    Doing doing = {0};
    int r;

    if (i == 0 || i > reduction->n_predicates || !is_dear(o, inputs[i]))
        return add_target(o, inputs[i]);
    r = open_part(o, &doing, inputs[i - 1], WHERE_TRUE);
    if (r == 0)
        r = add_target(o, inputs[i]);
    return r < 0 ? r : close_part(o, &doing);
}

/* The steps for the elements of a reduction that a session does. */
static int order_elements(Order *o, const PlanColumn *column) {
    PlanReduction *reduction = column->reduction;
    int r = 0;

    begin_list(o, false);
    for (uint32_t i = 0; r == 0 && i < column->n_inputs; i++)
        r = add_element_target(o, reduction, column->inputs, i);
    reduction->steps = end_list(o);
    reduction->of_rows = o->of_rows.items;
    reduction->n_of_rows = (uint32_t)o->of_rows.n;
    reduction->needs_elements = o->needs_elements;
    reduction->needs_rows = o->needs_rows || reduction->n_of_rows > 0;
    reduction->slow = o->slow;
    return r;
}

static int order_reductions(Order *o) {
    const Plan *plan = o->p->plan;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < plan->columns.n; i++) {
        const PlanColumn *column = at(o, i);

        if (!column->is_needed || !column->reduction)
            continue;
        column->reduction->slow = CEL_NO_NODE;
        if (column->method == METHOD_GROUP ? column->reduction->partial == NO_COLUMN
                                           : column->frequency == PLAN_PER_BATCH)
            r = order_elements(o, column);
    }
    return r;
}

/* The steps for groups, before they are reduced to one value. */
static int order_singles(Order *o) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < o->p->plan->columns.n; i++) {
        PlanColumn *column = at(o, i);

        if (!column->is_needed || !plan_column_is_single(column) || !column->reduction)
            continue;
        begin_list(o, false);
        for (uint32_t k = 0; r == 0 && k < column->n_inputs; k++)
            r = add_target(o, column->inputs[k]);
        column->steps = end_list(o);
    }
    return r;
}

static int order_kept(Order *o) {
    int r = 0;

    begin_list(o, true);
    for (uint32_t i = 0; r == 0 && i < o->p->plan->columns.n; i++) {
        if (at(o, i)->is_stored)
            r = add_target(o, i);
    }
    for (uint32_t i = 1; r == 0 && i < o->p->plan->spaces.n; i++) {
        const PlanSpace *space = &o->p->plan->spaces.items[i];

        if (space->is_needed && space->kind == SPACE_ITEMS)
            r = open_space(o, i);
    }
    o->p->plan->block_steps = end_list(o);
    return r;
}

static int order_roots(Order *o) {
    Plan *plan = o->p->plan;
    int r = 0;

    for (size_t i = 0; r == 0 && i < plan->n_roots; i++) {
        begin_list(o, false);
        r = add_target(o, plan->roots[i].column);
        plan->roots[i].steps = end_list(o);
        plan->roots[i].slow = o->slow;
    }
    return r;
}

/* What a column reads has a lower number, but for what scalar code reads, which is dear
 * anyway. */
static void find_costly(const Plan *plan) {
    for (uint32_t i = 0; i < plan->columns.n; i++) {
        PlanColumn *column = plan_column_at(plan, i);

        if (column->frequency != PLAN_PER_BATCH || column->method == METHOD_SPREAD)
            continue;
        column->is_costly = column->method == METHOD_SCALAR || column->method == METHOD_BY_STRING ||
                            column->method == METHOD_REDUCE || column->method == METHOD_LOOKUP ||
                            column->method == METHOD_KEYED;
        for (uint32_t k = 0; !column->is_costly && k < column->n_inputs; k++)
            column->is_costly = plan_column_at(plan, column->inputs[k])->is_costly;
    }
}

int planner_order(Planner *p) {
    Order o = {
        .p = p,
        .made = ARENA_ARRAY(p->scratch, Made, p->plan->columns.n),
        .asked = ARENA_ARRAY(p->scratch, uint32_t, p->plan->columns.n),
        .is_open = ARENA_ARRAY(p->scratch, bool, p->plan->spaces.n),
    };
    int r;

    if (!o.made || !o.asked || !o.is_open)
        return -ENOMEM;
    find_costly(p->plan);
    r = order_reductions(&o);
    if (r == 0)
        r = order_singles(&o);
    if (r == 0)
        r = order_kept(&o);
    return r < 0 ? r : order_roots(&o);
}
