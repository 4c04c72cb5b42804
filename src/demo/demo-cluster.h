#pragma once

/*
 * DemoCluster: the nodes and pods of the demo, instead of an API server and its controllers.
 *
 * It creates pods, binds them, and ends about as many as it creates. Time is counted in pods
 * (ticks). The same seed, times and binds give the same history.
 *
 * Any thread may bind; the rest is for one thread, which may use a pod until it gets the next one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cluster/snapshot.h"
#include "demo/pod-maker.h"
#include "extender/wire.h"

#define DEMO_NODES_MAX 15000u

/* Attempts to place a pod. */
#define DEMO_ATTEMPTS_MAX 3u

/* 15,000 nodes and their pods need about 60 MiB as JSON. */
#define DEMO_DUMP_MAX ((size_t)512 * 1024 * 1024)

typedef struct DemoCluster DemoCluster;

typedef struct DemoClusterCounts {
    size_t n_nodes;
    size_t n_running, n_pending; /* pods now */
    size_t n_ended;              /* ended pods */
} DemoClusterCounts;

/* @n_nodes is 1 to DEMO_NODES_MAX. 0, or -ENOMEM. */
int demo_cluster_new(size_t n_nodes, uint64_t seed, int64_t now_sec, DemoCluster **ret);
DemoCluster *demo_cluster_free(DemoCluster *cluster); /* takes NULL */
DEFINE_CLEANUP(DemoCluster *, demo_cluster_free)

void demo_cluster_count(DemoCluster *cluster, DemoClusterCounts *ret);

/* Advances one tick and returns the next pod to place, at @now_sec since 1970: a new one of
 * @workload, which lives for @life ticks (0: until demo_cluster_clear()); with NULL a pending one
 * that is due, or a new one of the next workload. 0, or -ENOMEM. */
int demo_cluster_next_pod(DemoCluster *cluster, const Workload *workload, uint64_t life,
    int64_t now_sec, const DemoPod **ret);

/* Counts another attempt to place @pod. */
void demo_cluster_try_again(DemoCluster *cluster, const DemoPod *pod);

/* Removes all pods. 0, or -ENOMEM: only some. */
int demo_cluster_clear(DemoCluster *cluster);

/* A pod of workload @name that is not in the cluster, for as long as the cluster lives; NULL:
 * there is no such workload, or no memory. */
const DemoPod *demo_cluster_sample_pod(DemoCluster *cluster, const char *name);

/* Binds; a repeated bind succeeds. @error is a message for kube-scheduler, or empty. Any thread. */
void demo_cluster_bind(DemoCluster *cluster, const BindArgs *args, char *error, size_t size);

/* Replaces earlier changes of the node. 0, or -ENOMEM: nothing changed. */
int demo_cluster_change_node(DemoCluster *cluster, Str node, NodeChanges changes);

int demo_cluster_snapshot(DemoCluster *cluster, Snapshot **ret);

/* As `kubectl get nodes,pods -A -o json` prints it. */
void demo_cluster_write(DemoCluster *cluster, Buf *out);
