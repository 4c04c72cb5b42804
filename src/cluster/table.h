#pragma once

/*
 * NodeTable: nodes as columns.
 *
 * A row is a node; the fields that rules read are columns, in chunks of CHUNK_ROWS rows
 * (cluster/chunk.h), so a rule over 5,000 nodes is a loop over arrays. A table does not change once
 * it is built.
 *
 * Row n_rows is the unknown node: it is in the last chunk, has no labels, is not ready and offers
 * nothing. Rules can evaluate it like any other, and the caller decides what the result means. A
 * row below it may be empty (its node was deleted); no name maps to it.
 *
 * The table of the whole cluster belongs to a Snapshot. A request that carries Node objects, or
 * that needs a modified cluster (as if a pod were deleted), builds a table in its arena.
 */

#include "cluster/chunk.h"
#include "cluster/names.h"
#include "model/node.h"
#include "model/pod.h"

/* Distinct resource names in one table. cpu, memory and every resource that a node offers have a
 * column; amounts of names beyond the limit are not counted. */
#define TABLE_RESOURCES_MAX 128u

/* If there are more nominated pods, the first by priority, namespace and name are in the table. */
#define TABLE_NOMINATED_MAX 4096u

#define TABLE_CPU 0u
#define TABLE_MEMORY 1u

typedef struct Loads Loads; /* cluster/loads.h */

typedef struct NodeTable {
    size_t n_rows;
    const NodeNames *names;
    const NodeChunk *const *chunks;
    size_t n_chunks; /* n_rows / CHUNK_ROWS + 1 */

    const Str *resources; /* [0] is cpu, [1] memory; every chunk has a column for each */
    size_t n_resources;
    const Taints *taint_sets; /* each distinct list of taints once; [0] is the empty one */
    size_t n_taint_sets;

    /* Pending pods with a status.nominatedNodeName, on any row; at most TABLE_NOMINATED_MAX. They
     * are not among the pods of the row. */
    const Pod *const *nominated;
    size_t n_nominated;

    /* Pods that berth bound, or expects to be bound, and that no watch shows yet, sorted by UID.
     * They are among the pods of their row. */
    const Pod *const *assumed;
    size_t n_assumed;

    /* Measured values of these rows; NULL: none. A snapshot's table has none: a view adds them. */
    const Loads *loads;
} NodeTable;

/* The chunk that has @row, and the place of @row in the arrays of that chunk. */
static inline const NodeChunk *table_chunk(const NodeTable *table, uint32_t row) {
    return table->chunks[row / CHUNK_ROWS];
}
static inline size_t table_slot(uint32_t row) {
    return row % CHUNK_ROWS;
}

/* NULL: the row is empty, or the unknown node. */
static inline const Node *table_node(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->nodes[table_slot(row)];
}

/* The labels of row @row; none when there is no node. */
static inline const Labels *table_labels(const NodeTable *table, uint32_t row) {
    static const Labels none;
    const Node *node = table_node(table, row);

    return node ? &node->labels : &none;
}

static inline int64_t table_amount(
    const NodeTable *table, uint32_t row, size_t resource, AmountKind kind) {
    return table_chunk(table, row)->amounts[CHUNK_AMOUNT(resource, kind) + table_slot(row)];
}

/* The row of @name, or n_rows. */
static inline uint32_t table_find(const NodeTable *table, Str name) {
    return names_find(table->names, name);
}

/* The assumed pod with @uid; NULL: none. */
const Pod *table_find_assumed(const NodeTable *table, Str uid);

/* The column of resource @name. SIZE_MAX: none, as no node offers it, or the limit was reached. */
size_t table_find_resource(const NodeTable *table, Str name);

/* Builds the table of @nodes, without pods. Everything is borrowed and must live as long
 * as @arena. 0, or -ENOMEM when the arena's budget is used up. */
int table_build(const Node *nodes, size_t n_nodes, Arena *arena, NodeTable *ret);

/* Puts the pods of @from's nodes on the nodes of the same name in @into, a table of table_build():
 * a scheduler that sends whole Node objects does not send their pods. Pods are borrowed from
 * @from. 0, or -ENOMEM. */
int table_adopt_pods(NodeTable *into, const NodeTable *from, Arena *arena);

/* One change of a row: pod @add is added, or the pod with UID @remove is removed. */
typedef struct PodChange {
    uint32_t row;
    const Pod *add; /* NULL: @remove is used */
    Str remove;     /* a UID; unknown ones are skipped */
} PodChange;

/* @table as it would be with @changes. Chunks without a change stay the same chunks.
 * Amounts of resources that @table has no column for are not counted. @ret keeps the loads of
 * @table; if placements count, the caller replaces them. 0, or -ENOMEM. */
int table_change(const NodeTable *table, const PodChange *changes, size_t n_changes, Arena *arena,
    NodeTable *ret);
