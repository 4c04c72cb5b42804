#include "cluster/snapshot.h"

#include <stdlib.h>

#include "base/test-assert.h"
#include "cluster/record-pool.h"
#include "cluster/record.h"

typedef struct Scene {
    RecordPool *pool;
    const Node *node;
    const Pod *waiting;
    Snapshot *snapshot;
} Scene;

/* A snapshot of one node and one nominated pod; its sources are freed. */
static int make_scene(void **state) {
    Scene *scene = calloc(1, sizeof(*scene));
    Label label = {STR("pool"), STR("a")};
    Taint taint = {STR("only"), STR("x"), TAINT_NO_SCHEDULE};
    Taints sets[2] = {[1] = {.items = &taint, .n = 1}};
    Str resources[] = {STR("cpu"), STR("memory"), STR("gpu")};
    Str name = STR("node");
    NodeNames *names = NULL;
    NodeChunk *chunk = chunk_new(NULL, ELEMENTS_OF(resources));
    const NodeChunk *chunks[1] = {chunk};
    const Pod *nominated[1];
    NodeTable table = {.n_rows = 1, .chunks = chunks, .n_chunks = 1, .n_nominated = 1};

    scene->pool = record_pool_new();
    scene->node =
        node_record_new(scene->pool, &(Node){.name = name, .labels = {.items = &label, .n = 1}});
    scene->waiting = pod_record_new(
        scene->pool, &(Pod){.name = STR("p"), .nominated_node_name = name}, &pod_parts_all);
    nominated[0] = scene->waiting;
    chunk->nodes[0] = node_record_ref(scene->node);
    chunk->taint_set[0] = 1;
    assert_int_equal(names_new(&name, 1, NULL, &names), 0);
    table.names = names;
    table.nominated = nominated;
    assert_int_equal(
        snapshot_new(&table,
            table_dictionary_new(&(TableDictionary){
                .resources = resources, .n_resources = 3, .taint_sets = sets, .n_taint_sets = 2}),
            &scene->snapshot),
        0);
    taint.value = label.value = resources[2] = STR("overwritten");
    *state = scene;
    return 0;
}

static int drop_scene(void **state) {
    Scene *scene = *state;

    snapshot_unref(scene->snapshot);
    node_record_unref(scene->node);
    pod_record_unref(scene->waiting);
    record_pool_free(scene->pool);
    free(scene);
    return 0;
}

/* It owns all its data. */
static void check_content(Snapshot *snapshot) {
    const NodeTable *table = snapshot_table(snapshot);

    assert_int_equal(table->n_rows, 1);
    assert_int_equal(table->n_chunks, 1);
    assert_int_equal(table_find(table, STR("node")), 0);
    assert_text("label", *labels_find(table_labels(table, 0), STR("pool")), "a");
    assert_int_equal(table->n_resources, 3);
    assert_int_equal(table_find_resource(table, STR("gpu")), 2);
    assert_int_equal(table->n_taint_sets, 2);
    assert_int_equal(table->taint_sets[0].n, 0);
    assert_text("taint", table->taint_sets[table->chunks[0]->taint_set[0]].items[0].value, "x");
    assert_int_equal(table->n_nominated, 1);
    assert_text("nominated", table->nominated[0]->nominated_node_name, "node");
}

static void test_owns_everything(void **state) {
    Scene *scene = *state;

    scene->node = node_record_unref(scene->node);
    scene->waiting = pod_record_unref(scene->waiting);
    scene->pool = record_pool_free(scene->pool);
    check_content(scene->snapshot);
}

/* A reader's reference stays valid. */
static void test_references(void **state) {
    Scene *scene = *state;
    Snapshot *reader = snapshot_ref(scene->snapshot);

    assert_ptr_equal(reader, scene->snapshot);
    scene->snapshot = snapshot_unref(scene->snapshot);
    check_content(reader);
    assert_null(snapshot_unref(reader));
    assert_null(snapshot_unref(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_owns_everything, make_scene, drop_scene),
        cmocka_unit_test_setup_teardown(test_references, make_scene, drop_scene),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
