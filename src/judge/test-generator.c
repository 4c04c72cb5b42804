#include "judge/test-generator.h"

#include "base/test-assert.h"

#define GENERATED_PODS 600u

static unsigned pick(Rng *rng, unsigned n) {
    return (unsigned)rng_pick(rng, n);
}

static const char *pick_word(Rng *rng, const char *const *words) {
    unsigned n = 0;

    while (words[n])
        n++;
    return words[pick(rng, n)];
}

#define PICK(rng, ...) pick_word((rng), (const char *const[]){__VA_ARGS__, NULL})

/* --- expressions ----------------------------------------------------------------------- */

typedef enum Sort { BOOL, INT, DOUBLE, TEXT, TIME } Sort;

static void write_any(Rng *rng, Sort sort, unsigned depth, bool in_pods, Buf *out);

/* Fills @format: %b %i %d %t %T with parts of that type, %k with a key, %c with a comparison, %B %I
 * %D with parts that may read the pod p of a loop. */
static void write_form(Rng *rng, const char *format, unsigned depth, bool in_pods, Buf *out) {
    for (const char *c = format; *c; c++) {
        if (*c != '%') {
            buf_append_char(out, *c);
            continue;
        }
        switch (*++c) {
        case 'b':
            write_any(rng, BOOL, depth, in_pods, out);
            break;
        case 'i':
            write_any(rng, INT, depth, in_pods, out);
            break;
        case 'd':
            write_any(rng, DOUBLE, depth, in_pods, out);
            break;
        case 't':
            write_any(rng, TEXT, depth, in_pods, out);
            break;
        case 'T':
            write_any(rng, TIME, depth, in_pods, out);
            break;
        case 'B':
            write_any(rng, BOOL, depth, true, out);
            break;
        case 'I':
            write_any(rng, INT, depth, true, out);
            break;
        case 'D':
            write_any(rng, DOUBLE, depth, true, out);
            break;
        case '%':
            buf_append_char(out, '%');
            break;
        case 'k':
            buf_printf(out, "%s", PICK(rng, "a", "b", "zone", "n"));
            break;
        case 'c':
            buf_printf(out, "%s", PICK(rng, "<", "<=", ">", ">=", "==", "!="));
            break;
        default:
            fail_msg("no such form: %s", format);
        }
    }
}

/* Leaves, and forms with parts. Loops over pods have one more variable. */
static const char *const leaves[][16] = {
    [BOOL] = {"true", "false", "node.ready", "node.spec.unschedulable",
        "('%k' in node.metadata.labels)", "has(pod.metadata.creationTimestamp)",
        "('%k' in pod.metadata.labels)", "has(node.metadata.labels.%k)",
        "(pod.metadata.labels['%k'] in node.metadata.labels)",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('a')].hasValue()",
        "has(metrics.load)", "(metrics.load > 0.5)", "(metrics.load.age < duration('20s'))",
        "has(workload.metrics.podCpu)"},
    [INT] = {"0", "1", "7", "9223372036854775807", "pod.spec.priority", "node.pods.size()",
        "cluster.nodes", "size(node.metadata.labels)", "int(node.metadata.labels['n'])",
        "size(node.spec.taints)"},
    [DOUBLE] = {"0.0", "1.5", "-2.0", "1e300", "node.free.cpu", "node.allocatable.memory",
        "node.requested['nvidia.com/gpu']", "pod.requests.cpu", "pod.requests.milliCPU",
        "node.free.milliCPU", "cluster.allocatable.cpu", "double(node.metadata.labels['n'])",
        "node.free[pod.metadata.labels[?'%k'].orValue('cpu')]", "metrics.load", "metrics.podCpu",
        "workload.metrics.podCpu"},
    [TEXT] = {"''", "'a'", "'x'", "node.metadata.labels['%k']", "pod.metadata.labels['%k']",
        "node.metadata.labels[?'%k'].orValue('')", "pod.metadata.labels[?'%k'].orValue('x')",
        "node.metadata.name", "pod.metadata.namespace", "pod.owner",
        "node.metadata.labels[pod.metadata.labels['%k']]",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('b')].orValue('x')"},
    [TIME] = {"now", "node.metadata.creationTimestamp", "timestamp('2026-01-01T00:00:00Z')",
        "timestamp('9999-12-31T23:59:59Z')", "timestamp('0001-01-01T00:00:00Z')"},
};

