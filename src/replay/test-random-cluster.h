#pragma once

/*
 * RandomCluster: a changing cluster with random policies and pods, for tests of recording and
 * replay. All data goes through the real functions; the same seed gives the same cluster.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "extender/verbs.h"
#include "extender/view.h"

#define TEST_BUDGET ((size_t)64 << 20)
#define RANDOM_SEC INT64_C(1000000000)
#define RANDOM_NOW_SEC INT64_C(1767323045) /* 2026-01-02T03:04:05Z */

typedef struct RandomCluster {
    Rng rng;
    unsigned n_nodes;
    unsigned n_pods; /* so far */
    bool is_calm;    /* no recently placed pods, and time advances slowly */
    Store *store;
    Program *program;
    Measurements *measurements;
    View *view;
    int64_t elapsed_nsec;
} RandomCluster;

static inline unsigned random_pick(RandomCluster *cluster, unsigned sides) {
    return (unsigned)rng_pick(&cluster->rng, sides);
}

static inline int64_t random_cluster_now(const RandomCluster *cluster) {
    return RANDOM_NOW_SEC * RANDOM_SEC + cluster->elapsed_nsec;
}

static inline int64_t random_cluster_uptime(const RandomCluster *cluster) {
    return 1000 * RANDOM_SEC + cluster->elapsed_nsec;
}

/* --- policies --------------------------------------------------------------------------------- */

/* The parameters of a policy: random, or set by the test. */
typedef struct RandomPolicy {
    unsigned load_max; /* percent */
    unsigned free_milli;
    unsigned max_pods;
    unsigned narrow_to; /* 0: none */
    bool is_normalised;
    bool has_other_metric; /* one that is not measured */
} RandomPolicy;

static inline RandomPolicy random_policy(RandomCluster *cluster) {
    return (RandomPolicy){
        .load_max = 30 + random_pick(cluster, 60),
        .free_milli = random_pick(cluster, 3000),
        .max_pods = 2 + random_pick(cluster, 6),
        .narrow_to = random_pick(cluster, 3) == 0 ? 1 + random_pick(cluster, 40) : 0,
        .is_normalised = random_pick(cluster, 2),
    };
}

static inline Program *random_cluster_compile(const RandomPolicy *policy) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 16), messages = BUF_INIT(1 << 16);
    PolicySource source = {.file = STR("random.yaml")};
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    buf_printf(&text,
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: cool}\nspec:\n"
        "  metrics:\n"
        "    - {name: load, prometheus: {query: load}, maxAge: 30s, placements: {resource: cpu, "
        "unit: fraction, settle: 60s, by: podCpu}}\n"
        "    - {name: podCpu, resourceMetrics: cpu, pods: {}, maxAge: 90s}\n"
        "    - {name: noted, annotation: {key: load}, maxAge: 40s}\n%s"
        "  filters:\n"
        "    - {name: hot, expression: 'metrics.load < %u.0 / 100.0', onMissing: allow}\n"
        "    - {name: noted, expression: 'metrics.noted < 0.9', onMissing: allow}\n"
        "    - {name: full, maxPods: %u, reason: too many pods}\n",
        policy->has_other_metric ? "    - {name: other, prometheus: {query: other}}\n" : "",
        policy->load_max, policy->max_pods);
    buf_printf(&text,
        "  scores:\n"
        "    - {name: idle, expression: 'node.free.cpu * 10.0', normalize: %s}\n"
        "    - {name: cold, expression: '100.0 - metrics.load * 100.0', onMissing: 20, weight: 3}\n"
        "    - {name: age, expression: 'double((now - "
        "node.metadata.creationTimestamp).getSeconds())"
        "'}\n%s",
        policy->is_normalised ? "minMax" : "none",
        policy->has_other_metric
            ? "    - {name: other, expression: 'metrics.other', onMissing: 50}\n"
            : "");
    if (policy->narrow_to > 0)
        buf_printf(&text, "  narrow: {to: %u}\n", policy->narrow_to);
    buf_printf(&text,
        "---\napiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: room}\n"
        "spec:\n"
        "  filters:\n"
        "    - {name: ready, nodeReady: true, unresolvable: true}\n"
        "    - {name: free, expression: 'node.free.milliCPU >= %u', reason: no room}\n"
        "    - {name: zone, expression: 'node.metadata.labels[?\"zone\"] == "
        "pod.metadata.labels[?\"zone\"]'}\n",
        policy->free_milli);
    source.text = buf_str(&text);
    if (program_compile(&source, 1, &diags, &program) != 0) {
        diag_list_print(&diags, /* colour= */ false, &messages);
        fail_msg("%.*s", STR_FMT(buf_str(&messages)));
    }
    return program;
}

