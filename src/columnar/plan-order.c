/* The order of steps, arguments first. Columns that only decide undecided rows (the right side of
 * &&, the sides of ?:) are put between WHERE and END if they are costly, or if the other side is a
 * single value. A column that is computed in such a part counts as computed only in that part. */

#include "columnar/plan-internal.h"

/* A list gets no more parts above this number of steps, since each part may repeat columns. */
#define STEPS_SPARE 256
#define STEPS_FACTOR 4

/* A column whose arguments are being visited. */
typedef struct Visit {
    uint32_t column;
    uint32_t phase;
    uint32_t where;    /* the step to end */
    bool has_parts;    /* between WHERE and END */
    uint32_t sides[2]; /* of && and ||, in the order of their steps */
} Visit;

/* The list and part in which a column is computed. */
typedef struct ColumnPlace {
    uint32_t list; /* number of the list */
    uint32_t region;
} ColumnPlace;

typedef struct Order {
    Planner *p;
    bool is_block;     /* the list that makes blocks */
    ColumnPlace *made; /* by column */
    uint32_t *noted;   /* by column: the last list in whose singles or of_rows it is */
    bool *is_open;     /* by space: the block's list has its STEP_RANGE */
    uint32_t n_lists;

    /* Below: about the current list. */
    uint32_t list, region, depth, depth_max;
    size_t n_columns;
    VEC(Visit) visits;
    PlanNodes regions; /* by part that may be skipped: the part around it, or UINT32_MAX */
    VEC(PlanStep) steps;
    PlanNodes singles, of_rows;
    uint32_t slow;
    bool needs_elements, needs_rows;
} Order;

static PlanColumn *at(const Order *o, uint32_t column) {
    return plan_column_at(o->p->plan, column);
}

static void emit(Order *o, PlanStep step) {
    PLAN_PUSH(o->p, &o->steps, o->p->arena, step);
}

static void add_read(Order *o, uint32_t column, bool is_single) {
    if (o->noted[column] == o->list)
        return;
    o->noted[column] = o->list;
    PLAN_PUSH(o->p, is_single ? &o->singles : &o->of_rows, o->p->arena, column);
}

static bool is_made(const Order *o, uint32_t column) {
    const ColumnPlace *made = &o->made[column];

    if (made->list != o->list)
        return false;
    if (made->region == UINT32_MAX)
        return true; /* in no part: for all entries */
    for (uint32_t region = o->region; region != UINT32_MAX; region = o->regions.items[region]) {
        if (region == made->region)
            return true;
    }
    return false;
}

static void open_part(Order *o, Visit *visiting, uint32_t column, PlanCondition condition) {
    PLAN_PUSH(o->p, &o->regions, o->p->scratch, o->region);
    o->region = (uint32_t)o->regions.n - 1;
    if (++o->depth > o->depth_max)
        o->depth_max = o->depth;
    visiting->where = (uint32_t)o->steps.n;
    emit(o, (PlanStep){.kind = STEP_WHERE, .condition = (uint8_t)condition, .column = column});
}

static void close_part(Order *o, const Visit *visiting) {
    if (o->p->failed)
        return;
    o->region = o->regions.items[o->region];
    o->depth--;
    o->steps.items[visiting->where].target = (uint32_t)o->steps.n;
    emit(o, (PlanStep){.kind = STEP_END});
}

/* Whether it pays to compute it for some entries only. */
static bool is_costly(const Order *o, uint32_t column) {
    return at(o, column)->frequency == PLAN_PER_BATCH && at(o, column)->is_costly &&
           !is_made(o, column);
}

/* Whether single value @by can make @column unnecessary for a whole batch. */
static bool is_spared(const Order *o, uint32_t by, uint32_t column) {
    return plan_column_is_single(at(o, by)) && !plan_column_is_single(at(o, column)) &&
           !is_made(o, column);
}

/* The sides of && and ||, the cheaper one first: their order does not change the result. */
static void sides_of(const Order *o, const PlanColumn *column, uint32_t sides[2]) {
    bool is_turned = is_spared(o, column->inputs[1], column->inputs[0]) ||
                     (is_costly(o, column->inputs[0]) && !is_costly(o, column->inputs[1]));

    sides[0] = column->inputs[is_turned];
    sides[1] = column->inputs[!is_turned];
}

