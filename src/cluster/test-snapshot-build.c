/* Publishing a store: sharing with the previous snapshot, columns, taints. */

#include "cluster/snapshot.h"

#include "cluster/test-store.h"

static size_t chunks_copied(const Store *store) {
    StoreFigures figures;

    store_figures(store, &figures);
    return figures.n_chunks_copied;
}

static void test_empty_store(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;

    assert_true(store_is_dirty(store));
    snapshot = publish(store);
    table = snapshot_table(snapshot);
    assert_int_equal(table->n_rows, 0);
    assert_int_equal(table->n_chunks, 1);
    assert_int_equal(table_find(table, STR("a")), 0);
    assert_text("cpu", table->resources[TABLE_CPU], "cpu");
    assert_text("memory", table->resources[TABLE_MEMORY], "memory");
    assert_int_equal(table->n_taint_sets, 1);
    assert_false(store_is_dirty(store));
    assert_null(store_free(NULL));
}

/* A change copies only its chunk; a reader of the old snapshot sees the old state. */
static void test_sharing(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    const NodeTable *old, *new;
    size_t n_copied;

    add_many(store);
    before = publish(store);
    n_copied = chunks_copied(store);
    assert_int_equal(n_copied, 4);
    assert_int_equal(apply_pod(store, "p", "u", "node-70"), STORE_BOUND);
    assert_true(store_is_dirty(store));
    after = publish(store);
    old = snapshot_table(before);
    new = snapshot_table(after);
    assert_int_equal(chunks_copied(store), n_copied + 1);
    for (size_t i = 0; i < 4; i++)
        assert_true((old->chunks[i] == new->chunks[i]) == (i != 1));
    assert_ptr_equal(old->names, new->names);
    assert_ptr_equal(old->resources, new->resources);
    assert_int_equal(old->chunks[1]->n_pods[6], 0);
    assert_int_equal(new->chunks[1]->n_pods[6], 1);
    assert_ptr_equal(old->chunks[1]->nodes[6], new->chunks[1]->nodes[6]);
}

/* Removing a node makes new names, but only one new chunk. */
static void test_removed_node(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    size_t n_copied;

    add_many(store);
    before = publish(store);
    n_copied = chunks_copied(store);
    store_remove_node(store, STR("node-3"));
    after = publish(store);
    assert_int_equal(chunks_copied(store), n_copied + 1);
    assert_int_equal(table_find(snapshot_table(before), STR("node-3")), 3);
    assert_int_equal(table_find(snapshot_table(after), STR("node-3")), N_MANY);
    assert_non_null(table_node(snapshot_table(before), 3));
    assert_null(table_node(snapshot_table(after), 3));
}

/* Heartbeats, status changes, resourceVersion: the same snapshot as before. */
static void test_heartbeats_keep_the_snapshot(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    Toleration toleration = {.key = STR("k"), .exists = true};
    Node node = node_of("a");
    Pod pod = pod_of("p", "u", "a");

    pod.tolerations = (Tolerations){.items = &toleration, .n = 1};
    add_node(store, "a");
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    before = publish(store);
    node.resource_version = pod.resource_version = STR("2");
    assert_int_equal(store_apply_node(store, &node), 0);
    assert_int_equal(store_apply_pod(store, &pod), 0);
    assert_int_equal(apply_pod(store, "pending", "v", ""), 0); /* on no node */
    store_remove_node(store, STR("unknown"));
    store_remove_pod(store, STR("space"), STR("unknown"), STR("w"));
    store_forget(store, STR("unknown"));
    assert_false(store_is_dirty(store));
    after = publish(store);
    assert_ptr_equal(before, after);
}

/* A resource that no node had before: every chunk gets a column, once, with the requests of
 * existing pods. */
static void test_new_resource(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    Resource gpu = {STR("gpu"), 3}, offered = {STR("gpu"), 8};
    Pod pod = pod_of("p", "u", "node-0");
    Node node = node_of("node-1");
    const NodeTable *table;
    size_t n_copied, column;

    pod.requests = (Resources){.items = &gpu, .n = 1};
    node.allocatable = (Resources){.items = &offered, .n = 1};
    add_many(store);
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    before = publish(store);
    n_copied = chunks_copied(store);
    assert_true(table_find_resource(snapshot_table(before), STR("gpu")) == SIZE_MAX);
    assert_int_equal(store_apply_node(store, &node), 0);
    after = publish(store);
    table = snapshot_table(after);
    column = table_find_resource(table, STR("gpu"));
    assert_int_equal(chunks_copied(store), n_copied + 4);
    assert_int_equal(column, 2);
    for (size_t i = 0; i < table->n_chunks; i++)
        assert_int_equal(table->chunks[i]->n_resources, 3);
    assert_int_equal(table_amount(table, 0, column, AMOUNT_REQUESTED), 3);
    assert_int_equal(table_amount(table, 0, column, AMOUNT_FREE), -3);
    assert_int_equal(table_amount(table, 1, column, AMOUNT_FREE), 8);
    assert_int_equal(table_amount(table, 2, column, AMOUNT_FREE), 0);
}

