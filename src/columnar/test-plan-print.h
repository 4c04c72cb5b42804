#pragma once

/* A plan as text: the steps that make a block, then those of each root. */

#include "cel/test-print.h"
#include "columnar/plan-internal.h"

static const char *const frequencies[] = {
    [PLAN_ONCE] = "once",
    [PLAN_PRECOMPUTED] = "precomputed",
    [PLAN_PER_BATCH] = "batch",
};

static const char *const methods[] = {
    [METHOD_SCALAR] = "scalar",
    [METHOD_BY_STRING] = "by-string",
    [METHOD_LEAF] = "leaf",
    [METHOD_KEYED] = "keyed-leaf",
    [METHOD_ELEMENT] = "element",
    [METHOD_KERNEL] = "kernel",
    [METHOD_FOLD] = "fold",
    [METHOD_SAME_STRING] = "same",
    [METHOD_CHOOSE] = "choose",
    [METHOD_SPREAD] = "spread",
    [METHOD_REDUCE] = "reduce",
    [METHOD_GROUP] = "group",
    [METHOD_LOOKUP] = "look-up",
};

static const char *const conditions[] = {
    [WHERE_NOT_FALSE] = "is not false",
    [WHERE_NOT_TRUE] = "is not true",
    [WHERE_TRUE] = "is true",
    [WHERE_FALSE] = "is false",
};

static inline void indent(Buf *out, uint32_t depth) {
    buf_append_repeat(out, ' ', 2 * (size_t)depth);
}

/* "%4 kernel gt-int": the node, its method, and its operation. */
static inline void print_node(const Plan *plan, uint32_t number, const char *method, Buf *out) {
    const PlanColumn *column = plan_column_at(plan, number);
    const CelGraphNode *node = cel_graph_node(plan->graph, column->node);

    buf_printf(out, "%%%u %s ", column->node, method);
    if (node->n_overloads > 0)
        buf_append(out, node->overloads[0]->name);
    else
        print_operation(node->op, out);
    if (cel_ops[node->op].immediate == CEL_IMM_FIELD)
        buf_printf(out, " .%.*s", STR_FMT(cel_str(node->constant)));
    if (column->space != ROW_SPACE)
        buf_printf(out, " in space %u", column->space);
}

static inline void print_column(const Plan *plan, uint32_t number, Buf *out) {
    const PlanColumn *column = plan_column_at(plan, number);

    print_node(plan, number, methods[column->method], out);
    if (column->n_inputs > 0)
        buf_append(out, STR(" of"));
    for (uint32_t i = 0; i < column->n_inputs; i++)
        buf_printf(out, " %%%u", plan_column_at(plan, column->inputs[i])->node);
}

static inline void print_steps(const Plan *plan, const PlanSteps *steps, uint32_t depth, Buf *out);

/* One level deeper: the steps for elements contain no others, those for rows of a group may. */
static inline void print_elements(
    const Plan *plan, const PlanColumn *column, uint32_t depth, Buf *out) {
    if (!column->reduction || column->frequency == PLAN_PRECOMPUTED ||
        column->reduction->steps.n == 0)
        return;
    indent(out, depth);
    buf_append(out, column->reduction->space == ROW_SPACE ? STR("for all rows:\n")
                                                          : STR("for the elements:\n"));
    print_steps(plan, &column->reduction->steps, depth + 1, out);
}

static inline void print_step(const Plan *plan, const PlanStep *step, uint32_t depth, Buf *out) {
    if (step->kind == STEP_COLUMN)
        print_elements(plan, plan_column_at(plan, step->column), depth, out);
    indent(out, depth);
    switch ((PlanStepKind)step->kind) {
    case STEP_COLUMN:
        print_column(plan, step->column, out);
        break;
    case STEP_LOAD:
        print_node(plan, step->column, "load", out);
        break;
    case STEP_RANGE:
        buf_printf(
            out, "space %u: elements of %%%u", step->column, plan->spaces.items[step->column].of);
        break;
    case STEP_WHERE:
        buf_printf(out, "where %%%u %s:", plan_column_at(plan, step->column)->node,
            conditions[step->condition]);
        break;
    case STEP_END:
        buf_append(out, STR("end"));
        break;
    }
    buf_append_char(out, '\n');
}

/* Recursive twice at most: see print_elements(). */
static inline void print_steps(const Plan *plan, const PlanSteps *steps, uint32_t depth, Buf *out) {
    for (uint32_t i = 0; i < steps->n_singles; i++) {
        indent(out, depth);
        buf_append(out, STR("once "));
        print_column(plan, steps->singles[i], out);
        buf_append_char(out, '\n');
    }
    for (uint32_t i = 0; i < steps->n; i++) {
        depth -= steps->steps[i].kind == STEP_END;
        print_step(plan, &steps->steps[i], depth, out);
        depth += steps->steps[i].kind == STEP_WHERE;
    }
}

static inline void plan_print(const Plan *plan, Buf *out) {
    buf_printf(out, "precomputed for each row (%u columns):\n", plan->n_stored);
    print_steps(plan, &plan->block_steps, 1, out);
    for (size_t i = 0; i < plan->n_roots; i++) {
        const PlanRoot *root = &plan->roots[i];

        buf_printf(
            out, "root %zu: %%%u, %s\n", i, root->node, frequencies[plan_frequency(plan, i)]);
        print_steps(plan, &root->steps, 1, out);
    }
}
