#include "load/join.h"

#include <stdio.h>

#include "load/test-scene.h"

static int setup(void **state) {
    static Scene scene;

    scene_begin(&scene);
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

/* --- forms ----------------------------------------------------------------- */

static void test_finds_label_and_identity(void **state) {
    static const struct {
        const char *a, *b, *how;
    } cases[] = {
        {"node=node-a 1", "node=node-b 2", "label node is the node's name"},
        {"node=host-a 1", "node=b.example 2", "label node is the node's hostname"},
        {"n=node-a:9100 1", "n=node-b:9100 2", "label n, without the port, is the node's name"},
        {"i=10.0.0.1:9100 1", "i=10.0.0.2:9100 2", "label i, without the port, is the node's IP"},
        {"i=10.0.0.1 1", "i=10.0.0.2 2", "label i is the node's IP address"},
        {"i=10.0.0.1 1", "i=[2001:db8::2]:9100 2", "label i, without the port, is the node's IP"},
        {"i=10.0.0.1 1", "i=2001:0DB8:0:0::0002 2", "label i is the node's IP address"},
        {"i=::ffff:10.0.0.1 1", "i=[2001:db8::2] 2", "label i is the node's IP address"},
        {"job=x,node=node-a 1", "job=x,node=node-b 2", "label node is the node's name"},
        /* Two labels with the same meaning. */
        {"instance=10.0.0.1:9,node=node-a 1", "instance=10.0.0.2:9,node=node-b 2", "label "},
        /* The exporter's own node matches by chance. */
        {"instance=10.0.0.3:80,node=node-a 1", "instance=10.0.0.3:80,node=node-b 2", "label node"},
    };
    Scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const texts[] = {cases[i].a, cases[i].b};

        scene_answer(scene, texts, 2);
        scene_join(scene);
        assert_case(cases[i].a, scene->report.error[0] == '\0');
        assert_value(scene, "node-a", 1);
        assert_value(scene, "node-b", 2);
        assert_absent(scene, "node-c");
        assert_says(scene->report.how, cases[i].how);
        assert_int_equal(scene->report.n_covered, 2);
    }
    assert_string_equal(scene->report.uncovered[0], "node-c");
    assert_string_equal(scene->report.uncovered[1], "");
}

static void test_external_address(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "i=192.0.2.3:1 3");
    assert_value(scene, "node-c", 3);
}

/* Not a port, not an address. */
static void test_near_misses(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "n=node-a:http 1", "n=node-b: 2", "n=node-c:123456 3", "n=[node-a]:80 1");
    assert_int_equal(scene->report.n_covered, 0);
    SCENE_JOIN(scene, "i=10.0.0.01 1", "i=10.0.0 2", "i=2001:db8::2:9100 3", "i=[10.0.0.1:80 4");
    assert_int_equal(scene->report.n_covered, 0);
}

/* --- fields of a gauge ----------------------------------------------------- */

static void test_given_label(void **state) {
    Scene *scene = *state;

    scene->gauge.node_label = STR("b");
    SCENE_JOIN(scene, "a=node-a,b=node-b 1", "a=node-c 2", "b=10.0.0.9 3");
    assert_value(scene, "node-b", 1);
    assert_int_equal(scene->report.n_covered, 1);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_LABEL], 1);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 1);
    assert_string_equal(scene->report.unmatched[0], "10.0.0.9");

    for (unsigned i = 0; i < 2; i++) {
        scene->gauge.identity = i == 0 ? GAUGE_BY_NAME : GAUGE_BY_ANY;
        SCENE_JOIN(scene, "a=node-a,c=1 1", "a=node-b 2");
        assert_says(scene->report.error,
            "no series has the label \"b\"; the first has a=\"node-a\", c=\"1\"");
        assert_int_equal(scene->report.n_dropped[JOIN_NO_LABEL], 2);
        assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 0);
    }
    SCENE_JOIN(scene, "a=node-a,c=1 1", "b=else 2");
    assert_says(scene->report.error, "no node has the value of label \"b\": \"else\"");
    assert_int_equal(scene->report.n_dropped[JOIN_NO_LABEL], 1);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 1);
    assert_string_equal(scene->report.unmatched[0], "else");
}

