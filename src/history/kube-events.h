#pragma once

/*
 * KubeEvents: which Kubernetes Events berth writes (kube/api-writes.h writes them).
 *
 *   NoNodePassed   of a pod: a filter let no node pass, and why: the main reason first
 *   Bypassed       of a pod: it was bound without a filter request
 *   PolicyRejected of berth's pod: a policy on disk is wrong, the last good one stays in force
 *   PolicyRejected of a PlacementPolicy: it has a mistake
 *   MetricsStale   of berth's pod: a metric has had no value for longer than its maxAge
 *
 * A pod gets one NoNodePassed in KUBE_EVENTS_POD_SEC, and all Events together one a second after a
 * burst of ten: a full cluster has thousands of pending pods. If berth's own pod is not known, no
 * Events are written about it.
 *
 * Threads: any.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/token-bucket.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "history/recent-pods.h"
#include "kube/api-writes.h"
#include "model/pod.h"

#define KUBE_EVENTS_POD_SEC 300
#define KUBE_EVENTS_PER_SEC 1
#define KUBE_EVENTS_BURST 10
#define KUBE_EVENTS_REASONS 3u /* listed of one filter; the others are counted */

/* berth's own pod; texts outlive the KubeEvents. Without all three: not known. */
typedef struct OwnPod {
    const char *namespace, *name, *uid;
} OwnPod;

typedef struct KubeEvents {
    OwnPod self;
    RecentPods *recent; /* borrowed */
    void *context;
    void (*post)(void *context, const PodEvent *event); /* texts are borrowed */
    _Atomic uint64_t policy_error;                      /* hash of the last one; 0: none */
    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER; guards all that follows */
    TokenBucket bucket;
    uint64_t n_dropped;
} KubeEvents;

/* After recent_pods_note() of the same decision. Costs nothing where a node passed. */
void kube_events_note_filter(
    KubeEvents *events, const View *view, const Decision *decision, int64_t now_nsec);

void kube_events_note_bypassed(KubeEvents *events, const Pod *pod, int64_t now_nsec);

/* The result of reading policies, at any time: @error is empty when they are good. One Event for
 * each different error. */
void kube_events_note_policy(KubeEvents *events, Str error, int64_t now_nsec);

/* A PlacementPolicy of the cluster was rejected: an Event of that object. */
void kube_events_note_rejected(KubeEvents *events, Str name, Str uid, Str error, int64_t now_nsec);

/* The last value of a metric has become stale. */
void kube_events_note_stale(
    KubeEvents *events, Str policy, Str metric, Str source, int64_t now_nsec);

/* Events dropped by the rate limit. */
uint64_t kube_events_dropped(KubeEvents *events);
