#pragma once

/*
 * Graph: the computations of all expressions, without duplicates.
 *
 * Any number of checked trees are lowered into one graph. Equal parts become the same node
 * (hash-consing), so rules share common parts. A node is added after its arguments, so its number
 * is higher than theirs. The graph does not decide when or how often a node is evaluated: the
 * emitter (code.h) does for one row at a time, columnar/plan.h for many.
 *
 * Each node records the groups of variables that it reads (CelVariable.group); the host derives
 * from them how often to compute it. A node that reads no variable is a constant and is folded
 * here, unless it fails: the error must occur only if evaluation reaches it.
 *
 * A loop's variable is a LOCAL. Its level is the number of loops around its own loop, below
 * CEL_LOOPS_MAX. Equal loops at one depth are equal nodes. cel.bind() and optMap() add no node:
 * their variable is the node of its value.
 *
 * Evaluation rules, for evaluators other than code.h:
 *
 *   - A VALUE operation of opcode.h evaluates its arguments from left to right and returns their
 *     first error. operators.h defines each operation; a CALL or DISPATCH calls the first of
 *     @overloads whose kinds fit (cel_param_kind()) and passes @prepared to it.
 *   - AND is false if either side is false, even if the other is an error; else an error (the left
 *     one first); else true. OR is the same with true. A value that is not a bool is an error.
 *   - CONDITIONAL returns an error of its condition; it evaluates only the chosen side.
 *   - Loops: the range, then for every element the predicate, if there is one, and the body. ALL
 *     and EXISTS absorb errors as AND and OR do, and return the first one; the other loops stop at
 *     an error.
 *   - Nodes may be evaluated early, or in any order, if no result changes: an error counts only
 *     where these rules reach it.
 *   - LIST skips elements, and MAP entries, for which OPT_ELEMENT is CEL_ABSENT.
 *   - If the host returns a value of another kind than @type for a VARIABLE, a LOCAL or a part of
 *     either, that is an error: later operations do not check kinds.
 */

#include <assert.h>

#include "base/vec.h"
#include "cel/check.h"
#include "cel/opcode.h"

#define CEL_NO_NODE UINT32_MAX

typedef struct CelGraphNode {
    uint16_t op;    /* CelOp: a VALUE or a NODE */
    uint8_t groups; /* bit g: reads a variable of group g */
    uint8_t levels; /* bit l: reads a LOCAL of level l that a loop around it declares */
    uint32_t n_args;
    const uint32_t *args; /* node numbers */
    const CelType *type;
    uint32_t immediate; /* slot, field, level … by the opcode */
    CelValue constant;  /* CONSTANT; FAIL's text; the key of a SELECT, the name of a VARIABLE or
                           FIELD: a string; IN_SET: the list */
    const CelOverload *const *overloads; /* CALL*, DISPATCH */
    size_t n_overloads;
    const void *prepared; /* CALL*: see CelPrepare; IN_SET: a CelSet (set.h) */
    /* Position of its first occurrence; ignored when nodes are compared. In a graph of several
     * expressions it may be in another expression's text: code that reports positions uses a graph
     * of one expression. */
    uint32_t from, to, at;
    uint32_t uses;   /* nodes and roots that refer to it */
    uint32_t folded; /* its constant + 1; 0: none */
} CelGraphNode;

/* The immediate of a loop. Its arguments: the range, the predicate if there is one, and
 * the body. */
#define CEL_LOOP_LEVEL 0x00ffu
#define CEL_LOOP_PAIRS 0x0100u /* two variables: index or key, and value */

static inline bool cel_op_is_loop(uint16_t op) {
    return op >= OP_ALL && op <= OP_TRANSFORM_ENTRY;
}

/* A constant that fails when it is evaluated. */
typedef struct CelFailing {
    uint32_t number;
    Str text, hint;
    const CelNode *place; /* in the tree that has it */
} CelFailing;

/* Nodes are in @arena. @keep has data that code of the graph refers to (computed constants,
 * patterns, sets), so it must outlive that code. Both may be the same arena. */
struct CelGraph {
    Arena *arena, *keep;
    VEC(CelGraphNode) nodes;
    uint32_t *index; /* open addressing: node + 1; 0: free */
    uint32_t n_index;
    VEC(CelFailing) failing;
    bool is_apart; /* equal nodes are not shared */
};

CelGraph *cel_graph_new(Arena *arena, Arena *keep) MUST_CHECK; /* NULL when out of memory */

/* Returns the existing node equal to @node, or adds it. The text of its constant and its overloads
 * are borrowed. Computes groups (except a VARIABLE's), levels and uses. CEL_NO_NODE: out of
 * memory. */
uint32_t cel_graph_add(CelGraph *graph, const CelGraphNode *node) MUST_CHECK;

/* lower.c: adds an expression; @ret_root is its node. @diags gets a warning for a constant that
 * fails in some runs, and an error for one that fails in every run and for too many nested loops.
 * The tree, its source and the environment must outlive the graph. 0, CEL_REFUSED or -ENOMEM; if a
 * composite's field had errors before, @diags gets no new one. */
int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) MUST_CHECK;

/* The same for tools that need every part: only values of cel.bind are shared, nothing is folded.
 * @ret_nodes[i] is the node of the tree's node i (of a BINDER: its value), or CEL_NO_NODE. */
int cel_lower_each(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_nodes) MUST_CHECK;

/* Borrowed until a node is added. */
static inline const CelGraphNode *cel_graph_node(const CelGraph *graph, uint32_t number) {
    assert(number < graph->nodes.n);
    return &graph->nodes.items[number];
}

/* Whether @node is a call that has only one possible overload, of the function @name. */
static inline bool cel_node_is_call(const CelGraphNode *node, const char *name) {
    return (node->op == OP_CALL || node->op == OP_CALL_CHECKED) && node->n_overloads == 1 &&
           str_is(node->overloads[0]->name, name);
}

static inline uint32_t cel_graph_size(const CelGraph *graph) {
    return (uint32_t)graph->nodes.n;
}

/* The kind that argument @i of a call must have; CEL_ABSENT: any. */
static inline uint8_t cel_param_kind(const CelOverload *overload, uint32_t i) {
    return i > 0 && overload->spec->any_kinds ? CEL_ABSENT : overload->args[i]->value_kind;
}

/* By node: whether it is one of the @n @roots or a part of one. In @arena. NULL: out of memory. */
bool *cel_graph_mark(const CelGraph *graph, const uint32_t *roots, size_t n, Arena *arena)
    MUST_CHECK;
