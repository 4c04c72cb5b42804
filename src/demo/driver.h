#pragma once

/*
 * Driver: plays kube-scheduler for one pod at a time.
 *
 * It does what kube-scheduler does with an extender that keeps its own node cache:
 * looks for nodes that fit, stops when it has enough of them, asks filter, asks
 * prioritize when at least two nodes are left, adds the extender's points to its
 * own, and has the extender bind.
 *
 * Its own checks are of cpu and memory only, and its own score is "least
 * allocated". The real one also looks at taints, readiness and much else; here
 * that is left to the policy, so that the policy has something to say.
 *
 * One thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/table.h"
#include "demo/demo-cluster.h"
#include "extender/verbs.h"

/* As in KubeSchedulerConfiguration, unless said otherwise; a point of the extender is worth ten
 * times this. */
#define DRIVER_WEIGHT 5

/* More than any policy here has; what is over counts as the last one. */
#define PLACEMENT_REASONS_MAX 16u

typedef struct Reason {
    Str text;
    size_t n_nodes;
} Reason;

/* How one attempt went. Strings live until the driver's next one, the node's name as
 * long as the cluster it was looked for in. */
typedef struct Placement {
    const DemoPod *pod;
    Str node;         /* empty: none */
    size_t n_offered; /* nodes the extender was asked about */
    size_t n_passed;  /* of them, those it let pass */
    size_t n_without_cpu,
        n_without_memory; /* those it was not asked about, as too little is free */
    int64_t score;        /* the extender's, 0..10, of the chosen node; -1: it was not asked */
    int64_t best_score;   /* ... of all nodes */
    Reason reasons[PLACEMENT_REASONS_MAX]; /* the most frequent first */
    size_t n_reasons;
    int64_t nsec[_VERB_MAX]; /* how long each call took; 0: not made */
    Str error;               /* what went wrong with a call, or empty */
    bool is_cut_off;         /* no reply at all: the extender may have been stopped */
} Placement;

typedef struct Driver Driver;

/* NULL when out of memory. @seed decides between nodes of equal worth. */
Driver *driver_new(const char *url, uint64_t seed);
Driver *driver_free(Driver *driver); /* takes NULL */
DEFINE_CLEANUP(Driver *, driver_free)

/* From the next pod on. */
void driver_set_weight(Driver *driver, int64_t weight);

/* From now on it binds by itself, as kube-scheduler does when its extender has no bind verb; what
 * world_bind() says. @cluster outlives the driver. */
void driver_bind_in(Driver *driver, DemoCluster *cluster);

/* Its own score of a node for @pod, without the extender's: 0 to 100; -1: the pod does not fit. */
int64_t driver_own_score(const NodeTable *cluster, uint32_t row, const Pod *pod);

/* Tries to find a node for @pod in @cluster, which has nodes. 0, also when there is none or a call
 * went wrong; or -ENOMEM. */
int driver_place(Driver *driver, const DemoPod *pod, const NodeTable *cluster, Placement *ret);

/* "87 node is not in the workspace pool, 12 …": as many as fit into @width bytes, one
 * at least, and "+2 more" for the rest. */
void placement_print_reasons(const Placement *placement, size_t width, Buf *out);