static const char *const pod_leaves[][8] = {
    [BOOL] = {"p.terminating", "('%k' in p.metadata.labels)", "has(p.metadata.labels.%k)",
        "p.metadata.labels[?'%k'].hasValue()", "has(p.metadata.creationTimestamp)",
        "has(p.scheduledTime)"},
    [INT] = {"p.spec.priority", "int(p.metadata.labels['n'])"},
    [DOUBLE] = {"p.requests.cpu", "p.requests['memory']"},
    [TEXT] = {"p.metadata.labels['%k']", "p.metadata.labels[?'%k'].orValue('')",
        "p.metadata.labels[?'%k'].value()", "p.owner", "p.metadata.uid", "p.metadata.namespace"},
    [TIME] = {"p.metadata.creationTimestamp", "p.scheduledTime"},
};

static const char *const forms[][32] = {
    [BOOL] = {"(%b && %b)", "(%b || %b)", "!%b", "(%b ? %b : %b)", "(%i %c %i)", "(%d %c %d)",
        "(%t == %t)", "(%t != %t)", "(%t %c %t)", "%t.startsWith(%t)", "(%t in ['a', 'x', ''])",
        "%t.matches('^[ax]+$')", "(%T - %T %c duration('100s'))", "(%T %c %T)",
        "(now - %T < duration('1h'))", "(%t in pod.metadata.labels)", "(%b == %b)", "(%i < %d)"},
    [INT] = {"(%i + %i)", "(%i - %i)", "(%i * %i)", "(%i / %i)", "(%i %% %i)", "(%b ? %i : %i)",
        "size(%t)", "-%i", "int(%d)", "int(%t)"},
    [DOUBLE] = {"(%d + %d)", "(%d - %d)", "(%d * %d)", "(%d / %d)", "(%b ? %d : %d)", "double(%i)",
        "-%d", "math.least(%d, %d)", "math.abs(%d)", "math.sqrt(%d)", "math.floor(%d)"},
    [TEXT] = {"(%t + %t)", "(%b ? %t : %t)", "%t.upperAscii()", "string(%i)"},
    [TIME] = {"(%T + duration('90s'))", "(%b ? %T : %T)"},
};

/* Loops over pods, which are never nested. */
static const char *const loops[][8] = {
    [BOOL] = {"node.pods.exists(p, %B)", "node.pods.all(p, %B)", "node.pods.exists_one(p, %B)",
        "node.domain('zone').pods.exists(p, %B)", "node.spec.taints.all(t, pod.tolerates(t))",
        "node.spec.taints.all(t, pod.tolerates(t.text))",
        "node.spec.taints.exists(t, t.key == pod.metadata.namespace)"},
    [INT] = {"node.pods.filter(p, %B).size()", "node.pods.map(p, %I).sum()",
        "node.domain('zone').pods.filter(p, %B).size()",
        "cluster.domains('zone').map(d, d.pods.filter(p, %B).size()).min()",
        "node.pods.filter(p, %B).map(p, %I).sum()"},
    [DOUBLE] = {"node.pods.map(p, %D).sum()", "node.pods.map(p, %B, %D).sum()",
        "node.domain('zone').pods.map(p, %D).sum()"},
    [TEXT] = {"node.pods.map(p, p.owner).join(',')"},
    [TIME] = {"node.pods[0].metadata.creationTimestamp"},
};

static const char *choose(Rng *rng, const char *const *list, unsigned room) {
    unsigned n = 0;

    while (n < room && list[n])
        n++;
    return list[pick(rng, n)];
}

static void write_any(Rng *rng, Sort sort, unsigned depth, bool in_pods, Buf *out) {
    if (depth == 0 || pick(rng, 4) == 0) {
        bool of_pod = in_pods && pick(rng, 2);

        write_form(rng, of_pod ? choose(rng, pod_leaves[sort], 8) : choose(rng, leaves[sort], 16),
            0, in_pods, out);
    } else if (!in_pods && pick(rng, 4) == 0) {
        write_form(rng, choose(rng, loops[sort], 8), depth - 1, false, out);
    } else {
        write_form(rng, choose(rng, forms[sort], 32), depth - 1, in_pods, out);
    }
}

/* --- policies and clusters ---------------------------------------------------------------- */

#define METRICS                                                                                    \
    "{name: load, prometheus: {query: load}, maxAge: 30s}, "                                       \
    "{name: podCpu, resourceMetrics: cpu, pods: {}}"

