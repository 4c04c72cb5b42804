#pragma once

/*
 * DemoScheduler: the demo's kube-scheduler: scheduler/scheduler.h with an extender behind HTTP.
 *
 * It uses kube-scheduler's protocol for an extender with nodeCacheCapable (names instead of Node
 * objects), and the extender binds. Its profile leaves taints to the policy, and extended resources
 * to the extender (managedResources with ignoredByScheduler).
 *
 * One thread.
 */

#include "cluster/table.h"
#include "demo/console.h"
#include "demo/demo-cluster.h"
#include "extender/verbs.h"
#include "scheduler/scheduler.h"

/* The extender's weight in KubeSchedulerConfiguration, unless set otherwise. */
#define DEMO_SCHEDULER_WEIGHT 5

/* More reasons than any policy here has; additional ones count as the last. */
#define PLACEMENT_REASONS_MAX 16u

typedef struct NodeReason {
    Str text;
    size_t n_nodes;
} NodeReason;

/* Adds @n_nodes for the reason @text, which is borrowed. Returns the number of the reason: the last
 * one if @max others are there. */
size_t reasons_count(NodeReason *reasons, size_t *n_reasons, size_t max, Str text, size_t n_nodes);
void reasons_sort(NodeReason *reasons, size_t n); /* the most frequent first */

/* Result of one attempt. Strings live until the next one, the node's name as long as the table. */
typedef struct Placement {
    const DemoPod *pod;
    Str node;            /* empty: none */
    size_t n_candidates; /* nodes that were sent to the extender */
    size_t n_passed;     /* nodes that passed its filter */
    int64_t score;       /* the extender's, 0 to 10, of the chosen node; -1: not called */
    int64_t best_score;  /* the highest of all nodes */
    NodeReason reasons[PLACEMENT_REASONS_MAX]; /* the most frequent first */
    size_t n_reasons;
    Str fit_error;           /* kube-scheduler's message, if there is no node */
    int64_t nsec[_VERB_MAX]; /* how long each call took; 0: not made */
    Str error;               /* why a call failed, or empty */
    bool is_cut_off;         /* no reply: the extender may have stopped */
} Placement;

typedef struct DemoScheduler DemoScheduler;

/* @url is the extender's, which also binds. 0, or a negative errno. */
int demo_scheduler_new(const char *url, uint64_t seed, DemoScheduler **ret);
DemoScheduler *demo_scheduler_free(DemoScheduler *scheduler); /* takes NULL */
DEFINE_CLEANUP(DemoScheduler *, demo_scheduler_free)

/* The options of its Scheduler. */
SchedulerOptions demo_scheduler_options(uint64_t seed);

/* Sets the extender's weight, from the next pod on. */
void demo_scheduler_set_weight(DemoScheduler *scheduler, int64_t weight);

/* Chooses a node for @pod in @table, and binds it. 0, also when there is no node or a call failed;
 * or -ENOMEM. */
int demo_scheduler_place(
    DemoScheduler *scheduler, const DemoPod *pod, const NodeTable *table, Placement *ret);

/* Prints the pod in @columns, and its node or that it is pending. */
#define PLACEMENT_NODE_COLUMNS 18
void placement_print_head(const Placement *placement, int columns, Console *console);

/* Prints the error of the attempt, or else the reasons as below. */
void placement_print_why(const Placement *placement, size_t width, Buf *out);

/* "87 node is not in the workspace pool, 12 …": as many as fit into @width bytes, at least one, and
 * "+2 more" for the rest. */
void placement_print_reasons(const Placement *placement, size_t width, Buf *out);