static void test_given_identity(void **state) {
    Scene *scene = *state;

    scene->gauge.identity = GAUGE_BY_HOSTNAME;
    SCENE_JOIN(scene, "a=node-a,b=b.example 1");
    assert_value(scene, "node-b", 1);
    assert_absent(scene, "node-a");
    scene->gauge.node_label = STR("a");
    SCENE_JOIN(scene, "a=node-a,b=b.example 1");
    assert_int_equal(scene->report.n_covered, 0);
    assert_says(scene->report.error, "no node has the value of label \"a\": \"node-a\"");
}

static void test_pattern(void **state) {
    Scene *scene = *state;

    scene->gauge.node_label = STR("i");
    scene->gauge.node_pattern = STR("^https?://([^/:]+)");
    SCENE_JOIN(scene, "i=https://node-a:1/x 1", "i=http://10.0.0.2 2", "i=ftp://node-c 3");
    assert_int_equal(scene->report.n_covered, 1); /* names or addresses, not both */
    scene->gauge.identity = GAUGE_BY_IP;
    SCENE_JOIN(scene, "i=https://node-a:1/x 1", "i=http://10.0.0.2 2", "i=ftp://node-c 3");
    assert_value(scene, "node-b", 2);
    assert_string_equal(scene->report.unmatched[0], "node-a");
    scene->gauge.identity = GAUGE_BY_NAME;
    scene->gauge.node_pattern = STR("node-.");
    SCENE_JOIN(scene, "i=x-node-a.y 1");
    assert_value(scene, "node-a", 1);
    assert_says(scene->report.how, "label i, by nodePattern, is the node's name");
    scene->gauge.node_pattern = STR("(");
    SCENE_JOIN(scene, "i=x-node-a.y 1");
    assert_says(scene->report.error, "nodePattern is no regular expression: \"(\"");
}

/* A pattern that is slow on the server's values must not keep the thread busy. */
static void test_long_pattern(void **state) {
    static char text[8 + 8000];
    static const char *texts[100];
    Scene *scene = *state;

    (void)snprintf(text, sizeof(text), "i=%08000d 1", 0);
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        texts[i] = text;
    scene->gauge.node_pattern = STR("0{0,500}x");
    scene_answer(scene, texts, ELEMENTS_OF(texts));
    scene_join(scene);
    assert_says(scene->report.error, "nodePattern takes too long");
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 100);
    /* The next answer starts with a new budget. */
    SCENE_JOIN(scene, "i=0x 1", "i=node-a0x 2");
    assert_says(scene->report.error, "no label that all series have");
}

static void test_mapping(void **state) {
    static const Label mapping[] = {
        {STR("10.9.9.9"), STR("node-c")}, {STR("rack:7"), STR("node-b")}};
    Scene *scene = *state;

    scene->gauge.mapping = (Labels){.items = mapping, .n = 2};
    SCENE_JOIN(scene, "i=10.9.9.9:9100 3", "i=rack:7 2", "i=node-a 1");
    assert_value(scene, "node-a", 1);
    assert_value(scene, "node-b", 2);
    assert_value(scene, "node-c", 3);
    assert_says(scene->report.how, "through the mapping is the node's name");
}

static void test_resources(void **state) {
    Scene *scene = *state;

    scene->gauge.source = GAUGE_RESOURCES;
    SCENE_JOIN(scene, "node=node-a 1", "node=10.0.0.2 2");
    assert_int_equal(scene->report.n_covered, 1);
    assert_value(scene, "node-a", 1);
}

/* --- errors ---------------------------------------------------------------- */

static void test_ambiguous(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "exported_node=node-b,instance=10.0.0.1:1 1",
        "exported_node=node-c,instance=10.0.0.2:1 2");
    assert_int_equal(scene->report.n_covered, 0);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 2);
    assert_string_equal(scene->report.error,
        "labels \"exported_node\" (2 nodes) and \"instance\" (2 nodes) name different nodes: "
        "set nodeLabel");
    scene->gauge.node_label = STR("instance");
    SCENE_JOIN(scene, "exported_node=node-b,instance=10.0.0.1:1 1",
        "exported_node=node-c,instance=10.0.0.2:1 2");
    assert_value(scene, "node-a", 1);
}

static void test_unmatched(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "instance=10.7.0.1:9100,job=node 1", "instance=10.7.0.2:9100,job=node 2");
    assert_string_equal(scene->report.error,
        "no label that all series have is a node's name or address: instance=\"10.7.0.1:9100\", "
        "job=\"node\"; a "
        "node is called \"node-a\"");
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 2);
    SCENE_JOIN(scene, " 1");
    assert_says(scene->report.error, "add by (node)");
    scene_answer(scene, NULL, 0);
    scene_join(scene);
    assert_says(scene->report.error, "the answer has no series");
}

