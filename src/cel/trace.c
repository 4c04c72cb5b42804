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

static void append(CelTraceLog *log, CelSeen entry) {
    CelSeen *added;

    log->is_cut |= log->seen.n >= CEL_TRACE_ENTRIES_MAX;
    added = log->is_cut ? NULL : VEC_PUSH(&log->seen, log->arena);
    if (added)
        *added = entry;
    else
        log->is_cut = true;
}

/* Whether the loop that runs @node had enough turns; then this one is only counted. */
static bool is_enough(CelTraceLog *log, uint32_t node) {
    const CelGraphNode *loop;
    uint32_t n = 0;

    if (log->loop_of[node] == 0)
        return false;
    loop = cel_graph_node(log->graph, log->loop_of[node] - 1);
    for (size_t i = log->seen.n; i > 0 && is_turn_of(loop, log->seen.items[i - 1].node);
         i -= log->seen.items[i - 1].size)
        n += log->seen.items[i - 1].node == node;
    if (n >= CEL_TRACE_TURNS)
        log->skipped[node]++;
    return n >= CEL_TRACE_TURNS;
}

static uint32_t take_skipped(CelTraceLog *log, const CelGraphNode *node) {
    uint32_t most = 0;

    for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++) {
        if (log->skipped[node->args[k]] > most)
            most = log->skipped[node->args[k]];
        log->skipped[node->args[k]] = 0;
    }
    return most;
}

static void add(CelTraceLog *log, uint32_t node, CelValue v, size_t first, bool is_again) {
    uint32_t skipped = take_skipped(log, cel_graph_node(log->graph, node));
    size_t n = log->seen.n;

    log->seen.n = first; /* drops the parts of an iteration over the limit */
    if (is_enough(log, node))
        return;
    log->seen.n = n;
    append(log, (CelSeen){node, (uint32_t)(n + 1 - first), skipped, is_again, v});
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
        .loop_of = ARENA_ARRAY(arena, uint32_t, size),
        .skipped = ARENA_ARRAY(arena, uint32_t, size),
    };
    if (!log->loop_of || !log->skipped)
        return -ENOMEM;
    for (uint32_t i = 0; i < size; i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++)
            log->loop_of[node->args[k]] = i + 1;
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
