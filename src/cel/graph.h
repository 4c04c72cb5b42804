#pragma once

/*
 * Graph: what is to be computed, each thing once.
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
 * A macro's variable is a LOCAL of a level: the number of macros around it that declare
 * some. Equal loops at one depth are equal nodes.
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
    uint8_t levels; /* reads LOCALs of levels below this: 0 none, 1 the outermost's, … */
    uint32_t n_args;
    const uint32_t *args; /* node numbers */
    const CelType *type;
    uint32_t immediate;                  /* slot, field, level … by the opcode */
    CelValue constant;                   /* CONSTANT, FAIL, SELECT's key */
    const CelOverload *const *overloads; /* CALL*, DISPATCH */
    size_t n_overloads;
    const void *prepared;  /* CALL*: see CelPrepare; IN_SET: the set */
    uint32_t from, to, at; /* where it was written first */
    uint32_t uses;         /* nodes and roots that refer to it */
} CelGraphNode;

/* Lies in @arena, with everything it makes. */
CelGraph *cel_graph_new(Arena *arena) MUST_CHECK;

#define CEL_LOWER_REFUSED 1 /* a constant that cannot be right (a pattern, a timestamp): @diags */

/* Adds an expression; @ret_root is its node. */
int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) MUST_CHECK;

const CelGraphNode *cel_graph_node(const CelGraph *graph, uint32_t number);
uint32_t cel_graph_size(const CelGraph *graph);

/* What @root needs, one node a line: number, operation, arguments, type, groups, uses. */
void cel_graph_print(const CelGraph *graph, uint32_t root, Buf *out);
