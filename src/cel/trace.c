/* The log of a traced run: each value, with the parts it was made of. */

#include "cel/trace.h"

#include <errno.h>

/* Whether @node runs in every iteration of a loop: its predicate or its body. */
static bool is_turn_of(const CelGraphNode *loop, uint32_t node) {
    for (uint32_t k = 1; k < loop->n_args; k++) {
        if (loop->args[k] == node)
            return true;
    }
    return false;
}

/* Where the entries begin that belong to the turns of @loop. */
static size_t first_turn(const CelTraceLog *log, const CelGraphNode *loop) {
    size_t first = log->seen.n;

    while (first > 0 && is_turn_of(loop, log->seen.items[first - 1].node))
        first -= log->seen.items[first - 1].size;
    return first;
}

/* Where the part of a new entry for @node begins: its arguments are the newest entries
 * without a parent, each at most once, the last one last. */
static size_t first_of_part(const CelTraceLog *log, const CelGraphNode *node) {
    bool is_loop = cel_op_is_loop(node->op);
    size_t first = is_loop ? first_turn(log, node) : log->seen.n;

    for (uint32_t k = is_loop ? 1 : node->n_args; k-- > 0 && first > 0;) {
        if (log->seen.items[first - 1].node == node->args[k])
            first -= log->seen.items[first - 1].size;
    }
    return first;
}

/* NULL: over the limit, or out of memory. */
static CelSeen *append(CelTraceLog *log) {
    CelSeen *added = NULL;

    if (!log->is_cut && log->seen.n < CEL_TRACE_ENTRIES_MAX)
        added = VEC_PUSH(&log->seen, log->arena);
    log->is_cut |= !added;
    return added;
}

/* Whether the loop that runs @node had enough turns; then this one is only counted. */
static bool is_enough(CelTraceLog *log, uint32_t node) {
    if (!log->is_turn[node])
        return false;
    if (log->kept[node] >= CEL_TRACE_TURNS) {
        log->skipped[node]++;
        return true;
    }
    log->kept[node]++;
    return false;
}

/* Ends a loop; any other node has no turns. */
static uint32_t take_skipped(CelTraceLog *log, const CelGraphNode *node) {
    uint32_t most = 0;

    for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++) {
        if (log->skipped[node->args[k]] > most)
            most = log->skipped[node->args[k]];
        log->skipped[node->args[k]] = log->kept[node->args[k]] = 0;
    }
    return most;
}

static void add(CelTraceLog *log, uint32_t node, CelValue v, size_t first, bool is_again) {
    uint32_t skipped = take_skipped(log, cel_graph_node(log->graph, node));
    CelSeen *entry;

    if (is_enough(log, node)) {
        log->seen.n = first; /* drops the parts of an iteration over the limit */
        return;
    }
    entry = append(log);
    if (!entry)
        return;
    /* Field by field: a copy of a whole one waits for the bytes of its own stores, which took a
     * third of the time of `berth explain` over a large cluster. */
    entry->node = node;
    entry->size = (uint32_t)(log->seen.n - first);
    entry->skipped = skipped;
    entry->is_again = is_again;
    entry->value = v;
}

static void seen(CelTrace *trace, uint32_t node, CelValue v) {
    CelTraceLog *log = (CelTraceLog *)trace;

    add(log, node, v, first_of_part(log, cel_graph_node(log->graph, node)), false);
}

static void again(CelTrace *trace, uint32_t node, CelValue v) {
    CelTraceLog *log = (CelTraceLog *)trace;

    add(log, node, v, log->seen.n, true);
}

int cel_trace_log_init(CelTraceLog *log, const CelGraph *graph, Arena *arena) {
    uint32_t size = cel_graph_size(graph);

    *log = (CelTraceLog){
        .trace = {.seen = seen, .again = again},
        .graph = graph,
        .arena = arena,
        .is_turn = ARENA_ARRAY(arena, bool, size),
        .kept = ARENA_ARRAY(arena, uint32_t, size),
        .skipped = ARENA_ARRAY(arena, uint32_t, size),
    };
    if (!log->is_turn || !log->kept || !log->skipped)
        return -ENOMEM;
    for (uint32_t i = 0; i < size; i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++)
            log->is_turn[node->args[k]] = true;
    }
    return 0;
}

size_t cel_trace_parts(const CelTraceLog *log, uint32_t i, uint32_t *ret, size_t max) {
    uint32_t first = i + 1 - log->seen.items[i].size;
    size_t n = 0, at = 0;

    for (uint32_t part = i; part > first; part -= log->seen.items[part - 1].size)
        n++;
    for (uint32_t part = i; part > first; part -= log->seen.items[part - 1].size) {
        size_t place = n - 1 - at++;

        if (place < max)
            ret[place] = part - 1;
    }
    return n;
}
