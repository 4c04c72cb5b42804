#include "extender/explain.h"

#include <errno.h>

#include "base/test-assert.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"

/* A scene, and the explanation of its pod. */
typedef struct Fixture {
    TestScene scene;
    View *view;
    Arena *arena;
    Explanation explained;
} Fixture;

static void fixture_init(Fixture *f, const char *text) {
    scene_init_text(&f->scene, text);
    f->arena = arena_new((size_t)256 << 20);
    assert_non_null(f->arena);
    assert_int_equal(view_new(&(ViewParts){.snapshot = f->scene.snapshot,
                                  .program = f->scene.program,
                                  .measurements = f->scene.measurements,
                                  .now_nsec = f->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL, &f->view),
        0);
    assert_int_equal(
        extender_explain(f->view, f->scene.now, &f->scene.pod, f->arena, &f->explained), 0);
}

static void fixture_done(Fixture *f) {
    view_unref(f->view);
    scene_done(&f->scene);
    arena_free(f->arena);
}

/* --- policies ----------------------------------------------------------------------------- */

static void test_which_policies_apply(void **state) {
    static const PolicyFit want[] = {
        FIT_APPLIES,
        FIT_OTHER_NAMESPACE,
        FIT_OTHER_LABELS,
        FIT_EXPRESSION_FALSE,
        FIT_EXPRESSION_FAILED,
        FIT_OTHER_NAMESPACE_LABELS,
    };
    Fixture f;

    (void)state;
    fixture_init(&f,
        "policies:\n"
        "  all: {filters: [{name: a, nodeReady: true}]}\n"
        "  space: {match: {namespaces: [x]}, filters: [{name: a, nodeReady: true}]}\n"
        "  labels: {match: {podSelector: {matchLabels: {a: b}}}, filters: [{name: a, nodeReady: "
        "true}]}\n"
        "  no: {match: {expression: 'pod.spec.priority > 5'}, filters: [{name: a, nodeReady: "
        "true}]}\n"
        "  bad: {match: {expression: \"pod.metadata.labels['x'] == 'y'\"}, filters: [{name: a, "
        "nodeReady: true}]}\n"
        "  tier: {match: {namespaceSelector: {matchLabels: {tier: gold}}}, filters: [{name: a, "
        "nodeReady: true}]}\n"
        "nodes: {n: {}}\n"
        "pod: {namespace: team, name: p, related: {namespace: {metadata: {name: team}}}}\n");
    assert_int_equal(f.explained.n_policies, ELEMENTS_OF(want));
    assert_int_equal(f.explained.n_applying, 1);
    for (size_t i = 0; i < ELEMENTS_OF(want); i++)
        assert_int_equal(f.explained.policies[i].fit, want[i]);
    assert_true(str_has_prefix(
        f.explained.policies[4].error, STR("no such key: x, in pod.metadata.labels['x']")));
    fixture_done(&f);
}

static void test_namespace_selector_fails_if_namespaces_are_unknown(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f, "policy:\n"
                     "  match: {namespaceSelector: {matchLabels: {tier: gold}}}\n"
                     "  filters: [{name: a, nodeReady: true}]\n"
                     "nodes: {n: {}}\n"
                     "pod: {namespace: team, name: p}\n");
    assert_int_equal(f.explained.policies[0].fit, FIT_NAMESPACE_FAILED);
    assert_true(str_has_prefix(f.explained.policies[0].error, STR("namespaces are not known: ")));
    fixture_done(&f);
}

/* --- ranks, narrowing, parts -------------------------------------------------------------- */

