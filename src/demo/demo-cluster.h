#pragma once

/*
 * DemoCluster: the demo's cluster, and the truth about it.
 *
 * What an API server with a few controllers is to a real scheduler: it has nodes
 * and pods, hands out pods that want a node, carries out binds, and lets pods end
 * as time goes, about as many as it creates, so that the cluster neither fills up
 * nor runs empty. Time is counted in pods handed out; the clock is the caller's and
 * only stamps what is made. The same seed and times give the same history as long
 * as the same binds are made.
 *
 * Threads: binds come from any; everything else is for one thread, which may keep
 * what world_next_pod() gave until it calls that again.
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

/* A pod that finds no node is tried this often before it is left alone. */
#define DEMO_ATTEMPTS_MAX 3u

/* 15,000 nodes and their pods need about 60 MiB as JSON. */
#define DEMO_DUMP_MAX ((size_t)512 * 1024 * 1024)

typedef struct DemoCluster DemoCluster;

typedef struct DemoClusterCounts {
    size_t n_nodes;
    size_t n_running, n_pending; /* pods now */
    size_t n_ended;              /* pods that are gone */
} DemoClusterCounts;

/* As it is at @now_sec since 1970. 0, or -ENOMEM. @n_nodes is 1 to DEMO_NODES_MAX. */
int demo_cluster_new(size_t n_nodes, uint64_t seed, int64_t now_sec, DemoCluster **ret);
DemoCluster *demo_cluster_free(DemoCluster *cluster); /* takes NULL */
DEFINE_CLEANUP(DemoCluster *, demo_cluster_free)

void demo_cluster_count(DemoCluster *cluster, DemoClusterCounts *ret);

/* Lets time pass by one pod and gives the next one that wants a node: one that
 * found none a while ago, or a new one, made at @now_sec. 0, or -ENOMEM. */
int demo_cluster_next_pod(DemoCluster *cluster, int64_t now_sec, const DemoPod **ret);

/* The same, but a new pod of @workload; it lives for @life ticks, 0: until world_clear(). */
int demo_cluster_make_pod(DemoCluster *cluster, const Workload *workload, uint64_t life,
    int64_t now_sec, const DemoPod **ret);

/* @pod, one of its own that has no node, wants one again. */
void demo_cluster_try_again(DemoCluster *cluster, const DemoPod *pod);

/* All pods are gone. 0, or -ENOMEM: some are. */
int demo_cluster_clear(DemoCluster *cluster);

/* A pod of @name's workload that is not part of the world; NULL when there is no
 * such workload or no memory. Lives as long as the world. */
const DemoPod *demo_cluster_sample_pod(DemoCluster *cluster, const char *name);

/* Puts the pod on the node. Doing it again is no error. Writes a message for
 * kube-scheduler into @error, or leaves it empty. Any thread. */
void demo_cluster_bind(DemoCluster *cluster, const BindArgs *args, char *error, size_t size);

/* Puts marks on the node, besides its own, in the place of those that were put there before.
 * 0, or -ENOMEM: as it was. */
int demo_cluster_change_node(DemoCluster *cluster, Str node, NodeChanges changes);

/* The cluster as it is now. 0, or -ENOMEM. */
int demo_cluster_snapshot(DemoCluster *cluster, Snapshot **ret);

/* The cluster as `kubectl get nodes,pods -A -o json` would show it. */
void demo_cluster_write(DemoCluster *cluster, Buf *out);
