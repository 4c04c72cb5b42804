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

/* X(name, text in dumps): the kinds of nodes, with how many children they have and what else. */
#define CEL_NODES(X)                                                                               \
    X(LITERAL, "literal")         /* 0: @literal */                                                \
    X(IDENT, "ident")             /* 0: @name; is_absolute: with a dot before it */                \
    X(SELECT, "select")           /* 1: @name */                                                   \
    X(OPT_SELECT, "opt-select")   /* 1: a.?b */                                                    \
    X(TEST, "has")                /* 1: has(a.b) */                                                \
    X(CALL, "call")               /* n: @name; is_receiver: the first child is the receiver */     \
    X(AND, "and")                 /* 2 */                                                          \
    X(OR, "or")                   /* 2 */                                                          \
    X(CONDITIONAL, "conditional") /* 3 */                                                          \
    X(OPTIONAL, "optional") /* 1: ?x as an element of a list or a value of a map (around x) */     \
    X(LIST, "list")         /* n */                                                                \
    X(MAP, "map")           /* 2n: key, value, key, value */                                       \
    X(STRUCT, "struct") /* n: the FIELDs of T{f: x}; @name is the type's. The check refuses it */  \
    X(FIELD, "field")   /* 1: f: x inside of a STRUCT; @name is the field's */                     \
    X(BINDER, "binder") /* 0: declares @name from here to the macro's node */                      \
    /* Macros. One or two BINDERs after the range; then the predicate, if there is one; then the   \
     * body. */                                                                                    \
    X(ALL, "all")               /* range, binders, predicate */                                    \
    X(EXISTS, "exists")         /* range, binders, predicate */                                    \
    X(EXISTS_ONE, "exists-one") /* range, binders, predicate */                                    \
    X(FILTER, "filter")         /* range, binder, predicate */                                     \
    X(MAP_LIST, "map-list") /* map() and transformList(): range, binders, [predicate,] value */    \
    X(TRANSFORM_MAP, "transform-map")     /* range, 2 binders, [predicate,] value */               \
    X(TRANSFORM_ENTRY, "transform-entry") /* range, 2 binders, [predicate,] map */                 \
    X(OPT_MAP, "opt-map")                 /* optional, binder, body */                             \
    X(OPT_FLAT_MAP, "opt-flat-map")       /* optional, binder, body */                             \
    X(BIND, "bind")                       /* value, binder, body: cel.bind */

typedef enum CelNodeKind {
#define X(name, text) CEL_NODE_##name,
    CEL_NODES(X)
#undef X
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

/* Which of its macro's variables the BINDER @i declares, 0 or 1. They are adjacent, right after the
 * range. */
static inline uint32_t cel_tree_binder_number(const CelTree *tree, uint32_t i) {
    return tree->nodes[i - 1].kind == CEL_NODE_BINDER;
}

/* Writes the names of @nodes from @first to @last with dots between to @out; returns how many
 * bytes. */
size_t cel_join_names(const CelNode *nodes, uint32_t first, uint32_t last, char *out);

/* The name of a kind of node: "select". */
const char *cel_node_name(CelNodeKind kind);

/* The name of an operator's function as it was written: "_+_" is "+". NULL: no operator. */
const char *cel_operator_text(Str function);

/* A call with the names of types for its arguments: -int, int + string, list[string], size(int),
 * string.substring(bool). */
void cel_call_print(Str function, bool is_receiver, const Str *types, size_t n, Buf *out);

/* One node a line, indented, with its text: for debugging and tests. */
void cel_tree_print(const CelTree *tree, Buf *out);
