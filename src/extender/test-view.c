/* Views: facts shared with the previous view, adjustments to a pod, and answers without a
 * cluster. */

#include "extender/view.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "policy/policy.h"
#include "policy/test-scene.h"

enum { NODES = 5 * CHUNK_ROWS };

static void add_nodes(Store *store) {
    for (unsigned i = 0; i < NODES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%u", i);
        assert_int_equal(
            store_apply_node(store, &(Node){.name = str_from_c(name), .is_ready = true}), 0);
    }
}

static View *next_view(Store *store, Program *program, const View *before) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    View *view = NULL;

    assert_int_equal(store_publish(store, &snapshot), 0);
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = snapshot, .program = program}, before, &view), 0);
    return view;
}

static uint16_t failing(const View *view, uint32_t row) {
    return facts_failing(&view->facts, 0, row);
}

static size_t n_shared(const View *a, const View *b) {
    size_t n = 0;

    for (size_t i = 0; i < a->facts.n_chunks && i < b->facts.n_chunks; i++)
        n += a->facts.chunks[i] == b->facts.chunks[i];
    return n;
}

/* Facts of unchanged rows are shared, and those of changed rows are computed. */
static void test_facts_are_shared(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *first = NULL, *second = NULL, *third = NULL;
    TestScene scene, other;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: ready, nodeReady: true}]}\n");
    scene_init_text(&other, "policy: {filters: [{name: ready, nodeReady: true}]}\n");
    add_nodes(store);
    first = next_view(store, scene.program, NULL);
    assert_int_equal(failing(first, 70), VERDICT_PASS);
    assert_int_equal(failing(first, NODES), 0); /* the unknown node */
    assert_int_equal(store_apply_node(store, &(Node){.name = STR("n70")}), 0);
    second = next_view(store, scene.program, first);
    assert_int_equal(first->facts.n_chunks, NODES / CHUNK_ROWS + 1);
    assert_int_equal(n_shared(first, second), first->facts.n_chunks - 1);
    assert_int_equal(failing(second, 70), 0);
    assert_int_equal(failing(second, 71), VERDICT_PASS);
    assert_int_equal(failing(first, 70), VERDICT_PASS); /* the old view does not change */
    first = view_unref(first);
    assert_int_equal(failing(second, 3), VERDICT_PASS); /* shared, and still valid */
    third = next_view(store, other.program, second);
    assert_int_equal(n_shared(second, third), 0); /* other programs have other facts */
    scene_done(&scene);
    scene_done(&other);
}

/* If a pod is removed or added, only its chunk is computed again. */
static void test_adjusting_computes_only_the_changed_chunk(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *view = NULL;
    Pod pod = {.name = STR("p"), .uid = STR("u"), .node_name = STR("n70")};
    Pod stranger = {.uid = STR("v")};
    NodeSet node_set;
    TestScene scene;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: cap, maxPods: 1}]}\n");
    add_nodes(store);
    assert_true(store_apply_pod(store, &pod) >= 0);
    view = next_view(store, scene.program, NULL);
    assert_int_equal(failing(view, 70), 0);

    node_set = (NodeSet){.table = view->table, .facts = &view->facts};
    assert_int_equal(view_adjust(view, /* time= */ NULL, &stranger, NULL, 0, arena, &node_set), 0);
    assert_ptr_equal(node_set.table, view->table); /* no change */
    assert_ptr_equal(node_set.facts, &view->facts);

    assert_int_equal(view_adjust(view, /* time= */ NULL, &pod, NULL, 0, arena, &node_set), 0);
    assert_int_equal(facts_failing(node_set.facts, 0, 70), VERDICT_PASS);
    for (size_t i = 0; i < view->facts.n_chunks; i++)
        assert_int_equal(node_set.facts->chunks[i] == view->facts.chunks[i], i != 1);
    scene_done(&scene);
}

