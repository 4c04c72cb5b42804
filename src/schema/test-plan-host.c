/* Groups of rows for plans: which expressions are unions over groups, and which rows they have. */

#include "schema/test-graph.h"

static int setup(void **state) {
    static const char *const zones[] = {"z2", NULL, "z1", "z2", "", "z1", ""};
    static Scene scene;

    scene_init(&scene);
    for (size_t i = 0; i < ELEMENTS_OF(zones); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);

        buf_printf(&text, "{\"metadata\":{\"name\":\"n%zu\",\"labels\":{", i);
        if (zones[i])
            buf_printf(&text, "\"zone\":\"%s\"", zones[i]);
        buf_append(&text, STR("}}}"));
        scene_add_node(&scene, buf_str(&text));
    }
    scene_add_pod(&scene, STR("{\"metadata\":{\"name\":\"p\",\"uid\":\"p\"},\"spec\":{"
                              "\"nodeName\":\"n3\"}}"));
    scene_build(&scene, STR("{\"metadata\":{\"name\":\"x\"}}"));
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

static void test_groups(void **state) {
    static const uint32_t want[] = {0, UINT32_MAX, 1, 0, 2, 1, 2};
    Scene *scene = *state;
    PlanTable table = schema_table(scene->schema, &scene->table);
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t groups[ELEMENTS_OF(want)], zone, none;

    assert_true(host->find_groups(
        host, graph, scene_lower(scene, graph, "cluster.domains('zone')"), &zone));
    assert_true(host->find_groups(
        host, graph, scene_lower(scene, graph, "cluster.domains('none')"), &none));
    assert_int_not_equal(zone, none);
    assert_int_equal(table.groups(&table, zone, ELEMENTS_OF(want), groups), 3);
    assert_memory_equal(groups, want, sizeof(want));
    assert_int_equal(table.groups(&table, zone, 2, groups), 1);
    assert_int_equal(table.groups(&table, none, ELEMENTS_OF(want), groups), 0);
    for (size_t i = 0; i < ELEMENTS_OF(want); i++)
        assert_int_equal(groups[i], UINT32_MAX);
}

static void test_not_groups(void **state) {
    static const char *const sources[] = {
        "cluster.domains(pod.metadata.name)",
        "cluster.domains('zone').filter(d, d.value != '')",
        "node.domain('zone').nodes",
        "node.pods",
    };
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t key;

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++)
        assert_case(sources[i],
            !host->find_groups(host, graph, scene_lower(scene, graph, sources[i]), &key));
}

static void test_union(void **state) {
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t pods = scene_lower(scene, graph, "node.domain('zone').pods"), key;
    PlanUnion found;

    assert_true(
        host->find_groups(host, graph, scene_lower(scene, graph, "cluster.domains('zone')"), &key));
    assert_true(host->find_union(host, graph, pods, &found));
    assert_int_equal(found.key, key);
    assert_int_equal(found.list, scene_lower(scene, graph, "node.pods")); /* the same node */
    assert_true(host->reads_other_rows(host, graph, cel_graph_node(graph, pods)->args[0]));
    assert_false(host->reads_other_rows(host, graph, pods));
    assert_false(host->reads_other_rows(host, graph, found.list));
    assert_false(found.is_rows);
}

/* The rows themselves. */
static void test_union_of_rows(void **state) {
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t nodes = scene_lower(scene, graph, "node.domain('zone').nodes");
    PlanUnion found;

    assert_true(host->find_union(host, graph, nodes, &found));
    assert_true(found.is_rows);
    assert_int_equal(found.list, scene_lower(scene, graph, "node"));
}

/* In a loop over domains: the argument of the loop's body. */
static void test_union_of_loop(void **state) {
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t root = scene_lower(scene, graph, "cluster.domains('zone').map(d, d.pods)");
    const CelGraphNode *loop = cel_graph_node(graph, root);
    PlanUnion found;

    assert_int_equal(loop->op, OP_MAP_LIST);
    assert_true(host->find_union(host, graph, loop->args[1], &found));
    assert_int_equal(found.key, PLAN_KEY_OF_LOOP);
    assert_int_equal(found.list, scene_lower(scene, graph, "node.pods"));
}

static void test_not_union(void **state) {
    static const char *const sources[] = {
        "node.pods",
        "node.domain('zone').value",
        "node.domain(pod.metadata.name).nodes",
        "node.domain(pod.metadata.name).pods",
        "node.domain('zone').nodes[0].domain('zone').pods",
        "node.domain('zone').pods.filter(p, p.terminating)",
        "cluster.domains('zone')[0].pods",
    };
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    PlanUnion found;

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++)
        assert_case(sources[i],
            !host->find_union(host, graph, scene_lower(scene, graph, sources[i]), &found));
}

static void test_rows(void **state) {
    Scene *scene = *state;
    PlanTable table = schema_table(scene->schema, &scene->table);

    scene->variables[scene->schema->node_slot] = table.row(&table, 3, &scene->run);
    assert_scene(scene, "node.metadata.name + ' ' + node.pods[0].metadata.name", "\"n3 p\"");
    assert_scene(scene, "node.domain('zone').nodes.map(n, n.metadata.name)", "[\"n0\", \"n3\"]");
    assert_scene(scene, "cluster.nodesByLabel('zone')", "{\"z2\": 2, \"z1\": 2, \"\": 2}");
    assert_scene(scene, "cluster.domains('zone').map(d, d.pods.size())", "[1, 0, 0]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_not_groups),
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_union_of_rows),
        cmocka_unit_test(test_union_of_loop),
        cmocka_unit_test(test_not_union),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
