#pragma once

/* DemoCluster, for demo-cluster.c and demo-cluster-start.c only. */

#include <pthread.h>

#include "base/map.h"
#include "base/rng.h"
#include "cluster/store.h"
#include "demo/demo-cluster.h"
#include "model/node.h"
#include "scheduler/queues.h"

#define DEMO_OBJECT_MAX ((size_t)64 * 1024)

typedef struct DemoNode {
    Str name;
    Rng rng;      /* its state before the node was created */
    Arena *arena; /* of the next fields once the node was changed; NULL: the cluster's */
    Str json;
    Node model;
} DemoNode;

struct DemoCluster {
    pthread_mutex_t lock; /* protects pods and counts, which binds change */
    Arena *arena;         /* nodes, sample pods and templates */
    Rng rng;
    DemoNode *nodes;
    size_t n_nodes;
    Store *store; /* nodes and placed pods, as a scheduler sees them */
    Map index;    /* node name to number */
    int64_t now_sec, begun_sec;
    PodMaker maker;

    DemoPod **pods; /* oldest first */
    size_t n_pods, size;
    PendingQueue pending;
    size_t n_ended, n_deleted;
    PendingPodDeleted *deleted; /* NULL: none */
    void *deleted_context;
    uint64_t now; /* ticks */
    int64_t tick_nsec;
    uint64_t life_span, gpu_life_span; /* of an average pod, in ticks */
};

/* A new pod, which is not yet in the queue; NULL: no memory. */
DemoPod *demo_cluster_add_pod(DemoCluster *cluster, const Workload *workload);

/* The pod has a node: adds it to the store. 0, or -ENOMEM. */
int demo_cluster_show_pod(DemoCluster *cluster, const DemoPod *pod);

/* Decodes the JSON written here, so that the served node equals the dumped one. @text is for the
 * JSON, which @node has in @arena. 0, or -ENOMEM. */
int demo_cluster_write_node(const DemoCluster *cluster, size_t number, NodeChanges changes,
    Rng *rng, Buf *text, Arena *arena, DemoNode *node);

/* Ticks that a pod of @workload lives at most. */
uint64_t demo_cluster_life_max(const DemoCluster *cluster, const Workload *workload);
