#pragma once

/* Shared by the tests of built-in rules: cases of rules in YAML, and the CEL written for them. */

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "policy/kind.h"

#define BUDGET ((size_t)16 * 1024 * 1024)
#define L "node.metadata.labels"
#define P "p.metadata.labels"
#define POD "pod.metadata.labels"

typedef struct WrittenRule {
    Arena *arena;
    DiagList diags;
    const RuleKind *kind;
    RuleText text;
} WrittenRule;

static inline const RuleKind *find_kind(const RuleKind *const *kinds, size_t n, Str field) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(kinds[i]->field, field))
            return kinds[i];
    return NULL;
}

/* Reads a rule; @source is a mapping with one kind and its value. */
static inline void written_init(WrittenRule *written, bool is_score, const char *source) {
    YamlStream stream = {0};
    YamlReader reader;
    const YamlPair *pair;

    *written = (WrittenRule){.arena = arena_new(BUDGET),
        .text = {.expression = BUF_INIT(KIND_TEXT_MAX), .message = BUF_INIT(KIND_TEXT_MAX)}};
    written->diags = DIAG_LIST_IN(written->arena);
    reader = (YamlReader){
        .arena = written->arena, .diags = &written->diags, .source = str_from_c(source)};
    assert_case(source,
        yaml_parse(STR("test"), str_from_c(source), written->arena, &written->diags, &stream) == 0);
    pair = &stream.documents[0]->pairs[0];
    written->kind = is_score ? find_kind(score_kinds, n_score_kinds, pair->key->text)
                             : find_kind(filter_kinds, n_filter_kinds, pair->key->text);
    assert_case(source, written->kind != NULL);
    kind_write(&reader, written->kind, pair->value, &written->text);
    assert_case(source, buf_error(&written->text.expression) == 0);
    assert_case(source, buf_error(&written->text.message) == 0);
}

static inline void written_done(WrittenRule *written) {
    buf_done(&written->text.expression);
    buf_done(&written->text.message);
    written->arena = arena_free(written->arena);
}

/* --- texts ----------------------------------------------------------------------- */

typedef struct Case {
    const char *source, *expression, *message;
} Case;

