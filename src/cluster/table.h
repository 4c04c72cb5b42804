#pragma once

/*
 * NodeTable: nodes as columns.
 *
 * A row is a node; what rules read of it stands in one array per property, so
 * that a rule over 5,000 nodes is a loop over arrays. A table does not change
 * once it is built, and borrows the strings of the objects it was built from.
 *
 * Columns are one entry longer than there are nodes: row n_rows is the node
 * nobody knows. It has no labels, is not ready and offers nothing, so that rules
 * can run over it like over any other and the caller decides what it means.
 *
 * The table of a whole cluster belongs to a Snapshot; a request that carries its
 * own Node objects gets a small one in its arena.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "model/node.h"
#include "model/pod.h"

/* Distinct resource names in one table. cpu and memory always have a column; of
 * names beyond the ceiling amounts are not counted. */
#define TABLE_RESOURCES_MAX 128u

/* Amounts are never negative. */
typedef struct ResourceColumn {
    Str name;
    int64_t *allocatable;
    int64_t *requested; /* by the living pods on the node */
    int64_t *free;      /* allocatable less requested; below 0 when overcommitted */
} ResourceColumn;

typedef struct NodeTable {
    size_t n_rows;
    Str *names;
    Str *literals; /* names as JSON strings, quotes included; a comma stands before each */
    Labels *labels;
    uint8_t *is_ready;         /* condition Ready is True */
    uint8_t *is_unschedulable; /* cordoned */
    uint32_t *taint_set;       /* index into taint_sets; 0 is the empty set */
    Taints *taint_sets;        /* each distinct list of taints once */
    size_t n_taint_sets;

    ResourceColumn *resources; /* [0] is cpu, [1] memory */
    size_t n_resources;

    uint32_t *n_pods;  /* living pods on the node */
    const Pod ***pods; /* them, by row */
    Map index;         /* name to row; of equal names the first */
} NodeTable;

#define TABLE_CPU 0u
#define TABLE_MEMORY 1u

/* Builds the table of @nodes, with @pods counted on the nodes they run on (pods
 * that run nowhere or no longer are passed over). Everything is borrowed and must
 * live as long as @arena. 0, or -ENOMEM when the arena's budget is used up. */
int table_build(const Node *nodes, size_t n_nodes, const Pod *pods, size_t n_pods, Arena *arena,
    NodeTable *ret);

/* What runs on @from's nodes is taken over for those of @into that have the same
 * name: a scheduler that sends whole Node objects does not send their pods. */
int table_adopt_pods(NodeTable *into, const NodeTable *from, Arena *arena);

/* A copy of @table in which the pod @uid, if it is on @row, is not counted. */
int table_without_pod(const NodeTable *table, uint32_t row, Str uid, Arena *arena, NodeTable *ret);

/* The row of @name, or n_rows. */
static inline uint32_t table_find(const NodeTable *table, Str name) {
    uint32_t row = map_find(&table->index, name);

    return row == MAP_NONE ? (uint32_t)table->n_rows : row;
}

/* NULL when no node and no pod of the table has it. */
const ResourceColumn *table_find_resource(const NodeTable *table, Str name);
