/*
 * The built-in rules as text: each as the expression it stands for, its mistakes, and that the
 * expression never fails, whatever the nodes are like. What the rules mean is in the cases of
 * test/policy.
 */

#include "base/cleanup.h"
#include "policy/kind.h"
#include "schema/test-scene.h"

#define BUDGET ((size_t)16 * 1024 * 1024)
#define L "node.metadata.labels"
#define P "p.metadata.labels"
#define POD "pod.metadata.labels"

typedef struct Written {
    Arena *arena;
    DiagList diags;
    const RuleKind *kind;
    RuleText text;
} Written;

static const RuleKind *find_kind(const RuleKind *const *kinds, size_t n, Str field) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(kinds[i]->field, field))
            return kinds[i];
    return NULL;
}

/* @source is a mapping of one kind to its value. */
static void written_init(Written *written, bool is_score, const char *source) {
    YamlStream stream = {0};
    PolicyReader reader;
    const YamlPair *pair;

    *written = (Written){.arena = arena_new(BUDGET),
        .text = {.expression = BUF_INIT(KIND_TEXT_MAX), .message = BUF_INIT(KIND_TEXT_MAX)}};
    written->diags = DIAG_LIST_IN(written->arena);
    reader = (PolicyReader){
        .arena = written->arena, .diags = &written->diags, .source = str_from_c(source)};
    assert_case(source,
        yaml_parse(STR("test"), str_from_c(source), written->arena, &written->diags, &stream) == 0);
    pair = &stream.documents[0]->pairs[0];
    written->kind = is_score ? find_kind(score_kinds, n_score_kinds, pair->key->text)
                             : find_kind(filter_kinds, n_filter_kinds, pair->key->text);
    assert_case(source, written->kind != NULL);
    written->kind->write(&reader, pair->value, &written->text);
    assert_case(source, buf_error(&written->text.expression) == 0);
    assert_case(source, buf_error(&written->text.message) == 0);
}

static void written_done(Written *written) {
    buf_done(&written->text.expression);
    buf_done(&written->text.message);
    written->arena = arena_free(written->arena);
}

/* --- texts ----------------------------------------------------------------------- */

typedef struct Case {
    const char *source, *expression, *message;
} Case;