static void test_ranks_and_parts(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f,
        "policy:\n"
        "  narrow: {to: 2}\n"
        "  filters: [{name: f, nodeLabels: {pool: a}}]\n"
        "  scores:\n"
        "    - {name: big, expression: node.allocatable.cpu, normalize: minMax, weight: 3}\n"
        "    - {name: cost, expression: \"double(node.metadata.labels['cost'])\", onError: 40}\n"
        "nodes:\n"
        "  n0: {labels: {pool: a, cost: '20'}, allocatable: {cpu: 2}}\n"
        "  n1: {labels: {pool: b}, allocatable: {cpu: 64}}\n"
        "  n2: {labels: {pool: a}, allocatable: {cpu: 8}}\n"
        "  n3: {labels: {pool: a, cost: '40'}, allocatable: {cpu: 8}}\n"
        "pod: {name: p}\n");
    assert_int_equal(f.explained.n_passed, 3);
    assert_int_equal(f.explained.n_narrowed, 1);
    assert_int_equal(f.explained.narrow_to, 2);
    /* n2 and n3 are equal: the first in order wins. n1 fails and does not count in minMax. */
    assert_text("first", f.explained.ranking[0]->node, "n2");
    assert_text("second", f.explained.ranking[1]->node, "n3");
    assert_text("third", f.explained.ranking[2]->node, "n0");
    assert_int_equal(f.explained.nodes[0].outcome, NODE_NARROWED);
    assert_int_equal(f.explained.nodes[0].rank, 3);
    assert_true(f.explained.nodes[0].parts[0].raw == 2 && f.explained.nodes[0].parts[0].value == 0);
    assert_true(f.explained.nodes[0].score == 0.25 * 20);
    assert_int_equal(f.explained.nodes[1].outcome, NODE_REJECTED);
    assert_int_equal(f.explained.nodes[1].rank, 0);
    assert_false(f.explained.nodes[1].is_scored);
    assert_true(
        f.explained.nodes[2].parts[1].is_error && f.explained.nodes[2].parts[1].value == 40);
    assert_true(f.explained.nodes[2].parts[1].contribution == 10);
    assert_int_equal(f.explained.n_errors, 1);
    assert_int_equal(f.explained.errors[0].n, 1);
    assert_text("error", f.explained.errors[0].node, "n2");
    fixture_done(&f);
}

/* minMax compares only nodes that filter returns: prioritize gets no others. */
static void test_narrowing_comes_before_normalizing(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f,
        "policy:\n"
        "  narrow: {to: 2}\n"
        "  filters: [{name: f, nodeLabels: {pool: a}}]\n"
        "  scores: [{name: big, expression: node.allocatable.cpu, normalize: minMax}]\n"
        "nodes:\n"
        "  n0: {labels: {pool: a}, allocatable: {cpu: 2}}\n"
        "  n1: {labels: {pool: a}, allocatable: {cpu: 4}}\n"
        "  n2: {labels: {pool: a}, allocatable: {cpu: 10}}\n"
        "pod: {name: p}\n");
    assert_int_equal(f.explained.nodes[0].outcome, NODE_NARROWED);
    assert_true(f.explained.nodes[1].parts[0].value == 0 && f.explained.nodes[1].score == 0);
    assert_true(
        f.explained.nodes[2].parts[0].value == 100 && f.explained.nodes[2].wire_score == 10);
    fixture_done(&f);
}

static void test_distance_counts_failed_filters_of_rejected_nodes(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f, "policy:\n"
                     "  filters: [{name: a, nodeLabels: {a: x}}, {name: b, nodeLabels: {b: x}}]\n"
                     "nodes: {good: {labels: {a: x, b: x}}, near: {labels: {a: x}}, far: {}}\n"
                     "pod: {name: p}\n");
    assert_int_equal(f.explained.closest, EXPLAIN_NEVER + 1); /* filters by labels are permanent */
    for (size_t i = 0; i < f.explained.n_nodes; i++) {
        const NodeExplanation *node = &f.explained.nodes[i];
        uint32_t n_failed = str_is(node->node, "good") ? 0 : str_is(node->node, "near") ? 1 : 2;

        assert_int_equal(node->distance, n_failed ? EXPLAIN_NEVER + n_failed : 0);
    }
    fixture_done(&f);
}

/* --- metrics that are missing ------------------------------------------------------------- */

