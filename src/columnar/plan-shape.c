/* Shapes of reductions; filters one after the other are one loop with several predicates. Equal
 * bodies at different depths differ in the level of their variable: copied to level 0 they are the
 * same nodes again, so what `node.domain(k)` and a loop over all domains share is computed once. */

#include <stdlib.h>

#include "cel/library.h"
#include "columnar/plan-internal.h"

static bool is_plain_loop(const CelGraphNode *node) {
    return cel_op_is_loop(node->op) && !(node->immediate & CEL_LOOP_PAIRS);
}

/* Adds the loop @node, whose elements count if its first @n arguments after the range are true;
 * false: it does not combine with the earlier ones. */
static bool take_loop(ReductionShape *shape, const CelGraphNode *node, uint32_t n) {
    uint32_t level = node->immediate & CEL_LOOP_LEVEL;

    if (shape->n_predicates + n > PLAN_FILTERS_MAX || (shape->has_level && level != shape->level))
        return false;
    shape->level = level;
    shape->has_level = true;
    for (uint32_t i = n; i-- > 0;)
        shape->parts[shape->n_predicates++] = node->args[1 + i];
    shape->list = node->args[0];
    return true;
}

static void take_filters(const Planner *p, ReductionShape *shape) {
    for (;;) {
        const CelGraphNode *node = cel_graph_node(p->graph, shape->list);

        if (node->op != OP_FILTER || !is_plain_loop(node) || !take_loop(shape, node, 1))
            break;
    }
    for (uint32_t i = 0; i < shape->n_predicates / 2; i++) { /* reverse: outermost was first */
        uint32_t other = shape->n_predicates - 1 - i, node = shape->parts[i];

        shape->parts[i] = shape->parts[other];
        shape->parts[other] = node;
    }
}

/* Whether @node is a call of a library on a list. A host's function of that name is different. */
static bool call_reduces(const CelGraphNode *node, ReduceOp *ret) {
    static const struct {
        const char *name;
        const CelLibrary *library;
        ReduceOp op;
    } calls[] = {
        {"size", &cel_standard_library, REDUCE_COUNT},
        {"sum", &cel_lists_library, REDUCE_SUM},
        {"min", &cel_lists_library, REDUCE_MIN},
        {"max", &cel_lists_library, REDUCE_MAX},
    };

    if (node->op != OP_CALL || node->n_overloads != 1 || node->n_args != 1)
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(calls); i++) {
        *ret = calls[i].op;
        if (str_is(node->overloads[0]->name, calls[i].name))
            return cel_library_has(calls[i].library, node->overloads[0]->spec);
    }
    return false;
}

/* size(), sum() … of a list. */
static bool take_call(
    const Planner *p, const CelGraphNode *node, ReductionShape *shape, uint32_t *ret_value) {
    const CelGraphNode *list;

    if (!call_reduces(node, &shape->op) || !planner_is_list(p, node->args[0]))
        return false;
    shape->list = node->args[0];
    list = cel_graph_node(p->graph, shape->list);
    if (list->op == OP_MAP_LIST && is_plain_loop(list)) {
        *ret_value = list->args[list->n_args - 1];
        return take_loop(shape, list, list->n_args - 2);
    }
    return shape->op == REDUCE_COUNT;
}

bool reduction_shape_find(const Planner *p, uint32_t number, ReductionShape *shape) {
    static const ReduceOp loops[OP_N] = {
        [OP_ALL] = REDUCE_ALL, [OP_EXISTS] = REDUCE_EXISTS, [OP_EXISTS_ONE] = REDUCE_ONE};
    const CelGraphNode *node = cel_graph_node(p->graph, number);
    uint32_t value = CEL_NO_NODE;

    *shape = (ReductionShape){0};
    if (node->op == OP_ALL || node->op == OP_EXISTS || node->op == OP_EXISTS_ONE) {
        if (!is_plain_loop(node) || !take_loop(shape, node, 0))
            return false;
        shape->op = loops[node->op];
        value = node->args[1];
    } else if (!take_call(p, node, shape, &value)) {
        return false;
    }
    take_filters(p, shape);
    shape->has_value = value != CEL_NO_NODE;
    shape->parts[shape->n_predicates] = value;
    return planner_is_list(p, shape->list);
}

