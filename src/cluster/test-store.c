#include "cluster/store.h"

#include <errno.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/record.h"

/* --- words to say it with ---------------------------------------------------------- */

#define N_MANY 200u /* nodes: four chunks */

static int new_store(void **state) {
    *state = store_new();
    return *state ? 0 : -1;
}

static int free_store(void **state) {
    *state = store_free(*state);
    return 0;
}

static Str numbered(char *text, size_t size, const char *word, unsigned n) {
    (void)snprintf(text, size, "%s-%u", word, n);
    return str_from_c(text);
}

static Node node_of(const char *name) {
    return (Node){.name = str_from_c(name), .is_ready = true};
}

/* On @node, or pending when that is empty. */
static Pod pod_of(const char *name, const char *uid, const char *node) {
    return (Pod){.namespace = STR("space"),
        .name = str_from_c(name),
        .uid = str_from_c(uid),
        .node_name = str_from_c(node)};
}

static void add_node(Store *store, const char *name) {
    Node node = node_of(name);

    assert_int_equal(store_apply_node(store, &node), 0);
}

static void add_many(Store *store) {
    for (unsigned i = 0; i < N_MANY; i++) {
        char name[32];
        Node node = {.name = numbered(name, sizeof(name), "node", i)};

        assert_int_equal(store_apply_node(store, &node), 0);
    }
}

static int apply_pod(Store *store, const char *name, const char *uid, const char *node) {
    Pod pod = pod_of(name, uid, node);

    return store_apply_pod(store, &pod);
}

static Snapshot *publish(Store *store) {
    Snapshot *snapshot = NULL;

    assert_int_equal(store_publish(store, &snapshot), 0);
    return snapshot;
}

/* How many pods are on @node in what would be published now; UINT32_MAX: no such node. */
static uint32_t count_on(Store *store, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, str_from_c(node));

    return row == table->n_rows ? UINT32_MAX : table_chunk(table, row)->n_pods[table_slot(row)];
}

static uint32_t row_of(Store *store, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

    return table_find(snapshot_table(snapshot), str_from_c(node));
}

static size_t n_rows_of(Store *store) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

    return snapshot_table(snapshot)->n_rows;
}

static size_t chunks_copied(const Store *store) {
    StoreFigures figures;

    store_figures(store, &figures);
    return figures.n_chunks_copied;
}

/* --- publishing -------------------------------------------------------------------- */

static void test_nothing(void **state) {
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

/* A change copies the chunk it is in, and nothing else; who has the old one sees the old. */
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

/* The set of nodes has changed: new names, but only the chunk of that node. */
static void test_removed_node(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    size_t n_copied;

    add_many(store);
    before = publish(store);
    n_copied = chunks_copied(store);
    assert_int_equal(store_remove_node(store, STR("node-3")), 0);
    after = publish(store);
    assert_int_equal(chunks_copied(store), n_copied + 1);
    assert_int_equal(table_find(snapshot_table(before), STR("node-3")), 3);
    assert_int_equal(table_find(snapshot_table(after), STR("node-3")), N_MANY);
    assert_non_null(table_node(snapshot_table(before), 3));
    assert_null(table_node(snapshot_table(after), 3));
}

/* Heartbeats, status noise, resourceVersion: the same snapshot as before. */
static void test_silence(void **state) {
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
    assert_int_equal(apply_pod(store, "pending", "v", ""), 0); /* on no row */
    assert_int_equal(store_remove_node(store, STR("unknown")), 0);
    assert_int_equal(store_remove_pod(store, STR("space"), STR("unknown"), STR("w")), 0);
    assert_int_equal(store_forget(store, STR("unknown")), 0);
    assert_false(store_is_dirty(store));
    after = publish(store);
    assert_ptr_equal(before, after);
}

/* A resource that no node offered before: every chunk gets a column, once, and what pods have
 * asked for all along counts. */
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

/* What there is of @resource on @node in what would be published now; -1: it has no column. */
static int64_t offered_on(Store *store, const char *node, const char *resource) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
    const NodeTable *table = snapshot_table(snapshot);
    size_t column = table_find_resource(table, str_from_c(resource));

    return column == SIZE_MAX
               ? -1
               : table_amount(
                     table, table_find(table, str_from_c(node)), column, AMOUNT_ALLOCATABLE);
}

