#pragma once

/*
 * The network between replicas and the API server: replaces kube/client.h and kube/access.h.
 *
 * Bytes of one answer arrive in order; everything else may be reordered. A request has a fate: it
 * arrives, is refused, is lost, or is handled and its answer is lost, cut or wrong.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/client.h"
#include "live/test-sim-server.h"

/* The longest time from sending a request to its commit: cluster-watcher-lease.c relies on it. */
#define SIM_COMMIT_MAX (4900 * SIM_MSEC)

/* What a replica knows after it has read some bytes. */
typedef struct SimNews {
    enum { SIM_NEWS_NONE, SIM_NEWS_SEEN, SIM_NEWS_BOUND } type;
    SimKind kind; /* seen: all changes of this kind ... */
    size_t index; /* ... below this one; bound: by this one */
} SimNews;

void sim_net_begin(void);

/* Send parts of an answer, or all of it. Calls that have ended are skipped. */
void sim_net_head(uint64_t call, unsigned status);
void sim_net_data(uint64_t call, Str bytes, SimNews news);
void sim_net_done(uint64_t call, CallOutcome outcome);
void sim_net_answer(uint64_t call, unsigned status, Str body, SimNews news);
bool sim_net_is_open(uint64_t call);

/* Kills the replica's process: it sends nothing more. */
void sim_net_kill(Client *client);
