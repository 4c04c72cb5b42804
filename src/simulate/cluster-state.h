#pragma once

/*
 * ClusterState: the nodes as kube-scheduler's own plugins see them, while pods come and go.
 *
 * Columns by row of a NodeTable: allocatable and requested amounts, ports in use. Labels, taints
 * and images do not change and are read from the table.
 *
 * A node is in use while a pod runs on it that is neither a DaemonSet's nor static: such pods keep
 * an autoscaler from removing it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cluster/table.h"
#include "simulate/pod-request.h"

#define NO_ROW UINT32_MAX

#define CLUSTER_STATE_BUDGET ((size_t)4 * 1024 * 1024 * 1024)

/* Sums over the nodes that are in use. */
typedef struct ClusterUse {
    size_t n_nodes;
    int64_t cpu_allocatable, cpu_requested; /* thousandths */
} ClusterUse;

typedef struct ClusterState {
    Arena *arena;
    const NodeTable *table; /* borrowed: as it was at the start */
    size_t n_rows;
    size_t n_resources; /* the table's columns */
    size_t pods;        /* one of them; SIZE_MAX: no node has it */

    uint32_t *order; /* rows with a node, as kube-scheduler goes through them */
    size_t n_order;

    int64_t **allocatable, **requested; /* by resource, then row; of pods their number */
    int64_t *nonzero_cpu, *nonzero_memory;
    HostPorts *ports;  /* by row; items are on the heap, with room for a power of two */
    uint32_t *n_own;   /* by row: pods that make it used */
    uint8_t *was_used; /* by row: at any time so far */
    ClusterUse use;
} ClusterState;

/* What a pod adds to the node it is on. */
typedef struct Footprint {
    const Resources *requests; /* borrowed */
    int64_t nonzero_cpu, nonzero_memory;
    HostPorts ports; /* borrowed as long as the cluster lives */
    bool is_own;     /* it makes its node used */
} Footprint;

/* Without pods. @table must outlive it. 0, or -ENOMEM. */
int cluster_state_new(const NodeTable *table, ClusterState **ret);
ClusterState *cluster_state_free(ClusterState *cluster); /* takes NULL, returns NULL */
DEFINE_CLEANUP(ClusterState *, cluster_state_free)

Footprint footprint_of(const PodRequest *request);

/* Adds the pods of the table, without their ports. As if each requested cpu and memory: the table
 * does not know what nonzero requests would be. */
void cluster_state_add_table_pods(ClusterState *cluster);

/* 0, or -ENOMEM (only where there are ports). */
int cluster_state_add(ClusterState *cluster, uint32_t row, const Footprint *footprint);
/* @footprint must have been added there. */
void cluster_state_remove(ClusterState *cluster, uint32_t row, const Footprint *footprint);

/* Whether the node takes pods without tolerations: not cordoned, no such taints. */
bool cluster_state_is_open(const ClusterState *cluster, uint32_t row);

/* Below 0 when overcommitted. */
static inline int64_t cluster_state_free_amount(
    const ClusterState *cluster, size_t resource, uint32_t row) {
    return cluster->allocatable[resource][row] - cluster->requested[resource][row];
}
