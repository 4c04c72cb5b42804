/*
 * Deterministic simulation of the live half: replicas of berth, an API server, kube-scheduler and
 * faults, on one thread, all derived from one number.
 *
 *     test-live-seeds [--seed FIRST] [--count N] [--trace] [--bind | --filter-only]
 *
 * Each seed runs twice: once with a berth that binds, and faults; once with one that only filters.
 *
 * live/, kube/ (except for the client and the credentials) and everything below them are real. The
 * rules are in test-sim-check.h. docs/reliability.md explains the simulation.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "live/test-sim-berth.h"
#include "live/test-sim-check.h"
#include "live/test-sim-net.h"
#include "live/test-sim-scheduler.h"
#include "live/test-sim-server.h"
#include "live/test-sim-unbound.h"
#include "live/test-sim.h"

#define FAULTY_SEC 90
/* A silent watch is given up after 150 s; the longest Retry-After, backoff and expiry of an assumed
 * pod can come after that. */
#define CALM_SEC 420
#define LOOK_SEC 30 /* between two checks whether the replicas agree with the API server */
#define DEFAULT_COUNT 200
#define TWICE_EVERY 64 /* one seed in this many runs twice, and both runs must be the same */

static bool has_foreign; /* pods that berth does not bind */

/* --- the world -------------------------------------------------------------------------------- */

static unsigned pick_name(SimKind kind) {
    return (unsigned)sim_pick(0, (kind == SIM_NODE ? SIM_NODES_MAX : SIM_PODS_MAX) - 1);
}

/* A node name always has the same size, so that only a bind can overfill it. */
static unsigned size_of_node(unsigned name) {
    return 1001 + 500 * (name % 2);
}

static void change_node(void) {
    unsigned name = pick_name(SIM_NODE);

    if (!sim_server.nodes[name].exists)
        sim_add_node(name, size_of_node(name));
    else if (sim_chance(60))
        sim_edit(SIM_NODE, name);
    else
        sim_remove(SIM_NODE, name);
    if (!sim_server.nodes[name].exists && sim_chance(40))
        sim_add_node(name, size_of_node(name));
}

static void add_pod(unsigned name) {
    bool is_foreign = has_foreign && sim_chance(15);

    sim_add_pod(
        name, (unsigned)sim_pick(1, 6) * 100, is_foreign ? pick_name(SIM_NODE) : SIM_NO_NODE);
    if (is_foreign)
        sim_check_foreign(&sim_server.pods[name]);
}

static void change_pod(void) {
    unsigned name = pick_name(SIM_POD);
    const SimObject *pod = &sim_server.pods[name];

    if (!pod->exists) {
        add_pod(name);
        return;
    }
    if (sim_chance(50))
        sim_edit(SIM_POD, name);
    else if (sim_chance(30) && pod->node != SIM_NO_NODE && !pod->has_ended)
        sim_end_pod(name);
    else
        sim_remove(SIM_POD, name);
    if (!pod->exists && sim_chance(50))
        add_pod(name);
}

static void restart(void *context, uint64_t number) {
    SimBerth *berth = context;

    if (!berth->live)
        sim_berth_start(berth);
    else if (berth->is_stopping)
        sim_after(SIM_SEC, restart, berth, 0);
}

/* Without a Lease a new process could bind while the API server still commits a Binding of the old
 * one. So it starts later than that. */
static int64_t pick_restart_delay(void) {
    return sim_has_lease ? sim_pick(0, 20 * SIM_SEC)
                         : sim_pick(SIM_COMMIT_MAX + 2 * SIM_SEC, 20 * SIM_SEC);
}

