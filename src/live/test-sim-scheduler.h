#pragma once

/*
 * SimScheduler: kube-scheduler with berth as its only filter, and bindVerb.
 *
 * It tries pending pods one after the other: filter, choose a node that passed, and bind a while
 * later; several binds run at a time. It repeats a bind that fails or is not answered in time. Its
 * knowledge of pods lags behind the API server.
 */

#include <stdbool.h>
#include <stdint.h>

void sim_scheduler_begin(void);

/* The reply to a bind request; @error empty: bound. NULL: the connection broke. */
void sim_scheduler_bound(uint64_t attempt, const char *error);
