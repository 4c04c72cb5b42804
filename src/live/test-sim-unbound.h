#pragma once

/*
 * kube-scheduler with berth as its filter only: it binds by itself, and reports no choice.
 *
 * It sends one filter at a time and waits for the reply. It takes the passed node with the fewest
 * pods, at random among equals, and binds a while later; several binds run at a time. Some pods it
 * does not bind, and tries again much later. Bursts have more pods than the nodes take. Nothing
 * else fails.
 */

#include <stdint.h>

#include "live/test-sim-server.h"

/* Pods over the limit, on all nodes together. */
#define SIM_OVER_MAX 2u

void sim_unbound_begin(void);
void sim_unbound_calm_down(void); /* no more bursts, and it binds every pod */

/* The reply to a filter request; NULL: the connection broke. */
void sim_unbound_filtered(uint64_t attempt, const char *reply);

/* The time of the last filter for a pod; 0: never. */
int64_t sim_unbound_asked_at(unsigned uid);