/* --- the cluster ------------------------------------------------------------------------------ */

static inline void random_cluster_apply_node(RandomCluster *cluster, unsigned i) {
    char name[16], annotation[64];
    unsigned load = random_pick(cluster, 120);
    Label label = {STR("zone"), random_pick(cluster, 2) ? STR("a") : STR("b")};
    Label note = {STR("load"), STR_NULL};
    Resource resources[] = {{STR("cpu"), 4000}, {STR("memory"), INT64_C(8) << 30}};
    Node node = {
        .is_ready = random_pick(cluster, 10) > 0,
        .created_at = RANDOM_NOW_SEC - (int64_t)random_pick(cluster, 90),
        .labels = {.items = &label, .n = 1},
        .annotations = {.items = &note, .n = random_pick(cluster, 2)},
        .allocatable = {.items = resources, .n = ELEMENTS_OF(resources)},
    };

    (void)snprintf(name, sizeof(name), "n%u", i);
    (void)snprintf(annotation, sizeof(annotation), "%u.%02u,2026-01-02T03:0%u:%02uZ", load / 100,
        load % 100, 3 + random_pick(cluster, 3), random_pick(cluster, 60));
    node.name = str_from_c(name);
    note.value = str_from_c(annotation);
    assert_int_equal(store_apply_node(cluster->store, &node), 0);
}

/* A running pod, a nominated pod, or a pod bound a moment ago. */
static inline void random_cluster_apply_pod(RandomCluster *cluster) {
    char name[16], node[16];
    Resource request = {STR("cpu"), 100 + random_pick(cluster, 900)};
    Pod pod = {
        .namespace = STR("default"),
        .owner_kind = STR("ReplicaSet"),
        .owner_name = STR("web"),
        .created_at = random_cluster_now(cluster) / RANDOM_SEC - 5,
        .scheduled_at =
            random_cluster_now(cluster) / RANDOM_SEC - (int64_t)random_pick(cluster, 100),
        .priority = random_pick(cluster, 2),
        .requests = {.items = &request, .n = 1},
    };

    (void)snprintf(name, sizeof(name), "p%u", cluster->n_pods++);
    (void)snprintf(node, sizeof(node), "n%u", random_pick(cluster, cluster->n_nodes));
    pod.name = pod.uid = str_from_c(name);
    if (cluster->is_calm)
        pod.scheduled_at = RANDOM_NOW_SEC - 1000;
    switch (cluster->is_calm ? 2 : random_pick(cluster, 6)) {
    case 0:
        pod.nominated_node_name = str_from_c(node);
        break;
    case 1:
        assert_true(store_assume(cluster->store, &pod, str_from_c(node), INT64_MAX) >= 0);
        return;
    default:
        pod.node_name = str_from_c(node);
        break;
    }
    assert_true(store_apply_pod(cluster->store, &pod) >= 0);
}

/* Measures some nodes, with values of different ages, in the order of the program's gauges. */
static inline void random_cluster_measure(RandomCluster *cluster, Snapshot *snapshot) {
    NodeNames *names = (NodeNames *)(uintptr_t)snapshot_table(snapshot)->names;
    Measurements *made = measurements_new(1, cluster->program->n_gauges);

    assert_non_null(made);
    for (size_t i = 0; i < made->n; i++) {
        const Gauge *gauge = &cluster->program->gauges[i];

        if (gauge->source == GAUGE_ANNOTATION || str_is(gauge->query, "other"))
            continue;
        made->items[i] =
            measurement_new(names, random_cluster_now(cluster), random_cluster_uptime(cluster));
        assert_non_null(made->items[i]);
        for (uint32_t row = 0; row < names->n_rows; row++)
            if (random_pick(cluster, 4) > 0)
                assert_int_equal(
                    measurement_set(made->items[i], row, random_pick(cluster, 100) / 100.0,
                        random_pick(cluster, 35) * RANDOM_SEC),
                    0);
        if (gauge->is_of_pods) {
            assert_int_equal(measurement_reserve_workloads(made->items[i], 1), 0);
            assert_int_equal(
                measurement_set_workload(made->items[i], STR("default/ReplicaSet/web"), 0.25), 0);
        }
    }
    measurements_unref(cluster->measurements);
    cluster->measurements = made;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Makes a new view of the current state, as the daemon does. */
static inline void random_cluster_publish(RandomCluster *cluster, bool is_measured) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *before = cluster->view;

    assert_int_equal(store_publish(cluster->store, &snapshot), 0);
    if (is_measured)
        random_cluster_measure(cluster, snapshot);
    assert_int_equal(view_new(&(ViewParts){.snapshot = snapshot,
                                  .program = cluster->program,
                                  .measurements = cluster->measurements,
                                  .now_nsec = random_cluster_now(cluster),
                                  .uptime_nsec = random_cluster_uptime(cluster)},
                         before, &cluster->view),
        0);
    cluster->view->generation = before ? before->generation + 1 : 1;
    view_unref(before);
}