/* Two nodes have a nominated pod, and only one node is judged. */
static void test_nominated_pods_of_other_nodes_count_only_if_read(void **state) {
    static const struct {
        const char *policy;
        bool reads_others;
    } cases[] = {
        {"policy: {filters: [{name: cap, maxPods: 1}]}\n", false},
        {"policy: {filters: [{name: few, expression: 'cluster.nodes > 1'}, "
         "{name: cap, maxPods: 1}]}\n",
            true},
        {"policy: {filters: [{name: spread, topologySpread: {topologyKey: zone, maxSkew: 1, "
         "podSelector: {}}}, "
         "{name: cap, maxPods: 1}]}\n",
            true},
    };
    Pod first = {.name = STR("p"), .uid = STR("u"), .nominated_node_name = STR("n1")};
    Pod second = {.name = STR("q"), .uid = STR("v"), .nominated_node_name = STR("n70")};
    Pod pod = {.name = STR("r"), .uid = STR("w")};

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
        _cleanup_(store_freep) Store *store = store_new();
        _cleanup_(view_unrefp) View *view = NULL;
        const uint32_t row = 1;
        NodeSet node_set;
        TestScene scene;

        scene_init_text(&scene, cases[i].policy);
        add_nodes(store);
        assert_true(store_apply_pod(store, &first) >= 0 && store_apply_pod(store, &second) >= 0);
        view = next_view(store, scene.program, NULL);
        node_set = (NodeSet){.table = view->table, .facts = &view->facts};
        assert_int_equal(view_adjust(view, /* time= */ NULL, &pod, &row, 1, arena, &node_set), 0);
        assert_int_equal(node_set.table->chunks[0]->n_pods[1], 1);
        assert_int_equal(node_set.table->chunks[1]->n_pods[70 - CHUNK_ROWS], cases[i].reads_others);
        scene_done(&scene);
    }
}

static void test_full_node_may_not_be_bound(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *view = NULL, *later = NULL;
    Pod first = {.name = STR("p"), .uid = STR("u")};
    Pod second = {.name = STR("q"), .uid = STR("v")};
    TestScene scene;
    NodeSet node_set;
    BindVerdict verdict;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: cap, maxPods: 1, reason: full}]}\n");
    add_nodes(store);
    view = next_view(store, scene.program, NULL);
    assert_true(extender_may_bind(view, /* time= */ NULL, &first, STR("n1"), arena, &verdict));
    assert_true(extender_may_bind(view, /* time= */ NULL, &second, STR("n1"), arena, &verdict));
    assert_false(extender_may_bind(view, /* time= */ NULL, &first, STR("other"), arena, &verdict));
    assert_text("refusal", verdict.refusal,
        "berth: refused: other would not take the pod any more: node is not known to berth");

    assert_int_equal(store_assume(store, &first, STR("n1"), INT64_MAX), 0);
    later = next_view(store, scene.program, view);
    assert_false(extender_may_bind(later, /* time= */ NULL, &second, STR("n1"), arena, &verdict));
    assert_text(
        "refusal", verdict.refusal, "berth: refused: n1 would not take the pod any more: full");
    assert_true(extender_may_bind(later, /* time= */ NULL, &second, STR("n2"), arena, &verdict));
    assert_true(extender_may_bind(later, /* time= */ NULL, &first, STR("n1"), arena, &verdict));
    node_set = (NodeSet){.table = later->table, .facts = &later->facts};
    assert_int_equal(view_adjust(later, /* time= */ NULL, &first, NULL, 0, arena, &node_set), 0);
    assert_int_equal(facts_failing(node_set.facts, 0, 1), VERDICT_PASS); /* filter agrees */
    scene_done(&scene);
}

static void test_bind_is_refused_without_memory(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *view = NULL;
    Pod pod = {.name = STR("p"), .uid = STR("u"), .node_name = STR("n1")};
    TestScene scene;
    bool may = false;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: cap, maxPods: 1}], "
                            "bind: {annotations: {a: {expression: string(decision.score)}}}}\n");
    add_nodes(store);
    assert_true(store_apply_pod(store, &pod) >= 0);
    view = next_view(store, scene.program, NULL);
    for (size_t budget = 64; !may; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        BindVerdict verdict;

        assert_true(arena && budget < (size_t)1 << 20);
        may = extender_may_bind(view, /* time= */ NULL, &pod, STR("n1"), arena, &verdict);
        if (may)
            assert_int_equal(verdict.annotations.n, 1);
        else
            assert_text("refusal", verdict.refusal, "berth: refused: out of time or memory");
    }
    scene_done(&scene);
}