static void test_missing_metrics_are_not_errors(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f,
        "policy:\n"
        "  metrics: [{name: load, prometheus: {query: load}}, {name: heat, prometheus: {query: "
        "t}}]\n"
        "  filters:\n"
        "    - {name: lax, expression: 'metrics.load < 0.8', onMissing: allow}\n"
        "    - {name: strict, expression: 'metrics.load + metrics.heat < 0.8', onMissing: reject}\n"
        "  scores: [{name: s, expression: '100.0 * metrics.load', onMissing: 40}]\n"
        "nodes: {a: {}, b: {}}\n"
        "pod: {name: p}\n");
    assert_int_equal(f.explained.nodes[0].n_failed, 1);
    assert_true(f.explained.nodes[0].failed[0].is_missing);
    assert_false(f.explained.nodes[0].failed[0].is_error);
    assert_text("detail", f.explained.nodes[0].failed[0].detail, "metrics load, heat are missing");
    assert_int_equal(f.explained.n_errors, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(f.explained.errors[i].is_missing);
        assert_int_equal(f.explained.errors[i].n, 2);
        assert_text("node", f.explained.errors[i].node, "a");
    }
    assert_text("lax", f.explained.errors[0].filter->name, "lax");
    assert_text("lax", f.explained.errors[0].text, "metric load is missing");
    fixture_done(&f);

    fixture_init(&f, "policy:\n"
                     "  metrics: [{name: load, prometheus: {query: load}}]\n"
                     "  scores: [{name: s, expression: '100.0 * metrics.load', onMissing: 40}]\n"
                     "nodes: {a: {}}\n"
                     "pod: {name: p}\n");
    assert_true(
        f.explained.nodes[0].parts[0].is_missing && f.explained.nodes[0].parts[0].value == 40);
    assert_int_equal(f.explained.n_errors, 1);
    assert_text("score", f.explained.errors[0].text, "metric load is missing");
    fixture_done(&f);
}

/* --- limits ------------------------------------------------------------------------------- */

/* A node with @n labels, and a rule that compares all pairs of them. */
static void init_pairs(Fixture *f, unsigned n_labels, const char *wanted) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);

    buf_printf(&text,
        "policy:\n"
        "  filters:\n"
        "    - name: pairs\n"
        "      expression: '!node.metadata.labels.exists(a, node.metadata.labels.exists(b, "
        "a + b == %s))'\n"
        "pod: {name: p}\n"
        "nodes: {n: {labels: {",
        wanted);
    for (unsigned i = 0; i < n_labels; i++)
        buf_printf(&text, "l%u: x, ", i);
    buf_append(&text, STR("}}}\n"));
    buf_append_char(&text, '\0');
    assert_int_equal(buf_error(&text), 0);
    fixture_init(f, text.data);
}

/* When a rule runs out of fuel, the explanation reports it. A rule that reads only the node has
 * less fuel: the scalar machine completes the first rule. */
static void test_rule_without_fuel_is_reported(void **state) {
    static const struct {
        unsigned n_labels;
        const char *wanted;
    } cases[] = {{250, "\"\""}, {500, "\"\""}, {500, "pod.metadata.name"}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const NodeExplanation *node;
        FailureDetails details;
        Fixture f;

        init_pairs(&f, cases[i].n_labels, cases[i].wanted);
        node = &f.explained.nodes[0];
        assert_int_equal(node->n_failed, 1);
        assert_true(node->failed[0].is_error);
        assert_true(str_has_prefix(node->failed[0].detail, STR("out of fuel: ")));
        assert_true(str_has_prefix(f.explained.errors[0].text, STR("out of fuel: ")));
        assert_int_equal(
            explain_failure(&f.explained, node, &node->failed[0], f.arena, &details), 0);
        assert_int_equal(details.n_remedies, 0);
        for (size_t k = 0; k < details.n_values; k++) {
            _cleanup_(buf_done) Buf text = BUF_INIT(8192);

            probe_leaf_print(&details.values[k], &text);
            assert_true(text.len > 0);
        }
        fixture_done(&f);
    }
}

