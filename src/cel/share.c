#include "cel/share.h"

#include <errno.h>

#include "base/error.h"

static bool is_leaf(const CelGraphNode *node) {
    return node->op == OP_CONSTANT || node->op == OP_VARIABLE || node->op == OP_LOCAL ||
           node->op == OP_FAIL;
}

/* Computing it again is no dearer than remembering it. */
static bool is_cheap(const CelGraph *graph, const CelGraphNode *node) {
    if (is_leaf(node))
        return true;
    return (node->op == OP_FIELD || node->op == OP_TEST_FIELD) &&
           is_leaf(cel_graph_node(graph, node->args[0]));
}

/* Levels that change where the arguments of @node from @i on are computed. */
static uint8_t levels_around(const CelGraphNode *node, uint32_t i) {
    if (i > 0 && cel_op_is_loop(node->op))
        return (uint8_t)(node->levels | 1u << (node->immediate & CEL_LOOP_LEVEL));
    return node->levels;
}

/* Whether the value of an argument of @node from @i on, which reads @levels, holds for several
 * turns of a loop around it. */
static bool is_steady(const CelGraphNode *node, uint32_t i, uint8_t levels) {
    return (levels_around(node, i) & ~levels) != 0;
}

/* OPT_ELEMENT may be no value, which cannot be remembered: every place that needs it has its
 * own, so what it is made of is needed as often. */
static bool is_repeated(const CelGraphNode *node, uint32_t uses) {
    return node->op == OP_OPT_ELEMENT && uses > 1;
}

/* From the root down: numbers only fall, so whoever uses a node was seen before it. */
static void count_uses(const CelGraph *graph, uint32_t root, bool keep_turns, uint32_t *uses) {
    uses[root] = 1;
    for (uint32_t i = root + 1; i-- > 0;) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        for (uint32_t k = 0; uses[i] > 0 && k < node->n_args; k++) {
            uint8_t levels = cel_graph_node(graph, node->args[k])->levels;
            bool is_often =
                is_repeated(node, uses[i]) || (is_steady(node, k, levels) && !keep_turns);

            uses[node->args[k]] += is_often ? 2 : 1;
        }
    }
}

static bool is_shared(const CelGraph *graph, uint32_t number, const uint32_t *uses) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    return uses[number] > 1 && !is_cheap(graph, node) && node->op != OP_OPT_ELEMENT;
}

int cel_find_shares(
    const CelGraph *graph, uint32_t root, bool keep_turns, Arena *arena, CelShares *ret) {
    size_t n = (size_t)root + 1;
    uint32_t *uses = ARENA_ARRAY(arena, uint32_t, n);

    *ret = (CelShares){
        .number = ARENA_RAW(arena, uint32_t, n),
        .nodes = ARENA_RAW(arena, uint32_t, n),
    };
    if (!uses || !ret->number || !ret->nodes)
        return error_origin(-ENOMEM);
    count_uses(graph, root, keep_turns, uses);
    for (uint32_t i = 0; i <= root; i++) {
        bool is_one = i < root && is_shared(graph, i, uses);

        ret->number[i] = is_one ? ret->n : CEL_NOT_SHARED;
        if (is_one)
            ret->nodes[ret->n++] = i;
    }
    return 0;
}
