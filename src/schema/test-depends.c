/* schema_counts_pods(): which expressions read the pods that are on nodes. */

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

static const struct {
    const char *source;
    bool want;
} cases[] = {
    {"node.free.cpu > 1.0", true},
    {"node.requested['memory'] < 1.0", true},
    {"has(node.free.cpu)", true},
    {"node.?free.hasValue()", true},
    {"node.pods.size() < 4", true},
    {"!node.pods.exists(p, p.metadata.namespace == pod.metadata.namespace)", true},
    {"node.domain('zone').pods.size() < 9", true},
    {"node.domain('zone').nodes.exists(n, n.free.cpu > 2.0)", true},
    {"cluster.domains('zone').all(d, d.pods.size() < 9)", true},
    {"cluster.pods < 100 || cluster.free.cpu > 3.0", true},
    {"cluster.requested.cpu < 3.0 * cluster.allocatable.cpu", true},
    {"[node][0].free.cpu > 1.0", true},
    {"optional.of(node).free.hasValue()", true},
    {"dyn(node).free.cpu > 1.0", true},
    {"dyn(cluster).pods > 1", true},
    {"node.metadata.name != 'x' && node.pods.size() < 2", true},
    {"true", false},
    {"pod.requests.cpu > 1.0", false},
    {"node.allocatable.cpu > pod.requests.cpu", false},
    {"node.capacity.cpu > 1.0 && node.ready", false},
    {"node.metadata.labels[?'pods'].orValue('') == 'free'", false},
    {"node.spec.taints.all(t, pod.tolerates(t))", false},
    {"node.domain('zone').nodes.size() > 2", false},
    {"cluster.nodes > 3 && cluster.allocatable.cpu > 1.0", false},
    {"now > timestamp('2026-01-01T00:00:00Z')", false},
};

static void test_counts_pods(void **state) {
    Scene *scene = *state;
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCENE_BUDGET);
    CelGraph *graph = scene_graph(scene); /* one graph for all: roots must not affect each other */

    assert_non_null(scratch);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        uint32_t root = scene_lower(scene, graph, cases[i].source);
        const uint8_t *dependence = schema_dependence(scene->schema, graph, scratch);

        assert_non_null(dependence);
        assert_case(cases[i].source, schema_counts_pods(graph, dependence, root) == cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_pods),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
