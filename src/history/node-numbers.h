#pragma once

/*
 * NodeNumbers: a number for each node name in decisions, so thousands of decisions over the same
 * nodes store each name once.
 *
 * RowNumbers: the nodes of a request as such numbers. Requests name the same few thousand nodes
 * repeatedly, by row: rows are numbered once for each set of nodes, then a request looks its
 * numbers up.
 *
 * Threads: references from any; everything else under the lock of the owner. A name, once read,
 * stays valid without it for as long as the numbers are referenced.
 */

#include "base/intern.h"
#include "base/ref.h"
#include "cluster/names.h"
#include "extender/wire.h"

#define NODE_NUMBER_NONE 0u /* numbers begin at 1 */

/* No node has a longer name; longer ones get no number. */
#define NODE_NUMBERS_NAME_MAX 253u

#define NODE_NUMBERS_BUDGET ((size_t)32 * 1024 * 1024)

typedef struct NodeNumbers {
    Ref ref;
    Arena *arena;
    Intern names;
    size_t n_users;   /* for its owner: how many outcomes refer to it */
    size_t n_counted; /* for its owner: bytes of it that are accounted for */
} NodeNumbers;

NodeNumbers *node_numbers_new(void); /* NULL when out of memory */
DEFINE_REF(NodeNumbers, node_numbers)
NodeNumbers *node_numbers_unref(NodeNumbers *numbers); /* takes NULL, returns NULL */

/* The number of @name, new or old; NODE_NUMBER_NONE when it can get none. */
uint32_t node_numbers_add(NodeNumbers *numbers, Str name);

static inline uint32_t node_numbers_find(const NodeNumbers *numbers, Str name) {
    return intern_find(&numbers->names, name);
}

static inline Str node_numbers_name(const NodeNumbers *numbers, uint32_t number) {
    return intern_get(&numbers->names, number);
}

/* Numbers are up to this one. */
static inline size_t node_numbers_size(const NodeNumbers *numbers) {
    return numbers->names.strings.n;
}

static inline size_t node_numbers_bytes(const NodeNumbers *numbers) {
    return sizeof(*numbers) + arena_size(numbers->arena);
}

typedef struct RowNumbers {
    NodeNames *names; /* whose rows are numbered; a reference, so that its address is not reused */
    uint32_t *rows;   /* by row; the unknown node, after the last, is NODE_NUMBER_NONE */
    size_t n_rows, rows_size;
    bool has_all;    /* no name of a row is too long for a number */
    uint32_t *nodes; /* of one request, to be written over by the next */
    size_t nodes_size;
} RowNumbers;

void row_numbers_done(RowNumbers *row_numbers); /* takes a zeroed one */

/* With other NodeNumbers rows are numbered again. */
void row_numbers_forget(RowNumbers *row_numbers);

/* The nodes of a request: node i has numbers[rows[i]], or numbers[i] if rows is NULL. With rows
 * none is NODE_NUMBER_NONE. */
typedef struct NumberedNodes {
    const uint32_t *numbers; /* NULL: out of memory */
    const uint32_t *rows;
} NumberedNodes;

/* The number of each node of @args, always the same one until row_numbers_forget(). New names are
 * added. Valid until the next call. */
NumberedNodes row_numbers_of(RowNumbers *row_numbers, NodeNumbers *numbers, const FilterArgs *args);
