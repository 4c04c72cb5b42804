/* Nodes in one array, found by a hash. Nodes are equal if their operation, arguments, immediate,
 * constant, overloads and type are, wherever they were written. Equal arguments are already one
 * node, so comparing one level compares everything. */

#include "cel/graph.h"

#include "base/hash.h"

#define INDEX_FIRST 64 /* places; a power of two */

const CelOpInfo cel_ops[OP_N] = {
#define N CEL_OP_N_ARGS
#define X(name, class, arguments, immediate)                                                       \
    [OP_##name] = {CEL_OP_##class, arguments, CEL_IMM_##immediate},
    CEL_OPCODES(X)
#undef X
#undef N
};

CelGraph *cel_graph_new(Arena *arena, Arena *keep) {
    CelGraph *graph = ARENA_NEW(arena, CelGraph);

    if (!graph)
        return NULL;
    graph->arena = arena;
    graph->keep = keep;
    graph->n_index = INDEX_FIRST;
    graph->index = ARENA_ARRAY(arena, uint32_t, INDEX_FIRST);
    return graph->index ? graph : NULL;
}

/* Constants are equal if their kind and bits are: 0.0 and -0.0 differ, and so do 1 and 1u. Lists
 * and maps are equal only if they are the same object. */
static bool same_constant(CelValue a, CelValue b) {
    if (a.kind != b.kind || a.len != b.len)
        return false;
    if (a.kind == CEL_STRING || a.kind == CEL_BYTES)
        return str_eq(cel_str(a), cel_str(b));
    return a.kind == CEL_BOOL ? a.boolean == b.boolean : a.u == b.u;
}

static uint64_t hash_constant(CelValue v) {
    if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        return hash_str(cel_str(v)) + v.kind;
    return v.kind == CEL_ABSENT ? 0 : v.kind == CEL_BOOL ? v.boolean : v.u;
}

static uint64_t hash_node(const CelGraphNode *node) {
    const uint64_t parts[] = {
        (uint64_t)node->op << 32 | node->immediate,
        hash_constant(node->constant) ^ (uint64_t)node->constant.kind << 56,
        node->n_args > 0
            ? hash_str(str_of((const char *)node->args, node->n_args * sizeof(uint32_t)))
            : 0,
        node->n_overloads > 0 ? (uintptr_t)node->overloads[0] : 0,
    };

    return hash_str(str_of((const char *)parts, sizeof(parts)));
}

static bool same_node(const CelGraphNode *a, const CelGraphNode *b) {
    return a->op == b->op && a->immediate == b->immediate && a->n_args == b->n_args &&
           (a->n_args == 0 || memcmp(a->args, b->args, a->n_args * sizeof(uint32_t)) == 0) &&
           same_constant(a->constant, b->constant) && a->n_overloads == b->n_overloads &&
           (a->n_overloads == 0 ||
               memcmp(a->overloads, b->overloads, a->n_overloads * sizeof(*a->overloads)) == 0) &&
           cel_type_equal(a->type, b->type);
}

/* The place of a node like @node, or the free one where it belongs. */
static uint32_t index_place(const CelGraph *graph, const CelGraphNode *node) {
    uint32_t mask = graph->n_index - 1, place = (uint32_t)hash_node(node) & mask;

    while (
        graph->index[place] != 0 && !same_node(&graph->nodes.items[graph->index[place] - 1], node))
        place = (place + 1) & mask;
    return place;
}

static bool index_grow(CelGraph *graph) {
    uint32_t *old = graph->index, n_old = graph->n_index;
    uint32_t *index = ARENA_ARRAY(graph->arena, uint32_t, (size_t)n_old * 2);

    if (!index)
        return false;
    graph->index = index;
    graph->n_index = n_old * 2;
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i] != 0)
            index[index_place(graph, &graph->nodes.items[old[i] - 1])] = old[i];
    }
    return true;
}

/* A node reads whatever its arguments read; a loop's own variables do not count outside of it. */
static void add_up(const CelGraph *graph, CelGraphNode *node) {
    uint8_t inside = 0;

    if (node->op == OP_LOCAL)
        node->levels = (uint8_t)(1u << (node->immediate / 2));
    if (cel_op_is_loop(node->op))
        inside = (uint8_t)(1u << (node->immediate & CEL_LOOP_LEVEL));
    for (uint32_t i = 0; i < node->n_args; i++) {
        const CelGraphNode *arg = cel_graph_node(graph, node->args[i]);

        node->groups |= arg->groups;
        node->levels |= i == 0 ? arg->levels : (uint8_t)(arg->levels & ~inside);
    }
}

static bool is_well_formed(const CelGraphNode *node) {
    const CelOpInfo *op = &cel_ops[node->op];

    return op->class != CEL_OP_FLOW && (op->n_args == CEL_OP_N_ARGS || op->n_args == node->n_args);
}

static uint32_t append(CelGraph *graph, const CelGraphNode *node) {
    CelGraphNode *added = VEC_PUSH(&graph->nodes, graph->arena);
    uint32_t *args = ARENA_RAW(graph->arena, uint32_t, node->n_args);

    assert(is_well_formed(node));
    if (!added || !args)
        return CEL_NO_NODE;
    *added = *node;
    for (uint32_t i = 0; i < node->n_args; i++) {
        args[i] = node->args[i];
        graph->nodes.items[args[i]].uses++;
    }
    added->args = args;
    added->uses = 0;
    add_up(graph, added);
    return (uint32_t)graph->nodes.n - 1;
}

uint32_t cel_graph_add(CelGraph *graph, const CelGraphNode *node) {
    uint32_t place, number;

    if (graph->is_apart)
        return append(graph, node);
    place = index_place(graph, node);
    if (graph->index[place] != 0)
        return graph->index[place] - 1;
    number = append(graph, node);
    if (number == CEL_NO_NODE)
        return CEL_NO_NODE;
    graph->index[place] = number + 1;
    if (graph->nodes.n * 2 > graph->n_index && !index_grow(graph))
        return CEL_NO_NODE;
    return number;
}

bool *cel_graph_mark(const CelGraph *graph, const uint32_t *roots, size_t n, Arena *arena) {
    bool *marks = ARENA_ARRAY(arena, bool, graph->nodes.n);

    for (size_t i = 0; marks && i < n; i++)
        marks[roots[i]] = true;
    for (uint32_t i = cel_graph_size(graph); marks && i-- > 0;) { /* arguments have lower numbers */
        const CelGraphNode *node = cel_graph_node(graph, i);

        for (uint32_t k = 0; marks[i] && k < node->n_args; k++)
            marks[node->args[k]] = true;
    }
    return marks;
}