static void write_fallbacks(Rng *rng, Sort sort, Buf *out) {
    static const char *const fields[] = {"onError", "onMissing"};

    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        if (pick(rng, 2))
            continue;
        if (sort == BOOL)
            buf_printf(out, "      %s: %s\n", fields[i], PICK(rng, "allow", "reject"));
        else
            buf_printf(out, "      %s: %u\n", fields[i], pick(rng, 101));
    }
    if (sort != BOOL)
        buf_printf(out, "      normalize: %s\n", PICK(rng, "none", "none", "minMax", "rank"));
}

static void write_rule(Rng *rng, unsigned i, Sort sort, Buf *out) {
    buf_printf(out, "    - name: r%u\n", i);
    write_fallbacks(rng, sort, out);
    buf_append(out, STR("      expression: |\n        "));
    write_any(rng, sort, 1 + pick(rng, 4), false, out);
    buf_append(out, STR("\n"));
}

void generate_policy(Rng *rng, Buf *out) {
    buf_append(out,
        STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
            "  metrics: [" METRICS "]\n  filters:\n"));
    for (unsigned i = 0; i < GENERATED_RULES; i++)
        write_rule(rng, i, BOOL, out);
    buf_append(out, STR("  scores:\n"));
    for (unsigned i = GENERATED_RULES; i < 2 * GENERATED_RULES; i++)
        write_rule(rng, i, pick(rng, 2) ? INT : DOUBLE, out);
}

static void write_labels(Rng *rng, Buf *out) {
    buf_append(out, STR("labels: {"));
    if (pick(rng, 3))
        buf_printf(out, "a: %s, ", PICK(rng, "a", "x", "aax", "''"));
    if (pick(rng, 3))
        buf_printf(out, "zone: %s, ", PICK(rng, "a", "b", "x"));
    if (pick(rng, 3))
        buf_printf(out, "n: '%s'", PICK(rng, "0", "12", "-3", "x", "9223372036854775807"));
    buf_append(out, STR("}"));
}

/* For some nodes or none; sometimes older than maxAge. */
static void write_measured(Rng *rng, Buf *out) {
    static const char *const names[] = {"load", "podCpu"};

    buf_printf(out, "measuredAge: %s\nmeasured:\n", PICK(rng, "0s", "10s", "29s", "31s", "60s"));
    for (size_t m = 0; m < ELEMENTS_OF(names); m++) {
        unsigned share = pick(rng, 4);

        buf_printf(out, "  %s: {", names[m]);
        for (unsigned i = 0; i < GENERATED_NODES; i++)
            if (pick(rng, 3) < share)
                buf_printf(out, "n%u: %s, ", i, PICK(rng, "0.25", "0.5", "0.75", "3", ".nan", "0"));
        buf_append(out, STR("}\n"));
    }
    if (pick(rng, 2))
        buf_append(out, STR("workloads: {podCpu: {team-a/ReplicaSet/o1: 1.5}}\n"));
}

void generate_scene(Rng *rng, Buf *out) {
    buf_append(out, STR("policy: {metrics: [" METRICS "]}\n"));
    write_measured(rng, out);
    buf_append(out, STR("now: 2026-02-03T04:05:06Z\nnodes:\n"));
    for (unsigned i = 0; i < GENERATED_NODES; i++) {
        buf_printf(out, "  n%u: {", i);
        write_labels(rng, out);
        buf_printf(out, ", ready: %s, cordoned: %s, allocatable: {cpu: %u%s}%s%s}\n",
            PICK(rng, "true", "false"), PICK(rng, "true", "false"), pick(rng, 9),
            PICK(rng, "", ", memory: 4Gi", ", nvidia.com/gpu: 2"),
            PICK(rng, "", ", created: 2026-02-03T04:00:00Z", ", created: 9999-12-31T00:00:00Z"),
            PICK(rng, "", ", taints: [{key: team-a, effect: NoSchedule}]"));
    }
    buf_append(out, STR("pods:\n"));
    for (unsigned i = 0; i < GENERATED_PODS; i++) {
        buf_printf(out, "  - {on: n%u, uid: u%u, ", pick(rng, GENERATED_NODES), i);
        write_labels(rng, out);
        buf_printf(out, ", namespace: %s, owner: %s, priority: %u, requests: {cpu: %um}%s}\n",
            PICK(rng, "team-a", "team-b"), PICK(rng, "o1", "o2"), pick(rng, 3), pick(rng, 999),
            PICK(rng, "", ", created: 2026-02-03T04:04:00Z", ", created: 9999-12-31T00:00:00Z"));
    }
    buf_append(out, STR("pod: {namespace: team-a, uid: me, owner: o1, requests: {cpu: 250m}, "));
    write_labels(rng, out);
    buf_append(out, STR("}\n"));
    buf_append_char(out, '\0');
}
