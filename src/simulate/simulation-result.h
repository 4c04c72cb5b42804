#pragma once

/* SimulationResult: the result of a simulation under one policy. */

#include "model/resources.h"
#include "scheduler/cluster-state.h"
#include "scheduler/scheduler.h"

#define SIMULATION_SHAPES_MAX 16u
#define SIMULATION_MISMATCHES_MAX 20u

typedef enum PodResultKind {
    RESULT_PENDING,
    RESULT_PLACED,
    RESULT_ENDED,       /* it was placed, and its lifetime has ended */
    RESULT_NOT_ARRIVED, /* the run stopped before it arrived */
} PodResultKind;

typedef struct PodResult {
    uint8_t kind;
    uint32_t row;            /* of its node, also after it ended; NO_ROW: none */
    SchedulingReason reason; /* while pending: the most frequent one of the last attempt */
    float waited;            /* seconds until it was placed */
} PodResult;

typedef struct PendingReason {
    Str text;
    size_t n_pods;
} PendingReason;

/* Free capacity for pods of one shape. */
typedef struct ShapeFigures {
    size_t n_fit;                 /* more pods that fit */
    double cpu_left, memory_left; /* free share that such pods cannot use, 0 to 1 */
} ShapeFigures;

/* Requested shares of one resource over nodes that are not cordoned, 0 to 1. */
typedef struct BalanceFigures {
    double mean, deviation; /* deviation: standard deviation */
    double highest;
    uint32_t highest_row; /* NO_ROW: there is no node */
} BalanceFigures;

/* A followed pod whose node is not among the best. */
typedef struct FollowMismatch {
    uint32_t arrival;
    Choice choice;
} FollowMismatch;

typedef struct SimulationResult {
    Arena *arena;
    PodResult *pods; /* by arrival */
    size_t n_pods;
    size_t n_reached; /* arrived pods */
    bool is_broken_off;
    double end; /* seconds since the start */

    size_t n_placed; /* ended ones included */
    size_t n_ended, n_pending;
    PendingReason *reasons; /* the most frequent first */
    size_t n_reasons;
    size_t n_attempts;
    size_t n_nominated; /* placed on a nominated node */
    size_t n_scored;    /* placed by scores of policies */
    double score_sum;   /* sum of their nodes' scores */

    size_t n_used_at_start, n_used, n_used_most;
    double n_used_mean; /* over time; without times, over pods */
    size_t n_emptied;   /* nodes in use at some time, but not at the end */
    BalanceFigures cpu, memory;
    ShapeFigures shapes[SIMULATION_SHAPES_MAX];
    double wait_mean, wait_most; /* seconds, of placed pods */
    size_t n_waited;             /* placed pods that were pending first */

    /* With an autoscaler. */
    size_t n_added, n_added_left; /* nodes: in all; at the end */
    double added_seconds;         /* node seconds of these */
    size_t n_not_scaled;          /* pending pods for which the autoscaler sees room on a node */

    /* Pods that were followed. */
    size_t n_followed, n_best, n_feasible;
    size_t n_unmodelled; /* pods with unmodelled features; not in the counts above */
    FollowMismatch mismatches[SIMULATION_MISMATCHES_MAX];
    size_t n_mismatches;
} SimulationResult;

SimulationResult *simulation_result_new(size_t n_pods);             /* NULL: out of memory */
SimulationResult *simulation_result_free(SimulationResult *result); /* takes NULL, returns NULL */
DEFINE_CLEANUP(SimulationResult *, simulation_result_free)

/* Sets the figures of the final state of the nodes. */
void simulation_result_measure(
    SimulationResult *result, const ClusterState *cluster, const Resources *shapes, size_t n);

/* The number of pods that were placed on other nodes than in @first. */
size_t simulation_result_moves(const SimulationResult *result, const SimulationResult *first);
