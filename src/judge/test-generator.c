#include "judge/test-generator.h"

#include "base/fuzz.h"

#define GENERATED_PODS 600u

/* --- expressions ----------------------------------------------------------------------- */

typedef enum Sort { BOOL, INT, DOUBLE, TEXT, TIME } Sort;

static void write_any(Choices *choices, Sort sort, unsigned depth, bool in_pods, Buf *out);

/* Fills @format: %b %i %d %t %T with parts of that type, %k with a key, %w with a label's value, %n
 * with a number, %c with a comparison, %B %I %D with parts that may read the pod p of a loop. */
static void write_form(
    Choices *choices, const char *format, unsigned depth, bool in_pods, Buf *out) {
    for (const char *c = format; *c; c++) {
        if (*c != '%') {
            buf_append_char(out, *c);
            continue;
        }
        switch (*++c) {
        case 'b':
            write_any(choices, BOOL, depth, in_pods, out);
            break;
        case 'i':
            write_any(choices, INT, depth, in_pods, out);
            break;
        case 'd':
            write_any(choices, DOUBLE, depth, in_pods, out);
            break;
        case 't':
            write_any(choices, TEXT, depth, in_pods, out);
            break;
        case 'T':
            write_any(choices, TIME, depth, in_pods, out);
            break;
        case 'B':
            write_any(choices, BOOL, depth, true, out);
            break;
        case 'I':
            write_any(choices, INT, depth, true, out);
            break;
        case 'D':
            write_any(choices, DOUBLE, depth, true, out);
            break;
        case '%':
            buf_append_char(out, '%');
            break;
        case 'k':
            buf_printf(out, "%s", CHOOSE(choices, "a", "b", "zone", "n"));
            break;
        case 'w':
            buf_printf(out, "%s", CHOOSE(choices, "a", "b", "x", "aax"));
            break;
        case 'n':
            buf_printf(out, "%s", CHOOSE(choices, "1", "2", "3", "10"));
            break;
        case 'c':
            buf_printf(out, "%s", CHOOSE(choices, "<", "<=", ">", ">=", "==", "!="));
            break;
        default:
            require(!"a form of the tables");
        }
    }
}

/* Leaves have no parts. In loops over pods, leaves may also read the variable p (pod_leaves). */
#define LEAVES_MAX 24u

static const char *const leaves[][LEAVES_MAX] = {
    [BOOL] = {"true", "false", "node.ready", "node.spec.unschedulable",
        "('%k' in node.metadata.labels)", "has(pod.metadata.creationTimestamp)",
        "('%k' in pod.metadata.labels)", "has(node.metadata.labels.%k)",
        "(pod.metadata.labels['%k'] in node.metadata.labels)",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('a')].hasValue()",
        "has(metrics.load)", "(metrics.load > 0.5)", "(metrics.load.age < duration('20s'))",
        "has(workload.metrics.podCpu)", "('%k' in namespace.metadata.labels)",
        "pod.spec.topologySpreadConstraints.exists(c, c.topologyKey == '%k')",
        "pod.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.exists("
        "t, t.topologyKey in node.metadata.labels && has(t.labelSelector))",
        "pod.claims.all(c, c.selects(node))",
        "(node.metadata.labels[?'%k'].orValue('a') in pod.claims[0].zones)"},
    [INT] = {"0", "1", "7", "9223372036854775807", "pod.spec.priority", "node.pods.size()",
        "cluster.nodes", "size(node.metadata.labels)", "int(node.metadata.labels['n'])",
        "size(node.spec.taints)"},
    [DOUBLE] = {"0.0", "1.5", "-2.0", "1e300", "node.free.cpu", "node.allocatable.memory",
        "node.requested['nvidia.com/gpu']", "pod.requests.cpu", "pod.requests.milliCPU",
        "node.free.milliCPU", "cluster.allocatable.cpu", "double(node.metadata.labels['n'])",
        "node.free[pod.metadata.labels[?'%k'].orValue('cpu')]", "metrics.load", "metrics.podCpu",
        "workload.metrics.podCpu", "node.capacity.cpu", "node.capacity['nvidia.com/gpu']",
        "pod.limits.cpu", "pod.limits[node.metadata.labels[?'%k'].orValue('memory')]"},
    [TEXT] = {"''", "'a'", "'x'", "node.metadata.labels['%k']", "pod.metadata.labels['%k']",
        "node.metadata.labels[?'%k'].orValue('')", "pod.metadata.labels[?'%k'].orValue('x')",
        "node.metadata.name", "pod.metadata.namespace", "pod.owner",
        "node.status.nodeInfo.kernelVersion", "pod.spec.priorityClassName", "pod.workload.name",
        "node.metadata.labels[pod.metadata.labels['%k']]", "namespace.metadata.labels['%k']",
        "node.metadata.labels[?namespace.metadata.annotations[?'%k'].orValue('a')].orValue('x')",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('b')].orValue('x')"},
    [TIME] = {"now", "node.metadata.creationTimestamp", "timestamp('2026-01-01T00:00:00Z')",
        "timestamp('9999-12-31T23:59:59Z')", "timestamp('0001-01-01T00:00:00Z')"},
};