static uint32_t copy_of(const PlanCopies *copies, uint32_t node) {
    const PlanCopy *found = copies->n > 0 ? bsearch(&node, copies->items, copies->n,
                                                sizeof(PlanCopy), plan_compare_nodes)
                                          : NULL;

    return found ? found->copy : node;
}

/* Replaces the variable of loop @level by that of level 0, or by the node @row. Inner loops move
 * outwards by as many levels, so equal bodies become the same nodes at any depth. */
typedef struct Replacement {
    uint32_t level;
    uint32_t row; /* CEL_NO_NODE: level 0 */
} Replacement;

static void replace_levels(CelGraphNode *node, const Replacement *by) {
    uint32_t outer = by->row == CEL_NO_NODE ? 0 : by->level + 1;

    if (node->op == OP_LOCAL && node->immediate / 2 == by->level)
        node->immediate %= 2;
    else if (node->op == OP_LOCAL && node->immediate / 2 > by->level)
        node->immediate -= 2 * outer;
    else if (cel_op_is_loop(node->op) && (node->immediate & CEL_LOOP_LEVEL) > by->level)
        node->immediate -= outer;
}

static uint32_t copy_node(
    Planner *p, const PlanCopies *copies, uint32_t number, const Replacement *by) {
    CelGraphNode node = *cel_graph_node(p->graph, number);
    uint32_t *args = ARENA_RAW(p->scratch, uint32_t, node.n_args);

    if (by->row != CEL_NO_NODE && node.op == OP_LOCAL && node.immediate / 2 == by->level)
        return by->row;
    for (uint32_t k = 0; args && k < node.n_args; k++)
        args[k] = copy_of(copies, node.args[k]);
    node.args = args;
    node.levels = 0; /* computed per element */
    node.folded = 0;
    replace_levels(&node, by);
    return args ? cel_graph_add(p->graph, &node) : CEL_NO_NODE;
}

/* A copy of @root with the variable replaced. @root reads no variables of other loops. */
static uint32_t replace(Planner *p, uint32_t root, const Replacement *by) {
    uint8_t bit = (uint8_t)(1u << by->level);
    uint8_t bits = by->row == CEL_NO_NODE ? bit : (uint8_t) ~(bit - 1u);
    PlanCopies copies;

    if (!(cel_graph_node(p->graph, root)->levels & bit))
        return root;
    copies = planner_collect(p, root, bits, /* is_exact= */ false);
    for (size_t i = 0; i < copies.n; i++) {
        copies.items[i].copy = copy_node(p, &copies, copies.items[i].node, by);
        if (copies.items[i].copy == CEL_NO_NODE) {
            p->failed = true;
            return root;
        }
    }
    root = copy_of(&copies, root);
    planner_scan_nodes(p);
    return root;
}

static void replace_all(Planner *p, ReductionShape *shape, const Replacement *by) {
    for (uint32_t i = 0; i < shape->n_predicates + shape->has_value; i++)
        shape->parts[i] = replace(p, shape->parts[i], by);
}

bool reduction_shape_is_own(const Planner *p, const ReductionShape *shape) {
    for (uint32_t i = 0; i < shape->n_predicates + shape->has_value; i++)
        if (cel_graph_node(p->graph, shape->parts[i])->levels & (uint8_t) ~(1u << shape->level))
            return false;
    return true;
}

bool reduction_shape_relevel(Planner *p, ReductionShape *shape) {
    if (shape->level > 0)
        replace_all(p, shape, &(Replacement){shape->level, CEL_NO_NODE});
    return !p->failed;
}

bool reduction_shape_use_row(Planner *p, ReductionShape *shape, uint32_t row) {
    replace_all(p, shape, &(Replacement){shape->level, row});
    return !p->failed;
}