/* Annotations are constants or expressions of pod, node and decision. If policies set the same key,
 * the last wins; an annotation that fails is left out, or fails the bind (onError: fail). */
static void test_bind_annotations(void **state) {
    static const char policies[] =
        "policies:\n"
        "  first:\n"
        "    scores: [{name: s, expression: '40.0'}]\n"
        "    bind: {annotations: {z: old, place: {expression: node.metadata.name}}}\n"
        "  second:\n"
        "    bind:\n"
        "      annotations:\n"
        "        why: {expression: \"decision.policies.join('+') + string(decision.score)\"}\n"
        "        gone: {expression: \"pod.metadata.annotations['gone']\"}\n"
        "        long: {expression: \"pod.metadata.annotations['key'].replace('v', '%s')\"}\n"
        "        must: {expression: \"pod.metadata.annotations['key']\", onError: fail}\n"
        "        z: {expression: \"string(cluster.nodes)\"}\n"
        "  idle:\n"
        "    mode: Observe\n"
        "    bind: {annotations: {z: never, y: never}}\n";
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *view = NULL;
    Label annotation = {STR("key"), STR("v")};
    PodDetails details = {.annotations = {.items = &annotation, .n = 1}};
    Pod pod = {.name = STR("p"), .uid = STR("u"), .details = &details};
    char text[8192], many[BIND_VALUE_MAX + 2] = {0};
    TestScene scene;
    BindVerdict verdict;

    (void)state;
    memset(many, 'x', sizeof(many) - 1);
    (void)snprintf(text, sizeof(text), policies, many);
    scene_init_text(&scene, text);
    add_nodes(store);
    view = next_view(store, scene.program, NULL);
    assert_true(extender_may_bind(view, /* time= */ NULL, &pod, STR("n1"), arena, &verdict));
    assert_int_equal(verdict.n_skipped, 2);
    assert_int_equal(verdict.annotations.n, 4);
    assert_text("must", *labels_find(&verdict.annotations, STR("must")), "v");
    assert_text("place", *labels_find(&verdict.annotations, STR("place")), "n1");
    assert_text("why", *labels_find(&verdict.annotations, STR("why")), "first+second40");
    assert_text("z", *labels_find(&verdict.annotations, STR("z")), "320");

    annotation.key = STR("other");
    assert_false(extender_may_bind(view, /* time= */ NULL, &pod, STR("n1"), arena, &verdict));
    assert_text("refusal", verdict.refusal,
        "berth: refused: annotation must of policy second failed: no such key: key");
    scene_done(&scene);
}

/* A cluster that is still being listed is not used: without its pods a node looks emptier than it
 * is. */
static void test_filter_is_an_error_until_the_cluster_is_listed(void **state) {
    static const char *const bodies[] = {
        "{\"Pod\":{},\"NodeNames\":[\"a\"]}",
        "{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\"}}]}}",
    };
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(view_unrefp) View *view = NULL;
    Answer answer;
    TestScene scene;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: cap, maxPods: 1}]}\n");
    assert_int_equal(
        view_new(&(ViewParts){.program = scene.program}, /* before= */ NULL, &view), 0);
    view->awaits_cluster = true;
    for (size_t i = 0; i < ELEMENTS_OF(bodies); i++) {
        extender_filter(view, /* time= */ NULL, str_from_c(bodies[i]), arena, &answer);
        assert_int_equal(answer.status, 200);
        assert_true(str_has_prefix(answer.decision.error, STR("berth: the cluster has not been")));
        assert_null(answer.decision.verdicts);
    }
    scene_done(&scene);
}

