/* Finds the parts of an expression that are computed once and remembered. */

#include "cel/emit-internal.h"

#include <errno.h>

uint32_t cel_known_slot(
    const CelGraph *graph, uint32_t root, const CelEmitOptions *options, uint32_t number) {
    uint16_t op;

    if (number >= options->n_known_slots || number == root)
        return CEL_NO_SLOT;
    op = cel_graph_node(graph, number)->op;
    return op != OP_LOCAL && op != OP_OPT_ELEMENT ? options->known_slots[number] : CEL_NO_SLOT;
}

/* The code that is being made. */
typedef struct Sharing {
    const CelGraph *graph;
    const CelEmitOptions *options;
    uint32_t root;
    uint32_t *uses;
} Sharing;

static bool is_cut(const Sharing *s, uint32_t number) {
    return cel_known_slot(s->graph, s->root, s->options, number) != CEL_NO_SLOT;
}

static bool is_leaf(const CelGraphNode *node) {
    return node->op == OP_CONSTANT || node->op == OP_VARIABLE || node->op == OP_LOCAL ||
           node->op == OP_FAIL;
}

/* Computing it again is no dearer than remembering it. */
static bool is_cheap(const Sharing *s, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(s->graph, number);

    if (is_leaf(node) || is_cut(s, number))
        return true;
    return (node->op == OP_FIELD || node->op == OP_TEST_FIELD) &&
           (is_leaf(cel_graph_node(s->graph, node->args[0])) || is_cut(s, node->args[0]));
}

/* Levels that change where the arguments of @node from @i on are computed. */
static uint8_t levels_around(const CelGraphNode *node, uint32_t i) {
    if (i > 0 && cel_op_is_loop(node->op))
        return (uint8_t)(node->levels | 1u << (node->immediate & CEL_LOOP_LEVEL));
    return node->levels;
}

/* Whether the value of an argument of @node from @i on, which reads @levels, holds for several
 * turns of a loop around it that is in this code. */
static bool is_steady(const Sharing *s, const CelGraphNode *node, uint32_t i, uint8_t levels) {
    uint8_t outer = cel_graph_node(s->graph, s->root)->levels;

    return !s->options->trace && (levels_around(node, i) & ~levels & ~outer) != 0;
}

/* OPT_ELEMENT may be absent, which cannot be kept: every place that needs it computes it, so its
 * operand is needed as often. */
static bool is_repeated(const CelGraphNode *node, uint32_t uses) {
    return node->op == OP_OPT_ELEMENT && uses > 1;
}

/* From the root down: numbers only fall, so all users of a node come before it. */
static void count_uses(const Sharing *s) {
    s->uses[s->root] = 1;
    for (uint32_t i = s->root + 1; i-- > 0;) {
        const CelGraphNode *node;

        if (s->uses[i] == 0 || is_cut(s, i))
            continue;
        node = cel_graph_node(s->graph, i);
        for (uint32_t k = 0; k < node->n_args; k++) {
            uint8_t levels = cel_graph_node(s->graph, node->args[k])->levels;
            bool is_often = is_repeated(node, s->uses[i]) || is_steady(s, node, k, levels);

            s->uses[node->args[k]] += is_often ? 2 : 1;
        }
    }
}

static bool is_shared(const Sharing *s, uint32_t number) {
    return s->uses[number] > 1 && number < s->root && !is_cheap(s, number) &&
           cel_graph_node(s->graph, number)->op != OP_OPT_ELEMENT;
}

int cel_find_shares(const CelGraph *graph, uint32_t root, const CelEmitOptions *options,
    Arena *arena, CelShares *ret) {
    size_t n = (size_t)root + 1;
    Sharing s = {graph, options, root, ARENA_ARRAY(arena, uint32_t, n)};

    *ret = (CelShares){
        .number = ARENA_RAW(arena, uint32_t, n),
        .nodes = ARENA_RAW(arena, uint32_t, n),
        .uses = s.uses,
    };
    if (!s.uses || !ret->number || !ret->nodes)
        return -ENOMEM;
    count_uses(&s);
    for (uint32_t i = 0; i <= root; i++) {
        bool is_one = is_shared(&s, i);

        ret->number[i] = is_one ? ret->n : CEL_NOT_SHARED;
        if (is_one)
            ret->nodes[ret->n++] = i;
    }
    return 0;
}
