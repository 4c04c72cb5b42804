#pragma once

/*
 * Run: a simulation under one policy.
 *
 * At each event, pods whose lifetime is over end first; then the arriving pods are tried. Pending
 * pods are tried again, by priority and age: if a pod has ended; before arriving pods, because
 * policies may depend on time; and after them, if a pod was placed that counts for required pod
 * affinity or spread of pending ones. Each time, pods equal to one that failed are skipped, and at
 * most RUN_RETRIES_MAX are tried.
 *
 * With an AutoscalePool, an autoscaler then adds nodes for pending pods; after each node they are
 * tried again.
 *
 * With nominations, pods that arrive together are placed on the best of all nodes: kube-scheduler
 * tries the nominated one first, and evaluates no others.
 *
 * A run ends after the last event; if all pods have a lifetime, with the last arrival.
 */

#include "scheduler/scheduler.h"
#include "simulate/berth-extender.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

#define RUN_RETRIES_MAX 1000u
#define RUN_BACKLOG_MIN 50u /* pods that arrive together: berth nominates nodes for them */

typedef struct RunOptions {
    SchedulerOptions scheduler;
    bool nominates;          /* as `berth serve --nominate`: only with a policy */
    bool follows;            /* pods with a node are placed there, whatever the scheduler chose */
    double until;            /* seconds; below 0: to the end, as above */
    int64_t now_nsec;        /* since 1970, at the start */
    const Resources *shapes; /* free capacity is measured for such pods */
    size_t n_shapes;

    /* Both are called every few pods; may be NULL. */
    bool (*is_over)(void); /* true: the run stops early */
    void (*progress)(size_t n_arrived, size_t n_arrivals);
} RunOptions;

/* @berth: berth_extender_new()'s parts; NULL: no policy. 0, or -ENOMEM. */
int run_simulation(const SimulationInput *input, const ViewParts *berth, const RunOptions *options,
    SimulationResult **ret);
