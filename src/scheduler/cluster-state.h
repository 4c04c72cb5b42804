#pragma once

/*
 * ClusterState: the nodes as kube-scheduler's own plugins see them, while pods come and go.
 *
 * Columns by row of a NodeTable: allocatable and requested amounts, ports in use. Labels, taints
 * and images do not change and are read from the table.
 *
 * A node is in use while a pod other than a DaemonSet's or a static one runs on it: such a pod
 * keeps an autoscaler from removing the node.
 */

#include "cluster/table.h"
#include "scheduler/inter-pod.h"
#include "scheduler/pod-request.h"

#define NO_ROW UINT32_MAX

#define CLUSTER_STATE_BUDGET ((size_t)4 * 1024 * 1024 * 1024)

typedef struct ClusterState {
    Arena *arena;
    const NodeTable *table; /* borrowed: the state at the start */
    size_t n_rows;
    size_t n_resources; /* the table's columns */
    size_t pods;        /* the column of pods; SIZE_MAX: no node has it */

    uint32_t *order; /* rows with a node that is not hidden, in kube-scheduler's order */
    size_t n_order;

    int64_t **allocatable, **requested; /* by resource, then row; pods are counted */
    int64_t *nonzero_cpu, *nonzero_memory;
    HostPorts *ports;  /* by row */
    uint32_t *n_own;   /* by row: pods that keep the node in use */
    uint8_t *was_used; /* by row: in use at any time so far */
    bool *is_hidden;   /* by row */
    size_t n_hidden;
    size_t n_used;       /* nodes that are in use */
    InterPod *inter_pod; /* NULL: no pod affinity */
} ClusterState;

/* The resources, ports and terms that a pod uses on its node. */
typedef struct Footprint {
    const Resources *requests; /* borrowed */
    NonzeroRequests nonzero;
    HostPorts ports; /* borrowed as long as the cluster lives */
    PodTerms terms;  /* borrowed likewise */
    bool is_own;     /* the pod keeps its node in use */
} Footprint;

/* Makes a cluster without pods. Borrows @table and @index, which has the terms of pods (NULL: they
 * have none). 0, or -ENOMEM. */
int cluster_state_new(const NodeTable *table, const TermIndex *index, ClusterState **ret);
ClusterState *cluster_state_free(ClusterState *cluster); /* takes NULL, returns NULL */
DEFINE_CLEANUP(ClusterState *, cluster_state_free)

Footprint footprint_of(const PodRequest *request);

/* Adds the requests of the table's pods. The table does not have their nonzero requests, so the
 * requests stand for them until cluster_state_complete(). */
void cluster_state_add_table_pods(ClusterState *cluster);

/* Then adds for each of these pods its ports, its terms, and by how much its nonzero requests
 * exceed its requests. 0, or -ENOMEM. */
int cluster_state_complete(ClusterState *cluster, uint32_t row, const Footprint *footprint)
    MUST_CHECK;

/* Adds a pod to the node of @row. 0, or -ENOMEM (only with ports or terms). */
int cluster_state_add(ClusterState *cluster, uint32_t row, const Footprint *footprint);
/* @footprint must have been added there. */
void cluster_state_remove(ClusterState *cluster, uint32_t row, const Footprint *footprint);

/* The first takes @rows, which have no pods, out of the order, as if these nodes did not exist; the
 * second puts one back, at the end. */
void cluster_state_hide(ClusterState *cluster, const uint32_t *rows, size_t n);
void cluster_state_show(ClusterState *cluster, uint32_t row);

/* Whether a pod without tolerations may be placed there: no cordon, no hard taint. */
bool cluster_state_is_open(const ClusterState *cluster, uint32_t row);

/* The free amount of a resource; below 0 when overcommitted. */
static inline int64_t cluster_state_free_amount(
    const ClusterState *cluster, size_t resource, uint32_t row) {
    return cluster->allocatable[resource][row] - cluster->requested[resource][row];
}