static void test_explanation_is_complete_or_fails_with_any_budget(void **state) {
    const NodeExplanation *node;
    FailureDetails details;
    Fixture f;
    int r = -ENOMEM;

    (void)state;
    fixture_init(&f,
        "policies:\n"
        "  one:\n"
        "    narrow: {to: 1}\n"
        "    filters: [{name: f, nodeLabels: {pool: a}}, {name: t, tolerations: true}]\n"
        "    scores: [{name: s, expression: \"double(node.metadata.labels['n'])\"}]\n"
        "  two: {match: {expression: \"pod.metadata.labels['x'] == 'y'\"}, filters: [{name: g, "
        "nodeReady: true}]}\n"
        "nodes:\n"
        "  n: {labels: {pool: b}, taints: [{key: gpu, effect: NoSchedule}]}\n"
        "  o: {labels: {pool: a, n: '3'}}\n"
        "  p: {labels: {pool: a}}\n"
        "pod: {name: p}\n");
    for (size_t budget = 64; r == -ENOMEM; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        Explanation explained;

        assert_true(budget < (size_t)1 << 20);
        r = arena ? extender_explain(f.view, f.scene.now, &f.scene.pod, arena, &explained)
                  : -ENOMEM;
        if (r == -ENOMEM)
            continue;
        assert_int_equal(r, 0);
        assert_int_equal(explained.n_passed, 2);
        assert_int_equal(explained.n_errors, f.explained.n_errors);
        assert_int_equal(explained.nodes[0].n_failed, 2);
    }
    node = &f.explained.nodes[0];
    details.n_remedies = 0;
    for (size_t budget = 64; details.n_remedies == 0; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);

        assert_true(arena && budget < (size_t)1 << 20);
        r = explain_failure(&f.explained, node, &node->failed[1], arena, &details);
        assert_true(r == 0 || r == -ENOMEM);
        assert_true(r == 0 || details.n_remedies == 0);
    }
    assert_true(str_has_prefix(details.remedies[0].relation, STR("in")));
    fixture_done(&f);
}

/* An error names the part that failed, unless the part is too long. */
static void test_error_names_the_failed_part(void **state) {
    static const struct {
        const char *key, *detail;
    } cases[] = {
        {"a", "no such key: a, in node.metadata.labels['a'] ("},
        {"a-key-of-some-fifty-letters-so-that-no-line-has-room",
            "no such key: a-key-of-some-fifty-letters-so-that-no-line-has-room ("},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(8192);
        Fixture f;

        buf_printf(&text,
            "policy: {filters: [{name: f, expression: \"node.metadata.labels['%s'] == 'x'\"}]}\n"
            "nodes: {n: {}}\npod: {name: p}\n",
            cases[i].key);
        buf_append_char(&text, '\0');
        fixture_init(&f, text.data);
        if (!str_has_prefix(f.explained.nodes[0].failed[0].detail, str_from_c(cases[i].detail)))
            assert_text(cases[i].key, f.explained.nodes[0].failed[0].detail, cases[i].detail);
        fixture_done(&f);
    }
}

static void test_bind_annotations_are_evaluated_for_each_node(void **state) {
    Fixture f;

    (void)state;
    fixture_init(&f,
        "policy:\n"
        "  bind: {annotations: {zone: {expression: \"node.metadata.labels['zone']\"}}}\n"
        "nodes: {a: {labels: {zone: x}}, b: {labels: {zone: y}}, c: {}}\n");
    assert_int_equal(f.explained.n_nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        const NodeExplanation *node = &f.explained.nodes[i];
        BindValue *values;
        size_t n;

        assert_int_equal(explain_bind(&f.explained, node, f.arena, &values, &n), 0);
        assert_int_equal(n, 1);
        assert_text("key", values[0].annotation->key, "zone");
        assert_int_equal(values[0].error != NULL, str_is(node->node, "c"));
        if (!values[0].error)
            assert_text("value", values[0].value, str_is(node->node, "a") ? "x" : "y");
    }
    fixture_done(&f);
}

/* --- values and suggestions --------------------------------------------------------------- */

typedef struct Case {
    const char *rule;
    const char *values;   /* "a = 1, b = 2" */
    const char *remedies; /* "x; y"; "": none */
} Case;

/* The pod requests 2 cpu and 4Gi and has label app=web; node n has 4 cpu, of which two pods request
 * 2.5, one of them app=web. */