#define POD_LEAVES_MAX 16u

static const char *const pod_leaves[][POD_LEAVES_MAX] = {
    [BOOL] = {"p.terminating", "('%k' in p.metadata.labels)", "has(p.metadata.labels.%k)",
        "p.metadata.labels[?'%k'].hasValue()", "has(p.metadata.creationTimestamp)",
        "has(p.scheduledTime)", "('%k' in p.metadata.annotations)", "p.spec.hostNetwork",
        "has(p.metadata.annotations.%k)", "p.metadata.annotations[?'%k'].hasValue()",
        "p.spec.containers.exists(c, c.image == 'x' || c.ports.exists(q, q.hostPort == 80))",
        "p.spec.volumes.exists(v, v.claimName == 'a')",
        "p.spec.topologySpreadConstraints.exists(c, c.labelSelector.matchLabels['a'] == 'x')",
        "p.tolerates('team-a:NoSchedule')"},
    [INT] = {"p.spec.priority", "int(p.metadata.labels['n'])", "int(p.metadata.annotations['n'])",
        "p.spec.containers.size()", "p.spec.tolerations.size()",
        "p.spec.initContainers.filter(c, c.restartPolicy == 'Always').size()"},
    [DOUBLE] = {"p.requests.cpu", "p.requests['memory']", "p.limits.cpu",
        "p.spec.containers.map(c, c.limits['memory']).sum()"},
    [TEXT] = {"p.metadata.labels['%k']", "p.metadata.labels[?'%k'].orValue('')",
        "p.metadata.labels[?'%k'].value()", "p.owner", "p.metadata.uid", "p.metadata.namespace",
        "p.metadata.annotations['%k']", "p.metadata.annotations[?'%k'].orValue('')",
        "p.metadata.annotations[?'%k'].value()", "p.status.qosClass", "p.spec.runtimeClassName",
        "p.spec.priorityClassName", "p.workload.name", "p.metadata.ownerReferences[0].name"},
    [TIME] = {"p.metadata.creationTimestamp", "p.scheduledTime"},
};

static const char *const forms[][32] = {
    [BOOL] = {"(%b && %b)", "(%b || %b)", "!%b", "(%b ? %b : %b)", "(%i %c %i)", "(%d %c %d)",
        "(%t == %t)", "(%t != %t)", "(%t %c %t)", "%t.startsWith(%t)", "(%t in ['a', 'x', ''])",
        "%t.matches('^[ax]+$')", "(%T - %T %c duration('100s'))", "(%T %c %T)",
        "(now - %T < duration('1h'))", "(%t in pod.metadata.labels)", "(%b == %b)", "(%i < %d)",
        "dyn(%b)", "[dyn(%b), dyn(%i)][%i]", "(params.since == '' || %T > timestamp(params.since))",
        "(%b || %T > timestamp(params.until))", "(dyn(%d) %c %i)", "variables.flag",
        "{'a': dyn(%b), 'x': dyn(%t)}[%t]"},
    [INT] = {"(%i + %i)", "(%i - %i)", "(%i * %i)", "(%i / %i)", "(%i %% %i)", "(%b ? %i : %i)",
        "size(%t)", "-%i", "int(%d)", "int(%t)", "dyn(%i)", "math.least(%i, %i, %i)"},
    [DOUBLE] = {"(%d + %d)", "(%d - %d)", "(%d * %d)", "(%d / %d)", "(%b ? %d : %d)", "double(%i)",
        "-%d", "math.least(%d, %d)", "math.abs(%d)", "math.sqrt(%d)", "math.floor(%d)",
        "math.greatest(%d, %i)", "math.greatest(%i, %d, %d)", "dyn(%d)", "variables.number",
        "[dyn(%d), dyn(%t)][%i]", "hash(%t)", "hash(%t, %t)", "math.normQuantile(%d)"},
    [TEXT] = {"(%t + %t)", "(%b ? %t : %t)", "%t.upperAscii()", "string(%i)", "dyn(%t)"},
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

static const char *choose_form(Choices *choices, const char *const *list, unsigned room) {
    unsigned n = 0;

    while (n < room && list[n])
        n++;
    return list[choose(choices, n)];
}

static void write_any(Choices *choices, Sort sort, unsigned depth, bool in_pods, Buf *out) {
    if (depth == 0 || choose(choices, 4) == 0) {
        bool reads_pod = in_pods && choose(choices, 2);

        write_form(choices,
            reads_pod ? choose_form(choices, pod_leaves[sort], POD_LEAVES_MAX)
                      : choose_form(choices, leaves[sort], LEAVES_MAX),
            0, in_pods, out);
    } else if (!in_pods && choose(choices, 4) == 0) {
        write_form(choices, choose_form(choices, loops[sort], 8), depth - 1, false, out);
    } else {
        write_form(choices, choose_form(choices, forms[sort], 32), depth - 1, in_pods, out);
    }
}

/* --- policies and clusters ---------------------------------------------------------------- */

#define METRICS                                                                                    \
    "{name: load, prometheus: {query: load}, maxAge: 30s}, "                                       \
    "{name: podCpu, resourceMetrics: cpu, pods: {}}"

static void write_fallbacks(Choices *choices, Sort sort, Buf *out) {
    static const char *const fields[] = {"onError", "onMissing"};

    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        if (choose(choices, 2))
            continue;
        if (sort == BOOL)
            buf_printf(out, "      %s: %s\n", fields[i], CHOOSE(choices, "allow", "reject"));
        else
            buf_printf(out, "      %s: %u\n", fields[i], choose(choices, 101));
    }
    if (sort != BOOL)
        buf_printf(out, "      normalize: %s\n", CHOOSE(choices, "none", "none", "minMax", "rank"));
}

