/* Compiles scalar code for a part of the graph. The part is copied into a small graph in which
 * columns, the row and the loop's variable are variables, numbered as the code's inputs. So code
 * size and time depend on the part, not on the graph. */

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

static bool is_cheap(const Planner *p, const CelGraphNode *node) {
    return node->op == OP_VARIABLE || node->op == OP_FAIL ||
           (node->op == OP_FIELD && cel_graph_node(p->graph, node->args[0])->op == OP_VARIABLE);
}

/* Whether the code reads @column instead of computing it: always if the column is computed earlier
 * than the code runs; else if it is needed anyway, or not computed by scalar code itself. */
static bool is_worth(const Cutter *c, const PlanColumn *column) {
    const CelGraphNode *node = cel_graph_node(c->p->graph, column->node);

    if (column->is_constant)
        return false;
    if (column->frequency != c->frequency || column->is_needed || column->method != METHOD_SCALAR)
        return true;
    if (c->frequency == PLAN_ONCE)
        return node->uses > 1 && !is_cheap(c->p, node);
    if (node->op == OP_OPT_GET && planner_is_or_value(c->p, c->root))
        return false; /* the orValue() itself fetches it */
    return column->lane == LANE_TEXT;
}

/* Whether @number is an input of the code; which one, into @ret. */
static bool find_input(const Cutter *c, uint32_t number, PlanInput *ret) {
    const CelGraphNode *node = cel_graph_node(c->p->graph, number);
    const PlanSpace *space = &c->p->plan->spaces.items[c->space];

    if (number != c->root && !c->from_row) {
        *ret = (PlanInput){PLAN_INPUT_COLUMN, planner_find(c->p, c->space, number, c->frequency)};
        if (ret->column != NO_COLUMN && is_worth(c, plan_column_at(c->p->plan, ret->column)))
            return true;
    }
    *ret = node->op != OP_VARIABLE ? (PlanInput){PLAN_INPUT_ELEMENT, NO_COLUMN}
           : node->immediate == c->p->host->row_slot
               ? (PlanInput){PLAN_INPUT_ROW, NO_COLUMN}
               : (PlanInput){PLAN_INPUT_VARIABLE, node->immediate};
    return node->op == OP_VARIABLE ||
           (node->op == OP_LOCAL && space->kind == SPACE_ITEMS && node->immediate == 0);
}

static uint32_t add_input(Cutter *c, PlanInput input) {
    for (size_t i = 0; i < c->inputs.n; i++) {
        if (c->inputs.items[i].kind == input.kind && c->inputs.items[i].column == input.column)
            return (uint32_t)i;
    }
    PLAN_PUSH(c->p, &c->inputs, c->p->arena, input);
    return (uint32_t)c->inputs.n - 1;
}

static void take(Cutter *c, uint32_t node) {
    Part part = {.node = node, .input = NO_COLUMN};
    PlanInput input;

    if (node >= c->p->n_seen || c->p->marks[node] == c->p->mark)
        return;
    c->p->marks[node] = c->p->mark;
    if (find_input(c, node, &input))
        part.input = add_input(c, input);
    PLAN_PUSH(c->p, &c->parts, c->p->mini, part);
}

static void walk(Cutter *c) {
    c->p->mark++;
    take(c, c->root);
    for (size_t i = 0; i < c->parts.n; i++) {
        const CelGraphNode *node = cel_graph_node(c->p->graph, c->parts.items[i].node);

        for (uint32_t k = 0; c->parts.items[i].input == NO_COLUMN && k < node->n_args; k++)
            take(c, node->args[k]);
    }
    if (c->parts.n > 0)
        qsort(c->parts.items, c->parts.n, sizeof(Part), plan_compare_nodes);
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
    for (uint32_t k = 0; args && k < node.n_args; k++) {
        const Part *of_arg =
            bsearch(&node.args[k], c->parts.items, c->parts.n, sizeof(Part), plan_compare_nodes);

        args[k] = of_arg->copy;
    }
    node.args = args;
    return args ? cel_graph_add(graph, &node) : CEL_NO_NODE;
}

/* Parts are sorted by number and the root's is the highest, so its copy is the last node. */
const PlanCode *planner_code(
    Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency, bool from_row) {
    Cutter c = {.p = p, .space = space, .root = node, .frequency = frequency, .from_row = from_row};
    PlanCode *made = planner_check(p, ARENA_NEW(p->arena, PlanCode));
    CelEmitOptions options = {.scratch = p->mini};
    CelGraph *graph;
    CelCode *code = NULL;

    arena_reset(p->mini);
    walk(&c);
    graph = planner_check(p, cel_graph_new(p->mini, p->mini));
    if (p->failed)
        return NULL;
    graph->is_apart = true;
    for (size_t i = 0; !p->failed && i < c.parts.n; i++) {
        c.parts.items[i].copy = copy_part(&c, &c.parts.items[i], graph);
        p->failed |= c.parts.items[i].copy == CEL_NO_NODE;
    }
    if (p->failed || cel_emit(graph, cel_graph_size(graph) - 1, &options, p->arena, &code) != 0) {
        p->failed = true;
        return NULL;
    }
    *made = (PlanCode){code, c.inputs.items, (uint32_t)c.inputs.n};
    if (made->n_inputs > p->plan->n_inputs_max)
        p->plan->n_inputs_max = made->n_inputs;
    return made;
}
