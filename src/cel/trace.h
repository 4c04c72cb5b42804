#pragma once

/* Trace: the values that one run computed, in post-order like a tree (tree.h): operands come before
 * a value, and each entry has the number of entries of its part. Only the first iterations of a
 * loop are kept; the others are counted. */

#include "base/vec.h"
#include "cel/code.h"
#include "cel/graph.h"

#define CEL_TRACE_TURNS 16          /* iterations of one loop that are kept */
#define CEL_TRACE_ENTRIES_MAX 20000 /* of a log; later ones are dropped */

typedef struct CelSeen {
    uint32_t node;
    uint32_t size;    /* entries of this part, itself included */
    uint32_t skipped; /* of a loop: turns that were not kept */
    bool is_again;    /* recalled; its parts are at its first computation */
    CelValue value;
} CelSeen;

typedef struct CelTraceLog {
    CelTrace trace; /* for CelRun.trace */
    const CelGraph *graph;
    Arena *arena;
    VEC(CelSeen) seen; /* the last one is the whole expression, unless something was dropped */
    bool *is_turn;     /* by node: a loop runs it on every turn */
    uint32_t *kept;    /* by node: turns of the loop under way that were kept */
    uint32_t *skipped; /* by node: those that were not */
    bool is_cut;       /* over the limit, or out of memory */
} CelTraceLog;

/* 0 or -ENOMEM. The graph must not grow after this. */
int cel_trace_log_init(CelTraceLog *log, const CelGraph *graph, Arena *arena) MUST_CHECK;

/* The numbers of the entries that entry @i was computed from, in order, into @ret (with room
 * for @max); how many there are. */
size_t cel_trace_parts(const CelTraceLog *log, uint32_t i, uint32_t *ret, size_t max);