static const char *const built_in_filters[] = {"nodeReady: true", "nodeLabels: {%k: [%w, %w]}",
    "nodeLabels: {%k: {notIn: [%w]}}", "nodeLabels: {n: {gt: %n}}",
    "nodeLabels: {%k: {absent: true}}", "nodeAnnotations: {%k: %w}",
    "nodeConditions: {DiskPressure: \"False\"}", "tolerations: true", "noTaints: [team-a]",
    "dedicated: {key: %k}", "nodeAge: {min: %nm}", "headroom: {cpu: %n%%}",
    "headroom: {cpu: %n, memory: %nGi}", "maxPods: %n", "maxPods: {limit: %n, per: owner}",
    "maxPods: {limit: %n, topologyKey: zone}", "maxFreshPods: {limit: %n, youngerThan: %nm}",
    "podAffinity: {podSelector: {matchLabels: {a: %w}}, topologyKey: %k}",
    "podAntiAffinity: {sameOwner: true}",
    "topologySpread: {topologyKey: zone, maxSkew: %n, sameOwner: true}",
    "topologySpread: {topologyKey: %k, maxSkew: %n, sameOwner: true, nodeAffinityPolicy: Ignore}",
    ("topologySpread: {topologyKey: zone, maxSkew: 1, minDomains: 2, podSelector: {matchLabels: "
     "{a: "
     "%w}}, nodeTaintsPolicy: Honor, nodeLabels: {%k: [%w, %w]}}"),
    "poolHeadroom: {nodeLabels: {%k: [%w, %w]}, pods: %n, requests: {cpu: 1, memory: %nGi}}",
    "poolHeadroom: {nodes: %n, exceptPriorityAtLeast: %n}",
    "metricLimit: {metric: load, max: 0.%n}"};

static const char *const built_in_scores[] = {"binPack: {cpu: %n, memory: %n}", "spread: {cpu: %n}",
    "balance: [cpu, memory]", "nodeLabelPreference: {key: %k, values: {%w: %n}, otherwise: %n}",
    "labelOrder: {key: %k, values: [x, a]}", "labelNumber: {key: n, prefer: low, min: 0, max: %n}",
    "nodeAge: {prefer: old, full: %nd}", "imageLocality: true", "podSpread: {sameOwner: true}",
    "podPack: {full: %n, podSelector: {matchLabels: {a: %w}}}",
    "metricScore: {metric: load, low: 0.%n, high: 20, prefer: low}"};

static void write_rule(Choices *choices, unsigned i, Sort sort, Buf *out) {
    bool is_filter = sort == BOOL;

    buf_printf(out, "    - name: r%u\n", i);
    write_fallbacks(choices, sort, out);
    if (choose(choices, 4) == 3) {
        buf_append(out, STR("      "));
        write_form(choices,
            is_filter ? choose_form(choices, built_in_filters, ELEMENTS_OF(built_in_filters))
                      : choose_form(choices, built_in_scores, ELEMENTS_OF(built_in_scores)),
            0, false, out);
        buf_append(out, STR("\n"));
        return;
    }
    buf_append(out, STR("      expression: |\n        "));
    write_any(choices, sort, 1 + choose(choices, 4), false, out);
    buf_append(out, STR("\n"));
}

