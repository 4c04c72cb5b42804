#pragma once

/*
 * Run: a scenario under one policy, from its first pod to its end.
 *
 * Time goes from event to event: pods whose lifetime is over leave first; if any did, those that
 * wait are tried again, by priority and age; then pods that come are tried. Those that wait are
 * tried at each moment at which pods come, too: what a policy says may depend on the time. Of pods
 * that ask for the same only the first is tried, once it has failed; and at most RUN_RETRIES_MAX at
 * one moment.
 *
 * It ends when nothing comes or ends any more; where every pod ends, when the last has come.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulate/berth-extender.h"
#include "simulate/scheduler.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

#define RUN_RETRIES_MAX 1000u

typedef struct RunOptions {
    SchedulerOptions scheduler;
    bool follows;     /* pods that have a node go there, whatever the choice would be */
    double until;     /* seconds; below 0: to its end, as above */
    int64_t now_nsec; /* since 1970, at the start */
    const Resources *shapes;
    size_t n_shapes;

    /* Asked now and then; NULL: never. True: it breaks off, and tells what it has. */
    bool (*is_over)(void *context);
    /* Told now and then how many pods have come; NULL: nobody. */
    void (*progress)(void *context, size_t n_done);
    void *context;
} RunOptions;

/* @berth NULL: no policy. 0, or -ENOMEM. */
int run_simulation(const SimulationInput *input, const BerthExtenderOptions *berth,
    const RunOptions *options, SimulationResult **ret);
