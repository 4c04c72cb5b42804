#pragma once

/*
 * Wakeup: marks nodes for which kube-scheduler should retry parked pods.
 *
 * A pod that an extender rejected is parked until something about the cluster changes, up to five
 * minutes. When a rule starts to pass a node (policies were edited, pods ended), nothing in the
 * cluster need have changed: so the node is marked, which is a change (docs/bind-and-replicas.md,
 * Wake-up).
 *
 * Only while a pod may be parked because of us (history/recent-pods.h): a load that hovers at a
 * threshold makes its rule flap, and mostly no pod is pending because of it.
 *
 * Two limits keep a flapping rule from flooding the API server: a node is marked at most once in
 * WAKEUP_NODE_SEC, and at most WAKEUP_BURST nodes at once, refilled at WAKEUP_PER_SEC. Over the
 * limits, one node is delayed and marked as soon as they allow: a pod that was parked after the
 * last mark must not be forgotten, and mostly one marked node wakes them all. Without parked pods
 * nothing is delayed.
 *
 * Threads: one at a time.
 */

#include "base/token-bucket.h"
#include "extender/view.h"
#include "history/recent-pods.h"
#include "model/node.h"

#define WAKEUP_NODE_SEC 10
#define WAKEUP_PER_SEC 2
#define WAKEUP_BURST 10
#define WAKEUP_NODES_MAX 1024u /* remembered; over it the oldest is forgotten */

/* A node, and when it was marked. */
typedef struct MarkedNode {
    uint64_t name; /* hash of it; a collision costs one wake-up */
    int64_t at_nsec;
} MarkedNode;

typedef struct Wakeup {
    RecentPods *recent; /* borrowed */
    MarkedNode marked[WAKEUP_NODES_MAX];
    size_t n_marked; /* ever; the ring's next place is this modulo its size */
    TokenBucket bucket;
    size_t delayed_len; /* 0: none */
    char delayed[NODE_NAME_MAX];
} Wakeup;

typedef void WakeupTouch(void *context, Str node);

/* The view in force was @before and is @after now: calls @touch for the nodes that a filter
 * rejected then and lets pass now, as far as that does not depend on the pod. When the policies
 * changed, it is not known for which pods that matters: then one node is marked for all. */
void wakeup_note_view(Wakeup *wakeup, const View *before, const View *after, int64_t now_nsec,
    WakeupTouch *touch, void *context);

/* Marks the delayed node when the limits allow. About once a second. */
void wakeup_tick(Wakeup *wakeup, int64_t now_nsec, WakeupTouch *touch, void *context);