static const Case cases[] = {
    {"nodeLabels: {pool: a}", NULL, "label pool=a on the node"},
    {"nodeLabels: {pool: [a, c]}", NULL, "label pool one of \"a\", \"c\" on the node"},
    {"nodeLabels: {pool: {notIn: [b]}}", NULL, "label pool other than \"b\" on the node"},
    {"nodeLabels: {pool: {absent: true}}", NULL, "no label pool on the node"},
    {"nodeLabels: {none: {exists: true}}", NULL, "label none on the node"},
    {"nodeLabels: {gen: {gt: 6}}", NULL, "label gen of 7 or more on the node"},
    {"nodeLabels: {gen: {lt: 3}}", NULL, "label gen of 2 or less on the node"},
    {"nodeLabels: {pool: a, zone: z}", NULL, "label pool=a on the node; label zone=z on the node"},
    {"dedicated: {key: pool}", NULL, "no label pool on the node"},
    {"headroom: {cpu: 500m}", NULL, "1 more cpu free on the node"},
    {"headroom: {cpu: 1, memory: 20%}", NULL,
        "1.5 more cpu free on the node; 2.6Gi more memory free on the node"},
    {"headroom: {memory: 60%}", NULL, "14.5Gi more memory allocatable on the node"},
    {"headroom: {cpu: 8}", NULL, "8.5 more cpu free on the node (the node has 4 in total)"},
    {"poolHeadroom: {nodeLabels: {pool: b}, pods: 2, requests: {cpu: 1}}", NULL,
        "room for 2 more such pods in the pool"},
    {"poolHeadroom: {nodeLabels: {pool: b}, pods: 1, requests: {cpu: 1}, exceptPriorityAtLeast: 9}",
        NULL, "room for 1 more such pod in the pool"},
    {"maxPods: 2", NULL, "1 fewer pod on the node"},
    {"maxPods: 1", NULL, "2 fewer pods on the node"},
    {"maxPods: {limit: 1, podSelector: {matchLabels: {app: web}}}", NULL,
        "1 fewer matching pod on the node"},
    {"tolerations: true", NULL, "a toleration of gpu=yes:NoSchedule on the pod"},
    {"noTaints: [gpu]", NULL, "no taint gpu=yes:NoSchedule on the node"},
    {"nodeAge: {min: 2h}", NULL, "3600s more time"},
    {"expression: \"node.free.cpu >= pod.requests.cpu * 2.0\"",
        "node.free.cpu = 1.5, pod.requests.cpu = 2", "2.5 more cpu free on the node"},
    {"expression: \"node.free.cpu > 1.5\"", "node.free.cpu = 1.5", "1m more cpu free on the node"},
    {"expression: \"variables.left >= 0.0 && variables.pool == 'a'\"", "variables.left = -0.5",
        "500m more cpu free on the node; label pool=a on the node"},
    {"expression: \"'x' in node.metadata.labels && node.metadata.labels['x'] == 'y'\"",
        "'x' in node.metadata.labels = false", "label x=y on the node"},
    {"expression: \"node.metadata.labels['x'] == 'y'\"", "node.metadata.labels['x'] = absent",
        "label x=y on the node"},
    {"expression: \"node.metadata.labels[?'pool'].orValue('') == params.pool\"",
        "node.metadata.labels['pool'] = \"b\", params.pool = \"a\"", "label pool=a on the node"},
    {"expression: \"pod.requests.cpu < 2.0\"", "pod.requests.cpu = 2",
        "1m less cpu requested by the pod"},
    {"expression: \"pod.requests.cpu < 2.0 || node.metadata.labels['pool'] == 'a'\"",
        "pod.requests.cpu = 2, node.metadata.labels['pool'] = \"b\"", "label pool=a on the node"},
    {"expression: \"pod.spec.priority > 5\"", "pod.spec.priority = 0", "pod.spec.priority >= 6"},
    {"expression: \"pod.spec.priority != 0\"", "pod.spec.priority = 0", "pod.spec.priority != 0"},
    {"expression: \"node.allocatable.cpu > 4.0\"", "node.allocatable.cpu = 4",
        "1m more cpu allocatable on the node"},
    {"expression: \"!node.ready\"", "node.ready = true", "the node not to be Ready"},
    {"expression: \"node.spec.unschedulable\"", "node.spec.unschedulable = false",
        "the node to be cordoned"},
    {"expression: \"!(node.metadata.labels['pool'] in ['b', 'c'])\"",
        "node.metadata.labels['pool'] = \"b\"", "label pool none of \"b\", \"c\" on the node"},
    {"expression: \"node.domain('pool').pods.size() < 2\"", "node.domain('pool').pods.size() = 2",
        "1 fewer pod in the node's pool"},
    {"expression: \"node.domain('pool').pods.filter(p, p.metadata.labels['app'] == 'web').size() < "
     "1\"",
        NULL, "1 fewer matching pod in the node's pool"},
    {"expression: \"node.free.cpu > 3.0 && node.free.cpu > 3.5\"", "node.free.cpu = 1.5",
        "2.001 more cpu free on the node"},
    {"expression: \"node.metadata.labels['pool'] == 'a' && node.metadata.labels['pool'] == 'c'\"",
        "node.metadata.labels['pool'] = \"b\"", ""},
    {"expression: \"node.metadata.name.startsWith('x')\"", "node.metadata.name = \"n\"", ""},
    {"metricLimit: {metric: load, max: 0.8}", NULL, "metrics.load <= 0.8"},
    {"metricLimit: {metric: load, min: 0.95, max: 1}", NULL, "metrics.load >= 0.95"},
    {"expression: \"metrics.load < 0.8 && node.metadata.labels[?'pool'].orValue('') == 'a'\"",
        "metrics.load = 0.9", "metrics.load < 0.8; label pool=a on the node"},
    {"expression: \"!has(metrics.load) || metrics.load < params.hot\"",
        "has(metrics.load) = true, metrics.load = 0.9, params.hot = 0.8", "metrics.load < 0.8"},
    {"expression: \"metrics.silent < 0.8\"", "metrics.silent = absent", "metrics.silent < 0.8"},
    {"expression: \"has(metrics.silent) && metrics.silent < 0.8\"", "has(metrics.silent) = false",
        "metrics.silent < 0.8"},
    {"expression: \"has(metrics.silent)\"", "has(metrics.silent) = false", ""},
    {"expression: \"metrics.load.measured < 0.8\"", "metrics.load.measured = 0.9", ""},
    {"expression: \"metrics.silent.age < duration('1s')\"", "metrics.silent.age = absent", ""},
    {"expression: \"workload.metrics.podCpu < 1.0\"", "workload.metrics.podCpu = absent", ""},
    {"expression: \"cel.bind(m, metrics, m.load < 0.8 && m == m)\"", NULL, ""},
    {"expression: \"node.free['example.com/gpu'] >= 1.0\"", "node.free['example.com/gpu'] = 0",
        "1 more example.com/gpu free on the node (the node has none)"},
    {"expression: \"node.free['memory'] > 8589934592.0\"", "node.free['memory'] = 3Gi",
        "about 5Gi more memory free on the node (the node has 8Gi in total)"},
    {"expression: \"node.free.cpu > node.requested.cpu\"",
        "node.free.cpu = 1.5, node.requested.cpu = 2.5", ""},
    {"expression: \"node.free.cpu > 3.0 || node.pods.size() < 1\"",
        "node.free.cpu = 1.5, node.pods.size() = 2", ""},
    {"expression: \"cluster.free.cpu > 9.0 || node.free.cpu > 3.0\"",
        "cluster.free.cpu = 1.5, node.free.cpu = 1.5", ""},
    {"expression: \"cel.bind(x, node, x.free.cpu > 3.0 && x == x)\"", NULL, ""},
    {"expression: \"!node.ready || node.status.conditions.size() > 9\"", NULL, ""},
    {"expression: \"pod.requests.cpu < 1.5 && pod.requests.cpu < 1.0\"", "pod.requests.cpu = 2",
        "1.001 less cpu requested by the pod"},
    {"expression: \"node.metadata.labels['pool'] == 'a' || pod.requests.cpu < 2.0\"",
        "node.metadata.labels['pool'] = \"b\", pod.requests.cpu = 2", "label pool=a on the node"},
    {"expression: \"node.metadata.labels[?'pool'].orValue('a') == 'a'\"", NULL,
        "label pool=a on the node"},
    {"expression: \"node.metadata.labels['pool'] in ['c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', "
     "'k']\"",
        NULL,
        "label pool one of \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"j\", … on the node"},
    {"expression: \"node.metadata.labels.exists(k, k == 'x')\"", "node.metadata.labels.size() = 2",
        ""},
    {"expression: \"node.pods.exists(p, node.pods.filter(o, o.owner != p.owner).size() > 0)\"",
        "node.pods.size() = 2", ""},
    {"expression: \"node.metadata.labels.size() > 5 || node.metadata.labels['pool'] == 'a'\"",
        "node.metadata.labels.size() = 2, node.metadata.labels['pool'] = \"b\"", ""},
};

