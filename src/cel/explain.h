#pragma once

/*
 * Explain: an expression with the value of each of its parts, for users.
 *
 *     labels.tier == 'gpu' && free.cpu >= 4                  false
 *     ├─ labels.tier == 'gpu'                                true
 *     │  └─ labels.tier                                      "gpu"
 *     └─ free.cpu >= 4                                       false
 *        └─ free.cpu                                         2
 *
 * Constants are omitted, and so are the selections before a field that was found. Parts that were
 * not evaluated are marked; a loop shows its first iterations, each with its variables, and
 * cel.bind(x, 1 + y, …) a line x = 1 + y.
 */

#include "base/diag.h"
#include "base/vec.h"
#include "cel/check.h"
#include "cel/code.h"
#include "cel/env.h"
#include "cel/graph.h"
#include "cel/run.h"

#define CEL_EXPLAIN_LINES_MAX 400 /* further lines are omitted */
#define CEL_EXPLAIN_VALUE_MAX 100 /* bytes of a value */

/* Compiles and runs @source, and writes the tree above to @out. 0, a negative errno, or
 * CEL_REFUSED (program.h) with errors in @diags. @options may be NULL; nothing is folded.
 * @ret: the result, which may point into the run's arena and @variables; may be NULL. */
int cel_explain(const CelEnv *env, Str file, Str source, const CelOptions *options,
    const CelValue *variables, CelRun *run, bool colour, DiagList *diags, Buf *out, CelValue *ret)
    MUST_CHECK;

/* --- an expression that was checked already, for many runs ------------------------------- */

typedef struct CelExplainer {
    const CelChecked *checked;
    const CelGraph *graph;
    const uint32_t *nodes; /* of the graph, by node of the tree */
    const CelCode *code;
} CelExplainer;

/* In @arena. @graph holds the nodes that options->composite names; nothing is added to it after
 * this. 0, -ENOMEM, or CEL_REFUSED with errors in @diags. */
int cel_explainer_init(CelExplainer *ret, const CelChecked *checked, CelGraph *graph,
    const CelOptions *options, Arena *arena, DiagList *diags) MUST_CHECK;

/* The values that one run computed: see explain.c. Only the first iterations of a loop are kept;
 * the others are counted. */
#define CEL_TRACE_TURNS 16          /* iterations of one loop that are kept */
#define CEL_TRACE_ENTRIES_MAX 20000 /* of a log; later ones are dropped */

typedef struct CelSeen {
    uint32_t node;
    uint32_t size;    /* entries of this part, itself included */
    uint32_t skipped; /* loop: turns that were not kept */
    bool is_again;    /* used again; its parts are where it was computed */
    CelValue value;
} CelSeen;

typedef struct CelTraceLog {
    CelTrace trace; /* for CelRun.trace */
    const CelGraph *graph;
    Arena *arena;
    VEC(CelSeen) seen; /* the last one is the whole expression, unless something was dropped */
    bool *is_turn;     /* by node: a loop runs it on every turn */
    uint32_t *turns;   /* by node: its turns in the current loop; CEL_TRACE_TURNS are kept */
    bool is_cut;       /* over the limit, or out of memory */
} CelTraceLog;

/* One run and its log. It may point into itself: do not copy it. */
typedef struct CelExplained {
    const CelExplainer *explainer;
    CelRun *run;
    Arena *arena;
    CelTraceLog log;
    CelSeen whole; /* replaces the log if that ended early */
    CelValue result;
} CelExplained;

/* Runs it; results are in @arena. 0 or -ENOMEM. */
int cel_explained_run(CelExplained *ret, const CelExplainer *explainer, const CelValue *variables,
    CelRun *run, Arena *arena) MUST_CHECK;

/* The tree above; values are cut after @value_max bytes. */
void cel_explained_print(const CelExplained *explained, size_t value_max, bool colour, Buf *out);

/* A value that the expression read, with its source text: `node.free.cpu`, 0.5. For an optional,
 * its value; CEL_ABSENT: none. */
typedef struct CelLeaf {
    Str text;
    CelValue value;
} CelLeaf;

#define CEL_LEAF_COLUMNS 60 /* of a leaf's text; longer ones are cut */

/* The leaves that caused the result, in the order of the source, each once: the false side of a
 * false &&, the true side of a true ||, the condition and the chosen side of ?:, the deciding
 * element of all() and exists(). At most @max; returns their number. Out of memory: fewer. */
size_t cel_explained_leaves(const CelExplained *explained, CelLeaf *ret, size_t max);