static size_t n_left_out(const Store *store) {
    StoreFigures figures;

    store_figures(store, &figures);
    return figures.n_resources_left_out;
}

/* Whoever may make pods must not be able to take columns from nodes, nor may a node by naming
 * what it has none of. */
static void test_names_of_pods(void **state) {
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

/* Over the ceiling of names amounts are not counted; a name that nobody offers any more makes
 * room for one that was left out. */
static void test_too_many_resources(void **state) {
    enum { ROOM = TABLE_RESOURCES_MAX - 2 }; /* beside cpu and memory */
    Store *store = *state;
    Resource asked = {STR("r-126"), 5};
    Pod pod = pod_of("p", "u", "node-3");
    size_t n_copied;

    pod.requests = (Resources){.items = &asked, .n = 1};
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    offer_numbered(store, 0, ROOM);
    assert_int_equal(offered_on(store, "node-125", "r-125"), 126);
    assert_int_equal(n_left_out(store), 0);

    offer_numbered(store, ROOM, ROOM + 3);
    assert_int_equal(offered_on(store, "node-125", "r-125"), 126);
    assert_int_equal(offered_on(store, "node-126", "r-126"), -1);
    assert_int_equal(n_left_out(store), 3);

    /* Neither news without names nor those who stay out make all chunks anew. */
    n_copied = chunks_copied(store);
    assert_int_equal(apply_pod(store, "q", "v", "node-70"), STORE_BOUND);
    assert_int_equal(count_on(store, "node-70"), 1);
    offer(store, "node-128", "r-128", 7);
    assert_int_equal(offered_on(store, "node-128", "r-128"), -1);
    assert_int_equal(chunks_copied(store), n_copied + 2);
    assert_int_equal(n_left_out(store), 3);

    /* One that is left out goes. */
    assert_int_equal(store_remove_node(store, STR("node-127")), 0);
    assert_int_equal(offered_on(store, "node-128", "r-128"), -1);
    assert_int_equal(n_left_out(store), 2);

    /* Two columns become free: everybody has one, and all amounts are where they belong. */
    assert_int_equal(store_remove_node(store, STR("node-1")), 0);
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

/* After too many, few: the table is narrow again when the ceiling is next looked at. */
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

/* Sums stop at their limit and come back from it; negative amounts are none. */
static void test_odd_amounts(void **state) {
    static const struct {
        int64_t first, second;
        int64_t requested; /* by both; after the first is gone it is the second, or 0 */
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
        assert_int_equal(store_remove_pod(store, STR("space"), STR("p"), STR("u")), 0);
        snapshot = publish(store);
        assert_true(table_amount(snapshot_table(snapshot), 0, TABLE_CPU, AMOUNT_REQUESTED) ==
                    (cases[i].second > 0 ? cases[i].second : 0));
        snapshot_unref(snapshot);
    }
}

/* A node whose taints change without end does not make the table grow without end; numbers of
 * other rows stay true when it is cleared up. */
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

/* --- rows -------------------------------------------------------------------------- */

static void test_rows(void **state) {
    Store *store = *state;

    add_node(store, "a");
    add_node(store, "b");
    add_node(store, "c");
    add_node(store, "d");
    assert_int_equal(row_of(store, "c"), 2);
    assert_int_equal(store_remove_node(store, STR("b")), 0);
    assert_int_equal(store_remove_node(store, STR("a")), 0);
    assert_int_equal(n_rows_of(store), 4);
    assert_int_equal(row_of(store, "c"), 2);
    add_node(store, "e"); /* the lowest */
    assert_int_equal(row_of(store, "e"), 0);
    assert_int_equal(store_remove_node(store, STR("d")), 0);
    assert_int_equal(n_rows_of(store), 3);
    add_node(store, "f");
    add_node(store, "g");
    assert_int_equal(row_of(store, "f"), 1);
    assert_int_equal(row_of(store, "g"), 3);
    assert_int_equal(store_apply_node(store, &(Node){0}), 0); /* nobody */
    assert_int_equal(n_rows_of(store), 4);
}

/* --- pods -------------------------------------------------------------------------- */

static void test_pods_before_their_node(void **state) {
    Store *store = *state;

    assert_int_equal(apply_pod(store, "p", "u", "a"), STORE_BOUND);
    assert_int_equal(apply_pod(store, "q", "v", "a"), STORE_BOUND);
    assert_int_equal(count_on(store, "a"), UINT32_MAX);
    add_node(store, "a");
    assert_int_equal(count_on(store, "a"), 2);
    assert_int_equal(store_remove_node(store, STR("a")), 0);
    assert_int_equal(count_on(store, "a"), UINT32_MAX);
    assert_int_equal(store_remove_pod(store, STR("space"), STR("p"), STR("u")), 0);
    add_node(store, "b"); /* takes the row */
    add_node(store, "a");
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(count_on(store, "b"), 0);
}

/* A sequence of events about one pod: what comes of each, and who counts on nodes a and b. */
static void test_events_of_a_pod(void **state) {
    static const struct {
        const char *name;
        char what; /* Apply, Terminal, Remove */
        const char *uid, *node;
        int outcome;
        uint32_t n_a, n_b;
    } cases[] = {
        {"pending", 'A', "1", "", 0, 0, 0},
        {"bound", 'A', "1", "a", STORE_BOUND, 1, 0},
        {"again", 'A', "1", "a", 0, 1, 0},
        {"moved, which never happens", 'A', "1", "b", 0, 0, 1},
        {"deleted under another UID", 'R', "2", "", 0, 0, 1},
        {"made anew while we looked away", 'A', "2", "b", STORE_BOUND, 0, 1},
        {"an old deletion", 'R', "1", "", 0, 0, 1},
        {"deleted", 'R', "2", "", 0, 0, 0},
        {"deleted again", 'R', "2", "", 0, 0, 0},
        {"new and bound at once", 'A', "3", "a", STORE_BOUND, 1, 0},
        {"ended", 'T', "3", "a", 0, 0, 0},
        {"ended again", 'T', "3", "a", 0, 0, 0},
        {"late", 'A', "3", "a", STORE_BOUND, 1, 0},
        {"another one has ended under this name", 'T', "4", "b", 0, 0, 0},
        {"on a node nobody knows", 'A', "5", "c", STORE_BOUND, 0, 0},
        {"whatever the UID", 'R', "", "", 0, 0, 0},
    };
    Store *store = *state;

    add_node(store, "a");
    add_node(store, "b");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Pod pod = pod_of("p", cases[i].uid, cases[i].node);
        int r;

        pod.is_terminal = cases[i].what == 'T';
        r = cases[i].what == 'R' ? store_remove_pod(store, STR("space"), STR("p"), pod.uid)
                                 : store_apply_pod(store, &pod);
        assert_case(cases[i].name, r == cases[i].outcome);
        assert_case(cases[i].name, count_on(store, "a") == cases[i].n_a);
        assert_case(cases[i].name, count_on(store, "b") == cases[i].n_b);
    }
}

/* The same name in two namespaces is two pods. */
static void test_namespaces(void **state) {
    Store *store = *state;
    Pod pod = pod_of("p", "u", "a");

    add_node(store, "a");
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    pod.namespace = STR("other");
    pod.uid = STR("v");
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    assert_int_equal(count_on(store, "a"), 2);
    assert_text("found", store_find_pod(store, STR("other"), STR("p"))->uid, "v");
    assert_null(store_find_pod(store, STR("othe"), STR("rp")));
}

/* --- lists ------------------------------------------------------------------------- */

static void test_list_of_nodes(void **state) {
    Store *store = *state;
    Node a = node_of("a"), c = node_of("c"), d = node_of("d");
    const Node *record;

    add_node(store, "a");
    add_node(store, "b");
    add_node(store, "c");
    assert_int_equal(apply_pod(store, "p", "u", "b"), STORE_BOUND);
    record = store_find_node(store, STR("c"));
    c.resource_version = STR("9");
    a.is_ready = false;
    store_list_begin(store, STORE_NODES);
    assert_int_equal(store_list_node(store, &a), 0);
    store_list_begin(store, STORE_NODES); /* from the beginning */
    assert_int_equal(store_list_node(store, &d), 0);
    assert_int_equal(store_list_node(store, &c), 0);
    assert_int_equal(store_list_node(store, &(Node){0}), 0);
    assert_int_equal(row_of(store, "b"), 1); /* nothing of it is to be seen */
    assert_int_equal(row_of(store, "d"), 3);
    assert_int_equal(store_list_end(store, STORE_NODES), 0);
    assert_null(store_find_node(store, STR("a")));
    assert_null(store_find_node(store, STR("b")));
    assert_ptr_equal(store_find_node(store, STR("c")), record);
    assert_int_equal(row_of(store, "d"), 0);
    assert_int_equal(row_of(store, "c"), 2);
    add_node(store, "b"); /* its pod is still there */
    assert_int_equal(count_on(store, "b"), 1);
}

static void test_list_of_pods(void **state) {
    Store *store = *state;
    Pod kept = pod_of("kept", "1", "a"), new = pod_of("new", "2", "a");
    Pod moved = pod_of("moved", "3", "b"), ended = pod_of("ended", "4", "a");
    const Pod *record;

    add_node(store, "a");
    add_node(store, "b");
    assert_int_equal(store_apply_pod(store, &kept), STORE_BOUND);
    assert_int_equal(apply_pod(store, "gone", "5", "a"), STORE_BOUND);
    assert_int_equal(apply_pod(store, "moved", "3", ""), 0);
    assert_int_equal(store_apply_pod(store, &ended), STORE_BOUND);
    record = store_find_pod(store, STR("space"), STR("kept"));
    kept.resource_version = STR("9");
    ended.is_terminal = true;
    store_list_begin(store, STORE_PODS);
    assert_int_equal(store_list_pod(store, &new), 0);
    assert_int_equal(store_list_pod(store, &moved), 0);
    assert_int_equal(store_list_pod(store, &kept), 0);
    assert_int_equal(store_list_pod(store, &ended), 0);
    new.node_name = STR("b"); /* told of twice: the later counts */
    assert_int_equal(store_list_pod(store, &new), 0);
    assert_int_equal(count_on(store, "a"), 3);
    assert_int_equal(store_list_end(store, STORE_PODS), 0);
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(count_on(store, "b"), 2);
    assert_ptr_equal(store_find_pod(store, STR("space"), STR("kept")), record);
    assert_null(store_find_pod(store, STR("space"), STR("gone")));
    assert_null(store_find_pod(store, STR("space"), STR("ended")));
}

/* Everything listed again as it is: the same snapshot. */
static void test_list_without_news(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *before = NULL, *after = NULL;
    StoreFigures figures;
    size_t n_parts;

    add_many(store);
    assert_int_equal(apply_pod(store, "p", "u", "node-1"), STORE_BOUND);
    before = publish(store);
    store_figures(store, &figures);
    n_parts = figures.n_parts;
    store_list_begin(store, STORE_NODES);
    store_list_begin(store, STORE_PODS);
    for (unsigned i = N_MANY; i-- > 0;) { /* in another order */
        char name[32];
        Node node = {.name = numbered(name, sizeof(name), "node", i)};

        assert_int_equal(store_list_node(store, &node), 0);
    }
    assert_int_equal(store_list_pod(store,
                         &(Pod){.namespace = STR("space"),
                             .name = STR("p"),
                             .uid = STR("u"),
                             .node_name = STR("node-1")}),
        0);
    assert_int_equal(store_list_end(store, STORE_NODES), 0);
    assert_int_equal(store_list_end(store, STORE_PODS), 0);
    after = publish(store);
    assert_ptr_equal(before, after);
    store_figures(store, &figures);
    assert_int_equal(figures.n_parts, n_parts);
    assert_int_equal(figures.n_nodes, N_MANY);
    assert_int_equal(figures.n_pods, 1);
}

/* --- the ledger -------------------------------------------------------------------- */

/* What ends an entry, and who counts then; the pod never counts twice on the way. */
static void test_assumed(void **state) {
    static const struct {
        const char *name;
        const char *what;
        int outcome;
        uint32_t n_a, n_b;
        size_t n_assumed;
    } cases[] = {
        {"nothing", "", 0, 1, 0, 1},
        {"seen pending", "pending", 0, 1, 0, 1},
        {"seen there", "a", STORE_BOUND, 1, 0, 0},
        {"seen elsewhere", "b", STORE_BOUND, 0, 1, 0},
        {"seen nowhere we know", "unknown", STORE_BOUND, 0, 0, 0},
        {"ended", "ended", 0, 0, 0, 0},
        {"deleted", "deleted", 0, 0, 0, 0},
        {"another pod of the name deleted", "other deleted", 0, 1, 0, 1},
        {"forgotten", "forgotten", 0, 0, 0, 0},
        {"assumed elsewhere", "again", 0, 0, 1, 1},
        {"listed there", "listed", 0, 1, 0, 0},
        {"listed as ended", "listed ended", 0, 0, 0, 0},
        {"not in a list yet", "not listed", 0, 1, 0, 1},
        {"made anew", "anew", STORE_BOUND, 0, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(store_freep) Store *store = store_new();
        Str what = str_from_c(cases[i].what);
        Pod pod = pod_of("p", "u", "");
        StoreFigures figures;
        int r = 0;

        add_node(store, "a");
        add_node(store, "b");
        if (str_is(what, "anew")) /* the watch knew it, so it knows that it is gone */
            assert_int_equal(store_apply_pod(store, &pod), 0);
        assert_int_equal(store_assume(store, &pod, STR("a"), 100), 0);
        assert_case(cases[i].name, count_on(store, "a") == 1);
        if (str_is(what, "pending")) {
            r = store_apply_pod(store, &pod);
        } else if (str_is(what, "a") || str_is(what, "b") || str_is(what, "unknown")) {
            pod.node_name = what;
            r = store_apply_pod(store, &pod);
        } else if (str_is(what, "ended")) {
            pod.is_terminal = true;
            r = store_apply_pod(store, &pod);
        } else if (str_is(what, "deleted") || str_is(what, "other deleted")) {
            r = store_remove_pod(
                store, pod.namespace, pod.name, str_is(what, "deleted") ? pod.uid : STR("v"));
        } else if (str_is(what, "forgotten")) {
            r = store_forget(store, pod.uid);
        } else if (str_is(what, "again")) {
            r = store_assume(store, &pod, STR("b"), 100);
        } else if (str_is(what, "anew")) {
            r = apply_pod(store, "p", "v", "b");
        } else if (!str_is(what, "")) {
            pod.node_name = STR("a");
            pod.is_terminal = str_is(what, "listed ended");
            store_list_begin(store, STORE_PODS);
            if (!str_is(what, "not listed"))
                assert_int_equal(store_list_pod(store, &pod), 0);
            r = store_list_end(store, STORE_PODS);
        }
        assert_case(cases[i].name, r == cases[i].outcome);
        assert_case(cases[i].name, count_on(store, "a") == cases[i].n_a);
        assert_case(cases[i].name, count_on(store, "b") == cases[i].n_b);
        store_figures(store, &figures);
        assert_case(cases[i].name, figures.n_assumed == cases[i].n_assumed);
    }
}

/* By UID, whoever came first: readers search them. */
static void test_assumed_in_order(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;

    add_node(store, "a");
    for (unsigned i = 0; i < 500; i++) {
        char name[32];
        Pod pod = pod_of("", "", "");

        (void)snprintf(name, sizeof(name), "u-%03u", i * 7 % 500);
        pod.name = pod.uid = str_from_c(name);
        assert_int_equal(store_assume(store, &pod, STR("a"), 9), 0);
    }
    snapshot = publish(store);
    table = snapshot_table(snapshot);
    assert_int_equal(table->n_assumed, 500);
    for (size_t i = 1; i < table->n_assumed; i++)
        assert_true(str_cmp(table->assumed[i - 1]->uid, table->assumed[i]->uid) < 0);
}

/* The watch was faster than the answer to the Binding. */
static void test_assumed_too_late(void **state) {
    Store *store = *state;
    Pod pod = pod_of("p", "u", "");
    StoreFigures figures;

    add_node(store, "a");
    assert_int_equal(apply_pod(store, "p", "u", "a"), STORE_BOUND);
    assert_int_equal(store_assume(store, &pod, STR("a"), 100), 0);
    store_figures(store, &figures);
    assert_int_equal(figures.n_assumed, 0);
    assert_int_equal(count_on(store, "a"), 1);
}

static void test_expiry(void **state) {
    Store *store = *state;
    Pod first = pod_of("p", "u", ""), second = pod_of("q", "v", "");
    int64_t next = 0;

    add_node(store, "a");
    assert_int_equal(store_expire(store, 0, &next), 0);
    assert_true(next == INT64_MAX);
    assert_int_equal(store_assume(store, &first, STR("a"), 100), 0);
    assert_int_equal(store_assume(store, &second, STR("a"), 50), 0);
    assert_int_equal(store_assume(store, &second, STR("a"), 200), 0); /* longer */
    assert_int_equal(store_expire(store, 99, &next), 0);
    assert_true(next == 100);
    assert_int_equal(count_on(store, "a"), 2);
    assert_int_equal(store_expire(store, 100, &next), 1);
    assert_true(next == 200);
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(store_expire(store, INT64_MAX, &next), 1);
    assert_true(next == INT64_MAX);
    assert_int_equal(count_on(store, "a"), 0);
}

/* --- pods that were promised a node ------------------------------------------------- */

static size_t count_nominated(Store *store) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

    return snapshot_table(snapshot)->n_nominated;
}

static void test_nominated(void **state) {
    Store *store = *state;
    Pod pod = pod_of("p", "u", "");

    pod.nominated_node_name = STR("a");
    assert_int_equal(store_apply_pod(store, &pod), 0);
    assert_int_equal(count_nominated(store), 0); /* no such node */
    add_node(store, "a");
    assert_int_equal(count_nominated(store), 1);
    assert_int_equal(count_on(store, "a"), 0);
    assert_int_equal(store_assume(store, &pod, STR("a"), 9), 0); /* counts there now */
    assert_int_equal(count_nominated(store), 0);
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(store_forget(store, STR("u")), 0);
    assert_int_equal(count_nominated(store), 1);
    assert_int_equal(store_assume(store, &pod, STR("unknown"), 9), 0); /* on no row */
    assert_int_equal(count_nominated(store), 0);
    assert_int_equal(store_forget(store, STR("u")), 0);
    assert_int_equal(count_nominated(store), 1);
    pod.node_name = STR("a");
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    assert_int_equal(count_nominated(store), 0);
    pod = pod_of("q", "v", "");
    pod.nominated_node_name = STR("a");
    assert_int_equal(store_apply_pod(store, &pod), 0);
    assert_int_equal(count_nominated(store), 1);
    assert_int_equal(store_remove_node(store, STR("a")), 0);
    assert_int_equal(count_nominated(store), 0);
}

/* Of too many the most important, then the first by name, whoever came first. */
static void test_too_many_nominated(void **state) {
    Store *store = *state;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;

    add_node(store, "a");
    for (unsigned i = TABLE_NOMINATED_MAX + 50; i-- > 0;) {
        char name[32];
        Pod pod = pod_of("", "", "");

        (void)snprintf(name, sizeof(name), "p-%04u", i);
        pod.name = pod.uid = str_from_c(name);
        pod.nominated_node_name = STR("a");
        pod.priority = i == 1060 ? INT64_MAX : i == 1070 ? 7 : i == 3 ? INT64_MIN : -5;
        assert_int_equal(store_apply_pod(store, &pod), 0);
    }
    snapshot = publish(store);
    table = snapshot_table(snapshot);
    assert_int_equal(table->n_nominated, TABLE_NOMINATED_MAX);
    assert_text("highest", table->nominated[0]->name, "p-1060");
    assert_text("next", table->nominated[1]->name, "p-1070");
    assert_text("first", table->nominated[2]->name, "p-0000");
    assert_text("not the lowest", table->nominated[5]->name, "p-0004");
    assert_text("last", table->nominated[TABLE_NOMINATED_MAX - 1]->name, "p-1022");
}

/* --- ceilings ---------------------------------------------------------------------- */

static void test_full(void **state) {
    Store *store = *state;
    Node nodes[] = {node_of("a"), node_of("b"), node_of("c")};
    Pod pods[] = {pod_of("p", "1", "a"), pod_of("q", "2", "a"), pod_of("r", "3", "a")};
    Pod waiting[] = {pod_of("x", "8", ""), pod_of("y", "9", "")};

    store_limit(store, 2, 2, 1);
    assert_int_equal(store_apply_node(store, &nodes[0]), 0);
    assert_int_equal(store_apply_node(store, &nodes[1]), 0);
    assert_int_equal(store_apply_node(store, &nodes[2]), STORE_FULL);
    nodes[1].is_ready = false; /* what is there may change */
    assert_int_equal(store_apply_node(store, &nodes[1]), 0);
    assert_int_equal(store_apply_pod(store, &pods[0]), STORE_BOUND);
    assert_int_equal(store_apply_pod(store, &pods[1]), STORE_BOUND);
    assert_int_equal(store_apply_pod(store, &pods[2]), STORE_FULL);
    pods[1].uid = STR("4");
    assert_int_equal(store_apply_pod(store, &pods[1]), STORE_BOUND);
    assert_int_equal(store_assume(store, &waiting[0], STR("a"), 9), 0);
    assert_int_equal(store_assume(store, &waiting[1], STR("a"), 9), STORE_FULL);
    assert_int_equal(store_assume(store, &waiting[0], STR("b"), 9), 0);
    assert_int_equal(count_on(store, "a"), 2);
    assert_int_equal(count_on(store, "b"), 1);
    store_list_begin(store, STORE_NODES);
    store_list_begin(store, STORE_PODS);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(store_list_node(store, &nodes[i]), i < 2 ? 0 : STORE_FULL);
        assert_int_equal(store_list_pod(store, &pods[i]), i < 2 ? 0 : STORE_FULL);
    }
}