static const char scene_text[] =
    "policy:\n"
    "  params: {pool: a, hot: 0.8}\n"
    "  metrics:\n"
    "    - {name: load, prometheus: {query: load}}\n"
    "    - {name: silent, prometheus: {query: silent}}\n"
    "    - {name: podCpu, resourceMetrics: cpu, pods: {}}\n"
    "  variables:\n"
    "    - {name: left, expression: node.free.cpu - pod.requests.cpu}\n"
    "    - {name: pool, expression: \"node.metadata.labels[?'pool'].orValue('')\"}\n"
    "  filters:\n"
    "    - {name: rule, %s}\n"
    "now: 2026-01-02T03:00:00Z\n"
    "nodes:\n"
    "  n:\n"
    "    labels: {pool: b, gen: '5'}\n"
    "    allocatable: {cpu: 4, memory: 8Gi}\n"
    "    taints: [{key: gpu, value: 'yes', effect: NoSchedule}]\n"
    "    created: 2026-01-02T02:00:00Z\n"
    "pods:\n"
    "  - {on: n, requests: {cpu: 1, memory: 4Gi}, labels: {app: web}}\n"
    "  - {on: n, requests: {cpu: 1500m, memory: 1Gi}, labels: {app: db}}\n"
    "measured: {load: {n: 0.9}}\n"
    "pod: {name: p, labels: {app: web}, requests: {cpu: 2, memory: 4Gi}}\n";

