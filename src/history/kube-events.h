#pragma once

/*
 * KubeEvents: decides which Kubernetes Events berth writes (kube/api-writes.h writes them).
 *
 *   NoNodePassed   about a pod: no node passed its filter, and why: the main reason first
 *   Bypassed       about a pod: it was bound without a filter request
 *   PolicyRejected about berth's pod: a policy on disk is wrong, the last good one stays in force
 *   PolicyRejected about a PlacementPolicy: it has a mistake
 *   MetricsStale   about berth's pod: a metric has had no value for longer than its maxAge
 *
 * A pod gets one NoNodePassed in KUBE_EVENTS_POD_SEC, and all pods together one Event a second
 * after a burst of ten: a full cluster has thousands of pending pods. Without a known pod of berth
 * itself, Events about it are not written.
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
#define KUBE_EVENTS_REASONS 3u /* listed for a filter; others are counted */

/* berth's own pod; the texts must outlive KubeEvents. Unknown unless all three are set. */
typedef struct OwnPod {
    const char *namespace, *name, *uid;
} OwnPod;

typedef struct KubeEvents {
    OwnPod self;
    RecentPods *recent; /* borrowed */
    void *context;
    void (*post)(void *context, const PodEvent *event); /* texts are borrowed */
    _Atomic uint64_t policy_error;                      /* hash of the last error; 0: none */
    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER; guards the fields below */
    TokenBucket bucket;
    uint64_t n_dropped;
} KubeEvents;

/* Call it after recent_pods_note() of the same decision. Does nothing if a node passed. */
void kube_events_note_filter(
    KubeEvents *events, const View *view, const Decision *decision, int64_t now_nsec);

void kube_events_note_bypassed(KubeEvents *events, const Pod *pod, int64_t now_nsec);

/* The result of reading policies: @error is empty if they are good. Writes one Event for each new
 * error. */
void kube_events_note_policy(KubeEvents *events, Str error, int64_t now_nsec);

/* A PlacementPolicy of the cluster was rejected: writes an Event about that object. */
void kube_events_note_rejected(KubeEvents *events, Str name, Str uid, Str error, int64_t now_nsec);

/* The last value of a metric has expired. */
void kube_events_note_stale(
    KubeEvents *events, Str policy, Str metric, Str source, int64_t now_nsec);

/* Events dropped by the rate limit. */
uint64_t kube_events_dropped(KubeEvents *events);