static const Case filters[] = {
    {"nodeLabels: {pool: a}",
        L "[?'pool'].orValue('') == 'a'",
        "'label pool is ' + ('pool' in " L " ? '\"' + " L
        "[?'pool'].orValue('') + '\"' : 'absent') + ', must be \"a\"'"},
    {"nodeLabels: {pool: ''}",
        "'pool' in " L " && " L "[?'pool'].orValue('') == ''",
        "'label pool is ' + ('pool' in " L " ? '\"' + " L
        "[?'pool'].orValue('') + '\"' : 'absent') + ', must be \"\"'"},
    {"nodeLabels: {zone: [a, b]}", L "[?'zone'].orValue('') in ['a', 'b']", NULL},
    {"nodeLabels: {zone: [a, '']}",
        "'zone' in " L " && " L "[?'zone'].orValue('') in ['a', '']",
        NULL},
    {"nodeLabels: {zone: {notIn: [a]}}", L "[?'zone'].orValue('') != 'a'", NULL},
    {"nodeLabels: {zone: {notIn: [a, b]}}", "!(" L "[?'zone'].orValue('') in ['a', 'b'])", NULL},
    {"nodeLabels: {zone: {notIn: ['']}}",
        "!('zone' in " L " && " L "[?'zone'].orValue('') == '')",
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
        L "[?'q'].orValue('') == 'it\\'s a \\\\ b\\n\\u0001'",
        NULL},
    {"nodeAnnotations: {a.b/c: x}",
        "node.metadata.annotations[?'a.b/c'].orValue('') == 'x'",
        "'annotation a.b/c is ' + ('a.b/c' in node.metadata.annotations ? '\"' + "
        "node.metadata.annotations[?'a.b/c'].orValue('') + '\"' : 'absent') + ', must be \"x\"'"},
    {"nodeReady: true",
        "node.ready && !node.spec.unschedulable",
        "node.ready ? 'node is cordoned' : 'condition Ready is not True'"},
    {"nodeConditions: {DiskPressure: false}",
        "node.status.conditions.exists(c, c.type == 'DiskPressure' && c.status == 'False')",
        "'condition DiskPressure is ' + node.status.conditions.filter(c, c.type == "
        "'DiskPressure').map(c, c.status).first().orValue('absent') + ', must be False'"},
    {"nodeConditions: {A: [True, False], B: [Unknown, 'False'], C: ['True', 'False', Unknown]}",
        "node.status.conditions.exists(c, c.type == 'A' && c.status in ['True', 'False']) && "
        "!node.status.conditions.exists(c, c.type == 'B' && c.status == 'True') && true",
        NULL},
    {"tolerations: true",
        "node.spec.taints.all(t, pod.tolerates(t))",
        "node.spec.taints.filter(t, !pod.tolerates(t)).map(t, 'taint ' + t.key + (t.value == '' "
        "? '' : '=' + t.value) + ' is not tolerated').join('; ')"},
    {"noTaints: [a, b.c/d]",
        "!node.spec.taints.exists(t, t.key in ['a', 'b.c/d'])",
        "node.spec.taints.filter(t, t.key in ['a', 'b.c/d']).map(t, 'taint ' + t.key + (t.value "
        "== '' ? '' : '=' + t.value) + ' must not be there').join('; ')"},
    {"dedicated: {key: pool}",
        L "[?'pool'].orValue('') == " POD "[?'pool'].orValue('')",
        "'label pool is ' + (" L "[?'pool'].orValue('') == '' ? 'absent' : '\"' + " L
        "[?'pool'].orValue('') + '\"') + ', the pod\\'s pool is ' + (" POD
        "[?'pool'].orValue('') == '' ? 'absent' : '\"' + " POD "[?'pool'].orValue('') + '\"')"},
    {"dedicated: {key: pool, podKey: team}",
        L "[?'pool'].orValue('') == " POD "[?'team'].orValue('')",
        NULL},
    {"nodeAge: {min: 90s}",
        "!has(node.metadata.creationTimestamp) || node.metadata.creationTimestamp <= now - "
        "duration('90s')",
        "'node is ' + string(int(now) - int(node.metadata.creationTimestamp)) + "
        "'s old, must be at least 90s'"},
    {"nodeAge: {min: 1d1h, max: 36500d}",
        "!has(node.metadata.creationTimestamp) || node.metadata.creationTimestamp <= now - "
        "duration('90000s') && node.metadata.creationTimestamp >= now - duration('3153600000s')",
        NULL},
    {"headroom: {cpu: 500m}",
        "node.free.milliCPU >= pod.requests.milliCPU + 500.0",
        "'cpu: ' + amount('cpu', ((node.allocatable.milliCPU > 0.0 ? node.free.milliCPU : 0.0) - "
        "pod.requests.milliCPU) / 1000.0) + ' would be left, 500m must be'"},
    {"headroom: {memory: 10%}",
        "(node.allocatable.memory > 0.0 ? node.allocatable.memory * 90.0 - node.requested.memory * "
        "100.0 : 0.0) >= pod.requests.memory * 100.0",
        "'memory: ' + amount('memory', ((node.allocatable.memory > 0.0 ? node.free.memory : 0.0) - "
        "pod.requests.memory)) + ' would be left, ' + amount('memory', "
        "math.ceil(node.allocatable.memory * 10.0 / 100.0)) + ' must be'"},
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
    {"maxPods: 30",
        "node.pods.size() < 30",
        "string(node.pods.size()) + ' pods are there, 30 may be'"},
    {"maxPods: {limit: 4, podSelector: {matchLabels: {a: x}}}",
        "!(" POD "[?'a'].orValue('') == 'x') || node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x').size() < 4",
        "string(node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x').size()) + ' matching pods are there, 4 may be'"},
    {"maxPods: {limit: 2, per: owner}",
        "pod.owner == '' || node.pods.filter(p, p.owner == pod.owner).size() < 2",
        "string(node.pods.filter(p, p.owner == pod.owner).size()) + "
        "' pods of its owner are there, 2 may be'"},
    {"maxPods: {limit: 9, topologyKey: zone}",
        "'zone' in " L " && node.domain('zone').pods.size() < 9",
        "!('zone' in " L ") ? 'label zone is absent' : string(node.domain('zone').pods.size()) + "
        "' pods are in zone ' + " L "[?'zone'].orValue('') + ', 9 may be'"},
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
        "are there, 2 may be'"},
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
        "!('zone' in " L ") ? 'label zone is absent' : 'no matching pod is in zone ' + " L
        "[?'zone'].orValue('')"},
    {"podAffinity: {podSelector: {matchLabels: {a: x}}}",
        "node.pods.filter(p, " P
        "[?'a'].orValue('') == 'x' && p.metadata.namespace == pod.metadata.namespace).size() > 0 "
        "|| 'kubernetes.io/hostname' in " L " && " POD
        "[?'a'].orValue('') == 'x' && cluster.domains('kubernetes.io/hostname').map(d, "
        "d.pods.filter(p, " P "[?'a'].orValue('') == 'x' && p.metadata.namespace == "
        "pod.metadata.namespace).size()).sum() == 0",
        "'no matching pod is there'"},
    {"podAntiAffinity: {matchLabelKeys: [app], topologyKey: zone, namespaces: ['*']}",
        POD "[?'app'].orValue('') == '' || node.domain('zone').pods.filter(p, " P
            "[?'app'].orValue('') == " POD "[?'app'].orValue('')).size() == 0",
        "string(node.domain('zone').pods.filter(p, " P "[?'app'].orValue('') == " POD
        "[?'app'].orValue('')).size()) + ' matching pods are in zone ' + " L
        "[?'zone'].orValue('')"},
    {"podAntiAffinity: {podSelector: {}, namespaces: [x, y]}",
        "node.pods.filter(p, p.metadata.namespace in ['x', 'y']).size() == 0",
        NULL},
    {"topologySpread: {topologyKey: zone, maxSkew: 1, sameOwner: true}",
        "pod.owner == '' || 'zone' in " L " && node.domain('zone').pods.filter(p, p.owner == "
        "pod.owner).size() < cluster.domains('zone').map(d, d.pods.filter(p, p.owner == "
        "pod.owner).size()).min() + 1",
        NULL},
    {"topologySpread: {topologyKey: zone, maxSkew: 2, minDomains: 3, podSelector: {}, namespaces: "
     "['*']}",
        "'zone' in " L " && node.domain('zone').pods.size() < (cluster.domains('zone').size() < 3 "
        "? 0 : cluster.domains('zone').map(d, d.pods.size()).min()) + 2",
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
        "{'large': 100.0, 'small': 0.5}[?" L "[?'type'].orValue('')].orValue(10.0)",
        NULL},
    {"nodeLabelPreference: {key: type, values: {'': 40}}",
        "'type' in " L " ? {'': 40.0}[?" L "[?'type'].orValue('')].orValue(0.0) : 0.0",
        NULL},
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
        "'zone' in " L " ? 100.0 / (1.0 + double(node.domain('zone').pods.size())) : 0.0",
        NULL},
    {"podPack: {matchLabelKeys: [app], full: 3}",
        "math.least(100.0, double(node.pods.filter(p, " POD "[?'app'].orValue('') != '' && " P
        "[?'app'].orValue('') == " POD
        "[?'app'].orValue('') && p.metadata.namespace == pod.metadata.namespace).size()) * 100.0 / "
        "3.0)",
        NULL},
};