static void test_narrowing_needs_known_nodes_and_pods(void **state) {
    static const char body[] = "{\"Pod\":{},\"NodeNames\":[\"n2\",\"n0\",\"n1\"]}";
    static const struct {
        bool has_cluster, awaits_cluster;
        const char *want;
    } cases[] = {
        {true, false, "[\"n2\"]"},
        {true, true, "[\"n2\",\"n0\",\"n1\"]"},
        {false, true, "[\"n2\",\"n0\",\"n1\"]"},
        {false, false, "[\"n2\",\"n0\",\"n1\"]"},
    };
    TestScene scene;

    (void)state;
    scene_init_text(&scene, "policy: {narrow: {to: 1}, scores: [{name: s, spread: {cpu: 1}}]}\n"
                            "nodes: {n0: {}, n1: {}, n2: {allocatable: {cpu: 2}}}\n");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(view_unrefp) View *view = NULL;
        char want[256];
        Answer answer;

        assert_int_equal(
            view_new(&(ViewParts){.snapshot = cases[i].has_cluster ? scene.snapshot : NULL,
                         .program = scene.program},
                /* before= */ NULL, &view),
            0);
        view->awaits_cluster = cases[i].awaits_cluster;
        extender_filter(view, /* time= */ NULL, STR(body), arena, &answer);
        (void)snprintf(want, sizeof(want),
            "{\"NodeNames\":%s,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},"
            "\"Error\":\"\"}",
            cases[i].want);
        assert_text("narrow", reply_text(&answer.body, arena), want);
    }
    scene_done(&scene);
}

/* Without a cluster, metrics come from annotations of the request's nodes. Their age is relative to
 * the time of the request, without a new view. */
static void test_annotations_of_request_nodes_expire(void **state) {
    static const char body[] =
        "{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\",\"annotations\":"
        "{\"load\":\"0.5,2026-01-02T03:04:00Z\"}}}]}}";
    static const struct {
        int64_t now_sec;
        size_t n_out;
    } cases[] = {
        {INT64_C(1767323040), 1},                           /* now */
        {INT64_C(1767323100), 1}, {INT64_C(1767323101), 0}, /* too old by a second */
        {INT64_C(1767322000), 0},                           /* from the future: absent */
    };
    _cleanup_(view_unrefp) View *view = NULL;
    TestScene scene;

    (void)state;
    scene_init_text(&scene,
        "policy:\n"
        "  metrics: [{name: load, annotation: {key: load}, maxAge: 60s}]\n"
        "  filters: [{name: f, metricLimit: {metric: load, max: 0.8}, onMissing: reject}]\n");
    assert_int_equal(
        view_new(&(ViewParts){.program = scene.program, .now_nsec = 1}, /* before= */ NULL, &view),
        0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
        RequestTime time = {.now_nsec = cases[i].now_sec * 1000000000};
        Answer answer;

        extender_filter(view, &time, STR(body), arena, &answer);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.decision.summary.n_out, cases[i].n_out);
    }
    scene_done(&scene);
}

static const CelZone *find_no_zone(const CelZones *zones, Str name) {
    (void)zones;
    (void)name;
    return NULL;
}

/* A time in an unknown time zone is invalid: the metric is absent. */
static void test_metric_with_unknown_time_zone_is_absent(void **state) {
    static const CelZones no_zones = {.find = find_no_zone};
    static const struct {
        const char *policy;
        size_t n_out;
    } cases[] = {
        {"policy:\n"
         "  metrics: [{name: load, annotation: {key: load, timeZone: Mars/Olympus}, maxAge: 60s}]\n"
         "  filters: [{name: f, metricLimit: {metric: load, max: 0.8}, onMissing: reject}]\n",
            0},
        {"policy:\n"
         "  metrics: [{name: load, annotation: {key: load}, maxAge: 60s}]\n"
         "  filters: [{name: f, metricLimit: {metric: load, max: 0.8}, onMissing: reject}]\n",
            1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
        _cleanup_(view_unrefp) View *view = NULL;
        RequestTime time = {.now_nsec = INT64_C(1767323040) * 1000000000};
        const uint32_t *missing;
        Answer answer;
        TestScene scene;

        scene_init_text(&scene, cases[i].policy);
        assert_int_equal(view_new(&(ViewParts){.program = scene.program, .zones = &no_zones},
                             /* before= */ NULL, &view),
            0);
        extender_filter(view, &time,
            STR("{\"Pod\":{},\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"a\",\"annotations\":"
                "{\"load\":\"0.5,2026-01-02T03:04:00Z\"}}}]}}"),
            arena, &answer);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.decision.summary.n_out, cases[i].n_out);
        missing = answer.decision.notes.filter_missing;
        assert_int_equal(missing ? missing[0] : 0, 1 - cases[i].n_out);
        scene_done(&scene);
    }
}