static void test_duplicates(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "cpu=0,node=node-a 1", "cpu=1,node=node-a 2", "cpu=0,node=node-b 3");
    assert_absent(scene, "node-a");
    assert_value(scene, "node-b", 3);
    assert_int_equal(scene->report.n_dropped[JOIN_DUPLICATE], 2);
    assert_says(scene->report.how,
        "label node is the node's name; 2 series are not used, since their node has several: "
        "aggregate by (node)");
    SCENE_JOIN(scene, "cpu=0,node=node-a 1", "cpu=1,node=node-a 2");
    assert_string_equal(scene->report.error, "every node has several series: aggregate by (node)");
}

/* Two nodes with one address: the value belongs to neither. */
static void test_shared_address(void **state) {
    Scene *scene = *state;

    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-d\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}"));
    scene_publish(scene);
    SCENE_JOIN(scene, "i=10.0.0.1 1", "i=10.0.0.2 2");
    assert_absent(scene, "node-a");
    assert_absent(scene, "node-d");
    assert_value(scene, "node-b", 2);
}

static void test_values(void **state) {
    Scene *scene = *state;

    SCENE_JOIN(scene, "node=node-a NaN", "node=node-b +Inf", "node=node-c -Inf");
    assert_int_equal(scene->report.n_covered, 0);
    assert_int_equal(scene->report.n_dropped[JOIN_NAN], 1);
    assert_int_equal(scene->report.n_dropped[JOIN_INFINITE], 2);
    assert_says(scene->report.error, "the values are infinite");
    for (int i = 0; i < _JOIN_DROPS; i++)
        assert_non_null(join_drop_name((JoinDrop)i));
}

static void test_ages_are_relative_to_server_time(void **state) {
    Scene *scene = *state;
    const NodeTable *table = snapshot_table(scene->snapshot);

    /* Without a Date header the newest sample is taken as now. */
    SCENE_JOIN(scene, "node=node-a 1 1700000000", "node=node-b 2 1699999990.5", "node=node-c 3 5");
    assert_value(scene, "node-a", 1);
    assert_absent(scene, "node-c");
    assert_int_equal(scene->report.n_dropped[JOIN_TOO_OLD], 1);
    assert_int_equal(scene->measurement->lags_nsec[table_find(table, STR("node-a"))], 0);
    assert_int_equal(
        scene->measurement->lags_nsec[table_find(table, STR("node-b"))], SCENE_SEC * 19 / 2);

    /* The Date header may be a little behind or ahead. */
    scene->time.server_sec = 1700000002;
    SCENE_JOIN(scene, "node=node-a 1 1700000000", "node=node-b 2 1700000003");
    assert_null(scene->measurement->lags_nsec);
    scene->time.server_sec = 1700000070;
    SCENE_JOIN(scene, "node=node-a 1 1700000000", "node=node-b 2 1700000030");
    assert_absent(scene, "node-a");
    assert_int_equal(
        scene->measurement->lags_nsec[table_find(table, STR("node-b"))], 40 * SCENE_SEC);
    assert_int_equal(scene->measurement->at_nsec, 1);
    assert_int_equal(scene->measurement->uptime_nsec, 2);
}

/* --- remembered joins ------------------------------------------------------ */