static void offer(Store *store, const char *name, const char *resource, int64_t amount) {
    Resource offered = {str_from_c(resource), amount};
    Node node = node_of(name);

    node.allocatable = (Resources){.items = &offered, .n = 1};
    assert_int_equal(store_apply_node(store, &node), 0);
}

static void offer_numbered(Store *store, unsigned first, unsigned end) {
    for (unsigned i = first; i < end; i++) {
        char name[32], resource[32];

        (void)numbered(name, sizeof(name), "node", i);
        (void)numbered(resource, sizeof(resource), "r", i);
        offer(store, name, resource, i + 1);
    }
}

/* The amount of @resource on @node in the next snapshot; -1: it has no column. */
static int64_t offered_on(Store *store, const char *node, const char *resource) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
    const NodeTable *table = snapshot_table(snapshot);
    size_t column = table_find_resource(table, str_from_c(resource));

    return column == SIZE_MAX ? -1
                              : table_amount(table, table_find(table, str_from_c(node)), column,
                                    AMOUNT_ALLOCATABLE);
}

static size_t n_left_out(const Store *store) {
    StoreFigures figures;

    store_figures(store, &figures);
    return figures.n_resources_left_out;
}

/* Requests of pods must not take columns from nodes, nor may a node by listing resources with an
 * amount of 0. */
static void test_requests_of_pods_take_no_columns(void **state) {
    Store *store = *state;

    add_node(store, "a");
    offer(store, "none", "junk", 0);
    assert_int_equal(offered_on(store, "none", "junk"), -1);
    for (unsigned i = 0; i < 2 * TABLE_RESOURCES_MAX; i++) {
        char name[32], resource[32];
        Resource amount = {numbered(resource, sizeof(resource), "junk", i), i % 2};
        Pod pod = pod_of("", "", "a");

        pod.name = pod.uid = numbered(name, sizeof(name), "p", i);
        pod.requests = (Resources){.items = &amount, .n = 1};
        assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
        offer(store, name, resource, 0);
    }
    offer(store, "b", "nvidia.com/gpu", 8);
    assert_int_equal(offered_on(store, "b", "nvidia.com/gpu"), 8);
    assert_int_equal(offered_on(store, "b", "junk-1"), -1);
    assert_int_equal(n_left_out(store), 0);
}

/* Amounts of resources beyond the limit of columns are not counted. When no node has a resource any
 * more, one that was left out gets its column. */
static void test_too_many_resources(void **state) {
    enum { COLUMNS_LEFT = TABLE_RESOURCES_MAX - 2 }; /* besides cpu and memory */
    Store *store = *state;
    Resource requested = {STR("r-126"), 5};
    Pod pod = pod_of("p", "u", "node-3");
    size_t n_copied;

    pod.requests = (Resources){.items = &requested, .n = 1};
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    offer_numbered(store, 0, COLUMNS_LEFT);
    assert_int_equal(offered_on(store, "node-125", "r-125"), 126);
    assert_int_equal(n_left_out(store), 0);

    offer_numbered(store, COLUMNS_LEFT, COLUMNS_LEFT + 3);
    assert_int_equal(offered_on(store, "node-125", "r-125"), 126);
    assert_int_equal(offered_on(store, "node-126", "r-126"), -1);
    assert_int_equal(n_left_out(store), 3);

    /* Changes without new resources, and resources that stay left out, do not rebuild all
     * chunks. */
    n_copied = chunks_copied(store);
    assert_int_equal(apply_pod(store, "q", "v", "node-70"), STORE_BOUND);
    assert_int_equal(count_on(store, "node-70"), 1);
    offer(store, "node-128", "r-128", 7);
    assert_int_equal(offered_on(store, "node-128", "r-128"), -1);
    assert_int_equal(chunks_copied(store), n_copied + 2);
    assert_int_equal(n_left_out(store), 3);

    /* One that was left out is removed. */
    store_remove_node(store, STR("node-127"));
    assert_int_equal(offered_on(store, "node-128", "r-128"), -1);
    assert_int_equal(n_left_out(store), 2);

    /* Two columns become free: all resources have one, and all amounts are right. */
    store_remove_node(store, STR("node-1"));
    offer(store, "node-0", "r-0", 0);
    assert_int_equal(offered_on(store, "node-126", "r-126"), 127);
    assert_int_equal(offered_on(store, "node-128", "r-128"), 7);
    assert_int_equal(offered_on(store, "node-2", "r-2"), 3);
    assert_int_equal(offered_on(store, "node-125", "r-125"), 126);
    assert_int_equal(offered_on(store, "node-0", "r-0"), -1);
    assert_int_equal(n_left_out(store), 0);
    {
        _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
        const NodeTable *table = snapshot_table(snapshot);
        size_t column = table_find_resource(table, STR("r-126"));

        assert_int_equal(table_amount(table, 3, column, AMOUNT_REQUESTED), 5);
        assert_int_equal(table_chunk(table, 70)->n_pods[table_slot(70)], 1);
    }
}

