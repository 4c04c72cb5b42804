/* Bursts of pods for a kube-scheduler that binds pods itself. */

#include "live/test-sim-unbound.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "live/test-sim-berth.h"
#include "live/test-sim-check.h"
#include "live/test-sim.h"

#define GIVES_UP_PERCENT 5u

/* The pod with a name. */
typedef struct Unbound {
    unsigned uid, node; /* the chosen node, not bound yet; SIM_NO_NODE: none */
    int64_t retry_at;
} Unbound;

static Unbound pods[SIM_PODS_MAX];
static int64_t asked_at[SIM_UIDS_MAX];
static uint64_t attempt; /* a running filter; 0: none */
static unsigned asked;   /* the name of its pod */
static bool is_calm;

int64_t sim_unbound_asked_at(unsigned uid) {
    return asked_at[uid];
}

/* --- the nodes as kube-scheduler sees them ---------------------------------------------------- */

static unsigned count_on(unsigned node) {
    unsigned n = sim_pods_on(node);

    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        n += pods[i].node == node;
    return n;
}

static bool has_cpu(unsigned node, unsigned cpu) {
    unsigned used = sim_cpu_used(node) + cpu;

    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        used += pods[i].node == node ? sim_server.pods[i].cpu : 0;
    return used < sim_server.nodes[node].cpu;
}

static size_t collect_nodes(unsigned cpu, unsigned ret[SIM_NODES_MAX]) {
    size_t n = 0;

    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        if (sim_server.nodes[i].exists && has_cpu(i, cpu))
            ret[n++] = i;
    return n;
}

/* --- a pod ------------------------------------------------------------------------------------ */

static void retry_later(Unbound *pod, int64_t nsec) {
    pod->node = SIM_NO_NODE;
    pod->retry_at = sim.now + nsec;
}

static void bind(void *context, uint64_t uid) {
    Unbound *pod = context;

    if (pod->uid != uid)
        return; /* the name has another pod now */
    if (sim_server.pods[pod - pods].uid == uid)
        sim_bind(&sim_server.pods[pod - pods], pod->node);
    pod->node = SIM_NO_NODE;
}

/* Chooses the node with the fewest pods, at random among equals. */
static unsigned choose(const char *passed) {
    unsigned best = SIM_NO_NODE;
    int64_t n_best = 0;

    for (unsigned i = 0; i < SIM_NODES_MAX; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "\"n%u\"", i);
        if (!strstr(passed, name))
            continue;
        sim_check_passed(pods[asked].uid, i);
        if (best == SIM_NO_NODE || count_on(i) < count_on(best))
            n_best = 0;
        if (n_best == 0 || (count_on(i) == count_on(best) && sim_pick(0, n_best) == 0))
            best = i;
        n_best += count_on(i) == count_on(best);
    }
    return best;
}

void sim_unbound_filtered(uint64_t number, const char *reply) {
    Unbound *pod = &pods[asked];
    char passed[256];

    if (attempt != number)
        return;
    attempt = 0;
    if (sim_server.pods[asked].uid != pod->uid || !sim_server.pods[asked].exists)
        return;
    (void)snprintf(passed, sizeof(passed), "%.*s",
        reply ? (int)(strstr(reply, "\"FailedNodes\"") - reply) : 0, reply ? reply : "");
    pod->node = choose(passed);
    SIM_TRACE("scheduler: p%u uid %u to n%u of %s", asked, pod->uid, pod->node, passed);
    if (pod->node == SIM_NO_NODE)
        retry_later(pod, sim_pick(500, 2000) * SIM_MSEC);
    else if (!is_calm && sim_chance(GIVES_UP_PERCENT))
        retry_later(pod, sim_pick(1, 40) * SIM_SEC);
    else
        sim_after(sim_pick(1, 30) * SIM_MSEC, bind, pod, pod->uid);
}

static bool is_pending(Unbound *pod, const SimObject *object) {
    if (!object->exists || object->has_ended || object->node != SIM_NO_NODE)
        return false;
    if (pod->uid != object->uid)
        *pod = (Unbound){.uid = object->uid, .node = SIM_NO_NODE};
    return pod->node == SIM_NO_NODE && sim.now >= pod->retry_at;
}

static void ask(unsigned name) {
    unsigned nodes[SIM_NODES_MAX];
    size_t n = collect_nodes(sim_server.pods[name].cpu, nodes);

    asked = name;
    if (n == 0) {
        retry_later(&pods[name], SIM_SEC);
        return;
    }
    attempt = sim_number();
    asked_at[pods[name].uid] = sim.now;
    sim_berth_ask(&sim_berths[0], attempt, &sim_server.pods[name], sim_server.n_log, nodes, n);
}

static void tick(void *context, uint64_t number) {
    unsigned first = (unsigned)sim_pick(0, SIM_PODS_MAX - 1);

    for (unsigned i = 0; attempt == 0 && i < SIM_PODS_MAX; i++) {
        unsigned at = (first + i) % SIM_PODS_MAX;

        if (is_pending(&pods[at], &sim_server.pods[at]))
            ask(at);
    }
    sim_after((attempt == 0 ? sim_pick(20, 60) : sim_pick(1, 4)) * SIM_MSEC, tick, NULL, 0);
}

/* --- bursts ----------------------------------------------------------------------------------- */

static void burst(void *context, uint64_t number) {
    if (is_calm)
        return;
    for (unsigned i = 0; i < SIM_PODS_MAX; i++) {
        if (sim_server.pods[i].exists && sim_chance(70))
            sim_remove(SIM_POD, i);
        if (!sim_server.pods[i].exists)
            sim_add_pod(i, 100, SIM_NO_NODE);
    }
    sim_after(sim_pick(1, 8) * SIM_SEC, burst, NULL, 0);
}

void sim_unbound_begin(void) {
    memset(pods, 0, sizeof(pods));
    memset(asked_at, 0, sizeof(asked_at));
    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        pods[i] = (Unbound){.uid = UINT32_MAX, .node = SIM_NO_NODE};
    attempt = 0;
    is_calm = false;
    sim_after(sim_pick(0, SIM_SEC), burst, NULL, 0);
    sim_after(0, tick, NULL, 0);
}

void sim_unbound_calm_down(void) {
    is_calm = true;
}
