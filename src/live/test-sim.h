#pragma once

/*
 * Sim: the time, the random choices and the pending events of one seed.
 *
 * Everything runs on one thread, in the order of a queue, so that a seed always gives the same run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/nsec.h"
#include "base/rng.h"

#define SIM_MSEC NSEC_PER_MSEC
#define SIM_SEC NSEC_PER_SEC

typedef void SimRun(void *context, uint64_t number);

typedef struct SimEvent {
    int64_t at;
    uint64_t order; /* events of the same time run in the order in which they were added */
    SimRun *run;
    void *context;
    uint64_t number;
} SimEvent;

typedef struct Sim {
    uint64_t seed;
    Rng rng;
    int64_t now;          /* in nanoseconds; each replica sees it with an offset */
    size_t fault_percent; /* of requests that fail; 0 once the faults are over */
    bool is_traced;       /* each step is printed */
    uint64_t n_steps;     /* events so far */
    uint64_t digest;      /* of all events so far: two runs of a seed must agree */
    uint64_t last_number; /* of sim_number() */
    char failure[1024];   /* the first broken rule; empty: none */
    Arena *arena;         /* emptied after each seed */
    SimEvent *events;     /* a heap */
    size_t n_events, n_room;
    uint64_t n_added;
} Sim;

extern Sim sim;

void sim_begin(uint64_t seed, bool is_traced);
void sim_end(void);

/* Calls @run after @nsec. @context must still exist then; if it may not, use @number instead. */
void sim_after(int64_t nsec, SimRun *run, void *context, uint64_t number);

/* Runs events until @at, or until a rule is broken. */
void sim_run_until(int64_t at);

uint64_t sim_number(void); /* unique in a seed; not 0 */

bool sim_chance(size_t percent);
int64_t sim_pick(int64_t from, int64_t to); /* includes both ends */

/* The duration of a message: usually milliseconds; during faults sometimes up to @most. */
int64_t sim_latency(int64_t most);

#define SIM_TRACE(...)                                                                             \
    do {                                                                                           \
        if (sim.is_traced)                                                                         \
            sim_trace(__VA_ARGS__);                                                                \
    } while (0)

__attribute__((format(printf, 1, 2))) void sim_trace(const char *format, ...);

/* A rule is broken: the seed ends. */
__attribute__((format(printf, 2, 3))) void sim_fail(const char *rule, const char *format, ...);

/* Zeroed; freed after the seed. Ends the program when out of memory. */
void *sim_allocate(size_t size);
