#include "cluster/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/test-assert.h"

/* A string on the heap that is gone when the test says so. */
static Str heap_copy(const char *text, char **ret) {
    *ret = strdup(text);
    assert_non_null(*ret);
    return str_from_c(*ret);
}

/* What was added may be gone: the snapshot has its own copies. */
static void test_copies(void **state) {
    _cleanup_(snapshot_builder_freep) SnapshotBuilder *builder = snapshot_builder_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;
    char *texts[10];

    (void)state;
    {
        Label *label = malloc(sizeof(*label));
        Taint *taint = malloc(sizeof(*taint));
        Resource *resource = malloc(sizeof(*resource));
        Node node = {.is_ready = true,
            .name = heap_copy("node", &texts[0]),
            .labels = {.items = label, .n = 1},
            .taints = {.items = taint, .n = 1},
            .allocatable = {.items = resource, .n = 1}};
        Pod pod = {.name = heap_copy("pod", &texts[1]),
            .uid = heap_copy("uid", &texts[2]),
            .node_name = heap_copy("node", &texts[3]),
            .labels = {.items = label, .n = 1},
            .requests = {.items = resource, .n = 1},
            .priority = 7};

        *label = (Label){heap_copy("key", &texts[4]), heap_copy("value", &texts[5])};
        *taint = (Taint){
            heap_copy("tkey", &texts[6]), heap_copy("tvalue", &texts[7]), TAINT_NO_SCHEDULE};
        *resource = (Resource){heap_copy("gpu", &texts[8]), 5};
        assert_int_equal(snapshot_builder_add_node(builder, &node), 0);
        assert_int_equal(snapshot_builder_add_pod(builder, &pod), 0);
        free(label);
        free(taint);
        free(resource);
        for (size_t i = 0; i < 9; i++)
            free(texts[i]);
    }
    assert_int_equal(snapshot_builder_finish(builder, &snapshot), 0);
    builder = snapshot_builder_free(builder); /* nor is the builder needed */

    table = snapshot_table(snapshot);
    assert_int_equal(table->n_rows, 1);
    assert_int_equal(table_find(table, STR("node")), 0);
    assert_text("label", *labels_find(&table->labels[0], STR("key")), "value");
    assert_text("taint", table->taint_sets[table->taint_set[0]].items[0].value, "tvalue");
    assert_int_equal(table_find_resource(table, STR("gpu"))->allocatable[0], 5);
    assert_int_equal(table_find_resource(table, STR("gpu"))->requested[0], 5);
    assert_int_equal(table->n_pods[0], 1);
    assert_text("pod", table->pods[0][0]->name, "pod");
    assert_text("uid", table->pods[0][0]->uid, "uid");
    assert_text("label", *labels_find(&table->pods[0][0]->labels, STR("key")), "value");
    assert_int_equal(table->pods[0][0]->priority, 7);
}

static void test_duplicates(void **state) {
    _cleanup_(snapshot_builder_freep) SnapshotBuilder *builder = snapshot_builder_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;

    (void)state;
    assert_int_equal(snapshot_builder_add_node(builder, &(Node){.name = STR("a")}), 0);
    assert_int_equal(snapshot_builder_add_node(builder, &(Node){.name = STR("b")}), 0);
    assert_int_equal(
        snapshot_builder_add_node(builder, &(Node){.name = STR("a")}), SNAPSHOT_E_DUPLICATE);
    assert_int_equal(snapshot_builder_finish(builder, &snapshot), 0);
    assert_int_equal(snapshot_table(snapshot)->n_rows, 2);
}

static void test_empty(void **state) {
    _cleanup_(snapshot_builder_freep) SnapshotBuilder *builder = snapshot_builder_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;

    (void)state;
    assert_int_equal(snapshot_builder_finish(builder, &snapshot), 0);
    assert_int_equal(snapshot_table(snapshot)->n_rows, 0);
    assert_null(snapshot_unref(NULL));
    assert_null(snapshot_builder_free(NULL));
}

/* Pods may come before their node, and end with it; those that ended are not counted. */
static void test_pods(void **state) {
    _cleanup_(snapshot_builder_freep) SnapshotBuilder *builder = snapshot_builder_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    Resource cpu = {STR("cpu"), 100};
    Pod running = {.node_name = STR("a"), .requests = {.items = &cpu, .n = 1}};
    Pod ended = running, pending = running;

    (void)state;
    ended.is_terminal = true;
    pending.node_name = STR_NULL;
    assert_int_equal(snapshot_builder_add_pod(builder, &running), 0);
    assert_int_equal(snapshot_builder_add_pod(builder, &ended), 0);
    assert_int_equal(snapshot_builder_add_pod(builder, &pending), 0);
    assert_int_equal(snapshot_builder_add_node(builder, &(Node){.name = STR("a")}), 0);
    assert_int_equal(snapshot_builder_add_pod(builder, &running), 0);
    assert_int_equal(snapshot_builder_finish(builder, &snapshot), 0);
    assert_int_equal(snapshot_table(snapshot)->n_pods[0], 2);
    assert_int_equal(snapshot_table(snapshot)->resources[TABLE_CPU].requested[0], 200);
}

/* A reader keeps what it holds. */
static void test_references(void **state) {
    SnapshotBuilder *builder = snapshot_builder_new();
    Snapshot *snapshot = NULL, *reader;

    (void)state;
    assert_int_equal(snapshot_builder_add_node(builder, &(Node){.name = STR("a")}), 0);
    assert_int_equal(snapshot_builder_finish(builder, &snapshot), 0);
    builder = snapshot_builder_free(builder);
    reader = snapshot_ref(snapshot);
    assert_ptr_equal(reader, snapshot);
    snapshot = snapshot_unref(snapshot);
    assert_text("name", snapshot_table(reader)->names[0], "a");
    assert_null(snapshot_unref(reader));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_references),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
