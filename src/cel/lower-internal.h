#pragma once

/* Internals of the lowering: lower.c walks the tree, lower-call.c lowers calls, lower-node.c adds
 * nodes and computes constants. graph.h is the interface. */

#include "base/vec.h"
#include "cel/graph.h"

/* A field of a composite, where the tree reads it. */
typedef struct CelFieldUse {
    uint32_t number; /* of the graph */
    const CelNode *place;
} CelFieldUse;

typedef struct CelLower {
    CelGraph *graph;
    const CelChecked *checked;
    const CelTree *tree;
    const CelOptions *options;
    DiagList *diags;
    uint32_t *stack; /* finished nodes that no parent has taken yet */
    uint32_t n_stack;
    uint32_t *heights; /* of the stack, before each node of the tree */
    uint32_t *parents; /* of each node of the tree */
    uint32_t *bound;   /* of a BINDER: its node */
    uint32_t *nodes;   /* of each node of the tree; may be NULL */
    uint32_t level;    /* loops around */
    int64_t fuel;      /* for folding */
    VEC(CelFieldUse) uses;
    size_t n_failing_before; /* constants of the graph that fail, in other expressions */
    bool is_folding, is_refused;
    bool has_failed; /* out of memory */
} CelLower;

/* The tree's node that is being lowered, with the graph nodes of its children. */
typedef struct CelPart {
    uint32_t i;
    const CelNode *node;
    const CelNodeInfo *info;
    uint32_t *args;
    uint32_t n_args;
} CelPart;

static inline const CelGraphNode *cel_lower_node(const CelLower *l, uint32_t number) {
    return cel_graph_node(l->graph, number);
}

static inline bool cel_lower_is_constant(const CelLower *l, uint32_t number) {
    return cel_lower_node(l, number)->op == OP_CONSTANT;
}

/* The kind of all its values; CEL_ABSENT: several are possible. */
uint8_t cel_lower_kind(const CelLower *l, uint32_t number);

/* The type of the tree's node @i. */
const CelType *cel_lower_type(const CelLower *l, uint32_t i);

/* A node for @part with its arguments, not added yet. */
CelGraphNode cel_lower_blank(const CelLower *l, const CelPart *part, uint16_t op);

/* The following give the number of a node, or CEL_NO_NODE when out of memory. */

/* Adds @node; constants are computed. */
uint32_t cel_lower_add(CelLower *l, const CelPart *part, const CelGraphNode *node);
uint32_t cel_lower_unary(
    CelLower *l, const CelPart *part, uint16_t op, uint32_t arg, const CelType *type);
uint32_t cel_lower_constant(CelLower *l, const CelPart *part, CelValue v);

/* A node that fails with @text when it is evaluated; STR_NULL: out of memory. */
uint32_t cel_lower_fail(CelLower *l, const CelPart *part, Str text);

/* A CONDITIONAL, or the side it always takes. */
uint32_t cel_lower_choice(CelLower *l, const CelGraphNode *node);

/* The constant that node @number is, or @number itself. */
uint32_t cel_lower_fold(CelLower *l, const CelPart *part, uint32_t number);

uint32_t cel_lower_call(CelLower *l, const CelPart *part);

/* Whether it is the constant @want. */
bool cel_lower_is_bool(const CelLower *l, uint32_t number, bool want);

/* Reports an error of the expression. */
void cel_lower_refuse(CelLower *l, const CelNode *place, Str text, Str hint);

/* The constant that node @number is fails, because of argument @arg (n_args: all of them). It is
 * reported when the whole graph is known. */
void cel_lower_failing(
    CelLower *l, const CelPart *part, uint32_t arg, uint32_t number, Str text, Str hint);

#define CEL_FOLD_FUEL_MAX 100000 /* units to compute constants, for all nodes of an expression */