static bool has_parts(const Order *o, const PlanColumn *column) {
    uint32_t sides[2];

    if (o->is_block || o->depth == PLAN_WHERE_MAX || column->method != METHOD_KERNEL ||
        column->frequency != PLAN_PER_BATCH ||
        o->steps.n > STEPS_FACTOR * o->n_columns + STEPS_SPARE)
        return false;
    if (column->op == OP_CONDITIONAL)
        return is_costly(o, column->inputs[1]) || is_costly(o, column->inputs[2]) ||
               is_spared(o, column->inputs[0], column->inputs[1]) ||
               is_spared(o, column->inputs[0], column->inputs[2]);
    if (column->op != OP_AND && column->op != OP_OR)
        return false;
    sides_of(o, column, sides);
    return is_costly(o, sides[1]) || is_spared(o, sides[0], sides[1]);
}

static void visit(Order *o, uint32_t column) {
    if (at(o, column)->is_constant || is_made(o, column))
        return;
    if (plan_column_is_single(at(o, column))) {
        add_read(o, column, true);
        return;
    }
    PLAN_PUSH(o->p, &o->visits, o->p->scratch, (Visit){.column = column});
    o->n_columns++;
}

/* In a block: opens the space of a list before the first column of its elements. */
static void open_space(Order *o, uint32_t space) {
    if (!o->is_block || space == ROW_SPACE || o->is_open[space])
        return;
    o->is_open[space] = true;
    emit(o, (PlanStep){.kind = STEP_RANGE, .column = space});
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

static void finish(Order *o, uint32_t number) {
    const PlanColumn *column = at(o, number);
    bool is_loaded =
        !o->is_block && column->frequency == PLAN_PRECOMPUTED && column->method != METHOD_SPREAD;

    open_space(o, column->space);
    if (column->reduction)
        open_space(o, column->reduction->space);
    o->made[number] = (ColumnPlace){o->list, o->region};
    note_slow(o, column);
    if (column->reduction && o->slow == CEL_NO_NODE && !o->is_block)
        o->slow = column->reduction->slow;
    emit(o, (PlanStep){.kind = is_loaded ? STEP_LOAD : STEP_COLUMN, .column = number});
}

/* Visits argument @phase of a column; false: there are no more. */
static bool visit_next(Order *o, uint32_t number, uint32_t phase) {
    const PlanColumn *column = at(o, number);
    const PlanReduction *reduction = column->reduction;
    bool in_elements =
        reduction && (column->method == METHOD_GROUP || column->frequency == PLAN_PER_BATCH);
    const uint32_t *inputs = in_elements ? reduction->of_rows : column->inputs;
    uint32_t n = in_elements ? reduction->n_of_rows : column->n_inputs;

    if (!o->is_block && column->frequency == PLAN_PRECOMPUTED && column->method != METHOD_SPREAD)
        return false; /* loaded */
    for (uint32_t i = 0; in_elements && phase == 0 && i < reduction->steps.n_singles; i++)
        add_read(o, reduction->steps.singles[i], true);
    if (phase >= n)
        return false;
    if (column->method == METHOD_SPREAD && !o->is_block) {
        add_read(o, inputs[0], false); /* computed by the rows' own list */
        return false;
    }
    visit(o, inputs[phase]);
    return true;
}

static bool next_of_logic(Order *o, Visit *visiting) {
    const PlanColumn *column = at(o, visiting->column);

    switch (visiting->phase++) {
    case 0:
        sides_of(o, column, visiting->sides);
        visit(o, visiting->sides[0]);
        return true;
    case 1:
        open_part(o, visiting, visiting->sides[0],
            column->op == OP_AND ? WHERE_NOT_FALSE : WHERE_NOT_TRUE);
        visit(o, visiting->sides[1]);
        return true;
    default:
        close_part(o, visiting);
        return false;
    }
}

static bool next_of_choice(Order *o, Visit *visiting) {
    const uint32_t *inputs = at(o, visiting->column)->inputs;
    uint32_t phase = visiting->phase++;

    if (phase > 1)
        close_part(o, visiting);
    if (phase == 3)
        return false;
    if (phase > 0)
        open_part(o, visiting, inputs[0], phase == 1 ? WHERE_TRUE : WHERE_FALSE);
    visit(o, inputs[phase]);
    return true;
}

/* Returns false if all arguments were visited. */
static bool advance(Order *o, Visit *visiting) {
    if (visiting->phase == 0)
        visiting->has_parts = has_parts(o, at(o, visiting->column));
    if (!visiting->has_parts)
        return visit_next(o, visiting->column, visiting->phase++);
    return at(o, visiting->column)->op == OP_CONDITIONAL ? next_of_choice(o, visiting)
                                                         : next_of_logic(o, visiting);
}

static void begin_list(Order *o, bool is_block) {
    o->is_block = is_block;
    o->list = ++o->n_lists;
    o->depth = o->depth_max = 0;
    o->n_columns = 0;
    o->regions.n = 0;
    o->region = UINT32_MAX;
    o->slow = CEL_NO_NODE;
    o->needs_elements = o->needs_rows = false;
    o->steps = (__typeof__(o->steps)){0};
    o->singles = o->of_rows = (PlanNodes){0};
}

static void add_target(Order *o, uint32_t target) {
    visit(o, target);
    while (!o->p->failed && o->visits.n > 0) {
        size_t n = o->visits.n;
        Visit visiting = o->visits.items[n - 1]; /* a copy: advance() may move the array */
        bool is_more = advance(o, &visiting);

        o->visits.items[n - 1] = visiting;
        if (is_more || o->p->failed)
            continue;
        o->visits.n--;
        finish(o, visiting.column);
    }
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

/* Input @i of a reduction: after a predicate, only for elements where that is true. */
static void add_element_target(
    Order *o, const PlanReduction *reduction, const uint32_t *inputs, uint32_t i) {
    bool has_part = i > 0 && i <= reduction->n_predicates && is_costly(o, inputs[i]);
    Visit part = {0};

    if (has_part)
        open_part(o, &part, inputs[i - 1], WHERE_TRUE);
    add_target(o, inputs[i]);
    if (has_part)
        close_part(o, &part);
}

/* The steps for the elements, or for the rows of a group, of a reduction that a session does. */
static void order_elements(Order *o, const PlanColumn *column) {
    PlanReduction *reduction = column->reduction;

    begin_list(o, false);
    for (uint32_t i = 0; i < column->n_inputs; i++)
        add_element_target(o, reduction, column->inputs, i);
    reduction->steps = end_list(o);
    reduction->of_rows = o->of_rows.items;
    reduction->n_of_rows = (uint32_t)o->of_rows.n;
    reduction->needs_elements = o->needs_elements;
    reduction->needs_rows = o->needs_rows || reduction->n_of_rows > 0;
    reduction->slow = o->slow;
}

static void order_reductions(Order *o) {
    for (uint32_t i = 0; i < o->p->plan->columns.n; i++) {
        const PlanColumn *column = at(o, i);

        if (!column->is_needed || !column->reduction)
            continue;
        column->reduction->slow = CEL_NO_NODE;
        if (column->method == METHOD_GROUP
                ? column->reduction->partial == NO_COLUMN && !column->reduction->is_total
                : column->frequency == PLAN_PER_BATCH)
            order_elements(o, column);
    }
}

/* The steps for groups, before they are reduced to one value. */
static void order_singles(Order *o) {
    for (uint32_t i = 0; i < o->p->plan->columns.n; i++) {
        PlanColumn *column = at(o, i);

        if (!column->is_needed || !plan_column_is_single(column) || !column->reduction)
            continue;
        begin_list(o, false);
        for (uint32_t k = 0; k < column->n_inputs; k++)
            add_target(o, column->inputs[k]);
        column->steps = end_list(o);
    }
}

static void order_block(Order *o) {
    begin_list(o, true);
    for (uint32_t i = 0; i < o->p->plan->columns.n; i++) {
        if (at(o, i)->is_stored)
            add_target(o, i);
    }
    for (uint32_t i = 1; i < o->p->plan->spaces.n; i++) {
        const PlanSpace *space = &o->p->plan->spaces.items[i];

        if (space->is_needed && space->kind == SPACE_ITEMS)
            open_space(o, i);
    }
    o->p->plan->block_steps = end_list(o);
}

static void order_roots(Order *o) {
    Plan *plan = o->p->plan;

    for (size_t i = 0; i < plan->n_roots; i++) {
        begin_list(o, false);
        add_target(o, plan->roots[i].column);
        plan->roots[i].steps = end_list(o);
        plan->roots[i].slow = o->slow;
    }
}

/* Inputs have lower numbers, except those of scalar code, which is costly anyway. */
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

void planner_order(Planner *p) {
    Order o = {
        .p = p,
        .made = planner_check(p, ARENA_ARRAY(p->scratch, ColumnPlace, p->plan->columns.n)),
        .noted = planner_check(p, ARENA_ARRAY(p->scratch, uint32_t, p->plan->columns.n)),
        .is_open = planner_check(p, ARENA_ARRAY(p->scratch, bool, p->plan->spaces.n)),
    };

    if (p->failed)
        return;
    find_costly(p->plan);
    order_reductions(&o);
    order_singles(&o);
    order_block(&o);
    order_roots(&o);
}
