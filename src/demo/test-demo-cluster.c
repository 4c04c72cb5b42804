#include "demo/demo-cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test-assert.h"
#include "cluster/difference.h"
#include "demo/demo-node.h"
#include "input/objects.h"
#include "model/node.h"

#define SEED 7u
#define NOW INT64_C(1767323045) /* 2026-01-02T03:04:05Z */

static const AddedAnnotation annotation = {STR("example.com/load"), STR("0.9")};
static const NodeChanges changes = {.items = &annotation, .n = 1};

static DemoCluster *make_cluster(size_t n_nodes, uint64_t seed) {
    DemoCluster *cluster = NULL;

    assert_int_equal(demo_cluster_new(n_nodes, seed, NOW, &cluster), 0);
    return cluster;
}

static char *write_cluster(DemoCluster *cluster) {
    Buf text = BUF_INIT(DEMO_DUMP_MAX);
    char *taken;

    demo_cluster_write(cluster, &text);
    buf_append_char(&text, '\0');
    taken = buf_take(&text);
    assert_non_null(taken);
    return taken;
}

/* Binds the pod to the node; returns the error, empty for success. */
static const char *bind_pod(DemoCluster *cluster, const Pod *pod, Str node) {
    static char error[256];
    BindArgs args = {
        .pod_name = pod->name,
        .pod_namespace = pod->namespace,
        .pod_uid = pod->uid,
        .node = node,
    };

    demo_cluster_bind(cluster, &args, error, sizeof(error));
    return error;
}

/* Creates @n pods and binds each to the next node. */
static void run(DemoCluster *cluster, size_t n) {
    Snapshot *snapshot = NULL;
    const NodeTable *table;

    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    table = snapshot_table(snapshot);
    for (size_t i = 0; i < n; i++) {
        const DemoPod *pod;

        assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW, &pod), 0);
        assert_string_equal(
            bind_pod(cluster, &pod->model, table->names->names[i % table->n_rows]), "");
    }
    snapshot_unref(snapshot);
}

static void test_same_seed_same_bytes(void **state) {
    DemoCluster *a = make_cluster(60, SEED), *b = make_cluster(60, SEED);
    DemoCluster *c = make_cluster(60, SEED + 1);
    char *text_a, *text_b, *text_c;

    (void)state;
    run(a, 100);
    run(b, 100);
    run(c, 100);
    text_a = write_cluster(a);
    text_b = write_cluster(b);
    text_c = write_cluster(c);
    assert_string_equal(text_a, text_b);
    assert_string_not_equal(text_a, text_c);
    free(text_a);
    free(text_b);
    free(text_c);
    demo_cluster_free(a);
    demo_cluster_free(b);
    demo_cluster_free(c);
}

/* Reading the output of --dump-cluster gives the cluster that the demo serves. */
static void test_dump_is_the_snapshot(void **state) {
    char path[] = "/tmp/berth-test-cluster-XXXXXX", error[OBJECTS_ERROR_MAX];
    DemoCluster *cluster = make_cluster(40, SEED);
    _cleanup_(buf_done) Buf lines = BUF_INIT(65536);
    Snapshot *served = NULL, *read = NULL;
    Difference difference;
    char *text;
    FILE *file;

    (void)state;
    run(cluster, 300); /* enough for pods to end */
    text = write_cluster(cluster);
    file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    if (cluster_load(path, &read, error) < 0)
        fail_msg("%s", error);
    assert_int_equal(demo_cluster_snapshot(cluster, &served), 0);
    assert_int_equal(difference_find(served, read, 10, &lines, &difference), 0);
    assert_text("differences", buf_str(&lines), "");
    assert_true(difference_is_none(&difference));
    (void)unlink(path);
    free(text);
    snapshot_unref(served);
    snapshot_unref(read);
    demo_cluster_free(cluster);
}

