#pragma once

/*
 * NodeNumbers: a number for each node name in decisions. Thousands of decisions over the same nodes
 * store each name once.
 *
 * RowNumbers: the numbers of a request's nodes. Requests name the same few thousand nodes again and
 * again, by row: rows are numbered once for each set of nodes, and then looked up.
 *
 * Threads: any may take references; everything else under the owner's lock. A name that was read
 * stays valid without the lock while the numbers are referenced.
 */

#include "base/intern.h"
#include "base/ref.h"
#include "cluster/names.h"
#include "extender/wire.h"

#define NODE_NUMBER_NONE 0u /* numbers start at 1 */

/* No node has a longer name; a longer one gets no number. */
#define NODE_NUMBERS_NAME_MAX 253u

#define NODE_NUMBERS_BUDGET ((size_t)32 * 1024 * 1024)

typedef struct NodeNumbers {
    Ref ref;
    Arena *arena;
    Intern names;
    size_t n_users;   /* for its owner: outcomes that refer to it */
    size_t n_counted; /* for its owner: bytes of it that are counted */
} NodeNumbers;

NodeNumbers *node_numbers_new(void); /* NULL when out of memory */
DEFINE_REF(NodeNumbers, node_numbers)
NodeNumbers *node_numbers_unref(NodeNumbers *numbers); /* takes NULL, returns NULL */

/* Returns the number of @name. NODE_NUMBER_NONE: empty, too long, or out of memory. */
uint32_t node_numbers_add(NodeNumbers *numbers, Str name);

static inline uint32_t node_numbers_find(const NodeNumbers *numbers, Str name) {
    return intern_find(&numbers->names, name);
}

static inline Str node_numbers_name(const NodeNumbers *numbers, uint32_t number) {
    return intern_get(&numbers->names, number);
}

/* The highest number. */
static inline size_t node_numbers_size(const NodeNumbers *numbers) {
    return numbers->names.strings.n;
}

static inline size_t node_numbers_bytes(const NodeNumbers *numbers) {
    return sizeof(*numbers) + arena_size(numbers->arena);
}

typedef struct RowNumbers {
    NodeNames *names; /* of these rows; a reference, so that its address is not reused */
    uint32_t *rows;   /* by row; the unknown node, after the last row, has NODE_NUMBER_NONE */
    size_t n_rows, rows_size;
    bool has_all;    /* every name of a row has a number */
    uint32_t *nodes; /* of one request, overwritten by the next */
    size_t nodes_size;
} RowNumbers;

void row_numbers_done(RowNumbers *row_numbers); /* takes a zeroed one */

/* Lets rows be numbered again, for other NodeNumbers. */
void row_numbers_forget(RowNumbers *row_numbers);

/* The numbers of a request's nodes: node i has numbers[rows[i]], or numbers[i] if rows is NULL.
 * With rows no number is NODE_NUMBER_NONE. */
typedef struct NumberedNodes {
    const uint32_t *numbers; /* NULL: out of memory */
    const uint32_t *rows;
} NumberedNodes;

/* Returns the number of each node of @args, and adds new names. A node keeps its number until
 * row_numbers_forget(). Valid until the next call. */
NumberedNodes row_numbers_of(RowNumbers *row_numbers, NodeNumbers *numbers, const FilterArgs *args);
