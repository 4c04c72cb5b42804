#pragma once

/*
 * Tree: an expression as it was written, in one array.
 *
 * The nodes are in post-order: children before their parent, left before right, and each node knows
 * how many nodes its part of the array has. So every later step is a loop over the array with a
 * stack: deep expressions cause no recursion.
 *
 *     a.b(c) + 1      0 IDENT a   1 IDENT c   2 CALL b (receiver, 2 children)
 *                     3 LITERAL 1   4 CALL _+_ (2 children)
 *
 * Operators are calls of functions with names as in the specification (_+_, _==_, !_, -_, @in,
 * _[_], _[?_], _?._), except those that do not evaluate all their operands: AND, OR, CONDITIONAL.
 * Macros are nodes of their own; the variable a macro declares is a BINDER, placed after the range
 * and before the parts that may use it: a walk over the array opens the scope there and closes it
 * at the macro's node.
 */

#include "base/vec.h"
#include "cel/value.h"

/* Every step from text to code returns this when the expression has errors: its @diags has them. */
#define CEL_REFUSED 1

/* The kinds of nodes, with the number of their children and other properties. */
typedef enum CelNodeKind {
    CEL_NODE_LITERAL,     /* 0: @literal */
    CEL_NODE_IDENT,       /* 0: @name; is_absolute: with a dot before it */
    CEL_NODE_SELECT,      /* 1: @name */
    CEL_NODE_OPT_SELECT,  /* 1: a.?b */
    CEL_NODE_TEST,        /* 1: has(a.b) */
    CEL_NODE_CALL,        /* n: @name; is_receiver: the first child is the receiver */
    CEL_NODE_AND,         /* 2 */
    CEL_NODE_OR,          /* 2 */
    CEL_NODE_CONDITIONAL, /* 3 */
    CEL_NODE_OPTIONAL,    /* 1: ?x, an element of a list or a value of a map */
    CEL_NODE_LIST,        /* n */
    CEL_NODE_MAP,         /* 2n: key, value, key, value */
    CEL_NODE_STRUCT,      /* n: the FIELDs of T{f: x}; @name is the type's. The check refuses it */
    CEL_NODE_FIELD,       /* 1: f: x inside of a STRUCT; @name is the field's */
    CEL_NODE_BINDER,      /* 0: declares @name from here to the macro's node */
    /* Macros. One or two BINDERs after the range; then the predicate, if there is one; then the
     * body. */
    CEL_NODE_ALL,             /* range, binders, predicate */
    CEL_NODE_EXISTS,          /* range, binders, predicate */
    CEL_NODE_EXISTS_ONE,      /* range, binders, predicate */
    CEL_NODE_FILTER,          /* range, binder, predicate */
    CEL_NODE_MAP_LIST,        /* map() and transformList(): range, binders, [predicate,] value */
    CEL_NODE_TRANSFORM_MAP,   /* range, 2 binders, [predicate,] value */
    CEL_NODE_TRANSFORM_ENTRY, /* range, 2 binders, [predicate,] map */
    CEL_NODE_OPT_MAP,         /* optional, binder, body */
    CEL_NODE_OPT_FLAT_MAP,    /* optional, binder, body */
    CEL_NODE_BIND,            /* value, binder, body: cel.bind */
    CEL_N_NODES,
} CelNodeKind;

typedef struct CelNode {
    uint8_t kind;
    bool is_receiver;   /* CALL */
    bool is_absolute;   /* IDENT: .a; CALL without receiver: .f() */
    bool is_operator;   /* CALL: written as an operator */
    bool is_mixed;      /* LIST: made by a macro; its elements may differ in type */
    bool has_predicate; /* MAP_LIST, TRANSFORM_*: there is one */
    uint8_t n_binders;  /* macros: 1 or 2 */
    uint32_t n_children;
    uint32_t size;         /* nodes of this part of the array, itself included */
    uint32_t from, to, at; /* offsets in the source: its text, and where a caret points */
    uint32_t call; /* IDENT: the CALL whose receiver is the dotted name that starts here; 0: none */
    Str name;
    CelValue literal;
} CelNode;

typedef struct CelTree {
    Str file;   /* name of the source in messages */
    Str source; /* the whole text */
    const CelNode *nodes;
    uint32_t n_nodes; /* the last is the root */
} CelTree;

#define CEL_MACRO_CHILDREN_MAX 5 /* range, two binders, predicate, body */

/* The children of node @i from left to right, into @ret (n_children of them). */
void cel_tree_children(const CelTree *tree, uint32_t i, uint32_t *ret);

/* The source of node @i. */
static inline Str cel_tree_text(const CelTree *tree, uint32_t i) {
    return str_skip(str_take(tree->source, tree->nodes[i].to), tree->nodes[i].from);
}

/* The number (0 or 1) of the variable that the BINDER @i declares. A macro's BINDERs are adjacent,
 * right after the range. */
static inline uint32_t cel_tree_binder_number(const CelTree *tree, uint32_t i) {
    return tree->nodes[i - 1].kind == CEL_NODE_BINDER;
}

/* Writes the names of @nodes from @first to @last with dots between to @out; returns the number of
 * bytes. */
size_t cel_join_names(const CelNode *nodes, uint32_t first, uint32_t last, char *out);

/* The name of an operator's function as it was written: "_+_" is "+". NULL: no operator. */
const char *cel_operator_text(Str function);

/* A call with the names of types for its arguments: -int, int + string, list[string], size(int),
 * string.substring(bool). */
void cel_call_print(Str function, bool is_receiver, const Str *types, size_t n, Buf *out);