/* If many resources disappear, the table drops the columns that no node needs. */
static void test_fewer_resources(void **state) {
    Store *store = *state;

    offer_numbered(store, 0, TABLE_RESOURCES_MAX);
    assert_int_equal(offered_on(store, "node-127", "r-127"), -1);
    assert_int_equal(n_left_out(store), 2);
    for (unsigned i = 10; i < TABLE_RESOURCES_MAX; i++) {
        char name[32];

        offer(store, (numbered(name, sizeof(name), "node", i)).ptr, "r-5", i);
    }
    assert_int_equal(offered_on(store, "node-127", "r-5"), 127);
    assert_int_equal(offered_on(store, "node-9", "r-9"), 10);
    assert_int_equal(n_left_out(store), 0);
    {
        _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

        assert_int_equal(snapshot_table(snapshot)->n_resources, 12);
    }
}

/* Sums saturate and recover; negative amounts count as 0. */
static void test_saturated_and_negative_amounts(void **state) {
    static const struct {
        int64_t first, second;
        int64_t requested; /* of both pods; without the first it is the second's, or 0 */
    } cases[] = {
        {1, 2, 3},
        {INT64_MAX, INT64_MAX, INT64_MAX},
        {INT64_MAX - 1, 5, INT64_MAX},
        {-7, 5, 5},
        {INT64_MIN, -1, 0},
    };
    Store *store = *state;

    add_node(store, "a");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Resource amounts[2] = {{STR("cpu"), cases[i].first}, {STR("cpu"), cases[i].second}};
        Pod first = pod_of("p", "u", "a"), second = pod_of("q", "v", "a");
        Snapshot *snapshot;

        first.requests = (Resources){.items = &amounts[0], .n = 1};
        second.requests = (Resources){.items = &amounts[1], .n = 1};
        assert_true(store_apply_pod(store, &first) >= 0);
        assert_true(store_apply_pod(store, &second) >= 0);
        snapshot = publish(store);
        assert_true(table_amount(snapshot_table(snapshot), 0, TABLE_CPU, AMOUNT_REQUESTED) ==
                    cases[i].requested);
        snapshot_unref(snapshot);
        store_remove_pod(store, STR("space"), STR("p"), STR("u"));
        snapshot = publish(store);
        assert_true(table_amount(snapshot_table(snapshot), 0, TABLE_CPU, AMOUNT_REQUESTED) ==
                    (cases[i].second > 0 ? cases[i].second : 0));
        snapshot_unref(snapshot);
    }
}

/* A node whose taints keep changing does not grow the table; when unused taint sets are removed,
 * the numbers of other rows stay valid. */
static void test_many_taints(void **state) {
    Store *store = *state;
    Taint fixed = {STR("fixed"), STR("x"), TAINT_NO_SCHEDULE};
    Node other = node_of("other");

    add_many(store);
    other.taints = (Taints){.items = &fixed, .n = 1};
    assert_int_equal(store_apply_node(store, &other), 0);
    assert_int_equal(count_on(store, "other"), 0); /* its set has the lower number at first */
    for (unsigned i = 0; i < 500; i++) {
        _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
        char value[32];
        Taint taint = {STR("t"), numbered(value, sizeof(value), "v", i), TAINT_NO_SCHEDULE};
        Node node = node_of("node-9");
        const NodeTable *table;

        node.taints = (Taints){.items = &taint, .n = 1};
        assert_int_equal(store_apply_node(store, &node), 0);
        snapshot = publish(store);
        table = snapshot_table(snapshot);
        assert_true(table->n_taint_sets <= 2 * 3 + 64);
        assert_true(taints_equal(&table->taint_sets[table->chunks[0]->taint_set[9]], &node.taints));
        assert_true(taints_equal(
            &table->taint_sets[table_chunk(table, N_MANY)->taint_set[table_slot(N_MANY)]],
            &other.taints));
        assert_int_equal(table->chunks[0]->taint_set[8], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_STORE(test_empty_store),
        WITH_STORE(test_sharing),
        WITH_STORE(test_removed_node),
        WITH_STORE(test_heartbeats_keep_the_snapshot),
        WITH_STORE(test_new_resource),
        WITH_STORE(test_requests_of_pods_take_no_columns),
        WITH_STORE(test_too_many_resources),
        WITH_STORE(test_fewer_resources),
        WITH_STORE(test_saturated_and_negative_amounts),
        WITH_STORE(test_many_taints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
