#pragma once

/*
 * DemoCluster: the nodes and pods of the demo, instead of an API server and its controllers.
 *
 * It creates pods, keeps the pending ones in kube-scheduler's queue (scheduler/queues.h), binds
 * them, and ends about as many as it creates. Time is counted in ticks; each tick creates a pod.
 * The same seed, times and binds give the same history.
 *
 * Any thread may bind; the rest is for one thread, which may use a pod until the next tick.
 */

#include "base/nsec.h"
#include "cluster/snapshot.h"
#include "demo/demo-node.h"
#include "demo/pod-maker.h"
#include "extender/wire.h"

#define DEMO_NODES_MAX 15000u

/* The default length of a tick, for kube-scheduler's queue. */
#define DEMO_TICK_NSEC (250 * NSEC_PER_MSEC)

/* Owners delete pods that are pending for this long. */
#define DEMO_PATIENCE_NSEC (40 * NSEC_PER_SEC)

/* 15,000 nodes and their pods need about 60 MiB as JSON. */
#define DEMO_DUMP_MAX ((size_t)512 * 1024 * 1024)

typedef struct DemoCluster DemoCluster;

typedef struct DemoClusterCounts {
    size_t n_nodes;
    size_t n_running, n_pending;        /* pods now */
    size_t pending[DEMO_WORKLOADS_MAX]; /* pending pods, by number of the workload */
    size_t n_ended;                     /* ended pods */
    size_t n_deleted;                   /* pods that were deleted while pending */
} DemoClusterCounts;

/* @n_nodes is 1 to DEMO_NODES_MAX. 0, or -ENOMEM. */
int demo_cluster_new(size_t n_nodes, uint64_t seed, int64_t now_sec, DemoCluster **ret);
DemoCluster *demo_cluster_free(DemoCluster *cluster); /* takes NULL */
DEFINE_CLEANUP(DemoCluster *, demo_cluster_free)

/* Before the first tick: makes pods use all GPUs, so that the first new pods that request one are
 * pending. 0, or -ENOMEM. */
int demo_cluster_use_gpus(DemoCluster *cluster);

const DemoWorkloads *demo_cluster_workloads(const DemoCluster *cluster);

void demo_cluster_count(DemoCluster *cluster, DemoClusterCounts *ret);

/* Calls @deleted from now on for each pod deleted while pending, with the cluster locked. */
typedef void PendingPodDeleted(void *context, const Pod *pod);
void demo_cluster_on_deleted(DemoCluster *cluster, PendingPodDeleted *deleted, void *context);

/* Sets the length of a tick. Call it before the first one. */
void demo_cluster_set_tick(DemoCluster *cluster, int64_t nsec);

/* Advances one tick: pods end, and a new one is created at @now_sec since 1970: of @workload, for
 * @life ticks (0: until demo_cluster_clear()); with NULL of the next workload, for a random time.
 * 0, or -ENOMEM. */
int demo_cluster_create_pod(DemoCluster *cluster, const Workload *workload, uint64_t life,
    int64_t now_sec, const DemoPod **ret);

/* The next pod that kube-scheduler tries now; NULL: none until the next tick. This counts as an
 * attempt: a pod that is not bound then is tried again later. */
const DemoPod *demo_cluster_due_pod(DemoCluster *cluster);

/* Counts an attempt to place @pod, due or not. */
void demo_cluster_try(DemoCluster *cluster, const DemoPod *pod);

/* Removes all pods. */
void demo_cluster_clear(DemoCluster *cluster);

/* Binds, as a BindHook; a repeated bind succeeds. @error is a message for kube-scheduler, or empty.
 * Any thread. */
void demo_cluster_bind(void *cluster, const BindArgs *args, char *error, size_t size);

/* Replaces earlier changes of the node. 0, or -ENOMEM: nothing changed. */
int demo_cluster_change_node(DemoCluster *cluster, Str node, NodeChanges changes);

/* *ret: a reference to the present state. 0, or -ENOMEM. */
int demo_cluster_snapshot(DemoCluster *cluster, Snapshot **ret);

/* As `kubectl get nodes,pods -A -o json` prints it. */
void demo_cluster_write(DemoCluster *cluster, Buf *out);