static void write_head(Choices *choices, Buf *out) {
    buf_append(out,
        STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
            "  params: {since: '', until: soon}\n"
            "  metrics: [" METRICS "]\n  variables:\n    - name: flag\n      expression: "));
    buf_append(out,
        str_from_c(CHOOSE(choices, "node.ready", "dyn(node.ready)", "dyn(pod.spec.priority)")));
    buf_append(out, STR("\n    - name: number\n      expression: "));
    buf_append(out, str_from_c(CHOOSE(
                        choices, "node.free.cpu", "dyn(node.free.cpu)", "dyn(pod.metadata.name)")));
    buf_append(out, STR("\n  filters:\n"));
}

void generate_policy(Choices *choices, Buf *out) {
    unsigned n = choices->rng ? GENERATED_RULES : 1 + choose(choices, GENERATED_RULES / 4);

    write_head(choices, out);
    for (unsigned i = 0; i < n; i++)
        write_rule(choices, i, BOOL, out);
    buf_append(out, STR("  scores:\n"));
    for (unsigned i = n; i < 2 * n; i++)
        write_rule(choices, i, choose(choices, 2) ? INT : DOUBLE, out);
}

#define DEEP 7u

void generate_expression(Choices *choices, Buf *out) {
    write_head(choices, out);
    buf_append(out, STR("    - name: f\n      expression: |\n        "));
    write_any(choices, BOOL, DEEP, false, out);
    buf_append(out, STR("\n  scores:\n    - name: s\n      expression: |\n        "));
    write_any(choices, choose(choices, 2) ? INT : DOUBLE, DEEP, false, out);
    buf_append(out, STR("\n"));
}

const char generated_small_scene[] =
    "policy: {metrics: [" METRICS "]}\n"
    "now: 2026-02-03T04:05:06Z\n"
    "measured: {load: {n1: 0.5}, podCpu: {n1: 1.5, n2: .nan}}\n"
    "nodes:\n"
    "  n1: {labels: {a: x, zone: b, n: '12'}, allocatable: {cpu: 4, memory: 8Gi}, "
    "capacity: {cpu: 5}, nodeInfo: {kernelVersion: x}}\n"
    "  n2: {ready: false, labels: {zone: b, n: x}, taints: [{key: team-a, effect: NoSchedule}]}\n"
    "pods:\n"
    "  - {on: n1, uid: u1, labels: {a: a, n: '3'}, owner: o1, requests: {cpu: 1, memory: 1Gi}}\n"
    "  - {on: n1, uid: u2, owner: o2, priority: 2, created: 2026-02-03T04:04:00Z, annotations: "
    "{a: x, n: '5'}, limits: {cpu: 2}, spec: {runtimeClassName: x, hostNetwork: true}}\n"
    "  - {on: n2, uid: u3, labels: {zone: x}, owner: o1}\n"
    "pod: {namespace: team-a, uid: me, labels: {a: a, zone: b}, owner: o1, requests: {cpu: 1}, "
    "limits: {cpu: 2}, priorityClassName: a}\n";

static void write_labels(Choices *choices, Buf *out) {
    buf_append(out, STR("labels: {"));
    if (choose(choices, 3))
        buf_printf(out, "a: %s, ", CHOOSE(choices, "a", "x", "aax", "''"));
    if (choose(choices, 3))
        buf_printf(out, "zone: %s, ", CHOOSE(choices, "a", "b", "x"));
    if (choose(choices, 3))
        buf_printf(out, "n: '%s'", CHOOSE(choices, "0", "12", "-3", "x", "9223372036854775807"));
    buf_append(out, STR("}"));
}

/* Measured values for some nodes or none; sometimes older than maxAge. */
static void write_measured(Choices *choices, Buf *out) {
    static const char *const names[] = {"load", "podCpu"};

    buf_printf(
        out, "measuredAge: %s\nmeasured:\n", CHOOSE(choices, "0s", "10s", "29s", "31s", "60s"));
    for (size_t m = 0; m < ELEMENTS_OF(names); m++) {
        unsigned share = choose(choices, 4);

        buf_printf(out, "  %s: {", names[m]);
        for (unsigned i = 0; i < GENERATED_NODES; i++)
            if (choose(choices, 3) < share)
                buf_printf(
                    out, "n%u: %s, ", i, CHOOSE(choices, "0.25", "0.5", "0.75", "3", ".nan", "0"));
        buf_append(out, STR("}\n"));
    }
    if (choose(choices, 2))
        buf_append(out, STR("workloads: {podCpu: {team-a/ReplicaSet/o1: 1.5}}\n"));
}

