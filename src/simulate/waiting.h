#pragma once

/*
 * Waiting: pods that found no node, and pods that will end; both by number of their arrival.
 *
 * Those that wait are tried again by priority, and of one priority by age, as in kube-scheduler's
 * queue.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "simulate/scenario.h"

typedef struct Waiting {
    uint32_t *items; /* in order */
    size_t n, room;
} Waiting;

void waiting_done(Waiting *waiting);
/* 0, or -ENOMEM. */
int waiting_add(Waiting *waiting, const Scenario *scenario, uint32_t arrival) MUST_CHECK;

typedef struct Ending {
    double at;
    uint32_t arrival;
} Ending;

/* A heap: the first to end is the first. */
typedef struct Endings {
    Ending *items;
    size_t n, room;
} Endings;

void endings_done(Endings *endings);
int endings_add(Endings *endings, Ending ending) MUST_CHECK; /* 0, or -ENOMEM */
/* There must be one. Of equal times the one with the lower number. */
Ending endings_take(Endings *endings);
