#pragma once

/*
 * Outcome: what became of a scenario under one policy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "model/resources.h"
#include "simulate/ground.h"
#include "simulate/scheduler.h"

#define OUTCOME_SHAPES_MAX 16u
#define OUTCOME_SAMPLES_MAX 1024u /* when there are as many, every second is dropped */
#define OUTCOME_MISSES_MAX 20u

/* What became of one pod. */
typedef enum Fate {
    FATE_WAITING, /* it came, and found no node so far */
    FATE_PLACED,
    FATE_ENDED,   /* it was placed, and its time is over */
    FATE_NOT_YET, /* it has not come: the run was broken off */
} Fate;

typedef struct PodFate {
    uint8_t fate;
    uint32_t row;  /* where it is, or was; NO_ROW */
    Reason reason; /* while it waits: what most nodes said when it was tried last */
    float waited;  /* seconds until it was placed */
} PodFate;

typedef struct PendingReason {
    Str text;
    size_t n_pods;
} PendingReason;

/* Pods of one shape, and what of the room is of use to them. */
typedef struct ShapeFigures {
    size_t n_fit;                 /* so many more fit, all of them at once */
    double cpu_left, memory_left; /* the share of what is free that they cannot use, 0 to 1 */
} ShapeFigures;

/* Of one resource over all nodes that are not cordoned: shares of what they offer, 0 to 1. */
typedef struct BalanceFigures {
    double mean, deviation; /* deviation: the standard one */
    double highest;
    uint32_t highest_row; /* NO_ROW: there is no node */
} BalanceFigures;

/* At one moment. */
typedef struct Sample {
    double at; /* seconds; without times: pods that have come */
    size_t n_used;
    double cpu_share; /* requested cpu of nodes in use, of what they offer */
    size_t n_waiting;
} Sample;

/* A pod that was followed to a node which is not among the best. */
typedef struct Miss {
    uint32_t arrival;
    Choice choice;
} Miss;

typedef struct Outcome {
    Arena *arena;
    PodFate *fates; /* by arrival */
    size_t n_pods;
    size_t n_reached; /* that have come */
    bool is_broken_off;
    double end; /* the moment it ends at */

    size_t n_placed; /* those that have ended included */
    size_t n_ended, n_waiting;
    PendingReason *reasons; /* the most frequent first */
    size_t n_reasons;
    size_t n_attempts;

    size_t n_used_at_start, n_used, n_used_most;
    double n_used_mean; /* over time; without times, over pods */
    size_t n_emptied;   /* in use at some time, and not at the end */
    BalanceFigures cpu, memory;
    ShapeFigures shapes[OUTCOME_SHAPES_MAX];
    double wait_mean, wait_most; /* of those that were placed: seconds */
    size_t n_waited;             /* of those, the ones that were not placed at once */

    Sample *samples;
    size_t n_samples;

    /* Of pods that were followed. */
    size_t n_followed, n_best, n_feasible;
    size_t n_beyond; /* those that ask for something that is not modelled: not among the others */
    Miss misses[OUTCOME_MISSES_MAX];
    size_t n_misses;
} Outcome;

Outcome *outcome_new(size_t n_pods);     /* NULL: out of memory */
Outcome *outcome_free(Outcome *outcome); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Outcome *, outcome_free)

/* The figures that can be read off the nodes as they are at the end. */
void outcome_measure(Outcome *outcome, const Ground *ground, const Resources *shapes, size_t n);

/* Adds a sample; from time to time one is enough. */
void outcome_sample(Outcome *outcome, const Sample *sample);

/* Pods that are, or were, on another node than in @first, of those placed in both. */
size_t outcome_moves(const Outcome *outcome, const Outcome *first);
