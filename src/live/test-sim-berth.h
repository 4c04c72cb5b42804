#pragma once

/*
 * SimBerth: a replica of berth, like `berth serve` without its HTTP server, usually with --bind.
 *
 * The view (live/current.h), recent pods, live/live.h and everything below are real: the watcher
 * with its loop, reflectors, store, ledger, binder, Lease and permit. Its thread is a coroutine,
 * which yields instead of waiting for the network. Its clocks have their own offset.
 */

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/str.h"
#include "kube/client.h"
#include "live/current.h"
#include "live/live.h"
#include "live/test-sim-server.h"

typedef struct SimBerth {
    unsigned index;
    bool is_running;
    Client *client; /* NULL: none */
    Current current;
    RecentPods *recent;
    Live *live;
    char identity[32];
    char bind_error[512]; /* of the last answered bind; empty: bound */

    int64_t monotonic_offset, wall_offset;
    int64_t halted_until;  /* the process gets no CPU time until then */
    int64_t cut_off_until; /* no answer reaches it until then, ... */
    bool loses_requests;   /* ... and none of its requests reaches the API server */

    ucontext_t coroutine, caller;
    void *stack; /* kept for the next coroutine */
    void *(*run)(void *);
    void *context;
    bool has_ended;   /* the coroutine */
    bool is_stopping; /* after SIGTERM */
    uint64_t n_waits; /* number of yields */
} SimBerth;

#define SIM_BERTHS_MAX 3u

extern SimBerth sim_berths[SIM_BERTHS_MAX];
extern SimBerth *sim_berth_current; /* whose code runs; NULL: none */
extern size_t sim_n_berths;
extern bool sim_has_lease;
extern bool sim_is_unbound; /* kube-scheduler binds (test-sim-unbound.h) */

/* Compile the policies, and free them. */
void sim_berths_setup(void);
void sim_berths_teardown(void);

void sim_berth_start(SimBerth *berth);
void sim_berth_stop(SimBerth *berth); /* SIGTERM */
void sim_berth_kill(SimBerth *berth); /* SIGKILL */
void sim_berth_halt(SimBerth *berth, int64_t nsec);
bool sim_berth_is_halted(const SimBerth *berth);
void sim_berth_cut_off(SimBerth *berth, int64_t nsec); /* from the API server */
bool sim_berth_loses_requests(const SimBerth *berth);

/* A filter request for @pod with the nodes @names. *ret_passed[i]: node i passed. False: berth
 * answered with an error. */
bool sim_berth_filter(SimBerth *berth, const SimObject *pod, size_t index, const unsigned *names,
    size_t n, bool *ret_passed);

/* Like sim_berth_filter() if kube-scheduler binds. Calls sim_unbound_filtered(), now or later. */
void sim_berth_ask(SimBerth *berth, uint64_t attempt, const SimObject *pod, size_t index,
    const unsigned *names, size_t n);

/* A bind request. Calls sim_scheduler_bound(), now or later. */
void sim_berth_bind(SimBerth *berth, uint64_t attempt, unsigned pod, unsigned uid, unsigned node);

/* --- for the network ------------------------------------------------------------------------- */

void sim_berth_wait(SimBerth *berth, int64_t nsec); /* on its coroutine */
void sim_berth_resume(SimBerth *berth);             /* not on one */
void sim_berth_wake(SimBerth *berth);
