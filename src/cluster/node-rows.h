#pragma once

/*
 * NodeRows: nodes and the pods on them while they change.
 *
 * A NodeEntry is a node's name, the node if it is known, and the pods with that nodeName. Events of
 * nodes and pods come in any order, so an entry may have pods before its node is known, and after
 * it is deleted. An entry with a node has a row; an entry with neither node nor pods is removed.
 *
 * It records which rows differ from the last snapshot, for snapshot-build.c.
 *
 * Callers reserve memory first (rows_promise()), so changes cannot fail. Not thread safe.
 */

#include "base/set.h"
#include "cluster/chunk.h"
#include "model/node.h"
#include "model/pod.h"

typedef struct NodeEntry {
    Str name;
    const Node *node; /* a reference; NULL: not known (yet) */
    uint32_t row;     /* while it has a node */
    uint32_t n_pods;
    uint32_t n_promised;   /* reserved places for pods or the node */
    uint32_t n_rooms;      /* capacity of pods */
    bool has_pods_changed; /* since the last snapshot */
    const Pod **pods;      /* borrowed, in the order they came */
    char text[];
} NodeEntry;

typedef struct NodeRows {
    Set entries;
    NodeEntry **by_row; /* NULL: a free row */
    size_t n_rows;      /* up to the last one in use */
    size_t n_rooms;     /* capacity of by_row; a multiple of CHUNK_ROWS */
    size_t n_nodes;
    size_t first_free;    /* rows below are taken */
    uint64_t *changed;    /* by chunk, one bit a row; also of removed rows */
    size_t n_changed;     /* bits set */
    bool has_set_changed; /* a row was assigned or freed */
} NodeRows;

void rows_done(NodeRows *rows);

/* NULL when there is none. */
NodeEntry *rows_find(const NodeRows *rows, Str name);

/* Reserves memory at the entry @name for one more pod (@is_pod) or for its node. The next
 * rows_add_pod() or rows_set_node() uses it; rows_withdraw() gives it back. 0, or -ENOMEM:
 * nothing was reserved. */
int rows_promise(NodeRows *rows, Str name, bool is_pod) MUST_CHECK;
void rows_withdraw(NodeRows *rows, Str name);

/* Reserves memory for @n_more rows. 0, or -ENOMEM. */
int rows_reserve(NodeRows *rows, size_t n_more) MUST_CHECK;

/* Change pods at the entry of their node; rows_promise() must have reserved room for a new one.
 * Pods are borrowed. */
void rows_add_pod(NodeRows *rows, const Pod *pod);
void rows_remove_pod(NodeRows *rows, const Pod *pod);
void rows_replace_pod(NodeRows *rows, const Pod *old, const Pod *pod); /* at the same entry */

/* Takes the reference to @node. A new node gets the lowest free row; room must be reserved. */
void rows_set_node(NodeRows *rows, const Node *node);
void rows_remove_node(NodeRows *rows, NodeEntry *entry);

/* A snapshot was made: clears the marks of changed rows. */
void rows_settle(NodeRows *rows);
