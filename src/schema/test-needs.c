/* The parts of a Node object that a request decodes for an expression. */

#include "schema/test-graph.h"

static int setup(void **state) {
    static Scene scene;

    scene_init(&scene);
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

/* "pod-volumes pod-@key", in a fixed order. */
static void print_pods(PodParts parts, Buf *out) {
    static const char *const names[] = {[POD_TOLERATIONS] = "tolerations",
        [POD_CONTAINERS] = "containers",
        [POD_CONTAINER_NAMES] = "names",
        [POD_CONTAINER_AMOUNTS] = "container-amounts",
        [POD_CONTAINER_PORTS] = "ports",
        [POD_CONTAINER_ENV] = "env",
        [POD_AMOUNTS] = "amounts",
        [POD_NODE_SELECTOR] = "node-selector",
        [POD_PRIORITY_CLASS] = "priority-class",
        [POD_RUNTIME_CLASS] = "runtime-class",
        [POD_PREEMPTION_POLICY] = "preemption-policy",
        [POD_SERVICE_ACCOUNT] = "service-account",
        [POD_HOST_NETWORK] = "host-network",
        [POD_SCHEDULING_GATES] = "gates",
        [POD_VOLUMES] = "volumes",
        [POD_RESOURCE_CLAIMS] = "claims",
        [POD_AFFINITY] = "affinity",
        [POD_SPREAD] = "spread",
        [POD_OWNERS] = "owners",
        [POD_ANNOTATIONS] = "annotations"};

    _Static_assert(ELEMENTS_OF(names) == _POD_PARTS, "a name for each");
    if (parts.fields == pod_parts_all.fields) {
        buf_append(out, STR("pod-all "));
        return;
    }
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (parts.fields & POD_BIT(i))
            buf_printf(out, "pod-%s ", names[i]);
    for (size_t i = 0; i < parts.n_annotations; i++)
        buf_printf(out, "pod-@%.*s ", STR_FMT(parts.annotations[i]));
}

/* "labels a b taints", in a fixed order. */
static void print_needs(const SchemaNeeds *needs, Buf *out) {
    const NodeParts *parts = &needs->parts;

    if (parts->all_labels)
        buf_append(out, STR("all-labels "));
    for (size_t i = 0; i < parts->n_labels; i++)
        buf_printf(out, "%.*s ", STR_FMT(parts->labels[i]));
    buf_printf(out, "%s%s%s%s", parts->taints ? "taints " : "",
        parts->conditions ? "conditions " : "", parts->allocatable ? "allocatable " : "",
        parts->rest ? "rest " : "");
    buf_printf(out, "%s", parts->details ? "details " : "");
    print_pods(schema_kept_pods(needs), out);
}

static const char everything[] = "all-labels taints conditions allocatable rest details pod-all ";

static const SceneCase cases[] = {
    {"true", ""},
    {"pod.metadata.labels['a'] == 'x'", ""},
    {"pod.metadata.annotations.size() > 0", ""},
    {"node.metadata.name == 'x' && !node.spec.unschedulable", ""},
    {"node.pods.all(p, p.metadata.labels[?'a'].orValue('') == '')", ""},
    {"cluster.nodes > 3 && cluster.pods < 5", ""},
    {"node.ready", "conditions "},
    {"node.status.conditions.exists(c, c.type == 'x')", "conditions "},
    {"node.spec.taints.all(t, pod.tolerates(t))", "taints "},
    {"node.free['cpu'] > 1.0", "allocatable "},
    {"node.requested['cpu'] > 1.0", "allocatable "},
    {"has(node.allocatable.cpu)", "allocatable "},
    {"cluster.free['cpu'] > 1.0", "allocatable "},
    {"node.status.allocatable['cpu'].isGreaterThan(quantity('1'))", "allocatable "},
    {"node.metadata.annotations['a'] == 'x'", "rest "},
    {"node.status.images.size() > 1", "rest "},
    {"pod.claims.all(c, c.selects(node))", "all-labels "},
    {"node.status.addresses.size() > 1", "rest "},
    {"node.capacity['cpu'] > 1.0", "details "},
    {"'cpu' in node.status.capacity", "details "},
    {"node.status.nodeInfo.architecture == 'arm64'", "details "},
    {"node.spec.providerID == '' || node.spec.podCIDRs.size() == 0", "details "},
    {"node.status.volumesInUse.size() + node.status.volumesAttached.size() < 9", "details "},
    {"node.status.conditions.exists(c, has(c.lastTransitionTime))", "conditions details "},
    {"now - node.metadata.creationTimestamp > duration('1h')", "rest "},
    {"has(node.metadata.creationTimestamp)", "rest "},
    {"node.metadata.uid == ''", "rest "},
    {"node.metadata.labels['a'] == 'x'", "a "},
    {"node.metadata.labels.a == 'x'", "a "},
    {"node.metadata.labels[?'a'].orValue('') == 'x'", "a "},
    {"'a' in node.metadata.labels && has(node.metadata.labels.b)", "a b "},
    {"has(node.metadata.labels)", ""},
    {"node.metadata.labels[pod.metadata.name] == 'x'", "all-labels "},
    {"pod.metadata.name in node.metadata.labels", "all-labels "},
    {"node.metadata.labels.exists(k, k == 'x')", "all-labels "},
    {"node.metadata.labels.size() > 2", "all-labels "},
    {"node.metadata.labels == pod.metadata.labels", "all-labels "},
    {"node.metadata.labels", "all-labels "},
    {"node.metadata.?labels.hasValue()", "all-labels "},
    {"(cluster.nodes > 1 ? node.metadata.labels : pod.metadata.labels)['a'] == 'x'", "all-labels "},
    {"node.domain('zone').pods.size() > 2", "zone "},
    {"node.domain(pod.metadata.name).pods.size() > 2", "all-labels "},
    {"cluster.domains('zone').exists(d, d.value == 'x')", "zone "},
    {"cluster.domains('zone').exists(d, d.nodes.exists(n, n.metadata.labels['a'] == 'x'))",
        "zone a "},
    {"cluster.nodesByLabel('zone').size() > 2", "zone "},
    {"(cluster.nodes > 1 ? node : node).metadata.labels['a'] == 'x'", "a "},
    {"[node][0].metadata.labels['a'] == 'x'", "a "},
    {"node.pods.exists(p, p.metadata.annotations['a'] == 'x')", "pod-@a "},
    {"node.pods.exists(p, 'a' in p.metadata.annotations || has(p.metadata.annotations.b))",
        "pod-@a pod-@b "},
    {"node.pods.exists(p, p.metadata.annotations[?'a'].orValue('') == 'x')", "pod-@a "},
    {"node.pods.exists(p, cel.bind(m, p.metadata, m.annotations['a'] == 'x'))", "pod-@a "},
    {"node.pods.exists(p, p.metadata.annotations.size() > 1)", "pod-annotations "},
    {"node.pods.exists(p, p.metadata.annotations[pod.metadata.name] == '')", "pod-annotations "},
    {"node.pods.map(p, p.limits['cpu']).sum() > 1.0", "pod-amounts "},
    {"node.pods.exists(p, p.status.qosClass == 'BestEffort')", "pod-amounts "},
    {"node.pods.exists(p, p.spec.containers.exists(c, c.image == 'x'))",
        "pod-containers pod-names "},
    {"node.pods.exists(p, p.spec.containers.exists(c, c.ports.exists(q, q.hostPort == 80)))",
        "pod-containers pod-ports "},
    {"node.pods.exists(p, p.spec.initContainers.exists(c, c.restartPolicy == 'Always'))",
        "pod-containers "},
    {"node.pods.exists(p, p.spec.containers.exists(c, c == pod.spec.containers[0]))",
        "pod-containers pod-names pod-container-amounts pod-ports pod-env "},
    {"pod.spec.containers.exists(c, c.image == 'x') && pod.limits['cpu'] > 1.0", ""},
    {"pod.spec.volumes.size() + pod.spec.tolerations.size() > 1", ""},
    {"node.pods.exists(p, p.spec.volumes.exists(v, v.claimName == 'x'))", "pod-volumes "},
    {"node.pods.exists(p, p.spec.runtimeClassName == 'kata')", "pod-runtime-class "},
    {"node.pods.exists(p, p.spec.hostNetwork && p.spec.serviceAccountName == '')",
        "pod-service-account pod-host-network "},
    {"node.pods.exists(p, p.spec.affinity.nodeAffinity != pod.spec.affinity.nodeAffinity)",
        "pod-affinity "},
    {"node.pods.exists(p, p.spec.topologySpreadConstraints.size() > 0)", "pod-spread "},
    {"node.pods.exists(p, p.metadata.ownerReferences.exists(o, o.kind == 'Job'))", "pod-owners "},
    {"node.pods.exists(p, p.workload.kind == 'Job' || p.owner == '')", ""},
    {"pod.spec.affinity.podAffinity == pod.spec.affinity.podAntiAffinity", ""},
    {"node.pods.exists(p, p.spec.tolerations.size() > 0)", "pod-tolerations "},
    {"node.pods.exists(p, p.tolerates('a:NoSchedule'))", "pod-tolerations "},
    {"node.domain('zone').pods.exists(p, p.spec.priorityClassName == 'x')",
        "zone pod-priority-class "},
    {"node.pods.filter(p, p.spec.priority > 1)[0].spec.nodeSelector['a'] == 'x'",
        "pod-node-selector "},
    {"node.pods.sortBy(p, p.metadata.name).first().value().spec.priority > 1", ""},
    {"node.pods[0] == node.pods[1]", "pod-all "},
    {"dyn(node.pods[0]).x == 1", "pod-all "},
    {"node.pods.map(p, p.spec)", "pod-all "},
    {"node == node", everything},
    {"node.metadata", everything},
    {"dyn(node).x == 1", everything},
    {"[dyn(node)].size() == 1", everything},
    {"[node.spec].distinct().size() == 1", everything},
    {"optional.of(node).metadata.name.hasValue()", everything},
};

/* Labels are listed in the order in which they are found, from the outside in. */
static bool has_all(Str got, const char *want) {
    Str rest = str_from_c(want), word;

    if (got.len != rest.len)
        return false;
    while (str_split(&rest, ' ', &word)) {
        bool is_there = word.len == 0;
        Str left = got, other;

        while (!is_there && str_split(&left, ' ', &other))
            is_there = str_eq(word, other);
        if (!is_there)
            return false;
    }
    return true;
}

static void test_needs(void **state) {
    Scene *scene = *state;
    CelGraph *graph = scene_graph(scene); /* one graph for all: roots must not affect each other */

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(4096);
        SchemaNeeds needs = {.arena = scene->arena};
        uint32_t root = scene_lower(scene, graph, cases[i].source);

        schema_need(scene->schema, graph, &root, 1, &needs);
        assert_false(arena_has_failed(scene->arena));
        print_needs(&needs, &got);
        if (!has_all(buf_str(&got), cases[i].want))
            fail_msg("%s: got \"%.*s\", want \"%s\"", cases[i].source, STR_FMT(buf_str(&got)),
                cases[i].want);
    }
}

/* Needs of several expressions add up, each label once. */
static void test_several(void **state) {
    Scene *scene = *state;
    CelGraph *graph = scene_graph(scene);
    SchemaNeeds needs = {.arena = scene->arena};
    uint32_t roots[40];

    for (unsigned i = 0; i < ELEMENTS_OF(roots); i++) {
        Str source =
            arena_printf(scene->arena, "node.metadata.labels['k%u'] == 'x' && node.ready", i % 20);

        roots[i] = scene_lower(scene, graph, source.ptr);
    }
    schema_need(scene->schema, graph, roots, 0, &needs);
    assert_true(needs.parts.n_labels == 0 && !needs.parts.conditions);
    schema_need(scene->schema, graph, roots + 19, 1, &needs);
    assert_int_equal(needs.parts.n_labels, 1);
    schema_need(scene->schema, graph, roots, ELEMENTS_OF(roots), &needs);
    assert_int_equal(needs.parts.n_labels, 20);
    assert_text("first", needs.parts.labels[0], "k19");
    assert_true(needs.parts.conditions && !needs.parts.all_labels && !needs.parts.rest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_several),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