/* kube-scheduler sends a nominated node alone; with others it is a normal candidate. */
static void test_nominated_node_is_the_only_candidate(void **state) {
    static const struct {
        const char *nodes, *want;
    } cases[] = {
        {"\"n1\"", "n1"},
        {"\"n2\"", ""},
        {"\"n1\",\"n2\"", ""},
        {"\"nobody\"", ""},
        {"", ""},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    _cleanup_(view_unrefp) View *view = NULL;
    RequestTime time = {.now_nsec = 1};
    TestScene scene;

    (void)state;
    scene_init_text(&scene, "policy: {filters: [{name: f, nodeReady: true}]}\n"
                            "nodes: {n1: {ready: false}, n2: {}}\n");
    assert_int_equal(
        view_new(&(ViewParts){.snapshot = scene.snapshot, .program = scene.program}, NULL, &view),
        0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Answer answer;

        extender_filter(view, &time,
            arena_printf(arena,
                "{\"Pod\":{\"status\":{\"nominatedNodeName\":\"n1\"}},\"NodeNames\":[%s]}",
                cases[i].nodes),
            arena, &answer);
        assert_int_equal(answer.status, 200);
        assert_text(cases[i].nodes, decision_nominated(&answer.decision), cases[i].want);
    }
    scene_done(&scene);
}

/* --- views made from the previous one ---------------------------------------------------- */

enum { STEPS = 300, PODS = 200 };

static unsigned pick(Rng *rng, unsigned n) {
    return (unsigned)rng_pick(rng, n);
}

/* Adds or removes a node, or changes its zone. */
static void change_node(Store *store, Rng *rng) {
    Label zone = {.key = STR("zone")};
    Node node = {.is_ready = pick(rng, 4) > 0, .labels = {.items = &zone, .n = pick(rng, 5) > 0}};
    char name[16], value[16];

    (void)snprintf(name, sizeof(name), "n%u", pick(rng, NODES + 3));
    (void)snprintf(value, sizeof(value), "z%u", pick(rng, 4));
    node.name = str_from_c(name);
    zone.value = str_from_c(value);
    if (pick(rng, 8) == 0)
        store_remove_node(store, node.name);
    else
        assert_true(store_apply_node(store, &node) >= 0);
}

/* Adds or removes a pod, or changes its labels. Its strings are freed with it, so that
 * AddressSanitizer sees a view that still refers to them. */
static void change_pod(Store *store, Rng *rng) {
    Label app = {.key = STR("app")};
    char name[16], uid[48], node[16], value[48];
    unsigned number = pick(rng, PODS), kind = pick(rng, 6);
    Pod pod = {.namespace = STR("team"), .labels = {.items = &app, .n = kind > 0}};

    (void)snprintf(name, sizeof(name), "p%u", number);
    (void)snprintf(uid, sizeof(uid), "u%u-%u", number, pick(rng, 100000));
    (void)snprintf(node, sizeof(node), "n%u", number % 20 * 16);
    (void)snprintf(value, sizeof(value), "an-app-of-number-%u", kind < 4 ? kind : number);
    pod.name = str_from_c(name);
    pod.uid = str_from_c(uid);
    pod.node_name = str_from_c(node);
    pod.priority = kind;
    app.value = str_from_c(value);
    if (pick(rng, 3) == 0)
        store_remove_pod(store, pod.namespace, pod.name, STR_NULL);
    else
        assert_true(store_apply_pod(store, &pod) >= 0);
}

typedef struct Answers {
    uint16_t verdicts[NODES + 8];
    double scores[NODES + 8];
    size_t n;
} Answers;

static void ask(const View *view, const Pod *pod, Answers *ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    NodeSet node_set = {.table = view->table, .facts = &view->facts};
    uint32_t rows[NODES + 8];
    Judge *judge = NULL;
    JudgeInput input;

    *ret = (Answers){.n = view->table->n_rows};
    assert_true(ret->n <= NODES + 8);
    for (uint32_t i = 0; i < ret->n; i++)
        rows[i] = i;
    input = view_judge_input(view, /* time= */ NULL, &node_set, pod, rows, ret->n, arena);
    assert_int_equal(judge_open(&input, &judge), 0);
    assert_int_equal(judge_filters(judge, ret->verdicts), 0);
    assert_int_equal(judge_scores(judge, ret->scores), 0);
}

/* Rules that need columns of rows, of elements, of strings and of groups. */
static const char several_rules[] =
    "policy:\n"
    "  filters:\n"
    "    - {name: ready, nodeReady: true}\n"
    "    - {name: cap, maxPods: 12}\n"
    "    - {name: name, expression: \"node.metadata.labels[?'zone'].orValue('') != 'z3'\"}\n"
    "    - name: alone\n"
    "      expression: \"node.pods.filter(p, p.metadata.labels['app'] == "
    "pod.metadata.labels['app']).size() < 2\"\n"
    "  scores:\n"
    "    - name: others\n"
    "      expression: \"node.pods.map(p, p.spec.priority).sum()\"\n"
    "    - name: same\n"
    "      expression: \"node.pods.filter(p, p.metadata.uid > pod.metadata.name).size()\"\n"
    "    - name: zone\n"
    "      expression: \"node.domain('zone').pods.filter(p, "
    "p.metadata.labels[?'app'].orValue('') == pod.metadata.labels['app']).size()\"\n"
    "    - name: zones\n"
    "      expression: \"cluster.domains('zone').map(d, d.pods.filter(p, p.spec.priority > "
    "1).size()).min()\"\n";

/* After each of many changes, the view equals one made from scratch. Earlier views are freed, so it
 * must not refer to them. */
static void test_views_after_many_changes_equal_new_ones(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(view_unrefp) View *view = NULL;
    Label app = {.key = STR("app"), .value = STR("an-app-of-number-2")};
    Pod pod = {.name = STR("u3"), .uid = STR("me"), .labels = {.items = &app, .n = 1}};
    Rng rng = {.state = 1};
    TestScene scene;

    (void)state;
    scene_init_text(&scene, several_rules);
    add_nodes(store);
    for (unsigned i = 0; i < STEPS; i++) {
        _cleanup_(view_unrefp) View *fresh = NULL, *next = NULL;
        Answers wanted, given;

        if (pick(&rng, 4) == 0)
            change_node(store, &rng);
        for (unsigned n = pick(&rng, 4); n > 0; n--)
            change_pod(store, &rng);
        next = next_view(store, scene.program, view);
        view_unref(view);
        view = TAKE_PTR(next);
        fresh = next_view(store, scene.program, NULL);
        ask(fresh, &pod, &wanted);
        ask(view, &pod, &given);
        assert_memory_equal(&wanted, &given, sizeof(wanted));
    }
    scene_done(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_shared),
        cmocka_unit_test(test_adjusting_computes_only_the_changed_chunk),
        cmocka_unit_test(test_nominated_pods_of_other_nodes_count_only_if_read),
        cmocka_unit_test(test_full_node_may_not_be_bound),
        cmocka_unit_test(test_bind_is_refused_without_memory),
        cmocka_unit_test(test_bind_annotations),
        cmocka_unit_test(test_filter_is_an_error_until_the_cluster_is_listed),
        cmocka_unit_test(test_narrowing_needs_known_nodes_and_pods),
        cmocka_unit_test(test_annotations_of_request_nodes_expire),
        cmocka_unit_test(test_metric_with_unknown_time_zone_is_absent),
        cmocka_unit_test(test_nominated_node_is_the_only_candidate),
        cmocka_unit_test(test_views_after_many_changes_equal_new_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