static const Case filters[] = {
    {"nodeLabels: {pool: a}", L "[?'pool'].orValue('') == 'a'",
        "'label pool is ' + ('pool' in " L " ? '\"' + " L
        "[?'pool'].orValue('') + '\"' : 'absent') + ', must be \"a\"'"},
    {"nodeLabels: {pool: ''}", "'pool' in " L " && " L "[?'pool'].orValue('') == ''",
        "'label pool is ' + ('pool' in " L " ? '\"' + " L
        "[?'pool'].orValue('') + '\"' : 'absent') + ', must be \"\"'"},
    {"nodeLabels: {zone: [a, b]}", L "[?'zone'].orValue('') in ['a', 'b']", NULL},
    {"nodeLabels: {zone: [a, '']}", "'zone' in " L " && " L "[?'zone'].orValue('') in ['a', '']",
        NULL},
    {"nodeLabels: {zone: {notIn: [a]}}", L "[?'zone'].orValue('') != 'a'", NULL},
    {"nodeLabels: {zone: {notIn: [a, b]}}", "!(" L "[?'zone'].orValue('') in ['a', 'b'])", NULL},
    {"nodeLabels: {zone: {notIn: ['']}}", "!('zone' in " L " && " L "[?'zone'].orValue('') == '')",
        NULL},
    {"nodeLabels: {gpu: {exists: true}, old: {absent: true}}",
        "'gpu' in " L " && !('old' in " L ")",
        "cel.bind(l, " L ", ['gpu' in l ? '' : 'label gpu is ' + ('gpu' in l ? '\"' + "
        "l[?'gpu'].orValue('') + '\"' : 'absent') + ', must exist', !('old' in l) ? '' : "
        "'label old is ' + ('old' in l ? '\"' + l[?'old'].orValue('') + '\"' : 'absent') + "
        "', must be absent'].filter(m, m != '').join('; '))"},
    {"nodeLabels: {gen: {gt: 3}}",
        L "[?'gen'].orValue('').matches('^-?[0-9]{1,63}$') && quantity(" L
          "[?'gen'].orValue('')).isInteger() && int(" L "[?'gen'].orValue('')) > 3",
        NULL},
    {"nodeLabels: {q: \"it's a \\\\ b\\n\\u0001\"}",
        L "[?'q'].orValue('') == 'it\\'s a \\\\ b\\n\\u0001'", NULL},
    {"nodeAnnotations: {a.b/c: x}", "node.metadata.annotations[?'a.b/c'].orValue('') == 'x'",
        "'annotation a.b/c is ' + ('a.b/c' in node.metadata.annotations ? '\"' + "
        "node.metadata.annotations[?'a.b/c'].orValue('') + '\"' : 'absent') + ', must be \"x\"'"},
    {"nodeReady: true", "node.ready && !node.spec.unschedulable",
        "node.ready ? 'node is cordoned' : 'condition Ready is not True'"},
    {"nodeConditions: {DiskPressure: false}",
        "node.status.conditions.exists(c, c.type == 'DiskPressure' && c.status == 'False')",
        "'condition DiskPressure is ' + node.status.conditions.filter(c, c.type == "
        "'DiskPressure').map(c, c.status).first().orValue('absent') + ', must be False'"},
    {"nodeConditions: {A: [True, False], B: [Unknown, 'False'], C: ['True', 'False', Unknown]}",
        "node.status.conditions.exists(c, c.type == 'A' && c.status in ['True', 'False']) && "
        "!node.status.conditions.exists(c, c.type == 'B' && c.status == 'True') && true",
        NULL},
    {"tolerations: true", "node.spec.taints.all(t, pod.tolerates(t.text))",
        "node.spec.taints.filter(t, !pod.tolerates(t.text)).map(t, 'taint ' + t.key + (t.value == "
        "'' "
        "? '' : '=' + t.value) + ' is not tolerated').join('; ')"},
    {"noTaints: [a, b.c/d]", "!node.spec.taints.exists(t, t.key in ['a', 'b.c/d'])",
        "node.spec.taints.filter(t, t.key in ['a', 'b.c/d']).map(t, 'taint ' + t.key + (t.value "
        "== '' ? '' : '=' + t.value) + ' is not allowed').join('; ')"},
    {"dedicated: {key: pool}", L "[?'pool'].orValue('') == " POD "[?'pool'].orValue('')",
        "'label pool is ' + (" L "[?'pool'].orValue('') == '' ? 'absent' : '\"' + " L
        "[?'pool'].orValue('') + '\"') + ', the pod\\'s pool is ' + (" POD
        "[?'pool'].orValue('') == '' ? 'absent' : '\"' + " POD "[?'pool'].orValue('') + '\"')"},
    {"dedicated: {key: pool, podKey: team}",
        L "[?'pool'].orValue('') == " POD "[?'team'].orValue('')", NULL},
    {"nodeAge: {min: 90s}",
        "!has(node.metadata.creationTimestamp) || node.metadata.creationTimestamp <= now - "
        "duration('90s')",
        "'node is ' + string(int(now) - int(node.metadata.creationTimestamp)) + "
        "'s old, must be at least 90s'"},
    {"nodeAge: {min: 1d1h, max: 36500d}",
        "!has(node.metadata.creationTimestamp) || node.metadata.creationTimestamp <= now - "
        "duration('90000s') && node.metadata.creationTimestamp >= now - duration('3153600000s')",
        NULL},
    {"headroom: {cpu: 500m}", "node.free.milliCPU >= pod.requests.milliCPU + 500.0",
        "'cpu: ' + amount('cpu', ((node.allocatable.milliCPU > 0.0 ? node.free.milliCPU : 0.0) - "
        "pod.requests.milliCPU) / 1000.0) + ' would remain free, 500m required'"},
    {"headroom: {memory: 10%}",
        "(node.allocatable.memory > 0.0 ? node.allocatable.memory * 90.0 - node.requested.memory * "
        "100.0 : 0.0) >= pod.requests.memory * 100.0",
        "'memory: ' + amount('memory', ((node.allocatable.memory > 0.0 ? node.free.memory : 0.0) - "
        "pod.requests.memory)) + ' would remain free, ' + amount('memory', "
        "math.ceil(node.allocatable.memory * 10.0 / 100.0)) + ' required'"},
    {"headroom: {a.b/c: 0}",
        "(node.allocatable['a.b/c'] > 0.0 ? node.free['a.b/c'] : 0.0) >= pod.requests['a.b/c']",
        NULL},
    {"headroom: {cpu: 100%, memory: 0.000000001%, pods: 1}",
        "(node.allocatable.milliCPU > 0.0 ? node.allocatable.milliCPU * 0.0 - "
        "node.requested.milliCPU * 100.0 : 0.0) >= pod.requests.milliCPU * 100.0 && "
        "(node.allocatable.memory > 0.0 ? node.allocatable.memory * 99999999999.0 - "
        "node.requested.memory * 100000000000.0 : 0.0) >= pod.requests.memory * 100000000000.0 "
        "&& node.free.pods >= pod.requests.pods + 1.0",
        NULL},
    {"maxPods: 30", "node.pods.size() < 30",
        "string(node.pods.size()) + ' pods on the node, limit 30'"},
    {"maxPods: {limit: 4, podSelector: {matchLabels: {a: x}}}",
        "!(" POD "[?'a'].orValue('') == 'x') || node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x').size() < 4",
        "string(node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x').size()) + ' matching pods on the node, limit 4'"},
    {"maxPods: {limit: 2, per: owner}",
        "pod.owner == '' || node.pods.filter(p, p.owner == pod.owner).size() < 2",
        "string(node.pods.filter(p, p.owner == pod.owner).size()) + "
        "' pods of its owner on the node, limit 2'"},
    {"maxPods: {limit: 9, topologyKey: zone}",
        "'zone' in " L " && node.domain('zone').pods.size() < 9",
        "!('zone' in " L ") ? 'label zone is absent' : string(node.domain('zone').pods.size()) + "
        "' pods in zone ' + " L "[?'zone'].orValue('') + ', limit 9'"},
    {"maxPods: {limit: 1, matchLabelKeys: [app], namespaces: [x]}",
        POD "[?'app'].orValue('') == '' || !(pod.metadata.namespace in ['x']) || "
            "node.pods.filter(p, " P "[?'app'].orValue('') == " POD
            "[?'app'].orValue('') && p.metadata.namespace == 'x').size() < 1",
        NULL},
    {"maxFreshPods: {limit: 2, youngerThan: 2m}",
        "node.pods.filter(p, has(p.metadata.creationTimestamp) && p.metadata.creationTimestamp > "
        "now - duration('120s')).size() < 2",
        "string(node.pods.filter(p, has(p.metadata.creationTimestamp) && "
        "p.metadata.creationTimestamp > now - duration('120s')).size()) + ' pods younger than 120s "
        "on the node, limit 2'"},
    {"maxFreshPods: {limit: 2, youngerThan: 2m, podSelector: {matchLabels: {a: x}}, namespaces: "
     "['*']}",
        "!(" POD "[?'a'].orValue('') == 'x') || node.pods.filter(p, "
        "has(p.metadata.creationTimestamp) && p.metadata.creationTimestamp > now - "
        "duration('120s') && " P "[?'a'].orValue('') == 'x').size() < 2",
        NULL},
    {"podAffinity: {sameOwner: true, topologyKey: zone}",
        "pod.owner == '' || node.domain('zone').pods.filter(p, p.owner == pod.owner).size() > 0 "
        "|| 'zone' in " L " && cluster.domains('zone').map(d, d.pods.filter(p, p.owner == "
        "pod.owner).size()).sum() == 0",
        "!('zone' in " L ") ? 'label zone is absent' : 'no matching pod in zone ' + " L
        "[?'zone'].orValue('')"},
    {"podAffinity: {podSelector: {matchLabels: {a: x}}}",
        "node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x' && p.metadata.namespace == pod.metadata.namespace).size() > 0 "
        "|| 'kubernetes.io/hostname' in " L " && " POD
        "[?'a'].orValue('') == 'x' && cluster.domains('kubernetes.io/hostname').map(d, "
        "d.pods.filter(p, " P "[?'a'].orValue('') == 'x' && p.metadata.namespace == "
        "pod.metadata.namespace).size()).sum() == 0",
        "'no matching pod on the node'"},
    {"podAntiAffinity: {matchLabelKeys: [app], topologyKey: zone, namespaces: ['*']}",
        POD "[?'app'].orValue('') == '' || node.domain('zone').pods.filter(p, " P
            "[?'app'].orValue('') == " POD "[?'app'].orValue('')).size() == 0",
        "string(node.domain('zone').pods.filter(p, " P "[?'app'].orValue('') == " POD
        "[?'app'].orValue('')).size()) + ' matching pods in zone ' + " L "[?'zone'].orValue('')"},
    {"podAntiAffinity: {podSelector: {}, namespaces: [x, y]}",
        "node.pods.filter(p, p.metadata.namespace in ['x', 'y']).size() == 0", NULL},
    {"topologySpread: {topologyKey: zone, maxSkew: 1, sameOwner: true}",
        "pod.owner == '' || !(pod.selects(node)) || 'zone' in " L
        " && node.domain('zone').nodes.filter(node, pod.selects(node)).map(node, "
        "node.pods.filter(p, p.owner == pod.owner && !p.terminating).size()).sum() < "
        "cluster.domains('zone').filter(d, d.nodes.exists(node, pod.selects(node))).map(d, "
        "d.nodes.filter(node, pod.selects(node)).map(node, node.pods.filter(p, p.owner == "
        "pod.owner && !p.terminating).size()).sum()).min() + 1",
        NULL},
    {"topologySpread: {topologyKey: zone, maxSkew: 2, minDomains: 3, podSelector: {}, namespaces: "
     "['*'], nodeAffinityPolicy: Ignore}",
        "'zone' in " L " && node.domain('zone').pods.filter(p, !p.terminating).size() < "
        "(cluster.domains('zone').size() < 3 ? 0 : cluster.domains('zone').map(d, d.pods.filter(p, "
        "!p.terminating).size()).min()) + 2",
        "!('zone' in " L ") ? 'label zone is absent' : string(node.domain('zone').pods.filter(p, "
        "!p.terminating).size()) + ' matching pods in zone ' + " L "[?'zone'].orValue('') + ', ' + "
        "string((cluster.domains('zone').size() < 3 ? 0 : cluster.domains('zone').map(d, "
        "d.pods.filter(p, !p.terminating).size()).min())) + ' in the emptiest of ' + "
        "string(cluster.domains('zone').size()) + ' domains, maxSkew 2, minDomains 3'"},
    {"topologySpread: {topologyKey: zone, maxSkew: 1, podSelector: {}, matchLabelKeys: [r], "
     "namespaces: ['*'], nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor, nodeLabels: {a: x}}",
        "!(" L "[?'a'].orValue('') == 'x' && node.spec.taints.all(t, pod.tolerates(t.text))) || "
        "'zone' in " L " && node.domain('zone').nodes.filter(node, " L
        "[?'a'].orValue('') == 'x' && node.spec.taints.all(t, pod.tolerates(t.text))).map(node, "
        "node.pods.filter(p, (" POD "[?'r'].orValue('') == '' || " P "[?'r'].orValue('') == " POD
        "[?'r'].orValue('')) && !p.terminating).size()).sum() < "
        "cluster.domains('zone').filter(d, d.nodes.exists(node, " L
        "[?'a'].orValue('') == 'x' && node.spec.taints.all(t, pod.tolerates(t.text)))).map(d, "
        "d.nodes.filter(node, " L "[?'a'].orValue('') == 'x' && node.spec.taints.all(t, "
        "pod.tolerates(t.text))).map(node, node.pods.filter(p, (" POD
        "[?'r'].orValue('') == '' || " P "[?'r'].orValue('') == " POD
        "[?'r'].orValue('')) && !p.terminating).size()).sum()).min() + 1",
        NULL},
    {"poolHeadroom: {nodeLabels: {pool: ci}, pods: 2, requests: {cpu: 4}, exceptPriorityAtLeast: "
     "1000}",
        "pod.spec.priority >= 1000 || !(" L "[?'pool'].orValue('') == 'ci' && node.ready && "
        "!node.spec.unschedulable) || cluster.domains('pool').map(d, d.nodes.filter(node, " L
        "[?'pool'].orValue('') == 'ci' && node.ready && !node.spec.unschedulable).map(node, "
        "math.greatest(0.0, math.floor(math.least(node.free.milliCPU / 4000.0, "
        "node.free.pods)))).sum()).sum() - math.greatest(0.0, "
        "math.floor(math.least(node.free.milliCPU / 4000.0, node.free.pods))) + "
        "math.greatest(0.0, math.floor(math.least((node.free.milliCPU - pod.requests.milliCPU) / "
        "4000.0, node.free.pods - pod.requests.pods))) >= 2.0",
        NULL},
    {"poolHeadroom: {nodes: 1, resources: [memory]}",
        "!(node.ready && !node.spec.unschedulable) || "
        "(cluster.domains('kubernetes.io/hostname').map(d, d.nodes.filter(node, node.ready && "
        "!node.spec.unschedulable).map(node, math.greatest(0.0, node.free.memory)).sum()).sum() - "
        "math.greatest(0.0, node.free.memory) + math.greatest(0.0, node.free.memory - "
        "pod.requests.memory)) * cluster.domains('kubernetes.io/hostname').map(d, "
        "d.nodes.filter(node, node.ready && !node.spec.unschedulable).map(node, "
        "1.0).sum()).sum() >= 1.0 * cluster.domains('kubernetes.io/hostname').map(d, "
        "d.nodes.filter(node, node.ready && !node.spec.unschedulable).map(node, "
        "node.allocatable.memory).sum()).sum()",
        NULL},
    {"metricLimit: {metric: load, max: 0.8}", "metrics.load <= 0.8",
        "has(metrics.load) ? 'load is ' + string(math.round(metrics.load * 1000000.0) / 1000000.0) "
        "+ (metrics.load == metrics.load.measured ? '' : ' with recently placed pods, "
        "measured ' + "
        "string(math.round(metrics.load.measured * 1000000.0) / 1000000.0)) + "
        "', must be at most 0.8' : 'load is unknown'"},
    {"metricLimit: {metric: free_bytes, min: 5e9}", "metrics.free_bytes >= 5000000000.0", NULL},
    {"metricLimit: {metric: t1, min: -10, max: 90}", "metrics.t1 >= -10.0 && metrics.t1 <= 90.0",
        NULL},
};

