/* The queue of events, the random choices, and the trace of a seed. */

#include "live/test-sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY_MAX ((size_t)1024 * 1024 * 1024)
#define START (1000 * SIM_SEC) /* in many places a clock of 0 means "never" */

Sim sim;

void sim_begin(uint64_t seed, bool is_traced) {
    Sim before = sim;

    sim = (Sim){
        .seed = seed,
        .rng = {.state = seed},
        .now = START,
        .is_traced = is_traced,
        .arena = before.arena ? before.arena : arena_new(MEMORY_MAX),
        .events = before.events,
        .n_room = before.n_room,
    };
    if (!sim.arena)
        abort();
    arena_reset(sim.arena);
}

void sim_end(void) {
    arena_free(sim.arena);
    free(sim.events);
    sim = (Sim){0};
}

void *sim_allocate(size_t size) {
    void *memory = arena_zalloc(sim.arena, 1, size);

    if (!memory)
        abort();
    return memory;
}

/* --- events ------------------------------------------------------------------------------- */

static bool is_before(const SimEvent *a, const SimEvent *b) {
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(SimEvent *a, SimEvent *b) {
    SimEvent c = *a;

    *a = *b;
    *b = c;
}

void sim_after(int64_t nsec, SimRun *run, void *context, uint64_t number) {
    size_t i = sim.n_events++;

    if (i == sim.n_room) {
        sim.n_room = sim.n_room ? sim.n_room * 2 : 256;
        sim.events = realloc(sim.events, sim.n_room * sizeof(*sim.events));
        if (!sim.events)
            abort();
    }
    sim.events[i] = (SimEvent){sim.now + nsec, sim.n_added++, run, context, number};
    for (; i > 0 && is_before(&sim.events[i], &sim.events[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&sim.events[i], &sim.events[(i - 1) / 2]);
}

static SimEvent take_first(void) {
    SimEvent first = sim.events[0];
    size_t i = 0;

    sim.events[0] = sim.events[--sim.n_events];
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
            if (child < sim.n_events && is_before(&sim.events[child], &sim.events[least]))
                least = child;
        if (least == i)
            return first;
        swap(&sim.events[i], &sim.events[least]);
        i = least;
    }
}

void sim_run_until(int64_t at) {
    while (sim.n_events > 0 && sim.events[0].at <= at && sim.failure[0] == '\0') {
        SimEvent event = take_first();

        sim.now = event.at;
        sim.n_steps++;
        sim.digest = (sim.digest ^ (uint64_t)event.at ^ event.order << 48) * 0x9E3779B97F4A7C15;
        sim.digest ^= sim.digest >> 29;
        event.run(event.context, event.number);
    }
    if (sim.now < at && sim.failure[0] == '\0')
        sim.now = at;
}

uint64_t sim_number(void) {
    return ++sim.last_number;
}

/* --- random choices ----------------------------------------------------------------------- */

bool sim_chance(size_t percent) {
    return rng_percent(&sim.rng, percent);
}

int64_t sim_pick(int64_t from, int64_t to) {
    return from + (int64_t)rng_pick(&sim.rng, (size_t)(to - from) + 1);
}

int64_t sim_latency(int64_t most) {
    if (most > 10 * SIM_MSEC && sim_chance(sim.fault_percent))
        return sim_pick(10 * SIM_MSEC, sim_chance(80) && most > SIM_SEC ? SIM_SEC : most);
    return sim_pick(SIM_MSEC / 10, 5 * SIM_MSEC);
}

/* --- trace -------------------------------------------------------------------------------- */

void sim_trace(const char *format, ...) {
    va_list arguments;

    (void)printf("%9" PRIu64 " %10.4f  ", sim.n_steps, (double)(sim.now - START) / 1e9);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
}

void sim_fail(const char *rule, const char *format, ...) {
    va_list arguments;
    size_t n;

    if (sim.failure[0] != '\0')
        return;
    n = (size_t)snprintf(sim.failure, sizeof(sim.failure),
        "step %" PRIu64 ", %.4f s: %s: ", sim.n_steps, (double)(sim.now - START) / 1e9, rule);
    va_start(arguments, format);
    (void)vsnprintf(sim.failure + n, sizeof(sim.failure) - n, format, arguments);
    va_end(arguments);
    SIM_TRACE("BROKEN: %s", sim.failure);
}
