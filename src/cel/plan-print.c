/*
 * A plan for people: the steps that make a block, then those of each root.
 */
#include "cel/plan-part.h"

static const char *const times[] = {
    [CEL_TIME_ONCE] = "once",
    [CEL_TIME_KEPT] = "kept",
    [CEL_TIME_BATCH] = "batch",
};

static const char *const hows[] = {
    [CEL_HOW_SCALAR] = "scalar",
    [CEL_HOW_TEXT] = "by-text",
    [CEL_HOW_LEAF] = "leaf",
    [CEL_HOW_KEYED] = "keyed-leaf",
    [CEL_HOW_ELEMENT] = "element",
    [CEL_HOW_KERNEL] = "kernel",
    [CEL_HOW_FOLD] = "fold",
    [CEL_HOW_SAME] = "same",
    [CEL_HOW_CHOOSE] = "choose",
    [CEL_HOW_SPREAD] = "spread",
    [CEL_HOW_REDUCE] = "reduce",
    [CEL_HOW_GROUP] = "group",
    [CEL_HOW_LOOKUP] = "look-up",
};

static const char *const wanteds[] = {
    [CEL_WANT_NOT_FALSE] = "is not false",
    [CEL_WANT_NOT_TRUE] = "is not true",
    [CEL_WANT_TRUE] = "is true",
    [CEL_WANT_FALSE] = "is false",
};

static void indent(Buf *out, uint32_t depth) {
    buf_append_repeat(out, ' ', 2 * (size_t)depth);
}

/* "%4 kernel gt-int": the node, @how it is come by, and what it is. */
static void print_node(const CelPlan *plan, uint32_t number, const char *how, Buf *out) {
    const CelPlanColumn *column = cel_plan_at(plan, number);
    const CelGraphNode *node = cel_graph_node(plan->graph, column->node);

    buf_printf(out, "%%%u %s ", column->node, how);
    if (node->n_overloads > 0)
        buf_append(out, node->overloads[0]->name);
    else
        buf_append(out, str_from_c(cel_ops[node->op].text));
    if (cel_ops[node->op].immediate == CEL_IMM_FIELD)
        buf_printf(out, " .%.*s", STR_FMT(cel_str(node->constant)));
    if (column->space != CEL_ROWS)
        buf_printf(out, " in space %u", column->space);
}

static void print_column(const CelPlan *plan, uint32_t number, Buf *out) {
    const CelPlanColumn *column = cel_plan_at(plan, number);

    print_node(plan, number, hows[column->how], out);
    if (column->n_inputs > 0)
        buf_append(out, STR(" of"));
    for (uint32_t i = 0; i < column->n_inputs; i++)
        buf_printf(out, " %%%u", cel_plan_at(plan, column->inputs[i])->node);
}

static void print_steps(const CelPlan *plan, const CelSteps *steps, uint32_t depth, Buf *out);

/* One level deeper: the steps for elements contain no others. */
static void print_elements(
    const CelPlan *plan, const CelPlanColumn *column, uint32_t depth, Buf *out) {
    if (!column->reduction || column->time == CEL_TIME_KEPT || column->reduction->steps.n == 0)
        return;
    indent(out, depth);
    buf_append(out, STR("for the elements:\n"));
    print_steps(plan, &column->reduction->steps, depth + 1, out);
}

static void print_step(const CelPlan *plan, const CelStep *step, uint32_t depth, Buf *out) {
    if (step->kind == CEL_STEP_COLUMN)
        print_elements(plan, cel_plan_at(plan, step->column), depth, out);
    indent(out, depth);
    switch ((CelStepKind)step->kind) {
    case CEL_STEP_COLUMN:
        print_column(plan, step->column, out);
        break;
    case CEL_STEP_LOAD:
        print_node(plan, step->column, "load", out);
        break;
    case CEL_STEP_RANGE:
        buf_printf(
            out, "space %u: elements of %%%u", step->column, plan->spaces.items[step->column].of);
        break;
    case CEL_STEP_WHERE:
        buf_printf(
            out, "where %%%u %s:", cel_plan_at(plan, step->column)->node, wanteds[step->wanted]);
        break;
    case CEL_STEP_END:
        buf_append(out, STR("end"));
        break;
    }
    buf_append_char(out, '\n');
}

/* Recursive once: see print_elements(). */
static void print_steps(const CelPlan *plan, const CelSteps *steps, uint32_t depth, Buf *out) {
    for (uint32_t i = 0; i < steps->n_singles; i++) {
        indent(out, depth);
        buf_append(out, STR("once "));
        print_column(plan, steps->singles[i], out);
        buf_append_char(out, '\n');
    }
    for (uint32_t i = 0; i < steps->n; i++) {
        depth -= steps->steps[i].kind == CEL_STEP_END;
        print_step(plan, &steps->steps[i], depth, out);
        depth += steps->steps[i].kind == CEL_STEP_WHERE;
    }
}

void cel_plan_print(const CelPlan *plan, Buf *out) {
    buf_printf(out, "kept with the rows (%u columns):\n", plan->n_stored);
    print_steps(plan, &plan->kept, 1, out);
    for (size_t i = 0; i < plan->n_roots; i++) {
        const CelPlanRoot *root = &plan->roots[i];

        buf_printf(out, "root %zu: %%%u, %s\n", i, root->node, times[cel_plan_time(plan, i)]);
        print_steps(plan, &root->steps, 1, out);
    }
}
