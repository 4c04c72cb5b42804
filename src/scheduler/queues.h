#pragma once

/*
 * PendingQueue: pods without a node, in the order in which kube-scheduler tries them: by priority,
 * then age.
 *
 * A pod whose attempt failed is parked until the cluster changes in a way that may help it
 * (pending_queue_wake()), at most PENDING_FLUSH_NSEC, and stays untried for a backoff of 1 s,
 * doubled with each attempt up to 10 s. Two things of kube-scheduler are left out: it also wakes
 * pods when others are bound, which frees nothing (1.32), and cuts a backoff short while it has
 * nothing else to do (1.33). A simulation tries all pods again after each event.
 *
 * PodEndQueue: placed pods, by the time they end.
 *
 * Both identify pods by numbers, which the caller assigns in order of age.
 */

#include "base/nsec.h"
#include "base/vec.h"

#define PENDING_BACKOFF_NSEC NSEC_PER_SEC
#define PENDING_BACKOFF_MAX_NSEC (10 * NSEC_PER_SEC)
#define PENDING_FLUSH_NSEC (300 * NSEC_PER_SEC)

typedef struct PendingPod {
    uint32_t number;
    int64_t priority;
    unsigned n_attempts; /* failed ones */
    bool is_parked;
    int64_t tried_nsec; /* when the last attempt was */
} PendingPod;

typedef VEC(PendingPod) PendingQueue; /* in order */

/* Adds a pod. @arena is the same in all calls. 0, or -ENOMEM. */
int pending_queue_add(PendingQueue *pending, Arena *arena, uint32_t number, int64_t priority)
    MUST_CHECK;
/* Removes a pod that was placed or deleted, if the queue has it. */
void pending_queue_remove(PendingQueue *pending, uint32_t number);

/* The first pod that is due at @now_nsec; NULL: none. */
PendingPod *pending_queue_due(const PendingQueue *pending, int64_t now_nsec);
/* An attempt at @now_nsec failed. */
void pending_pod_park(PendingPod *pod, int64_t now_nsec);
/* The cluster changed: parked pods are due when their backoff ends. */
void pending_queue_wake(PendingQueue *pending);

typedef struct PodEnd {
    double at; /* seconds since the start */
    uint32_t arrival;
} PodEnd;

typedef VEC(PodEnd) PodEndQueue; /* a heap */

/* @arena is the same in all calls. 0, or -ENOMEM. */
int pod_end_queue_add(PodEndQueue *ends, Arena *arena, PodEnd end) MUST_CHECK;
/* Removes the first pod to end; on a tie the lower number. The queue must not be empty. */
PodEnd pod_end_queue_take(PodEndQueue *ends);
