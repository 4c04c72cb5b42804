#include "extender/test-random-scene.h"

#include <limits.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define PODS_MAX 20u
#define TEXT_MAX ((size_t)1 << 20)

static unsigned pick(Rng *rng, unsigned n) {
    return (unsigned)rng_pick(rng, n);
}

#define ONE_OF(rng, array) ((array)[rng_pick((rng), ELEMENTS_OF(array))])

static const char *const filters[] = {
    "nodeLabels: {pool: a}",
    "nodeLabels: {pool: [a, b]}",
    "nodeLabels: {pool: {notIn: [a]}, gen: {gt: 2}}",
    "nodeLabels: {gen: {lt: 4}}",
    "nodeLabels: {gpu: {exists: true}}",
    "nodeLabels: {gpu: {absent: true}}",
    "nodeReady: true",
    "tolerations: true",
    "headroom: {cpu: 1}",
    "headroom: {cpu: 30%, memory: 1Gi}",
    "headroom: {example.com/dev: 1}",
    "maxPods: 2",
    "maxPods: {limit: 1, podSelector: {matchLabels: {app: web}}}",
    "expression: \"node.metadata.name.replace('n', 'pod') != pod.metadata.name\"",
    "expression: \"node.metadata.labels[?'gpu'].hasValue() || pod.metadata.namespace == 'x'\"",
    "metricLimit: {metric: load, max: 0.8}",
    "metricLimit: {metric: written, min: 10, max: 80}",
    "expression: \"metrics.used + pod.requests.cpu < node.allocatable.cpu\"",
    "expression: \"metrics.load.measured < 0.7 || has(metrics.written)\"",
    "expression: \"metrics.?podCpu.orValue(0.5) < 1.0\"",
    "expression: \"workload.metrics.podCpu < node.free.cpu\"",
    "expression: \"cel.bind(m, metrics, m.load + m.used < 2.0)\"",
};

/* All policies declare the same metrics, except for one name: these are measured once for all. */
static const char metrics[] = "metrics: ["
                              "{name: load, prometheus: {query: q},"
                              " placements: {resource: cpu, unit: fraction, settle: 60s}}, "
                              "{name: used, resourceMetrics: cpu, placements: {by: podCpu}}, "
                              "{name: podCpu, resourceMetrics: cpu, pods: {}}, "
                              "{name: written, annotation: {key: written}, maxAge: 30s,"
                              " placements: {resource: memory, unit: percent, settle: 20s}}, "
                              "{name: other%u, resourceMetrics: cpu, placements: {by: podCpu}}], ";

static const char *const scores[] = {
    "binPack: {cpu: 2, memory: 1}",
    "spread: {cpu: 1}",
    "spread: {memory: 3, example.com/dev: 1}",
    "balance: [cpu, memory]",
    "nodeLabelPreference: {key: pool, values: {a: 100, b: 35}, otherwise: 5}",
    "metricScore: {metric: load, low: 0, high: 1.5, prefer: low}",
    "expression: \"100.0 - metrics.used * 10.0 - metrics.written\"",
};

static const char *const matches[] = {
    "",
    "match: {namespaces: [x]}, ",
    "match: {podSelector: {matchLabels: {app: web}}}, ",
    ("match: {namespaces: [x, y], podSelector: {matchExpressions: [{key: app, operator: "
     "Exists}]}}, "),
};

static void draw_metrics(unsigned number, Buf *out) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buf_printf(out, metrics, number);
#pragma GCC diagnostic pop
}

static void draw_policy(Rng *rng, unsigned number, Buf *out) {
    unsigned n_filters = pick(rng, 5), n_scores = pick(rng, 4);

    buf_printf(out, "  p%u: {mode: %s, %s", number, pick(rng, 4) ? "Enforce" : "Observe",
        ONE_OF(rng, matches));
    if (pick(rng, 4) == 0)
        buf_printf(out, "narrow: {to: %u}, ", 1 + pick(rng, 4));
    buf_printf(out, "onTimeout: %s, ", pick(rng, 2) ? "allow" : "reject");
    draw_metrics(number, out);
    buf_append(out, STR("filters: ["));
    for (unsigned i = 0; i < n_filters; i++)
        buf_printf(out, "%s{name: f%u, %s, reason: \"p%u f%u\", unresolvable: %s, onMissing: %s}",
            i ? ", " : "", i, ONE_OF(rng, filters), number, i, pick(rng, 3) ? "false" : "true",
            pick(rng, 2) ? "allow" : "reject");
    buf_append(out, STR("], scores: ["));
    for (unsigned i = 0; i < n_scores; i++)
        buf_printf(out, "%s{name: s%u, %s, weight: %u, onMissing: %u}", i ? ", " : "", i,
            ONE_OF(rng, scores), 1 + pick(rng, 9), pick(rng, 101));
    buf_append(out, STR("]}\n"));
}

