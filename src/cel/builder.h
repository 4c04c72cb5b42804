#pragma once

/*
 * Builder: a tree while it grows.
 *
 * Nodes are added in post-order, so a new one takes what stands directly before it as its
 * children: it says where they start. When a limit is reached or memory is out, the
 * builder is stopped: it takes what it is given and forgets it, and its user looks at
 * is_stopped now and then.
 *
 * While the tree grows an IDENT's @call is a distance, not a number: macros may still
 * move whole parts of the tree. cel_builder_finish() sets it right.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/lex.h"
#include "cel/tree.h"

typedef struct CelBuilder {
    Arena *arena;
    CelLexer *lexer; /* the source, and where mistakes go */
    VEC(CelNode) nodes;
    bool is_stopped;
    int error;     /* -ENOMEM */
    CelNode spare; /* what a stopped builder gives out */
} CelBuilder;

/* Where something stands in the source. */
typedef struct CelSpan {
    uint32_t from, to, at;
} CelSpan;

/* 0 or -ENOMEM. */
int cel_builder_init(CelBuilder *builder, CelLexer *lexer, Arena *arena) MUST_CHECK;

/* The next node's number. */
static inline uint32_t cel_builder_next(const CelBuilder *builder) {
    return (uint32_t)builder->nodes.n;
}

/* The last node, the root of what was finished last. There is one. */
static inline CelNode *cel_builder_last(CelBuilder *builder) {
    return &builder->nodes.items[builder->nodes.n - 1];
}

/* A node whose @n_children stand from node @first to the last one. Never NULL; valid until the
 * next is added. */
CelNode *cel_builder_add(
    CelBuilder *builder, CelNodeKind kind, uint32_t first, uint32_t n_children, CelSpan span);

/* A call whose arguments were just added. */
typedef struct CelCall {
    Str name;
    bool is_receiver, is_absolute;
    uint32_t first; /* the first node of the receiver, or else of the arguments */
    uint32_t args;  /* the first node of the arguments */
    uint32_t n_args;
    CelSpan span;
} CelCall;

void cel_builder_add_call(CelBuilder *builder, const CelCall *call);

/* Instead of something that is wrong and was reported. */
void cel_builder_add_broken(CelBuilder *builder, CelSpan span);
bool cel_node_is_broken(const CelNode *node);

/* Takes the nodes from @first on away. */
static inline void cel_builder_drop(CelBuilder *builder, uint32_t first) {
    builder->nodes.n = first < builder->nodes.n ? first : builder->nodes.n;
}

/* A copy of the @n nodes from @first on; NULL: stopped. */
CelNode *cel_builder_copy(CelBuilder *builder, uint32_t first, uint32_t n);

/* Adds copies of finished parts again. */
void cel_builder_append(CelBuilder *builder, const CelNode *nodes, uint32_t n);

void cel_builder_fail(CelBuilder *builder, int error);

/* The tree; NULL when out of memory. */
CelTree *cel_builder_finish(CelBuilder *builder, Str file);
