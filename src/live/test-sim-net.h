#pragma once

/*
 * The network between replicas and the API server: kube/client.h and kube/access.h, without either.
 *
 * Bytes of one answer arrive in order; everything else may overtake. A request has a fate: it
 * arrives, is refused, gets lost, or is handled and its answer is lost, cut or wrong.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/client.h"
#include "live/test-sim-server.h"

/* The longest time from a request's departure to its commit: cluster-watcher-lease.c relies on it.
 */
#define SIM_COMMIT_MAX (4900 * SIM_MSEC)

/* What a replica knows once it has taken some bytes. */
typedef struct SimNews {
    enum { SIM_NEWS_NONE, SIM_NEWS_SEEN, SIM_NEWS_BOUND } type;
    SimKind kind; /* seen: all changes of this kind ... */
    size_t index; /* ... below this one; bound: by this one */
} SimNews;

void sim_net_begin(void);

/* The parts of an answer, and all of it. Calls that have ended are skipped. */
void sim_net_head(uint64_t call, unsigned status);
void sim_net_data(uint64_t call, Str bytes, SimNews news);
void sim_net_done(uint64_t call, CallOutcome outcome);
void sim_net_answer(uint64_t call, unsigned status, Str body, SimNews news);
bool sim_net_is_open(uint64_t call);

/* The replica's process has died: it sends nothing more. */
void sim_net_kill(Client *client);