static void test_bind_counts_requests(void **state) {
    DemoCluster *cluster = make_cluster(20, SEED);
    Snapshot *before = NULL, *after = NULL;
    const NodeTable *old, *new;
    const DemoPod *pod;
    DemoClusterCounts figures;
    int64_t requested;

    (void)state;
    assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW, &pod), 0);
    assert_int_equal(pod->n_attempts, 0);
    assert_ptr_equal(demo_cluster_due_pod(cluster), pod);
    assert_int_equal(pod->n_attempts, 1);
    assert_int_equal(demo_cluster_snapshot(cluster, &before), 0);
    old = snapshot_table(before);
    requested = resources_get(&pod->model.requests, STR("cpu"));
    assert_true(requested > 0);
    demo_cluster_count(cluster, &figures);
    assert_int_equal(figures.n_pending, 1);
    assert_int_equal(figures.pending[pod->workload->number], 1);

    assert_string_equal(bind_pod(cluster, &pod->model, old->names->names[3]), "");
    assert_int_equal(demo_cluster_snapshot(cluster, &after), 0);
    new = snapshot_table(after);
    assert_int_equal(new->chunks[0]->n_pods[3], old->chunks[0]->n_pods[3] + 1);
    assert_int_equal(table_amount(new, 3, TABLE_CPU, AMOUNT_REQUESTED),
        table_amount(old, 3, TABLE_CPU, AMOUNT_REQUESTED) + requested);
    demo_cluster_count(cluster, &figures);
    assert_int_equal(figures.n_pending, 0);
    snapshot_unref(before);
    snapshot_unref(after);
    demo_cluster_free(cluster);
}

static void test_bind_rejects_wrong_pods_and_nodes(void **state) {
    DemoCluster *cluster = make_cluster(20, SEED);
    Snapshot *snapshot = NULL;
    const NodeTable *table;
    const DemoPod *pod;
    Pod other;

    (void)state;
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    table = snapshot_table(snapshot);
    assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW, &pod), 0);
    other = pod->model;
    other.name = STR("nobody");
    assert_string_equal(
        bind_pod(cluster, &other, table->names->names[0]), "pods \"nobody\" not found");
    other = pod->model;
    other.uid = STR("another");
    assert_non_null(strstr(bind_pod(cluster, &other, table->names->names[0]), "UID"));
    assert_string_equal(bind_pod(cluster, &pod->model, STR("moon")), "nodes \"moon\" not found");

    assert_string_equal(bind_pod(cluster, &pod->model, table->names->names[1]), "");
    assert_string_equal(
        bind_pod(cluster, &pod->model, table->names->names[1]), ""); /* again is fine */
    assert_non_null(
        strstr(bind_pod(cluster, &pod->model, table->names->names[2]), "already assigned"));
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
}

static void keep_name(void *context, const Pod *pod) {
    (void)snprintf(context, 32, "%.*s", STR_FMT(pod->name));
}

/* A pod that is not bound is tried again after a backoff, if a pod has ended, and deleted in the
 * end. */
static void test_pending_pods_are_tried_again(void **state) {
    DemoCluster *cluster = make_cluster(20, SEED);
    const DemoPod *first, *pod;
    DemoClusterCounts figures = {0};
    size_t n_ticks = 0, tried_at[16] = {0}, n_tried = 0;
    char name[32], deleted[32] = "";
    uint32_t number;

    (void)state;
    demo_cluster_on_deleted(cluster, keep_name, deleted);
    assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW, &first), 0);
    number = first->number;
    (void)snprintf(name, sizeof(name), "%s", first->name);
    for (; figures.n_deleted == 0; n_ticks++) {
        while ((pod = demo_cluster_due_pod(cluster)))
            if (pod->number == number) {
                assert_true(n_tried < ELEMENTS_OF(tried_at));
                tried_at[n_tried++] = n_ticks;
                assert_int_equal(pod->n_attempts, n_tried);
            }
        assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW, &pod), 0);
        demo_cluster_count(cluster, &figures);
    }
    assert_int_equal(n_ticks, DEMO_PATIENCE_NSEC / DEMO_TICK_NSEC + 1);
    assert_string_equal(deleted, name);
    assert_true(n_tried >= 6);
    assert_int_equal(tried_at[0], 0);
    assert_true(tried_at[1] >= 4);               /* 1 s */
    assert_true(tried_at[2] >= tried_at[1] + 8); /* 2 s */
    assert_true(tried_at[5] >= tried_at[4] + 40);
    demo_cluster_free(cluster);
}