static void check_text(const Case *test, bool is_score) {
    Written written;

    written_init(&written, is_score, test->source);
    assert_case(test->source, written.diags.n_errors == 0);
    if (test->expression)
        assert_text(test->source, buf_str(&written.text.expression), test->expression);
    if (test->message)
        assert_text(test->source, buf_str(&written.text.message), test->message);
    assert_case(test->source, (written.text.message.len == 0) == is_score);
    written_done(&written);
}

static void test_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(filters); i++)
        check_text(&filters[i], /* is_score= */ false);
    for (size_t i = 0; i < ELEMENTS_OF(scores); i++)
        check_text(&scores[i], /* is_score= */ true);
}

/* A kind nobody tries is one nobody knows. */
static void check_tried(
    const RuleKind *const *kinds, size_t n_kinds, const Case *cases, size_t n_cases) {
    for (size_t i = 0; i < n_kinds; i++) {
        bool is_tried = false;

        for (size_t k = 0; k < n_cases; k++)
            is_tried |= str_has_prefix(str_from_c(cases[k].source), kinds[i]->field);
        assert_case(kinds[i]->summary, is_tried);
        assert_case(kinds[i]->summary, kinds[i]->shape != NULL);
    }
}

/* Every field says what may stand there and what it is for: shapes become docs and a schema. */
#define SHAPES_DEPTH 8u
static void check_shape(const Shape *shape, unsigned depth) {
    assert_true(shape && depth < SHAPES_DEPTH);
    for (size_t i = 0; i < shape->n_fields; i++) {
        assert_non_null(shape->fields[i].about);
        check_shape(shape->fields[i].shape, depth + 1);
    }
    if (shape->kind == SHAPE_LIST || shape->kind == SHAPE_MAP || shape->kind == SHAPE_EITHER)
        check_shape(shape->of, depth + 1);
    if (shape->kind == SHAPE_EITHER)
        check_shape(shape->other, depth + 1);
    assert_true(shape->kind != SHAPE_WORD || shape->words);
    assert_true(shape->kind != SHAPE_OBJECT || shape->n_fields > 0);
}