static inline void random_cluster_open(RandomCluster *cluster, uint64_t seed, unsigned n_nodes) {
    RandomPolicy policy;

    *cluster = (RandomCluster){
        .rng = {.state = seed},
        .n_nodes = n_nodes,
        .is_calm = seed % 2,
        .store = store_new(),
    };
    assert_non_null(cluster->store);
    policy = random_policy(cluster);
    cluster->program = random_cluster_compile(&policy);
    for (unsigned i = 0; i < n_nodes; i++)
        random_cluster_apply_node(cluster, i);
    for (unsigned i = 0; i < 2 * n_nodes; i++)
        random_cluster_apply_pod(cluster);
    random_cluster_publish(cluster, /* is_measured= */ true);
}

static inline void random_cluster_close(RandomCluster *cluster) {
    view_unref(cluster->view);
    measurements_unref(cluster->measurements);
    program_unref(cluster->program);
    store_free(cluster->store);
}

/* Changes something, or only advances time. */
static inline void random_cluster_step(RandomCluster *cluster) {
    char name[16];

    cluster->elapsed_nsec +=
        random_pick(cluster, 12) * (cluster->is_calm ? RANDOM_SEC / 20 : RANDOM_SEC);
    (void)snprintf(name, sizeof(name), "n%u", random_pick(cluster, cluster->n_nodes));
    switch (random_pick(cluster, 6)) {
    case 0:
        random_cluster_apply_node(cluster, random_pick(cluster, cluster->n_nodes));
        break;
    case 1:
        store_remove_node(cluster->store, str_from_c(name));
        break;
    case 2:
        (void)snprintf(name, sizeof(name), "p%u", random_pick(cluster, cluster->n_pods));
        store_remove_pod(cluster->store, STR("default"), str_from_c(name), STR_NULL);
        break;
    case 3:
        break;
    default:
        random_cluster_apply_pod(cluster);
        break;
    }
    random_cluster_publish(cluster, random_pick(cluster, 3) == 0);
}

/* A request for some of the nodes, in some order, with unknown ones among them; in @arena. */
static inline Str random_cluster_request(RandomCluster *cluster, unsigned pod, Arena *arena) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1 << 24);
    unsigned first = random_pick(cluster, cluster->n_nodes), share = 1 + random_pick(cluster, 4);
    bool needs_comma = false;

    buf_printf(&body,
        "{\"Pod\":{\"metadata\":{\"namespace\":\"default\",\"name\":\"new%u\",\"uid\":\"new%u\","
        "\"labels\":{\"zone\":\"%s\"}},\"spec\":{\"priority\":%u,\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"%um\"}}}]}},\"NodeNames\":[",
        pod, pod, pod % 3 ? "a" : "b", pod % 2, 100 + pod % 7 * 100);
    for (unsigned i = 0; i < cluster->n_nodes; i++) {
        if (random_pick(cluster, 4) >= share)
            continue;
        buf_printf(&body, "%s\"n%u\"", needs_comma ? "," : "", (first + i) % cluster->n_nodes);
        needs_comma = true;
    }
    if (random_pick(cluster, 4) == 0)
        buf_printf(&body, "%s\"gh\\u006fst\"", needs_comma ? "," : "");
    buf_append(&body, STR("]}"));
    return arena_copy(arena, buf_str(&body));
}

static inline void random_request_answer(
    const View *view, Verb verb, int64_t now_nsec, Str body, Arena *arena, Answer *ret) {
    const RequestTime time = {.now_nsec = now_nsec};

    if (verb == VERB_FILTER)
        extender_filter(view, &time, body, arena, ret);
    else
        extender_prioritize(view, &time, body, arena, ret);
    assert_int_equal(ret->status, 200);
    assert_non_null(ret->decision.args);
}