static void disturb_berth(void) {
    SimBerth *berth = &sim_berths[sim_pick(0, (int64_t)sim_n_berths - 1)];

    if (!berth->live || berth->is_stopping)
        return;
    switch (sim_pick(0, 4)) {
    case 0:
        sim_berth_kill(berth);
        sim_after(pick_restart_delay(), restart, berth, 0);
        break;
    case 1:
        sim_berth_stop(berth);
        sim_after(pick_restart_delay(), restart, berth, 0);
        break;
    case 2:
        sim_berth_halt(berth, sim_pick(0, 30 * SIM_SEC));
        break;
    case 3:
        sim_berth_cut_off(berth, sim_pick(0, 40 * SIM_SEC));
        break;
    default:
        berth->wall_offset += sim_pick(-3600, 3600) * SIM_SEC;
        break;
    }
}

static void server_up(void *context, uint64_t number) {
    SIM_TRACE("server: up");
    sim_server.is_down = false;
}

static void disturb_server(void) {
    switch (sim_pick(0, 3)) {
    case 0:
        SIM_TRACE("server: down");
        sim_server.is_down = true;
        sim_cut_watches(100);
        sim_after(sim_pick(0, 20 * SIM_SEC), server_up, NULL, 0);
        break;
    case 1:
        sim_forget_changes();
        sim_cut_watches(50);
        break;
    default:
        sim_cut_watches(50);
        break;
    }
}

static void disturb(void *context, uint64_t number) {
    if (sim.fault_percent == 0)
        return;
    if (sim_chance(70))
        change_pod();
    else if (sim_chance(50))
        change_node();
    else if (sim_chance(sim.fault_percent + 10))
        disturb_berth();
    else if (sim_chance(sim.fault_percent + 10))
        disturb_server();
    sim_after(sim_pick(0, 1500) * SIM_MSEC, disturb, NULL, 0);
}

/* --- a seed ----------------------------------------------------------------------------------- */

static void start_berths(void) {
    for (size_t i = 0; i < sim_n_berths; i++) {
        sim_berths[i].index = (unsigned)i;
        sim_berth_start(&sim_berths[i]);
    }
}

/* One berth, no faults, and no Lease. */
static void begin_unbound_world(void) {
    sim.fault_percent = 0;
    has_foreign = sim_has_lease = false;
    sim_n_berths = 1;
    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        sim_add_node(i, 1001);
    start_berths();
    sim_unbound_begin();
}

static void begin_world(void) {
    static const size_t fault_percents[] = {1, 5, 15, 30};

    sim.fault_percent = fault_percents[sim_pick(0, 3)];
    has_foreign = sim_chance(20);
    sim_n_berths = (size_t)sim_pick(1, SIM_BERTHS_MAX);
    sim_has_lease = sim_n_berths > 1 || sim_chance(50);
    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        if (sim_chance(80))
            sim_add_node(i, size_of_node(i));
    for (unsigned i = 0; i < SIM_PODS_MAX; i++)
        if (sim_chance(40))
            add_pod(i);
    start_berths();
    sim_scheduler_begin();
    sim_after(0, disturb, NULL, 0);
}

static void calm_down(void) {
    SIM_TRACE("the faults are over");
    sim_unbound_calm_down();
    sim.fault_percent = 0;
    sim_server.is_down = false;
    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        if (!sim_server.nodes[i].exists)
            sim_add_node(i, size_of_node(i));
}

/* Runs without faults until the replicas agree with the API server, or time is up. */
static void run_calm(void) {
    int64_t end = sim.now + CALM_SEC * SIM_SEC;

    calm_down();
    while (sim.failure[0] == '\0') {
        sim_run_until(sim.now + LOOK_SEC * SIM_SEC);
        if (sim.failure[0] != '\0')
            return;
        sim_check_end();
        if (sim.failure[0] == '\0' || sim.now >= end)
            return;
        sim.failure[0] = '\0';
    }
}

