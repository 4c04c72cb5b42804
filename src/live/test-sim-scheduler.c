/* Attempts to place pods: filter, bind, and reactions to the replies. */

#include "live/test-sim-scheduler.h"

#include <inttypes.h>
#include <string.h>

#include "live/test-sim-berth.h"
#include "live/test-sim-check.h"
#include "live/test-sim-server.h"
#include "live/test-sim.h"

#define PAUSE_MSEC 200            /* between pods, on average */
#define KNOWN_AFTER (2 * SIM_SEC) /* how long it may still try a bound pod */
#define REPLY_MAX_SEC 15          /* how long it waits for a bind */

/* Its knowledge of the pod with a name. */
typedef struct Queued {
    unsigned uid;
    uint64_t attempt; /* a running bind; 0: none */
    unsigned node;
    SimBerth *berth;
    unsigned n_failures;
    int64_t retry_at;
    int64_t bound_seen_at; /* when it sees that the pod has a node; 0: it has none */
} Queued;

static Queued queued[SIM_PODS_MAX];
static size_t preferred; /* the replica of its connections */

/* --- binds ------------------------------------------------------------------------------------ */

static Queued *find_attempt(uint64_t attempt) {
    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        if (attempt != 0 && queued[i].attempt == attempt)
            return &queued[i];
    return NULL;
}

static void retry_later(Queued *pod) {
    int64_t sec = 1 << (pod->n_failures < 3 ? pod->n_failures : 3);

    pod->n_failures++;
    pod->attempt = 0;
    pod->retry_at = sim.now + sec * SIM_SEC + sim_pick(0, 500) * SIM_MSEC;
}

static void on_failed(void *context, uint64_t attempt) {
    Queued *pod = find_attempt(attempt);

    if (pod)
        retry_later(pod);
}

void sim_scheduler_bound(uint64_t attempt, const char *error) {
    Queued *pod = find_attempt(attempt);
    bool is_bound = error && error[0] == '\0';

    SIM_TRACE("scheduler: attempt %" PRIu64 ": %s", attempt,
        !error     ? "the connection broke"
        : is_bound ? "bound"
                   : error);
    if (!pod)
        return; /* it has given up this attempt */
    if (is_bound) {
        pod->attempt = 0;
        pod->n_failures = 0;
        pod->bound_seen_at = sim.now;
    } else {
        sim_after(sim_latency(SIM_SEC), on_failed, NULL, attempt);
    }
}

static bool is_reachable(const SimBerth *berth) {
    return berth->is_running && !berth->is_stopping && !sim_berth_is_halted(berth);
}

static void bind(void *context, uint64_t attempt) {
    const Queued *pod = find_attempt(attempt);

    if (!pod)
        return;
    SIM_TRACE("scheduler: attempt %" PRIu64 ": bind p%zu uid %u to n%u at berth %u", attempt,
        (size_t)(pod - queued), pod->uid, pod->node, pod->berth->index);
    if (is_reachable(pod->berth))
        sim_berth_bind(pod->berth, attempt, (unsigned)(pod - queued), pod->uid, pod->node);
    else
        sim_scheduler_bound(attempt, NULL);
}

/* --- filters ---------------------------------------------------------------------------------- */

static SimBerth *pick_berth(void) {
    SimBerth *berth;

    if (sim_chance(sim.fault_percent ? 3 : 0) || !is_reachable(&sim_berths[preferred]))
        preferred = (size_t)sim_pick(0, (int64_t)sim_n_berths - 1);
    berth =
        &sim_berths[sim_chance(95) ? preferred : (size_t)sim_pick(0, (int64_t)sim_n_berths - 1)];
    return is_reachable(berth) ? berth : NULL;
}

static size_t collect_nodes(unsigned names[SIM_NODES_MAX]) {
    size_t n = 0;

    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        if (sim_server.nodes[i].exists)
            names[n++] = i;
    return n;
}

/* The scheduling cycle of one pod. */
static void try_pod(Queued *queue, const SimObject *pod) {
    SimBerth *berth = pick_berth();
    unsigned names[SIM_NODES_MAX], passed[SIM_NODES_MAX];
    size_t n = collect_nodes(names), n_passed = 0;
    bool has_passed[SIM_NODES_MAX];
    SimObject pending = *pod;

    pending.node = SIM_NO_NODE; /* as kube-scheduler knows it */
    if (!berth || n == 0 ||
        !sim_berth_filter(berth, &pending, sim_server.n_log, names, n, has_passed)) {
        retry_later(queue);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (has_passed[i])
            passed[n_passed++] = names[i];
    SIM_TRACE("scheduler: filter p%u uid %u at berth %u: %zu of %zu pass", pod->name, pod->uid,
        berth->index, n_passed, n);
    if (n_passed == 0) {
        retry_later(queue);
        return;
    }
    queue->attempt = sim_number();
    queue->node = passed[sim_pick(0, (int64_t)n_passed - 1)];
    queue->berth = berth;
    sim_after(sim_chance(20) ? sim_pick(0, 3000) * SIM_MSEC : sim_latency(SIM_SEC), bind, NULL,
        queue->attempt);
    sim_after(sim_pick(2, REPLY_MAX_SEC) * SIM_SEC, on_failed, NULL, queue->attempt);
}

/* Whether the pod is in its queue: pending now, or a moment ago. */
static bool is_pending(Queued *queue, const SimObject *pod) {
    if (!pod->exists || pod->has_ended)
        return false;
    if (queue->uid != pod->uid)
        *queue = (Queued){.uid = pod->uid};
    if (pod->node == SIM_NO_NODE)
        queue->bound_seen_at = 0;
    else if (queue->bound_seen_at == 0)
        queue->bound_seen_at = sim.now + (sim.fault_percent ? sim_pick(0, KNOWN_AFTER) : 0);
    return queue->bound_seen_at == 0 || sim.now < queue->bound_seen_at;
}

static void tick(void *context, uint64_t number) {
    size_t first = (size_t)sim_pick(0, SIM_PODS_MAX - 1);

    for (size_t i = 0; i < SIM_PODS_MAX; i++) {
        size_t at = (first + i) % SIM_PODS_MAX;
        Queued *queue = &queued[at];

        if (!is_pending(queue, &sim_server.pods[at]) || queue->attempt != 0 ||
            sim.now < queue->retry_at)
            continue;
        try_pod(queue, &sim_server.pods[at]);
        break;
    }
    sim_after(sim_pick(1, 2 * PAUSE_MSEC) * SIM_MSEC, tick, NULL, 0);
}

void sim_scheduler_begin(void) {
    memset(queued, 0, sizeof(queued));
    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        queued[i].uid = UINT32_MAX;
    preferred = 0;
    sim_after(0, tick, NULL, 0);
}
