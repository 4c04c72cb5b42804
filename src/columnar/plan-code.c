/*
 * Code for a part of the graph, from what is known already.
 *
 * The part is copied into a small graph of its own, in which every node that is a column, the
 * row variable and the loop's variable are variables, numbered as the code's inputs. So
 * the code is as long as what is really left to do, and making it takes no longer than that,
 * however large the graph is.
 */
#include <errno.h>
#include <stdlib.h>

#include "columnar/plan-internal.h"

/* A node of the part. */
typedef struct Part {
    uint32_t node;
    uint32_t input; /* NO_COLUMN: it is computed */
    uint32_t copy;  /* its number in the small graph */
} Part;

typedef struct Cutter {
    Planner *p;
    uint32_t space, root;
    PlanFrequency frequency;
    bool from_row;
    VEC(Part) parts;
    VEC(PlanInput) inputs;
} Cutter;

/* --- where to cut ------------------------------------------------------------------------ */

static bool is_cheap(const Planner *p, const CelGraphNode *node) {
    return node->op == OP_VARIABLE || node->op == OP_FAIL ||
           (node->op == OP_FIELD && cel_graph_node(p->graph, node->args[0])->op == OP_VARIABLE);
}

/* Whether it is better to have @column than to compute it here. What is computed earlier than the
 * code runs always is; what is not is worth it if it is no scalar code itself, or somebody
 * has it made anyway. */
static bool is_worth(const Cutter *c, const PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(c->p->graph, column->node);

    if (column->is_constant)
        return false;
    if (column->frequency != c->frequency || column->is_needed || column->method != METHOD_SCALAR)
        return true;
    if (c->frequency == PLAN_ONCE)
        return node->uses > 1 && !is_cheap(c->p, node);
    if (node->op == OP_OPT_GET && planner_is_or_value(c->p, c->root))
        return false; /* it is fetched there and then */
    return column->lane == LANE_TEXT;
}

/* The input that stands for @number, if one does. */
static int find_input(const Cutter *c, uint32_t number, PlanInput *ret, bool *ret_is) {
    const CelGraphNode *node = cel_graph_node(c->p->graph, number);
    const PlanSpace *space = &c->p->plan->spaces.items[c->space];
    int r;

    *ret = (PlanInput){.kind = PLAN_INPUT_COLUMN, .column = NO_COLUMN};
    *ret_is = false;
    if (number != c->root && !c->from_row) {
        r = planner_find(c->p, c->space, number, c->frequency, &ret->column);
        if (r < 0)
            return r;
        *ret_is = ret->column != NO_COLUMN && is_worth(c, plan_column_at(c->p->plan, ret->column));
    }
    if (*ret_is)
        return 0;
    *ret_is = true;
    if (node->op == OP_VARIABLE)
        *ret = node->immediate == c->p->host->row_slot
                   ? (PlanInput){PLAN_INPUT_ROW, NO_COLUMN}
                   : (PlanInput){PLAN_INPUT_VARIABLE, node->immediate};
    else if (node->op == OP_LOCAL && space->kind == SPACE_ITEMS && node->immediate == 0)
        *ret = (PlanInput){PLAN_INPUT_ELEMENT, NO_COLUMN};
    else
        *ret_is = false;
    return 0;
}

/* --- walking ----------------------------------------------------------------------------- */

static uint32_t add_input(Cutter *c, PlanInput input) {
    PlanInput *added;

    for (size_t i = 0; i < c->inputs.n; i++) {
        if (c->inputs.items[i].kind == input.kind && c->inputs.items[i].column == input.column)
            return (uint32_t)i;
    }
    added = VEC_PUSH(&c->inputs, c->p->arena);
    if (!added)
        return NO_COLUMN;
    *added = input;
    return (uint32_t)c->inputs.n - 1;
}

static int take(Cutter *c, uint32_t node) {
    Part *part;
    PlanInput input;
    bool is_input;
    int r;

    if (c->p->marks[node] == c->p->mark)
        return 0;
    c->p->marks[node] = c->p->mark;
    r = find_input(c, node, &input, &is_input);
    part = VEC_PUSH(&c->parts, c->p->mini);
    if (r < 0 || !part)
        return r < 0 ? r : -ENOMEM;
    *part = (Part){.node = node, .input = NO_COLUMN};
    if (!is_input)
        return 0;
    part->input = add_input(c, input);
    return part->input != NO_COLUMN ? 0 : -ENOMEM;
}

static int order_of_parts(const void *a, const void *b) {
    uint32_t x = ((const Part *)a)->node, y = ((const Part *)b)->node;

    return (x > y) - (x < y);
}

static int walk(Cutter *c) {
    int r;

    c->p->mark++;
    r = take(c, c->root);
    for (size_t i = 0; r == 0 && i < c->parts.n; i++) {
        const CelGraphNode *node = cel_graph_node(c->p->graph, c->parts.items[i].node);

        for (uint32_t k = 0; r == 0 && c->parts.items[i].input == NO_COLUMN && k < node->n_args;
             k++)
            r = take(c, node->args[k]);
    }
    if (r == 0 && c->parts.n > 0)
        qsort(c->parts.items, c->parts.n, sizeof(Part), order_of_parts);
    return r;
}

/* --- copying ----------------------------------------------------------------------------- */

static uint32_t copy_of(const Cutter *c, uint32_t node) {
    const Part key = {.node = node};
    const Part *found = bsearch(&key, c->parts.items, c->parts.n, sizeof(Part), order_of_parts);

    return found->copy;
}

static uint32_t copy_part(const Cutter *c, const Part *part, CelGraph *graph) {
    CelGraphNode node = *cel_graph_node(c->p->graph, part->node);
    uint32_t *args;

    node.groups = 0;
    node.levels = 0;
    if (part->input != NO_COLUMN) {
        node.op = OP_VARIABLE;
        node.immediate = part->input;
        node.constant = cel_string(STR("value"));
        node.n_args = 0;
        node.n_overloads = 0;
    }
    args = ARENA_RAW(c->p->mini, uint32_t, node.n_args);
    if (!args)
        return CEL_NO_NODE;
    for (uint32_t k = 0; k < node.n_args; k++)
        args[k] = copy_of(c, node.args[k]);
    node.args = args;
    return cel_graph_add(graph, &node);
}

static int copy_parts(Cutter *c, CelGraph **ret) {
    *ret = cel_graph_new(c->p->mini, c->p->mini);
    if (!*ret)
        return -ENOMEM;
    cel_graph_keep_apart(*ret, true);
    for (size_t i = 0; i < c->parts.n; i++) {
        c->parts.items[i].copy = copy_part(c, &c->parts.items[i], *ret);
        if (c->parts.items[i].copy == CEL_NO_NODE)
            return -ENOMEM;
    }
    return 0;
}

/* The root has the highest number of all. */
int planner_code(Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency, bool from_row,
    const PlanCode **ret) {
    Cutter c = {.p = p, .space = space, .root = node, .frequency = frequency, .from_row = from_row};
    PlanCode *made = ARENA_NEW(p->arena, PlanCode);
    CelEmitOptions options = {.scratch = p->mini};
    CelGraph *graph = NULL;
    CelCode *code = NULL;
    int r;

    if (!made)
        return -ENOMEM;
    arena_reset(p->mini);
    r = walk(&c);
    if (r == 0)
        r = copy_parts(&c, &graph);
    if (r == 0)
        r = cel_emit(graph, cel_graph_size(graph) - 1, &options, p->arena, &code);
    if (r < 0)
        return r;
    *made = (PlanCode){code, c.inputs.items, (uint32_t)c.inputs.n};
    *ret = made;
    return 0;
}
