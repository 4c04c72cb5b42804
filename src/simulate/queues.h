#pragma once

/*
 * Pending pods, by priority and age as in kube-scheduler's queue; and placed pods, by the time they
 * end. Both as numbers of arrivals.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "simulate/simulation-input.h"

typedef struct PendingQueue {
    uint32_t *items; /* in order */
    size_t n, room;
} PendingQueue;

void pending_queue_done(PendingQueue *pending);
/* 0, or -ENOMEM. */
int pending_queue_add(PendingQueue *pending, const SimulationInput *input, uint32_t arrival)
    MUST_CHECK;

typedef struct PodEnd {
    double at;
    uint32_t arrival;
} PodEnd;

/* A heap. */
typedef struct PodEndQueue {
    PodEnd *items;
    size_t n, room;
} PodEndQueue;

void pod_end_queue_done(PodEndQueue *ends);
int pod_end_queue_add(PodEndQueue *ends, PodEnd end) MUST_CHECK; /* 0, or -ENOMEM */
/* The first to end; on a tie the lower number. The queue must not be empty. */
PodEnd pod_end_queue_take(PodEndQueue *ends);