static void test_tables(void **state) {
    (void)state;
    check_tried(filter_kinds, n_filter_kinds, filters, ELEMENTS_OF(filters));
    check_tried(score_kinds, n_score_kinds, scores, ELEMENTS_OF(scores));
    for (size_t i = 0; i < n_filter_kinds; i++)
        check_shape(filter_kinds[i]->shape, 0);
    for (size_t i = 0; i < n_score_kinds; i++)
        check_shape(score_kinds[i]->shape, 0);
}

/* --- mistakes -------------------------------------------------------------------- */

typedef struct Mistake {
    bool is_score;
    const char *source, *text;
} Mistake;

/* Those of older kinds are in test/policy/errors. */
static const Mistake mistakes[] = {
    {false, "nodeAnnotations: {}", "nodeAnnotations must name at least one annotation"},
    {false, "nodeAnnotations: {a: {}}", "an annotation condition must not be empty"},
    {false, "nodeAnnotations: {a b: x}", "\"a b\" is not an annotation key"},
    {false, "nodeAnnotations: {a: }", "an annotation's value must be a string, not empty"},
    {false, "nodeConditions: [Ready]", "nodeConditions must be a mapping, not a list"},
    {false, "nodeConditions: {}", "nodeConditions must name at least one condition"},
    {false, "nodeConditions: {Ready: yes}", "\"yes\" is not a condition's status"},
    {false, "nodeConditions: {Ready: []}", "a condition's statuses must not be empty"},
    {false, "nodeConditions: {'': True}", "a condition's type has 1 to 316 bytes"},
    {false, "noTaints: a", "noTaints must be a list, not the string \"a\""},
    {false, "noTaints: []", "noTaints must not be empty"},
    {false, "noTaints: ['a=b']", "\"a=b\" is not a label key"},
    {false, "dedicated: {}", "dedicated needs the field \"key\""},
    {false, "dedicated: {key: a, pod: b}", "unknown field \"pod\" in dedicated"},
    {false, "dedicated: {key: a, podKey: 3}", "podKey must be a string, not 3"},
    {false, "nodeAge: {}", "nodeAge needs min or max"},
    {false, "nodeAge: {min: 1}", "min must be a length of time up to 36500d, not 1"},
    {false, "nodeAge: {min: soon}", "min must be a length of time up to 36500d, not soon"},
    {false, "nodeAge: {min: -1s}", "min must be a length of time up to 36500d, not -1s"},
    {false, "nodeAge: {max: 36501d}", "max must be a length of time up to 36500d, not 36501d"},
    {false,
        "nodeAge: {max: 36500d1ns}",
        "max must be a length of time up to 36500d, not 36500d1ns"},
    {false, "nodeAge: {max: -3d}", "max must be a length of time up to 36500d, not -3d"},
    {false, "nodeAge: {max: ''}", "max must be a length of time up to 36500d, not "},
    {false, "nodeAge: {max: [1]}", "max must be a string, not a list"},
    {false, "nodeAge: {min: 2h, max: 1h}", "nodeAge: min is greater than max, no node could pass"},
    {false, "maxPods: {limit: 1, per: zone}", "\"zone\" is nothing that pods are counted by"},
    {false, "maxPods: {limit: 1, topologyKey: 'a b'}", "\"a b\" is not a label key"},
    {false, "maxPods: {limit: 1, matchLabelKeys: []}", "matchLabelKeys must not be empty"},
    {false, "maxFreshPods: {limit: 1}", "maxFreshPods needs the field \"youngerThan\""},
    {false, "maxFreshPods: {youngerThan: 1s}", "maxFreshPods needs the field \"limit\""},
    {false, "maxFreshPods: 3", "maxFreshPods must be a mapping, not 3"},
    {false,
        "podAffinity: {}",
        "podAffinity needs one of podSelector, sameOwner and matchLabelKeys"},
    {false,
        "podAffinity: {topologyKey: zone}",
        "podAffinity needs one of podSelector, sameOwner and matchLabelKeys"},
    {false, "podAffinity: {sameOwner: false}", "sameOwner: false means nothing"},
    {false, "podAntiAffinity: {matchLabelKeys: [a b]}", "\"a b\" is not a label key"},
    {false, "podAntiAffinity: {sameOwner: true, namespaces: x}", "namespaces must be a list"},
    {false,
        "topologySpread: {maxSkew: 1, sameOwner: true}",
        "topologySpread needs the field \"topologyKey\""},
    {false,
        "topologySpread: {topologyKey: z, maxSkew: 0, sameOwner: true}",
        "maxSkew must be between 1 and 1000000"},
    {true, "labelOrder: {key: a, values: []}", "values must not be empty"},
    {true, "labelOrder: {key: a, values: [x, y, x]}", "\"x\" is named twice"},
    {true,
        "labelNumber: {key: a, prefer: cheap, min: 0, max: 1}",
        "prefer must be low or high, not \"cheap\""},
    {true, "labelNumber: {key: a, prefer: low, min: 1, max: 1}", "max must be greater than min"},
    {true, "labelNumber: {key: a, prefer: low, min: 1}", "labelNumber needs the field \"max\""},
    {true, "nodeAge: {prefer: old, full: 0s}", "full must be greater than 0"},
    {true, "nodeAge: {prefer: new, full: 1d}", "prefer must be old or young, not \"new\""},
    {true, "imageLocality: false", "imageLocality: false means nothing"},
    {true, "imageLocality: yes", "imageLocality must be true or false, not the string \"yes\""},
    {true, "podSpread: {}", "podSpread needs one of podSelector, sameOwner and matchLabelKeys"},
    {true, "podPack: {sameOwner: true}", "podPack needs the field \"full\""},
    {true, "podPack: {sameOwner: true, full: 0}", "full must be between 1 and 1000000"},
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(mistakes); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(1 << 16);
        Written written;

        written_init(&written, mistakes[i].is_score, mistakes[i].source);
        diag_list_print(&written.diags, /* colour= */ false, &out);
        buf_append_char(&out, 0);
        assert_case(mistakes[i].source, written.diags.n_errors == 1);
        if (!strstr(out.data, mistakes[i].text)) {
            print_error("%s:\n%s\nwant %s\n", mistakes[i].source, out.data, mistakes[i].text);
            fail();
        }
        written_done(&written);
    }
}

