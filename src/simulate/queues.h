#pragma once

/*
 * PendingQueue: pods that found no node, and pods that will end; both by number of their arrival.
 *
 * Those that wait are tried again by priority, and of one priority by age, as in kube-scheduler's
 * queue.
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

/* A heap: the first to end is the first. */
typedef struct PodEndQueue {
    PodEnd *items;
    size_t n, room;
} PodEndQueue;

void pod_end_queue_done(PodEndQueue *ends);
int pod_end_queue_add(PodEndQueue *ends, PodEnd end) MUST_CHECK; /* 0, or -ENOMEM */
/* There must be one. Of equal times the one with the lower number. */
PodEnd pod_end_queue_take(PodEndQueue *ends);