static void print_details(const FailureDetails *details, Buf *values, Buf *remedies) {
    for (size_t i = 0; i < details->n_values; i++) {
        buf_append(values, i ? STR(", ") : STR_NULL);
        probe_leaf_print(&details->values[i], values);
    }
    for (size_t i = 0; i < details->n_remedies; i++) {
        buf_append(remedies, i ? STR("; ") : STR_NULL);
        buf_append(remedies, details->remedies[i].text);
    }
}

static void check_case(const Case *test) {
    _cleanup_(buf_done) Buf text = BUF_INIT(8192);
    _cleanup_(buf_done) Buf values = BUF_INIT(8192);
    _cleanup_(buf_done) Buf remedies = BUF_INIT(8192);
    const NodeExplanation *node;
    FailureDetails details;
    Fixture f;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buf_printf(&text, scene_text, test->rule);
#pragma GCC diagnostic pop
    buf_append_char(&text, 0);
    fixture_init(&f, text.data);
    node = &f.explained.nodes[0];
    assert_case(test->rule, node->outcome == NODE_REJECTED && node->n_failed == 1);
    assert_int_equal(explain_failure(&f.explained, node, &node->failed[0], f.arena, &details), 0);
    print_details(&details, &values, &remedies);
    if (test->values)
        assert_text(test->rule, buf_str(&values), test->values);
    assert_text(test->rule, buf_str(&remedies), test->remedies);
    fixture_done(&f);
}

static void test_values_and_remedies(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        check_case(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_policies_apply),
        cmocka_unit_test(test_namespace_selector_fails_if_namespaces_are_unknown),
        cmocka_unit_test(test_ranks_and_parts),
        cmocka_unit_test(test_narrowing_comes_before_normalizing),
        cmocka_unit_test(test_distance_counts_failed_filters_of_rejected_nodes),
        cmocka_unit_test(test_missing_metrics_are_not_errors),
        cmocka_unit_test(test_rule_without_fuel_is_reported),
        cmocka_unit_test(test_explanation_is_complete_or_fails_with_any_budget),
        cmocka_unit_test(test_error_names_the_failed_part),
        cmocka_unit_test(test_bind_annotations_are_evaluated_for_each_node),
        cmocka_unit_test(test_values_and_remedies),
    };

    return cmocka_run_group_tests_name("extender/explain", tests, NULL, NULL);
}