/* Returns the digest of all events. */
static uint64_t run_seed(uint64_t seed, bool is_traced) {
    sim_begin(seed, is_traced);
    hash_set_key(seed);
    sim_net_begin();
    sim_server_begin();
    sim_check_begin();
    if (sim_is_unbound)
        begin_unbound_world();
    else
        begin_world();
    sim_run_until(sim.now + FAULTY_SEC * SIM_SEC);
    run_calm();
    for (size_t i = 0; i < sim_n_berths; i++)
        if (sim_berths[i].live)
            sim_berth_kill(&sim_berths[i]);
    return sim.digest;
}

static bool check_seed(const char *program, uint64_t seed, bool is_traced) {
    uint64_t digest = run_seed(seed, is_traced);

    if (sim.failure[0] == '\0' && seed % TWICE_EVERY == 0 && run_seed(seed, false) != digest)
        (void)snprintf(sim.failure, sizeof(sim.failure), "the second run of this seed differs");
    if (sim.failure[0] == '\0')
        return true;
    (void)printf("seed %" PRIu64 " failed: %s\nreplay: %s --seed %" PRIu64 " --trace %s\n", seed,
        sim.failure, program, seed, sim_is_unbound ? "--filter-only" : "--bind");
    return false;
}

/* --- the program ------------------------------------------------------------------------------ */

typedef struct Arguments {
    uint64_t first, count;
    bool is_traced;
    bool is_bound_only, is_unbound_only;
} Arguments;

static bool read_number(const char *text, uint64_t *ret) {
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool read_arguments(int argc, char **argv, Arguments *ret) {
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"count", required_argument, NULL, 'c'},
        {"trace", no_argument, NULL, 't'},
        {"bind", no_argument, NULL, 'b'},
        {"filter-only", no_argument, NULL, 'f'},
        {0},
    };
    bool is_good = true;
    int option;

    *ret = (Arguments){0};
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            is_good = read_number(optarg, &ret->first);
        else if (option == 'c')
            is_good = read_number(optarg, &ret->count);
        else if (option == 't')
            ret->is_traced = true;
        else if (option == 'b')
            ret->is_bound_only = true;
        else if (option == 'f')
            ret->is_unbound_only = true;
        if (option == '?' || !is_good)
            return false;
    }
    if (ret->count == 0) /* --seed alone runs one seed */
        ret->count = ret->first == 0 ? DEFAULT_COUNT : 1;
    if (ret->first == 0)
        ret->first = 1;
    return optind == argc;
}

static double seconds_now(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the number of failed runs. */
static unsigned run_both(const char *program, const Arguments *arguments, uint64_t seed) {
    unsigned n_failed = 0;

    for (int is_unbound = 0; is_unbound <= 1; is_unbound++) {
        if (is_unbound ? arguments->is_bound_only : arguments->is_unbound_only)
            continue;
        sim_is_unbound = is_unbound;
        n_failed += !check_seed(program, seed, arguments->is_traced);
    }
    return n_failed;
}

int main(int argc, char **argv) {
    double begin = seconds_now(), reported = begin;
    Arguments arguments;
    uint64_t n = 0, n_failed = 0;

    if (!read_arguments(argc, argv, &arguments)) {
        (void)fprintf(stderr,
            "usage: %s [--seed FIRST] [--count N] [--trace] [--bind | --filter-only]\n", argv[0]);
        return 2;
    }
    log_setup(LOG_NONE, LOG_LOGFMT);
    sim_berths_setup();
    for (; n < arguments.count && n_failed < 10; n++) {
        n_failed += run_both(argv[0], &arguments, arguments.first + n);
        if (seconds_now() - reported > 10) {
            reported = seconds_now();
            (void)printf(
                "%" PRIu64 " seeds, %.0f a second\n", n + 1, (double)(n + 1) / (reported - begin));
            (void)fflush(stdout);
        }
    }
    (void)printf("%" PRIu64 " seeds from %" PRIu64 " on, %" PRIu64 " failed, %.1f s\n", n,
        arguments.first, n_failed, seconds_now() - begin);
    sim_berths_teardown();
    sim_end();
    free(sim_server.log);
    return n_failed > 0;
}