static void test_changed_node_wakes_pending_pods(void **state) {
    DemoCluster *cluster = make_cluster(20, SEED);
    const DemoPod *pod;

    (void)state;
    demo_cluster_clear(cluster); /* nothing else can end */
    assert_int_equal(
        demo_cluster_create_pod(cluster,
            demo_workloads_find(demo_cluster_workloads(cluster), STR("web")), 0, NOW, &pod),
        0);
    while (demo_cluster_due_pod(cluster))
        ;
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(
            demo_cluster_create_pod(cluster,
                demo_workloads_find(demo_cluster_workloads(cluster), STR("api")), 1, NOW, &pod),
            0);
        while ((pod = demo_cluster_due_pod(cluster)))
            assert_true(str_is(pod->workload->name, "api"));
    }
    assert_int_equal(demo_cluster_change_node(cluster, STR("workspace-b-001"), changes), 0);
    pod = demo_cluster_due_pod(cluster);
    assert_non_null(pod);
    assert_true(str_is(pod->workload->name, "web"));
    assert_int_equal(pod->n_attempts, 2);
    demo_cluster_free(cluster);
}

/* About as many pods end as start, so the usage of the cluster is stable. */
static void test_number_of_pods_is_stable(void **state) {
    DemoCluster *cluster = make_cluster(50, SEED);
    DemoClusterCounts start, end;

    (void)state;
    demo_cluster_count(cluster, &start);
    assert_int_equal(start.n_nodes, 50);
    run(cluster, 3000);
    demo_cluster_count(cluster, &end);
    assert_true(end.n_running > start.n_running / 2);
    assert_true(end.n_running < start.n_running * 2);
    assert_true(end.n_ended > 1000);
    demo_cluster_free(cluster);
}

/* The demo's policy relies on these pools. */
static void test_pools_have_their_shares(void **state) {
    static const Str pools[] = {STR("general"), STR("batch"), STR("workspace"), STR("gpu")};
    size_t n_not_ready = 0, n_cordoned = 0, n_pool[ELEMENTS_OF(pools) + 1] = {0};
    DemoCluster *cluster = make_cluster(400, SEED);
    Snapshot *snapshot = NULL;
    const NodeTable *table;

    (void)state;
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        const Str *pool = labels_find(&node->labels, STR("example.com/pool"));

        assert_non_null(pool);
        assert_true(node_name_is_valid(table->names->names[row]));
        assert_non_null(labels_find(&node->labels, STR("topology.kubernetes.io/zone")));
        assert_true(str_has_prefix(table->names->names[row], *pool));
        assert_true(str_is(*pool, demo_node_pool_name(row)));
        n_pool[str_index(*pool, pools, ELEMENTS_OF(pools))]++;
        n_not_ready += !node->is_ready;
        n_cordoned += node->is_unschedulable;
        if (str_is(*pool, "gpu"))
            assert_true(node->taints.n > 0);
    }
    for (size_t i = 0; i < ELEMENTS_OF(pools); i++)
        assert_true(n_pool[i] >= 40);
    assert_true(n_not_ready > 0 && n_not_ready < 60);
    assert_true(n_cordoned > 0 && n_cordoned < 60);
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
}

/* The presets in policies/ read these: some nodes have each, and some do not. */
static void test_nodes_have_what_policies_read(void **state) {
    static const struct {
        const char *label, *annotation, *taint;
    } traits[] = {
        {.label = "example.com/dedicated"},
        {.label = "gitpod.io/diskPressure"},
        {.label = "gitpod.io/workload_workspace_headless"},
        {.label = "gitpod.io/workload_workspace_regular"},
        {.label = "gitpod.io/ws-daemon_ready_ns_workspaces"},
        {.annotation = "capacity.topolvm.io/00default"},
        {.annotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"},
        {.taint = "DeletionCandidateOfClusterAutoscaler"},
        {.taint = "ToBeDeletedByClusterAutoscaler"},
        {.taint = "gitpod.io/ws-daemon-not-ready"},
    };
    DemoCluster *cluster = make_cluster(400, SEED);
    Snapshot *snapshot = NULL;
    const NodeTable *table;

    (void)state;
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    table = snapshot_table(snapshot);
    for (size_t i = 0; i < ELEMENTS_OF(traits); i++) {
        size_t n = 0;

        for (uint32_t row = 0; row < table->n_rows; row++) {
            const Node *node = table_node(table, row);

            n += traits[i].label && labels_find(&node->labels, str_from_c(traits[i].label));
            n += traits[i].annotation &&
                 labels_find(&node->annotations, str_from_c(traits[i].annotation));
            for (size_t k = 0; traits[i].taint && k < node->taints.n; k++)
                n += str_is(node->taints.items[k].key, traits[i].taint);
        }
        assert_true(n > 0 && n < table->n_rows);
    }
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
}

/* Initial pods are older than two minutes; later ones are new and have an owner. */
static void test_pods_have_times(void **state) {
    DemoCluster *cluster = make_cluster(40, SEED);
    Snapshot *snapshot = NULL;
    const NodeTable *table;
    size_t n_with_owner = 0;

    (void)state;
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        assert_true(table_node(table, row)->created_at < NOW - 120);
        for (uint32_t i = 0; pods && i < pods->n; i++)
            assert_true(pods->items[i]->created_at < NOW - 120);
    }
    for (size_t i = 0; i < 40; i++) {
        const DemoPod *pod;
        const Str *owner;

        assert_int_equal(demo_cluster_create_pod(cluster, NULL, 0, NOW + (int64_t)i, &pod), 0);
        assert_int_equal(bind_pod(cluster, &pod->model, table->names->names[0])[0], '\0');
        assert_int_equal(pod->model.created_at, NOW + (int64_t)i);
        owner = labels_find(&pod->model.labels, STR("owner"));
        assert_int_equal(owner != NULL, str_is(pod->model.namespace, DEMO_WORKSPACES));
        n_with_owner += owner != NULL;
    }
    assert_true(n_with_owner > 0 && n_with_owner < 40);
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
}