/* The ceiling of nodes itself, and rows without end. */
static void test_largest(void **state) {
    Store *store = *state;
    char name[32];

    for (unsigned i = 0; i < STORE_NODES_MAX; i++) {
        Node node = {.name = numbered(name, sizeof(name), "node", i)};

        assert_int_equal(store_apply_node(store, &node), 0);
    }
    add_node(store, "node-7");
    assert_int_equal(store_apply_node(store, &(Node){.name = STR("more")}), STORE_FULL);
    assert_int_equal(row_of(store, "node-49999"), 49999);
}

/* --- memory ------------------------------------------------------------------------ */

/* Names that come and go do not stay. */
static void test_parts_are_swept(void **state) {
    Store *store = *state;
    StoreFigures figures;

    add_node(store, "a");
    for (unsigned i = 0; i < 20000; i++) {
        char value[32];
        Label label = {STR("job"), numbered(value, sizeof(value), "job", i)};
        Pod pod = pod_of("p", "u", "a");
        Snapshot *snapshot;

        pod.labels = (Labels){.items = &label, .n = 1};
        assert_true(store_apply_pod(store, &pod) >= 0);
        if (i % 10 == 0) {
            snapshot = publish(store);
            snapshot_unref(snapshot);
        }
    }
    store_figures(store, &figures);
    assert_true(figures.n_parts < 2000);
}