/* Fields that few pods have. */
static void write_details(Choices *choices, Buf *out) {
    buf_printf(out, "%s", CHOOSE(choices, "", ", limits: {cpu: 2, memory: 1Gi}"));
    buf_printf(out, "%s", CHOOSE(choices, "", ", images: [a, x]"));
    buf_printf(out, "%s",
        CHOOSE(choices, "", ", annotations: {a: x, n: '-3'}", ", annotations: {zone: '', n: x}"));
    buf_printf(out, "%s", CHOOSE(choices, "", ", tolerations: [{key: team-a, operator: Exists}]"));
    buf_printf(out, ", spec: {%s%s%s%s%s%s}", CHOOSE(choices, "", "runtimeClassName: x, "),
        CHOOSE(choices, "", "hostNetwork: true, serviceAccountName: a, "),
        CHOOSE(choices, "", "preemptionPolicy: Never, "),
        CHOOSE(choices, "", "volumes: [{name: v, persistentVolumeClaim: {claimName: a}}], ",
            "initContainers: [{name: s, restartPolicy: Always, ports: [{hostPort: 80}]}], "),
        CHOOSE(choices, "", "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1}], ",
            "topologySpreadConstraints: [{topologyKey: a, labelSelector: {matchLabels: {a: "
            "x}}}], "),
        CHOOSE(choices, "",
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: zone, labelSelector: {}}]}}, "));
}

#define CLAIM                                                                                      \
    "{metadata: {name: x}, spec: {volumeName: v}, volume: {metadata: {name: v}, spec: "            \
    "{nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: "    \
    "In, values: [a, b]}]}]}}}}}"

void generate_scene(Choices *choices, Buf *out) {
    buf_append(out, STR("policy: {metrics: [" METRICS "]}\n"));
    write_measured(choices, out);
    buf_append(out, STR("now: 2026-02-03T04:05:06Z\nnodes:\n"));
    for (unsigned i = 0; i < GENERATED_NODES; i++) {
        buf_printf(out, "  n%u: {", i);
        write_labels(choices, out);
        buf_printf(out, ", ready: %s, cordoned: %s, allocatable: {cpu: %u%s}%s%s%s%s}\n",
            CHOOSE(choices, "true", "false"), CHOOSE(choices, "true", "false"), choose(choices, 9),
            CHOOSE(choices, "", ", memory: 4Gi", ", nvidia.com/gpu: 2"),
            CHOOSE(
                choices, "", ", created: 2026-02-03T04:00:00Z", ", created: 9999-12-31T00:00:00Z"),
            CHOOSE(choices, "", ", taints: [{key: team-a, effect: NoSchedule}]"),
            CHOOSE(choices, "", ", capacity: {cpu: 9}", ", capacity: {nvidia.com/gpu: 2}"),
            CHOOSE(choices, "", ", nodeInfo: {kernelVersion: x}"));
    }
    buf_append(out, STR("pods:\n"));
    for (unsigned i = 0; i < GENERATED_PODS; i++) {
        buf_printf(out, "  - {on: n%u, uid: u%u, ", choose(choices, GENERATED_NODES), i);
        write_labels(choices, out);
        write_details(choices, out);
        buf_printf(out, ", namespace: %s, owner: %s, priority: %u, requests: {cpu: %um}%s}\n",
            CHOOSE(choices, "team-a", "team-b"), CHOOSE(choices, "o1", "o2"), choose(choices, 3),
            choose(choices, 999),
            CHOOSE(
                choices, "", ", created: 2026-02-03T04:04:00Z", ", created: 9999-12-31T00:00:00Z"));
    }
    buf_append(out, STR("pod: {namespace: team-a, uid: me, owner: o1, requests: {cpu: 250m}, "));
    buf_printf(out, "%s", CHOOSE(choices, "", "priorityClassName: x, "));
    if (choose(choices, 3) > 0) { /* else the namespace is unknown */
        buf_append(out, STR("related: {namespace: {metadata: {annotations: {a: zone, n: b}, "));
        write_labels(choices, out);
        buf_append(out, STR("}}"));
        buf_printf(out, "%s", CHOOSE(choices, "", ", claims: []", ", claims: [" CLAIM "]"));
        buf_append(out, STR("}, "));
    }
    write_labels(choices, out);
    write_details(choices, out);
    buf_append(out, STR("}\n"));
    buf_append_char(out, '\0');
}