/* For scenarios: an empty cluster, chosen pods, a node that gets an annotation. */
static void test_makes_pods_and_changes_nodes_on_request(void **state) {
    DemoCluster *cluster = NULL;
    DemoClusterCounts figures;
    const DemoPod *pod;
    Snapshot *snapshot = NULL;
    const Str *load;
    const Node *node;
    char error[64];

    (void)state;
    assert_int_equal(demo_cluster_new(20, 1, NOW, &cluster), 0);
    demo_cluster_clear(cluster);
    demo_cluster_count(cluster, &figures);
    assert_true(figures.n_running == 0 && figures.n_pending == 0 && figures.n_ended == 0);

    assert_int_equal(
        demo_cluster_create_pod(
            cluster, demo_workloads_find(demo_cluster_workloads(cluster), STR("ws")), 1, NOW, &pod),
        0);
    assert_true(str_is(pod->model.namespace, DEMO_WORKSPACES));
    demo_cluster_try(cluster, pod);
    demo_cluster_try(cluster, pod); /* its backoff does not matter */
    assert_int_equal(pod->n_attempts, 2);
    demo_cluster_bind(cluster,
        &(BindArgs){pod->model.name, pod->model.namespace, pod->model.uid, STR("workspace-b-001")},
        error, sizeof(error));
    assert_string_equal(error, "");
    demo_cluster_count(cluster, &figures);
    assert_int_equal(figures.n_running, 1);
    assert_int_equal(
        demo_cluster_create_pod(cluster,
            demo_workloads_find(demo_cluster_workloads(cluster), STR("web")), 0, NOW, &pod),
        0);
    demo_cluster_count(cluster, &figures); /* the first has ended */
    assert_true(figures.n_running == 0 && figures.n_pending == 1);
    assert_true(figures.n_ended == 1 && figures.n_deleted == 0);

    assert_int_equal(demo_cluster_change_node(cluster, STR("workspace-b-001"), changes), 0);
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    node = table_node(
        snapshot_table(snapshot), table_find(snapshot_table(snapshot), STR("workspace-b-001")));
    load = labels_find(&node->annotations, annotation.key);
    assert_true(load && str_eq(*load, annotation.value));
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_have_what_policies_read),
        cmocka_unit_test(test_pods_have_times),
        cmocka_unit_test(test_same_seed_same_bytes),
        cmocka_unit_test(test_dump_is_the_snapshot),
        cmocka_unit_test(test_bind_counts_requests),
        cmocka_unit_test(test_bind_rejects_wrong_pods_and_nodes),
        cmocka_unit_test(test_pending_pods_are_tried_again),
        cmocka_unit_test(test_changed_node_wakes_pending_pods),
        cmocka_unit_test(test_number_of_pods_is_stable),
        cmocka_unit_test(test_pools_have_their_shares),
        cmocka_unit_test(test_makes_pods_and_changes_nodes_on_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