static void test_remembers_addresses(void **state) {
    Scene *scene = *state;

    scene->memory = join_memory_new();
    assert_non_null(scene->memory);
    for (int i = 0; i < 3; i++) {
        SCENE_JOIN(scene, "i=10.0.0.1:9 1", "i=10.0.0.2:9 2", "i=10.8.0.1:9 2");
        assert_value(scene, "node-a", 1);
        assert_value(scene, "node-b", 2);
        assert_says(scene->report.how, "label i, without the port, is the node's IP address");
        assert_string_equal(scene->report.unmatched[0], "10.8.0.1");
    }
    SCENE_JOIN(scene, "i=10.0.0.2:9 2", "i=10.0.0.3:9 3", "i=10.0.0.1:9 1"); /* another order */
    assert_value(scene, "node-a", 1);
    assert_value(scene, "node-b", 2);
    assert_value(scene, "node-c", 3);

    /* An address moves from one node to another. */
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-a\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.9\"}]}}"));
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-d\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}"));
    scene_publish(scene);
    SCENE_JOIN(scene, "i=10.0.0.2:9 2", "i=10.0.0.3:9 3", "i=10.0.0.1:9 1");
    assert_absent(scene, "node-a");
    assert_value(scene, "node-d", 1);

    /* The same without a node added or removed. */
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-d\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.9\"}]}}"));
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-a\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}"));
    scene_publish(scene);
    SCENE_JOIN(scene, "i=10.0.0.2:9 2", "i=10.0.0.3:9 3", "i=10.0.0.1:9 1");
    assert_absent(scene, "node-d");
    assert_value(scene, "node-a", 1);

    /* A new record with the same content. */
    test_load_node(scene->store,
        STR("{\"metadata\":{\"name\":\"node-a\",\"annotations\":{\"a\":\"b\"}},\"status\":{"
            "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}"));
    scene_publish(scene);
    SCENE_JOIN(scene, "i=10.0.0.2:9 2", "i=10.0.0.3:9 3", "i=10.0.0.1:9 1");
    assert_value(scene, "node-a", 1);
}

static void test_forgets_removed_nodes(void **state) {
    Scene *scene = *state;

    scene->memory = join_memory_new();
    SCENE_JOIN(scene, "node=node-a 1", "node=node-b 2");
    store_remove_node(scene->store, STR("node-a"));
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-e\"}}")); /* in the removed node's row */
    scene_publish(scene);
    SCENE_JOIN(scene, "node=node-a 1", "node=node-b 2");
    assert_absent(scene, "node-e");
    assert_value(scene, "node-b", 2);
    assert_int_equal(scene->report.n_dropped[JOIN_NO_NODE], 1);
}

static void test_remembers_the_method(void **state) {
    Scene *scene = *state;

    scene->memory = join_memory_new();
    SCENE_JOIN(scene, "exported_node=x,node=node-a 1", "exported_node=x,node=node-b 2");
    SCENE_JOIN(scene, "exported_node=x,node=node-b 2", "exported_node=x,node=node-a 3");
    assert_value(scene, "node-a", 3);
    /* A remembered method is dropped when another fits as well: a replica that has just started
     * could not choose. */
    SCENE_JOIN(scene, "exported_node=node-b,node=node-a 1", "exported_node=node-a,node=node-b 2");
    assert_absent(scene, "node-a");
    assert_says(scene->report.error, "name different nodes");
    /* The label was renamed. */
    SCENE_JOIN(scene, "node=node-a 5", "node=node-b 6");
    SCENE_JOIN(scene, "exported_node=node-a 5", "exported_node=node-b 6");
    assert_value(scene, "node-a", 5);
    /* A method that joins all series to one node (where the exporter runs) is not used. */
    SCENE_JOIN(scene, "exported_node=node-c,instance=10.0.0.3 3");
    SCENE_JOIN(scene, "exported_node=node-c,instance=10.0.0.1 1",
        "exported_node=node-c,instance=10.0.0.2 2", "exported_node=node-c,instance=10.0.0.3 3");
    assert_value(scene, "node-a", 1);
    assert_value(scene, "node-c", 3);
    assert_says(scene->report.how, "label instance is the node's IP address");
    /* Another gauge has a memory of its own. */
    join_memory_free(scene->memory);
    scene->memory = join_memory_new();
    scene->gauge.node_label = STR("node");
    scene->gauge.identity = GAUGE_BY_HOSTNAME;
    SCENE_JOIN(scene, "exported_node=node-a,node=c.example 7");
    assert_value(scene, "node-c", 7);
    join_memory_free(scene->memory);
    scene->memory = join_memory_new();
    scene->gauge.node_pattern = STR("^.");
    SCENE_JOIN(scene, "exported_node=node-a,node=c.example 7");
    assert_absent(scene, "node-c");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_finds_label_and_identity),
        TEST(test_external_address),
        TEST(test_near_misses),
        TEST(test_given_label),
        TEST(test_given_identity),
        TEST(test_pattern),
        TEST(test_long_pattern),
        TEST(test_mapping),
        TEST(test_resources),
        TEST(test_ambiguous),
        TEST(test_unmatched),
        TEST(test_duplicates),
        TEST(test_shared_address),
        TEST(test_values),
        TEST(test_ages_are_relative_to_server_time),
        TEST(test_remembers_addresses),
        TEST(test_forgets_removed_nodes),
        TEST(test_remembers_the_method),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