#define SHARE(name) "(node.allocatable." name " > 0.0 ? 1.0 / node.allocatable." name " : 0.0)"
#define BOTH                                                                                       \
    "(node.allocatable.milliCPU > 0.0 ? 1.0 : 0.0) + (node.allocatable.memory > 0.0 ? 1.0 : 0.0)"

static const Case scores[] = {
    {"binPack: {memory: 2.5}",
        "cel.bind(w, (node.allocatable.memory > 0.0 ? 2.5 : 0.0), math.least(100.0, "
        "((pod.requests.memory <= node.free.memory ? (node.requested.memory + "
        "pod.requests.memory) * (node.allocatable.memory > 0.0 ? 2.5 / node.allocatable.memory : "
        "0.0) : 0.0)) * (w > 0.0 ? 100.0 / w : 0.0)))",
        NULL},
    {"spread: {cpu: 1, memory: 1}",
        "cel.bind(w, " BOTH ", math.least(100.0, (math.greatest(0.0, node.free.milliCPU - "
        "pod.requests.milliCPU) * " SHARE(
            "milliCPU") " + math.greatest(0.0, node.free.memory - "
                        "pod.requests.memory) * " SHARE(
                            "memory") ") * (w > 0.0 ? 100.0 / w : 0.0)))",
        NULL},
    {"balance: [cpu, memory]",
        "cel.bind(n, " BOTH ", cel.bind(s0, math.least(1.0, (node.requested.milliCPU + "
        "pod.requests.milliCPU) * " SHARE(
            "milliCPU") "), cel.bind(s1, math.least(1.0, "
                        "(node.requested.memory + pod.requests.memory) * " SHARE(
                            "memory") "), (n > 0.0 ? 100.0 : "
                                      "0.0) - (n > 1.0 ? 50.0 : 0.0) * math.abs(s0 - s1))))",
        NULL},
    {"balance: [cpu, memory, a.b/c]", NULL, NULL},
    {"binPack: {cpu: 3, memory: 0.1, a.b/c: 1000}", NULL, NULL},
    {"spread: {a.b/c: 7}", NULL, NULL},
    {"nodeLabelPreference: {key: type, values: {large: 100, small: 0.5}, otherwise: 10}",
        "{'large': 100.0, 'small': 0.5}[?" L "[?'type'].orValue('')].orValue(10.0)", NULL},
    {"nodeLabelPreference: {key: type, values: {'': 40}}",
        "'type' in " L " ? {'': 40.0}[?" L "[?'type'].orValue('')].orValue(0.0) : 0.0", NULL},
    {"labelOrder: {key: tier, values: [a, b, c, d]}",
        "{'a': 100.0, 'b': 75.0, 'c': 50.0, 'd': 25.0}[?" L "[?'tier'].orValue('')].orValue(0.0)",
        NULL},
    {"labelNumber: {key: cost, prefer: low, min: 5, max: 25}",
        "cel.bind(v, " L "[?'cost'].orValue(''), v.matches('^-?[0-9]{1,15}(\\\\.[0-9]{1,15})?$') ? "
        "math.greatest(0.0, math.least(100.0, (25.0 - double(v)) * 100.0 / 20.0)) : 0.0)",
        NULL},
    {"labelNumber: {key: cost, prefer: high, min: -1.5, max: 1e15, otherwise: 50}", NULL, NULL},
    {"nodeAge: {prefer: old, full: 30d}",
        "has(node.metadata.creationTimestamp) ? math.greatest(0.0, math.least(100.0, "
        "(double(int(now)) - double(int(node.metadata.creationTimestamp))) * (100.0 / 2592000.0))) "
        ": 0.0",
        NULL},
    {"nodeAge: {prefer: young, full: 1ns}", NULL, NULL},
    {"imageLocality: true", NULL, NULL},
    {"podSpread: {sameOwner: true}",
        "100.0 / (1.0 + double(node.pods.filter(p, pod.owner != '' && p.owner == "
        "pod.owner).size()))",
        NULL},
    {"podSpread: {podSelector: {}, topologyKey: zone, namespaces: ['*']}",
        "'zone' in " L " ? 100.0 / (1.0 + double(node.domain('zone').pods.size())) : 0.0", NULL},
    {"podPack: {matchLabelKeys: [app], full: 3}",
        "math.least(100.0, double(node.pods.filter(p, " POD "[?'app'].orValue('') != '' && " P
        "[?'app'].orValue('') == " POD
        "[?'app'].orValue('') && p.metadata.namespace == pod.metadata.namespace).size()) * 100.0 / "
        "3.0)",
        NULL},
    {"metricScore: {metric: load, low: 0.2, high: 0.7, prefer: low}",
        "math.greatest(0.0, math.least(100.0, (0.7 - metrics.load) * 100.0 / (0.7 - 0.2)))", NULL},
    {"metricScore: {metric: idle, low: 0, high: 64, prefer: high}",
        "math.greatest(0.0, math.least(100.0, (metrics.idle - 0.0) * 100.0 / (64.0 - 0.0)))", NULL},
};

#undef L
#undef P
#undef POD
#undef SHARE
#undef BOTH