/* Snapshots outlive the store. */
static void test_snapshot_alone(void **state) {
    Store *store = store_new();
    Label label = {STR("pool"), STR("x")};
    Node node = node_of("a");
    Snapshot *snapshot;

    (void)state;
    node.labels = (Labels){.items = &label, .n = 1};
    assert_int_equal(store_apply_node(store, &node), 0);
    assert_int_equal(apply_pod(store, "p", "u", "a"), STORE_BOUND);
    store_list_begin(store, STORE_PODS); /* and what is staged goes with it */
    assert_int_equal(store_list_pod(store, &(Pod){.name = STR("q"), .node_name = STR("a")}), 0);
    store_list_begin(store, STORE_NODES);
    assert_int_equal(store_list_node(store, &node), 0);
    snapshot = publish(store);
    store_free(store);
    assert_text("label", *labels_find(table_labels(snapshot_table(snapshot), 0), STR("pool")), "x");
    assert_text("pod", snapshot_table(snapshot)->chunks[0]->pods[0]->items[0]->name, "p");
    snapshot_unref(snapshot);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, new_store, free_store)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_STORE(test_nothing),
        WITH_STORE(test_sharing),
        WITH_STORE(test_removed_node),
        WITH_STORE(test_silence),
        WITH_STORE(test_new_resource),
        WITH_STORE(test_names_of_pods),
        WITH_STORE(test_too_many_resources),
        WITH_STORE(test_fewer_resources),
        WITH_STORE(test_odd_amounts),
        WITH_STORE(test_many_taints),
        WITH_STORE(test_rows),
        WITH_STORE(test_pods_before_their_node),
        WITH_STORE(test_events_of_a_pod),
        WITH_STORE(test_namespaces),
        WITH_STORE(test_list_of_nodes),
        WITH_STORE(test_list_of_pods),
        WITH_STORE(test_list_without_news),
        cmocka_unit_test(test_assumed),
        WITH_STORE(test_assumed_in_order),
        WITH_STORE(test_assumed_too_late),
        WITH_STORE(test_expiry),
        WITH_STORE(test_nominated),
        WITH_STORE(test_too_many_nominated),
        WITH_STORE(test_full),
        WITH_STORE(test_largest),
        WITH_STORE(test_parts_are_swept),
        cmocka_unit_test(test_snapshot_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