/* --- no errors, whatever the nodes are like ----------------------------------------- */

#define ROUNDS 60
#define NODES 6

static uint32_t roll(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static const char *pick(uint64_t *seed, const char *const *words, uint32_t n) {
    return words[roll(seed, n)];
}

/* Labels, annotations: what the rules above look for, or not, in values that they can read, or
 * not. */
static void random_pairs(uint64_t *seed, Buf *out) {
    static const char *const keys[] = {"pool",
        "zone",
        "gpu",
        "old",
        "gen",
        "q",
        "type",
        "tier",
        "cost",
        "a",
        "app",
        "team",
        "a.b/c",
        "kubernetes.io/hostname"};
    static const char *const values[] = {"",
        "a",
        "b",
        "x",
        "4",
        "-7",
        "99999999999999999999",
        "12.5",
        "large",
        "it's",
        "\\u0001\\\\",
        "0000000000000000000000000000000000005",
        "1e5"};
    bool is_first = true;

    buf_append_char(out, '{');
    for (size_t i = 0; i < ELEMENTS_OF(keys); i++)
        if (roll(seed, 2)) {
            buf_printf(out,
                "%s\"%s\":\"%s\"",
                is_first ? "" : ",",
                keys[i],
                pick(seed, values, ELEMENTS_OF(values)));
            is_first = false;
        }
    buf_append_char(out, '}');
}

static void random_amounts(uint64_t *seed, Buf *out) {
    static const char *const amounts[] = {
        "0", "1", "500m", "7", "64Gi", "9223372036854775807", "99999999999999999999"};

    buf_append(out, STR("{\"x/y\":\"1\""));
    if (roll(seed, 4))
        buf_printf(out, ",\"cpu\":\"%s\"", pick(seed, amounts, ELEMENTS_OF(amounts)));
    if (roll(seed, 4))
        buf_printf(out, ",\"memory\":\"%s\"", pick(seed, amounts, ELEMENTS_OF(amounts)));
    if (roll(seed, 2))
        buf_printf(out, ",\"a.b/c\":\"%s\"", pick(seed, amounts, ELEMENTS_OF(amounts)));
    buf_append_char(out, '}');
}

static void random_time(uint64_t *seed, Buf *out) {
    static const char *const times[] = {"2027-01-15T07:59:59Z",
        "2027-01-15T08:00:01Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2020-01-01T00:00:00Z"};

    if (roll(seed, 4))
        buf_printf(out, "\"creationTimestamp\":\"%s\",", pick(seed, times, ELEMENTS_OF(times)));
}

static void random_node(uint64_t *seed, uint32_t number, Buf *out) {
    static const char *const statuses[] = {"True", "False", "Unknown", "", "odd"};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", "odd"};

    buf_append(out, STR("{\"metadata\":{"));
    random_time(seed, out);
    buf_printf(out, "\"name\":\"n%u\",\"labels\":", number);
    random_pairs(seed, out);
    buf_append(out, STR(",\"annotations\":"));
    random_pairs(seed, out);
    buf_append(out, STR("},\"spec\":{\"taints\":["));
    if (roll(seed, 2))
        buf_printf(out,
            "{\"key\":\"a\",\"value\":\"%s\",\"effect\":\"%s\"}",
            roll(seed, 2) ? "v" : "",
            pick(seed, effects, ELEMENTS_OF(effects)));
    buf_printf(out,
        "],\"unschedulable\":%s},\"status\":{\"conditions\":["
        "{\"type\":\"Ready\",\"status\":\"%s\"},{\"type\":\"%s\",\"status\":\"%s\"}],",
        roll(seed, 2) ? "true" : "false",
        pick(seed, statuses, ELEMENTS_OF(statuses)),
        roll(seed, 2) ? "DiskPressure" : "A",
        pick(seed, statuses, ELEMENTS_OF(statuses)));
    buf_append(out, STR("\"images\":[{\"names\":[\"docker.io/library/a:latest\"]},{}],"));
    buf_append(out, STR("\"allocatable\":"));
    random_amounts(seed, out);
    buf_append(out, STR("}}"));
}

static void random_pod(uint64_t *seed, const char *name, const char *node, Buf *out) {
    static const char *const spaces[] = {"x", "y", "z"};

    buf_append(out, STR("{\"metadata\":{"));
    random_time(seed, out);
    if (roll(seed, 2))
        buf_printf(
            out, "\"ownerReferences\":[{\"uid\":\"u%u\",\"controller\":true}],", roll(seed, 2));
    buf_printf(out,
        "\"name\":\"%s\",\"namespace\":\"%s\",\"labels\":",
        name,
        pick(seed, spaces, ELEMENTS_OF(spaces)));
    random_pairs(seed, out);
    buf_printf(out,
        "},\"spec\":{\"nodeName\":\"%s\",\"tolerations\":[%s],\"containers\":[",
        node,
        roll(seed, 3) ? "" : "{\"operator\":\"Exists\"}");
    if (roll(seed, 4)) {
        buf_printf(out, "{\"image\":\"%s\",\"resources\":{\"requests\":", roll(seed, 2) ? "a" : "");
        random_amounts(seed, out);
        buf_append(out, STR("}}"));
    }
    buf_append(out, STR("]}}"));
}

static void random_scene(uint64_t *seed, Scene *scene) {
    _cleanup_(buf_done) Buf json = BUF_INIT(1 << 16);

    scene_init(scene);
    for (uint32_t i = 0; i < NODES; i++) {
        buf_reset(&json);
        random_node(seed, i, &json);
        scene_add_node(scene, buf_str(&json));
    }
    for (uint32_t i = 0; i < 3 * NODES; i++) {
        char name[16], node[16];

        (void)snprintf(name, sizeof(name), "p%u", i);
        (void)snprintf(node, sizeof(node), "n%u", roll(seed, NODES));
        buf_reset(&json);
        random_pod(seed, name, node, &json);
        scene_add_pod(scene, buf_str(&json));
    }
    buf_reset(&json);
    random_pod(seed, "pod", "", &json);
    scene_build(scene, buf_str(&json));
}

/* An expression of a kind on every node of a scene: a bool, with a text where it is false, or a
 * number in its range. */
static void check_filter(
    Scene *scene, const char *name, const char *expression, const char *message) {
    CelValue passes = scene_eval(scene, expression), text;

    assert_case(name, passes.kind == CEL_BOOL);
    if (passes.boolean)
        return;
    text = scene_eval(scene, message);
    assert_case(name, text.kind == CEL_STRING && text.len > 0);
}

static void check_score(Scene *scene, const char *name, const char *expression) {
    CelValue points = scene_eval(scene, expression);

    assert_case(name, points.kind == CEL_DOUBLE);
    assert_case(name, points.d >= 0 && points.d <= 100);
}

static void check_scene(Scene *scene, const Case *test, bool is_score) {
    Written written;

    written_init(&written, is_score, test->source);
    buf_append_char(&written.text.expression, 0);
    buf_append_char(&written.text.message, 0);
    for (uint32_t row = 0; row < NODES; row++) {
        scene_set_row(scene, row);
        if (is_score)
            check_score(scene, test->source, written.text.expression.data);
        else
            check_filter(
                scene, test->source, written.text.expression.data, written.text.message.data);
    }
    written_done(&written);
}

static void test_never_an_error(void **state) {
    uint64_t seed = 5;

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        Scene scene;

        random_scene(&seed, &scene);
        for (size_t i = 0; i < ELEMENTS_OF(filters); i++)
            check_scene(&scene, &filters[i], /* is_score= */ false);
        for (size_t i = 0; i < ELEMENTS_OF(scores); i++)
            check_scene(&scene, &scores[i], /* is_score= */ true);
        scene_done(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_never_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