static void draw_node(Rng *rng, unsigned number, Buf *out) {
    static const char *const labels[] = {"pool: a", "pool: b", "pool: c", "pool: a, gpu: ''"};
    static const char *const taints[] = {"", "", "{key: gpu, effect: NoSchedule}",
        "{key: gpu, effect: NoExecute}, {key: x, value: y, effect: NoSchedule}",
        "{key: soft, effect: PreferNoSchedule}"};

    buf_printf(out, "  n%u: {labels: {%s, gen: '%u'}, taints: [%s], ready: %s, cordoned: %s",
        number, ONE_OF(rng, labels), pick(rng, 6), ONE_OF(rng, taints),
        pick(rng, 6) ? "true" : "false", pick(rng, 6) ? "false" : "true");
    if (pick(rng, 3))
        buf_printf(out, ", annotations: {written: '%u,2026-01-02T03:0%u:%02uZ'}", pick(rng, 100),
            3 + pick(rng, 2), pick(rng, 20));
    buf_printf(out, ", allocatable: {cpu: %u, memory: %uGi%s}}\n", pick(rng, 9), pick(rng, 9),
        pick(rng, 3) ? "" : ", example.com/dev: 2");
}

#define NOWHERE UINT_MAX

static void draw_pod(Rng *rng, unsigned number, unsigned node, Buf *out) {
    static const char *const labels[] = {"", "app: web", "app: db"};
    static const char *const tolerations[] = {
        "", "{operator: Exists}", "{key: gpu, operator: Exists}", "{key: x, value: y}"};
    static const char *const phases[] = {"Running", "Pending", "Succeeded"};

    buf_printf(
        out, "{name: pod%u, uid: u%u, namespace: %s", number, number, pick(rng, 2) ? "x" : "z");
    buf_printf(
        out, ", labels: {%s}, tolerations: [%s]", ONE_OF(rng, labels), ONE_OF(rng, tolerations));
    buf_printf(out, ", requests: {cpu: %um, memory: %uMi%s}", pick(rng, 3000), pick(rng, 3000),
        pick(rng, 4) ? "" : ", example.com/dev: 1");
    if (pick(rng, 3))
        buf_printf(out, ", owner: w%u", pick(rng, 3));
    if (node != NOWHERE)
        buf_printf(out, ", on: n%u, phase: %s, scheduled: 2026-01-02T03:0%u:%02uZ", node,
            ONE_OF(rng, phases), 3 + pick(rng, 2), pick(rng, 60));
    buf_append(out, STR("}"));
}

/* Measurements of some nodes and workloads: numbers, and values that are not finite. */
static void draw_measured(Rng *rng, unsigned n_nodes, Buf *out) {
    static const char *const measured[] = {"load", "used", "podCpu"};
    static const char *const numbers[] = {
        "0.0", "-0.0", "1.0e-310", "0.4", "0.75", "0.9", "1.5", "-2.0", "1.0e+300", ".nan"};

    buf_append(out, STR("measuredAge: 5s\nmeasured:\n"));
    for (size_t i = 0; i < ELEMENTS_OF(measured); i++) {
        buf_printf(out, "  %s: {", measured[i]);
        for (unsigned node = 0; node < n_nodes; node++)
            if (pick(rng, 4))
                buf_printf(out, "n%u: %s, ", node, ONE_OF(rng, numbers));
        buf_append(out, STR("}\n"));
    }
    buf_append(out, STR("workloads: {podCpu: {"));
    for (unsigned i = 0; i < 2; i++)
        buf_printf(out, "x/ReplicaSet/w%u: %s, ", i, ONE_OF(rng, numbers));
    buf_append(out, STR("}}\n"));
}

Str random_scene(Rng *rng, Arena *arena, unsigned *ret_n_nodes) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    unsigned n_policies = pick(rng, 4), n_pods = pick(rng, PODS_MAX), number = pick(rng, PODS_MAX);
    unsigned homes[PODS_MAX];

    *ret_n_nodes = 1 + pick(rng, RANDOM_NODES_MAX);
    buf_append(&text, n_policies ? STR("policies:\n") : STR_NULL);
    for (unsigned i = 0; i < n_policies; i++)
        draw_policy(rng, i, &text);
    buf_append(&text, STR("nodes:\n"));
    for (unsigned i = 0; i < *ret_n_nodes; i++)
        draw_node(rng, i, &text);
    if (n_policies > 0)
        draw_measured(rng, *ret_n_nodes, &text);
    buf_append(&text, n_pods ? STR("pods:\n") : STR_NULL);
    for (unsigned i = 0; i < n_pods; i++) {
        homes[i] = pick(rng, *ret_n_nodes + 1); /* one node does not exist */
        buf_append(&text, STR("  - "));
        draw_pod(rng, i, homes[i], &text);
        buf_append(&text, STR("\n"));
    }
    buf_append(&text, STR("pod: ")); /* sometimes the pod already runs */
    draw_pod(rng, number, number < n_pods && pick(rng, 3) == 0 ? homes[number] : NOWHERE, &text);
    buf_append(&text, STR("\n"));
    return arena_copy(arena, buf_str(&text));
}
