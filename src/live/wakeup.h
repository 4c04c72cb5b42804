#pragma once

/*
 * Wakeup: marks nodes for which kube-scheduler should retry parked pods.
 *
 * kube-scheduler parks a pod that an extender rejected until something in the cluster changes, for
 * up to five minutes. A rule can start to pass a node without such a change (policies were edited,
 * pods ended). So berth marks the node, which is a change (docs/bind-and-replicas.md, Wake-up).
 *
 * berth marks only while a pod may be parked because of it (history/recent-pods.h): a load near a
 * threshold makes its rule flap, usually without a pending pod.
 *
 * Two limits keep a flapping rule from flooding the API server: a node is marked at most once in
 * WAKEUP_NODE_SEC, and at most WAKEUP_BURST nodes at once, refilled at WAKEUP_PER_SEC. Over the
 * limits, one node is remembered and marked as soon as they allow: a pod that was parked after the
 * last mark must not be forgotten, and one mark usually wakes all. Without parked pods none is
 * remembered.
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
#define WAKEUP_NODES_MAX 1024u /* the oldest is overwritten */

/* A node, and when it was marked. */
typedef struct MarkedNode {
    uint64_t name; /* its hash; a collision costs one wake-up */
    int64_t at_nsec;
} MarkedNode;

typedef struct Wakeup {
    RecentPods *recent; /* borrowed */
    MarkedNode marked[WAKEUP_NODES_MAX];
    size_t n_marked; /* since the start; the next entry of the ring is this modulo its size */
    TokenBucket bucket;
    size_t delayed_len; /* 0: none */
    char delayed[NODE_NAME_MAX];
} Wakeup;

typedef void WakeupTouch(void *context, Str node);

/* Calls @touch for nodes that a filter rejected in @before, the last view in force, and passes in
 * @after, where that does not depend on the pod. If the policies changed, the pods concerned are
 * not known: one node is marked for all. */
void wakeup_note_view(Wakeup *wakeup, const View *before, const View *after, int64_t now_nsec,
    WakeupTouch *touch, void *context);

/* Marks the delayed node when the limits allow. About once a second. */
void wakeup_tick(Wakeup *wakeup, int64_t now_nsec, WakeupTouch *touch, void *context);
