/*
 * Each operation that changes a store, with its 1st, 2nd, … allocation failing: it returns -ENOMEM
 * and has changed nothing, and succeeds when repeated.
 */

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/test-assert.h"
#include "base/test-failing-malloc.h"
#include "cluster/assumed-pods.h"
#include "cluster/delta.h"
#include "cluster/dump.h"
#include "cluster/record.h"
#include "cluster/test-store.h"

#define TEXT_MAX ((size_t)4 * 1024 * 1024)
#define ALLOCATIONS_MAX 5000u

/* --- the contents of a store as text ------------------------------------------------------ */

static int append(void *context, Str bytes) {
    buf_append(context, bytes);
    return 0;
}

/* Every node and pod with its fields, their rows and order, the assumed pods, and the figures. */
static void describe(Store *store, Buf *out) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
    JsonWriter writer = JSON_WRITER(out);
    StoreFigures figures;
    int64_t until;

    buf_reset(out);
    store_figures(store, &figures);
    buf_printf(out, "%zu nodes, %zu pods, %zu assumed\n", figures.n_nodes, figures.n_pods,
        figures.n_assumed);
    if (store_find_assumed(store, STR("u-assumed"), &until))
        buf_printf(out, "assumed until %lld\n", (long long)until);
    assert_int_equal(dump_write(snapshot, /* mask= */ NULL, (DumpSink){append, out}), 0);
    json_write_object(&writer);
    assert_int_equal(delta_write_order(&writer, snapshot, NULL), 0);
    json_write_end_object(&writer);
    assert_int_equal(buf_error(out), 0);
}

/* --- the store before an operation --------------------------------------------------------- */

static const Label labels[] = {{STR("zone"), STR("a")}};
static Resource cpu[] = {{STR("cpu"), 4000}, {STR("memory"), 1 << 30}};
static Resource gpu[] = {{STR("cpu"), 8000}, {STR("example.com/gpu"), 2}};
static const Taint taints[] = {{STR("dedicated"), STR("x"), TAINT_NO_SCHEDULE}};

static Node full_node(const char *name) {
    return (Node){
        .name = str_from_c(name),
        .uid = STR("uid"),
        .labels = {labels, 1},
        .annotations = {labels, 1},
        .allocatable = {cpu, 2},
        .is_ready = true,
    };
}

static Pod full_pod(const char *name, const char *uid, const char *node) {
    Pod pod = pod_of(name, uid, node);

    pod.labels = (Labels){labels, 1};
    pod.requests = (Resources){cpu, 2};
    pod.owner_kind = STR("ReplicaSet");
    pod.owner_name = str_from_c(name);
    return pod;
}

/* @is_published: the next snapshot is made from an earlier one. */
static Store *make_store(bool is_published) {
    Store *store = store_new();
    Node a = full_node("a"), b = full_node("b");
    Pod running = full_pod("running", "u1", "a"), pending = full_pod("pending", "u2", "");
    Pod early = full_pod("early", "u3", "unknown"), assumed = full_pod("bound", "u-assumed", "");

    assert_non_null(store);
    pending.nominated_node_name = STR("b");
    assert_int_equal(store_apply_node(store, &a), 0);
    assert_int_equal(store_apply_node(store, &b), 0);
    assert_int_equal(store_apply_pod(store, &running), STORE_BOUND);
    assert_int_equal(store_apply_pod(store, &pending), 0);
    assert_int_equal(store_apply_pod(store, &early), STORE_BOUND);
    assert_int_equal(store_assume(store, &assumed, STR("a"), 100), 0);
    if (is_published)
        snapshot_unref(publish(store));
    return store;
}

/* --- operations ----------------------------------------------------------------------------- */

static int add_new_node(Store *store) {
    Node node = full_node("new");

    node.allocatable = (Resources){gpu, 2};
    node.taints = (Taints){taints, 1};
    return store_apply_node(store, &node);
}

static int add_awaited_node(Store *store) {
    Node node = full_node("unknown");

    return store_apply_node(store, &node);
}

static int change_node(Store *store) {
    Node node = full_node("a");

    node.taints = (Taints){taints, 1};
    node.is_unschedulable = true;
    return store_apply_node(store, &node);
}

static int add_pending_pod(Store *store) {
    Pod pod = full_pod("new", "u9", "");

    pod.nominated_node_name = STR("a");
    return store_apply_pod(store, &pod);
}

static int add_bound_pod(Store *store) {
    Pod pod = full_pod("new", "u9", "b");

    return store_apply_pod(store, &pod);
}

static int add_pod_on_unknown_node(Store *store) {
    Pod pod = full_pod("new", "u9", "another-unknown");

    return store_apply_pod(store, &pod);
}

static int bind_pending_pod(Store *store) {
    Pod pod = full_pod("pending", "u2", "b");

    return store_apply_pod(store, &pod);
}

static int recreate_pod(Store *store) {
    Pod pod = full_pod("running", "u1-again", "b");

    return store_apply_pod(store, &pod);
}

static int assume_pod(Store *store) {
    Pod pod = full_pod("pending", "u2", "");

    return store_assume(store, &pod, STR("b"), 200);
}

static int assume_pod_elsewhere(Store *store) {
    Pod pod = full_pod("bound", "u-assumed", "");

    return store_assume(store, &pod, STR("b"), 300);
}

