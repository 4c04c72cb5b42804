/*
 * Computes the possible range of an expression's value, in one walk over the tree, children before
 * parents.
 *
 * Scores are from 0 to 100: a part that is always outside is a mistake, and probably so is a score
 * that is never over 1.
 */

#include <math.h>

#include "cel/run.h"
#include "policy/lint-internal.h"

static const NumberRange anything = {-INFINITY, INFINITY};

static NumberRange single(double value) {
    return (NumberRange){value, value};
}

/* NaN, from infinities, means unknown. */
static NumberRange range_of(double min, double max) {
    return (NumberRange){isnan(min) ? -INFINITY : min, isnan(max) ? INFINITY : max};
}

static NumberRange hull(NumberRange a, NumberRange b) {
    return (NumberRange){fmin(a.min, b.min), fmax(a.max, b.max)};
}

static NumberRange multiply(NumberRange a, NumberRange b) {
    double products[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    NumberRange result = single(products[0]);

    for (size_t i = 0; i < ELEMENTS_OF(products); i++) {
        if (isnan(products[i])) /* 0 times infinity */
            return anything;
        result = hull(result, single(products[i]));
    }
    return result;
}

/* Known only for a divisor that is always over 0. */
static NumberRange divide(NumberRange a, NumberRange b) {
    return b.min > 0 && isfinite(b.max) ? multiply(a, (NumberRange){1 / b.max, 1 / b.min})
                                        : anything;
}

static NumberRange of_value(CelValue value) {
    switch (value.kind) {
    case CEL_INT:
        return single((double)value.i);
    case CEL_DOUBLE:
        return isnan(value.d) ? anything : single(value.d);
    default:
        return anything;
    }
}

/* The range of an amount: only free can be below 0. */
static NumberRange of_amount(const LintExpression *x, uint32_t map) {
    Str field = lint_field(x, map, NULL);

    if (str_is(field, "requested") || str_is(field, "allocatable") || str_is(field, "requests"))
        return (NumberRange){0, INFINITY};
    return anything;
}

static NumberRange of_select(const LintExpression *x, uint32_t i) {
    const CelNodeInfo *from = &x->notes[i - 1];
    uint32_t field = x->notes[i].field;

    if (field == UINT32_MAX)
        return of_amount(x, i - 1);
    if (from->ref == CEL_REF_CONSTANT && from->constant.kind == CEL_RECORD)
        return of_value(from->constant.record->type->get(
            from->constant.record, field, &CEL_RUN(x->lint->scratch)));
    if (from->ref == CEL_REF_VARIABLE &&
        from->variable->slot == x->expression->scope->variables_slot)
        return x->lint->variable_ranges[field];
    return anything;
}

/* Whether it is a share: node.requested.cpu / node.allocatable.cpu, node.free['x'] /
 * node.allocatable['x'] (from 0 to 1, unless overcommitted). */
static bool is_share(const LintExpression *x, uint32_t over, uint32_t under) {
    Str over_key = STR_NULL, under_key = STR_NULL;
    uint32_t over_map = lint_look_up(x, over, &over_key);
    uint32_t under_map = lint_look_up(x, under, &under_key);
    Str what;

    if (over_map == UINT32_MAX || under_map == UINT32_MAX || !over_key.ptr ||
        !str_eq(over_key, under_key) || !str_is(lint_field(x, under_map, NULL), "allocatable"))
        return false;
    what = lint_field(x, over_map, NULL);
    return (str_is(what, "requested") || str_is(what, "free")) &&
           str_eq(lint_text(x, over_map - 1), lint_text(x, under_map - 1));
}

static NumberRange of_operator(const LintExpression *x, uint32_t i) {
    const CelTree *tree = x->tree;
    uint32_t left = lint_child(tree, i, 0), right = lint_child(tree, i, 1);
    NumberRange a = x->ranges[left], b = x->ranges[right];

    if (lint_is_call(tree, i, "_+_"))
        return range_of(a.min + b.min, a.max + b.max);
    if (lint_is_call(tree, i, "_-_"))
        return range_of(a.min - b.max, a.max - b.min);
    if (lint_is_call(tree, i, "_*_"))
        return multiply(a, b);
    if (lint_is_call(tree, i, "_/_"))
        return is_share(x, left, right) ? (NumberRange){0, 1} : divide(a, b);
    if (lint_is_call(tree, i, "_[_]"))
        return of_amount(x, left);
    return anything;
}

/* The range of a function's result. */
static NumberRange of_function(const LintExpression *x, uint32_t i) {
    const CelNodeInfo *note = &x->notes[i];
    const CelTree *tree = x->tree;
    uint32_t n = tree->nodes[i].n_children;
    Str name = note->n_overloads > 0 ? note->overloads[0]->name : STR_NULL;
    NumberRange last = n > 0 ? x->ranges[i - 1] : anything;
    NumberRange first =
        n == 2U + note->is_namespaced ? x->ranges[lint_child(tree, i, n - 2)] : anything;

    if (str_is(name, "size"))
        return (NumberRange){0, INFINITY};
    if (str_is(name, "double") || str_is(name, "math.round") || str_is(name, "math.trunc"))
        return last;
    if (str_is(name, "int"))
        return range_of(trunc(last.min), trunc(last.max));
    if (str_is(name, "-_"))
        return range_of(-last.max, -last.min);
    if (str_is(name, "math.least") && n == 2U + note->is_namespaced)
        return (NumberRange){fmin(first.min, last.min), fmin(first.max, last.max)};
    if (str_is(name, "math.greatest") && n == 2U + note->is_namespaced)
        return (NumberRange){fmax(first.min, last.min), fmax(first.max, last.max)};
    return anything;
}

static NumberRange of_node(const LintExpression *x, uint32_t i) {
    const CelNode *node = &x->tree->nodes[i];
    uint32_t binder;

    switch (node->kind) {
    case CEL_NODE_LITERAL:
        return of_value(node->literal);
    case CEL_NODE_IDENT:
        binder = x->notes[i].binder; /* a name of cel.bind(), after its value */
        return x->notes[i].ref == CEL_REF_LOCAL &&
                       x->tree->nodes[x->notes[binder].binder].kind == CEL_NODE_BIND
                   ? x->ranges[binder - 1]
                   : anything;
    case CEL_NODE_SELECT:
        return of_select(x, i);
    case CEL_NODE_CALL:
        return node->is_operator && node->n_children == 2 ? of_operator(x, i) : of_function(x, i);
    case CEL_NODE_CONDITIONAL:
        return hull(x->ranges[lint_child(x->tree, i, 1)], x->ranges[i - 1]);
    case CEL_NODE_BIND:
        return x->ranges[i - 1];
    default:
        return anything;
    }
}

NumberRange lint_range(const LintExpression *x) {
    for (uint32_t i = 0; i < x->tree->n_nodes; i++)
        x->ranges[i] = of_node(x, i);
    return x->ranges[x->tree->n_nodes - 1];
}

static void check_outside(const LintExpression *x, uint32_t i, NumberRange range) {
    bool is_constant = range.min >= range.max;
    double edge = range.max < 0 ? range.max : range.min;

    if (range.max >= 0 && range.min <= 100)
        return;
    lint_warn(x, i, LINT_HINT(STR("normalize: minMax or rank maps any numbers to 0..100")),
        is_constant     ? "%g is outside of 0..100, and counts as %d"
        : range.max < 0 ? "this is never over %g, outside of 0..100, and counts as %d"
                        : "this is never under %g, outside of 0..100, and counts as %d",
        edge, range.max < 0 ? 0 : 100);
}

/* Whether the value of node @i may be the whole result: it is the root, or a branch of such a
 * condition. @are_values has the result for later nodes. */
static bool is_value(const LintExpression *x, uint32_t i, const bool *are_values) {
    uint32_t parent = x->parents[i];

    if (parent == UINT32_MAX)
        return true;
    switch (x->tree->nodes[parent].kind) {
    case CEL_NODE_CONDITIONAL:
        return are_values[parent] && i != lint_child(x->tree, parent, 0);
    case CEL_NODE_BIND:
        return are_values[parent] && i == parent - 1;
    default:
        return false;
    }
}

static void check_values(const LintExpression *x) {
    uint32_t n = x->tree->n_nodes;
    bool *are_values = ARENA_ARRAY(x->lint->scratch, bool, n);

    for (uint32_t i = n; are_values && i-- > 0;)
        are_values[i] = is_value(x, i, are_values);
    for (uint32_t i = 0; are_values && i < n; i++) {
        uint8_t kind = x->tree->nodes[i].kind;

        if (are_values[i] && kind != CEL_NODE_CONDITIONAL && kind != CEL_NODE_BIND)
            check_outside(x, i, x->ranges[i]);
    }
}

/* Warns of `a / b * 100` of ints: the quotient is truncated first. */
static void check_quotients(const LintExpression *x) {
    for (uint32_t i = 0; i < x->tree->n_nodes; i++) {
        uint32_t parent = x->parents[i];

        if (lint_is_call(x->tree, i, "_/_") && x->notes[i].type->kind == CEL_T_INT &&
            parent != UINT32_MAX && lint_is_call(x->tree, parent, "_*_"))
            lint_warn(x, i, LINT_HINT(STR("multiply first, or divide doubles: double(…)")),
                "integer division truncates before the multiplication");
    }
}

void lint_score(const LintExpression *x, const Score *score) {
    NumberRange whole = lint_range(x);
    uint32_t root = x->tree->n_nodes - 1;
    const char *factor = x->notes[root].type->kind == CEL_T_INT ? "100" : "100.0";
    Arena *arena = x->lint->scratch;

    check_quotients(x);
    if (score->normalize != NORMALIZE_NONE)
        return;
    check_values(x);
    if (whole.min >= 0 && whole.max <= 1 && whole.min < whole.max)
        lint_warn(x, root,
            lint_instead(x, root,
                arena_printf(arena, "%s * (%.*s)", factor, STR_FMT(lint_text(x, root))),
                arena_printf(arena, "multiply it by %s", factor)),
            "this is never over 1, and scores go from 0 to 100");
}
