/*
 * The body of a loop as if no other loop were around it.
 *
 * Equal bodies at different depths differ in the level of their variable, and so in every node
 * above it. Told of level 0 they are the same nodes again: what `node.domain(k)` and a loop over
 * all domains ask of pods is asked once.
 */
#include <errno.h>
#include <stdlib.h>

#include "columnar/plan-internal.h"

typedef struct Copy {
    uint32_t node, copy;
} Copy;

typedef VEC(Copy) Copies;

static int order_of_copies(const void *a, const void *b) {
    uint32_t x = ((const Copy *)a)->node, y = ((const Copy *)b)->node;

    return (x > y) - (x < y);
}

static bool collect(Planner *p, uint32_t node, Copies *copies) {
    Copy *added;

    if (p->marks[node] == p->mark)
        return true;
    p->marks[node] = p->mark;
    added = VEC_PUSH(copies, p->scratch);
    if (added)
        *added = (Copy){.node = node};
    return added != NULL;
}

/* Everything below @root that reads the variable. */
static int collect_all(Planner *p, uint32_t root, uint8_t bit, Copies *copies) {
    p->mark++;
    if (!collect(p, root, copies))
        return -ENOMEM;
    for (size_t i = 0; i < copies->n; i++) {
        const CelGraphNode *node = cel_graph_node(p->graph, copies->items[i].node);

        for (uint32_t k = 0; k < node->n_args; k++) {
            if ((cel_graph_node(p->graph, node->args[k])->levels & bit) &&
                !collect(p, node->args[k], copies))
                return -ENOMEM;
        }
    }
    if (copies->n > 0)
        qsort(copies->items, copies->n, sizeof(Copy), order_of_copies);
    return 0;
}

static uint32_t copy_of(const Copies *copies, uint32_t node) {
    const Copy key = {.node = node};
    const Copy *found = copies->n > 0
                            ? bsearch(&key, copies->items, copies->n, sizeof(Copy), order_of_copies)
                            : NULL;

    return found ? found->copy : node;
}

static uint32_t copy_node(Planner *p, const Copies *copies, uint32_t number, uint32_t level) {
    CelGraphNode node = *cel_graph_node(p->graph, number);
    uint32_t *args = ARENA_RAW(p->scratch, uint32_t, node.n_args);

    if (!args)
        return CEL_NO_NODE;
    for (uint32_t k = 0; k < node.n_args; k++)
        args[k] = copy_of(copies, node.args[k]);
    node.args = args;
    node.levels = 0; /* worked out anew */
    node.folded = 0;
    if (node.op == OP_LOCAL && node.immediate / 2 == level)
        node.immediate %= 2;
    return cel_graph_add(p->graph, &node);
}

int planner_relevel(Planner *p, uint32_t level, uint32_t *node) {
    uint8_t bit = (uint8_t)(1u << level);
    Copies copies = {0};
    int r;

    if (level == 0 || !(cel_graph_node(p->graph, *node)->levels & bit))
        return 0;
    r = collect_all(p, *node, bit, &copies);
    for (size_t i = 0; r == 0 && i < copies.n; i++) {
        copies.items[i].copy = copy_node(p, &copies, copies.items[i].node, level);
        if (copies.items[i].copy == CEL_NO_NODE)
            r = -ENOMEM;
    }
    if (r < 0)
        return r;
    *node = copy_of(&copies, *node);
    return planner_scan_nodes(p);
}