/* One node stays, one changes, one is removed, one is new. */
static int list_nodes(Store *store) {
    Node nodes[] = {full_node("b"), full_node("new"), full_node("new-too")};
    int r = 0;

    nodes[0].is_ready = false;
    store_list_begin(store, STORE_NODES);
    for (size_t i = 0; r == 0 && i < ELEMENTS_OF(nodes); i++)
        r = store_list_node(store, &nodes[i]);
    return r == 0 ? store_list_end(store, STORE_NODES) : r;
}

static int list_pods(Store *store) {
    Pod pods[] = {full_pod("running", "u1", "b"), full_pod("pending", "u2", ""),
        full_pod("new", "u8", "a"), full_pod("new-too", "u9", "unknown-too"),
        full_pod("bound", "u-assumed", "a")};
    int r = 0;

    pods[2].nominated_node_name = STR("a");
    store_list_begin(store, STORE_PODS);
    for (size_t i = 0; r == 0 && i < ELEMENTS_OF(pods); i++)
        r = store_list_pod(store, &pods[i]);
    return r == 0 ? store_list_end(store, STORE_PODS) : r;
}

static int publish_changes(Store *store) {
    Snapshot *snapshot = NULL;
    int r = store_publish(store, &snapshot);

    snapshot_unref(snapshot);
    return r;
}

static const struct {
    const char *name;
    int (*run)(Store *store);
} operations[] = {
    {"add a node", add_new_node},
    {"add a node that pods are on already", add_awaited_node},
    {"change a node", change_node},
    {"add a pending pod", add_pending_pod},
    {"add a bound pod", add_bound_pod},
    {"add a pod on an unknown node", add_pod_on_unknown_node},
    {"bind a pending pod", bind_pending_pod},
    {"recreate a pod under its name", recreate_pod},
    {"assume a pod", assume_pod},
    {"assume a pod on another node", assume_pod_elsewhere},
    {"list nodes", list_nodes},
    {"list pods", list_pods},
    {"publish", publish_changes},
};

/* --- the tests ------------------------------------------------------------------------------ */

/* Runs operation @i with allocation @at failing. False: the operation made fewer allocations. */
static bool fail_once(size_t i, bool is_published, unsigned at, Str before, Str after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    _cleanup_(store_freep) Store *store = make_store(is_published);
    int r;

    countdown = at;
    r = operations[i].run(store);
    if (countdown > 0) {
        countdown = 0;
        assert_case(operations[i].name, r >= 0);
        return false;
    }
    if (r < 0) {
        assert_case(operations[i].name, r == -ENOMEM);
        describe(store, &text);
        assert_case(operations[i].name, str_eq(buf_str(&text), before));
        assert_case(operations[i].name, operations[i].run(store) >= 0);
    }
    describe(store, &text);
    assert_case(operations[i].name, str_eq(buf_str(&text), after));
    return true;
}

static void test_failed_operation_changes_nothing(void **state) {
    for (size_t i = 0; i < 2 * ELEMENTS_OF(operations); i++) {
        _cleanup_(buf_done) Buf before = BUF_INIT(TEXT_MAX), after = BUF_INIT(TEXT_MAX);
        bool is_published = i % 2;
        Store *store = make_store(is_published);
        unsigned at = 1;

        describe(store, &before);
        store_free(store);
        store = make_store(is_published);
        assert_case(operations[i / 2].name, operations[i / 2].run(store) >= 0);
        describe(store, &after);
        store_free(store);
        while (fail_once(i / 2, is_published, at, buf_str(&before), buf_str(&after)))
            assert_true(at++ < ALLOCATIONS_MAX);
        assert_case(operations[i / 2].name, at > 1 || operations[i / 2].run == publish_changes);
    }
}

/* The earlier snapshot stays, and the store is still dirty. */
static void test_failed_publishing_keeps_the_snapshot(void **state) {
    for (unsigned at = 1; at < ALLOCATIONS_MAX; at++) {
        _cleanup_(store_freep) Store *store = make_store(true);
        _cleanup_(snapshot_unrefp) Snapshot *before = publish(store), *made = NULL;
        int r;

        assert_int_equal(add_new_node(store), 0);
        countdown = at;
        r = store_publish(store, &made);
        if (countdown > 0) {
            countdown = 0;
            assert_true(at > 5);
            return;
        }
        assert_int_equal(r, -ENOMEM);
        assert_null(made);
        assert_true(store_is_dirty(store));
        assert_int_equal(snapshot_table(before)->names->n_nodes, 2);
        made = publish(store);
        assert_int_equal(snapshot_table(made)->names->n_nodes, 3);
    }
    fail();
}

static void test_failed_add_leaves_assumed_pods(void **state) {
    for (unsigned at = 1;; at++) {
        _cleanup_(assumed_pods_done) AssumedPods assumed = {0};
        const Pod *pod = pod_record_new(NULL, &(Pod){.uid = STR("u")}, &pod_parts_all);
        int r;

        assert_non_null(pod);
        countdown = at;
        r = assumed_pods_add(&assumed, pod, 7);
        if (r == 0) {
            countdown = 0;
            assert_int_equal(assumed_pods_find(&assumed, STR("u"))->until_nsec, 7);
            assert_int_equal(at, 3);
            return;
        }
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(assumed_pods_count(&assumed), 0);
        assert_null(assumed_pods_find(&assumed, STR("u")));
        pod_record_unref(pod); /* still ours */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_operation_changes_nothing),
        cmocka_unit_test(test_failed_publishing_keeps_the_snapshot),
        cmocka_unit_test(test_failed_add_leaves_assumed_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
