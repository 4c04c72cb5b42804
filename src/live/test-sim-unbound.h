#pragma once

/*
 * kube-scheduler with berth as its filter only: it binds by itself, and reports no choice.
 *
 * It asks about one pod at a time and waits for the reply. It takes the node that passed
 * with the fewest pods, at random among equal ones, and binds a while later, several at a time.
 * Some pods it does not bind, and asks about them again much later. Pods come in bursts of more
 * than the nodes take. Nothing else fails.
 */

#include <stdint.h>

#include "live/test-sim-server.h"

/* Pods over the limit, of all nodes together. */
#define SIM_OVER_MAX 2u

void sim_unbound_begin(void);
void sim_unbound_calm_down(void); /* no more bursts, and it binds every pod */

/* The reply to a filter request; NULL: the connection broke. */
void sim_unbound_filtered(uint64_t attempt, const char *reply);

/* When it last asked about a pod; 0: never. */
int64_t sim_unbound_asked_at(unsigned uid);
