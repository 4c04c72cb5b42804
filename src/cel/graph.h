#pragma once

/*
 * Graph: the computations of expressions, each once.
 *
 * Checked trees are lowered into one graph, as many as the host likes; equal parts become
 * the same node (hash-consing), so what two rules share is known to be shared. A node is made
 * after its arguments: its number is higher than theirs. Nothing here says when or how
 * often a node is evaluated; the emitter (code.h) does for one value at a time, and a
 * machine over columns can for many.
 *
 * Each node knows which groups of variables it reads (CelVariable.group), so that the host
 * knows what to compute how rarely: nothing read is a constant and folded here, unless its
 * value would be an error: that stays where it is and happens when it is reached.
 *
 * A loop's variable is a LOCAL of a level: the number of loops around its own, below
 * CEL_LOOPS_MAX. Equal loops at one depth are equal nodes. cel.bind() and optMap() leave
 * nothing behind: their variable is the node of its value.
 *
 * To evaluate a graph in another way than code.h does, this is all there is to know:
 *
 *   - Everything of opcode.h that is a VALUE evaluates its arguments from left to right, and the
 *     first error is its own. operators.h and select.h say what each does; a CALL or DISPATCH
 *     takes the first of @overloads whose kinds fit (cel_param_kind()) and hands @prepared on.
 *   - AND and OR: false (true) on either side is the answer, whatever the other is; else an error,
 *     the left one first; else true (false). A value that is no bool counts as an error.
 *   - CONDITIONAL: an error of the first argument is its own; of the others one is evaluated.
 *   - Loops: the range, then for every element the predicate, if there is one, and the body. ALL
 *     and EXISTS absorb errors as AND and OR do over all elements, and tell the first; the
 *     others stop at an error.
 *   - Nodes may be evaluated early, or in any order, if that shows in no result: an error counts
 *     only where the above says it is met.
 *   - LIST leaves out, and MAP with its key, what OPT_ELEMENT says is CEL_ABSENT.
 *   - What a VARIABLE, a LOCAL or a part of either gives may be of another kind than @type says, if
 *     the host broke its word: an error, never a surprise for the next operation.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cel/check.h"
#include "cel/opcode.h"

typedef struct CelGraph CelGraph;

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
    /* Where it was first written; not part of its identity. In a graph of several expressions that
     * may be another expression's text: code that reports the position of an error uses a graph of
     * that expression alone. */
    uint32_t from, to, at;
    uint32_t uses;   /* nodes and roots that refer to it */
    uint32_t folded; /* its constant + 1; 0: none */
} CelGraphNode;

/* The immediate of a loop. Its arguments: the range, the predicate if there is one, and
 * the body. */
#define CEL_LOOP_LEVEL 0x00ffu
#define CEL_LOOP_PAIRS 0x0100u /* two variables: index or key, and value */

/* ALL to TRANSFORM_ENTRY. */
bool cel_op_is_loop(uint16_t op);

/* The nodes are in @arena; data that code made from them refers to (computed constants, patterns,
 * sets) is in @keep, which must outlive that code. They may be the same. */
CelGraph *cel_graph_new(Arena *arena, Arena *keep) MUST_CHECK;

/* The node equal to @node: an older one, or a new one. The text of its constant and its overloads
 * are borrowed. Groups (but a VARIABLE's own), levels and uses are worked out. CEL_NO_NODE: out
 * of memory. */
uint32_t cel_graph_add(CelGraph *graph, const CelGraphNode *node) MUST_CHECK;

/* @diags has the errors (a constant that fails, too many nested loops), unless the cause is a
 * composite's field with earlier errors. */
#define CEL_LOWER_REFUSED 1

/* lower.c: adds an expression; @ret_root is its node. The tree, its source and the environment must
 * outlive the graph. 0, CEL_LOWER_REFUSED or -ENOMEM. */
int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) MUST_CHECK;

/* The same for tools that need every part: nothing is shared but what cel.bind names, nothing
 * folded. @ret_nodes[i] is the node of the tree's node i (of a BINDER: its value), or
 * CEL_NO_NODE. */
int cel_lower_each(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_nodes) MUST_CHECK;

/* Borrowed until a node is added. */
const CelGraphNode *cel_graph_node(const CelGraph *graph, uint32_t number);
uint32_t cel_graph_size(const CelGraph *graph);
Arena *cel_graph_arena(const CelGraph *graph);
Arena *cel_graph_keep(const CelGraph *graph);

/* For the lowering. */
void cel_graph_keep_apart(CelGraph *graph, bool is_apart); /* equal nodes are not shared */
void cel_graph_use(CelGraph *graph, uint32_t number);      /* one more root */
void cel_graph_prepare(CelGraph *graph, uint32_t number, const void *prepared);
void cel_graph_fold(CelGraph *graph, uint32_t number, uint32_t constant);

/* The kind that argument @i of a call must have; CEL_ABSENT: any. */
static inline uint8_t cel_param_kind(const CelOverload *overload, uint32_t i) {
    return i > 0 && overload->spec->any_kinds ? CEL_ABSENT : overload->args[i]->value_kind;
}

/* The nodes that @root needs, one per line: number, operation, arguments, type, groups, levels, and
 * its uses if there are several. */
void cel_graph_print(const CelGraph *graph, uint32_t root, Buf *out);
