#include "cluster/store.h"

#include <errno.h>

#include "cluster/record.h"
#include "cluster/test-store.h"

static uint32_t row_of(Store *store, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

    return table_find(snapshot_table(snapshot), str_from_c(node));
}

static size_t n_rows_of(Store *store) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);

    return snapshot_table(snapshot)->n_rows;
}

/* --- rows -------------------------------------------------------------------------- */

static void test_rows(void **state) {
    Store *store = *state;

    add_node(store, "a");
    add_node(store, "b");
    add_node(store, "c");
    add_node(store, "d");
    assert_int_equal(row_of(store, "c"), 2);
    store_remove_node(store, STR("b"));
    store_remove_node(store, STR("a"));
    assert_int_equal(n_rows_of(store), 4);
    assert_int_equal(row_of(store, "c"), 2);
    add_node(store, "e"); /* the lowest */
    assert_int_equal(row_of(store, "e"), 0);
    store_remove_node(store, STR("d"));
    assert_int_equal(n_rows_of(store), 3);
    add_node(store, "f");
    add_node(store, "g");
    assert_int_equal(row_of(store, "f"), 1);
    assert_int_equal(row_of(store, "g"), 3);
    assert_int_equal(store_apply_node(store, &(Node){0}), 0); /* unknown */
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
    store_remove_node(store, STR("a"));
    assert_int_equal(count_on(store, "a"), UINT32_MAX);
    store_remove_pod(store, STR("space"), STR("p"), STR("u"));
    add_node(store, "b"); /* takes the row */
    add_node(store, "a");
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(count_on(store, "b"), 0);
}

/* Events of one pod: the result of each, and which pods count on nodes a and b. */
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
        int r = 0;

        pod.is_terminal = cases[i].what == 'T';
        if (cases[i].what == 'R')
            store_remove_pod(store, STR("space"), STR("p"), pod.uid);
        else
            r = store_apply_pod(store, &pod);
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
    store_list_begin(store, STORE_NODES); /* the list starts again */
    assert_int_equal(store_list_node(store, &d), 0);
    assert_int_equal(store_list_node(store, &c), 0);
    assert_int_equal(store_list_node(store, &(Node){0}), 0);
    assert_int_equal(row_of(store, "b"), 1); /* nothing of it is visible */
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
    new.node_name = STR("b"); /* listed twice: the later one counts */
    assert_int_equal(store_list_pod(store, &new), 0);
    assert_int_equal(count_on(store, "a"), 3);
    assert_int_equal(store_list_end(store, STORE_PODS), 0);
    assert_int_equal(count_on(store, "a"), 1);
    assert_int_equal(count_on(store, "b"), 2);
    assert_ptr_equal(store_find_pod(store, STR("space"), STR("kept")), record);
    assert_null(store_find_pod(store, STR("space"), STR("gone")));
    assert_null(store_find_pod(store, STR("space"), STR("ended")));
}

/* Everything listed again unchanged: the same snapshot. */
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
    assert_int_equal(store_list_pod(store, &(Pod){.namespace = STR("space"),
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

/* --- assumed pods ------------------------------------------------------------------- */

/* Events that end an entry, and the pod that counts afterwards; no pod ever counts twice. */
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
        if (str_is(what, "anew")) /* the watch showed it before, so a missing pod is deleted */
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
            store_remove_pod(
                store, pod.namespace, pod.name, str_is(what, "deleted") ? pod.uid : STR("v"));
        } else if (str_is(what, "forgotten")) {
            store_forget(store, pod.uid);
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

/* Sorted by UID, whatever the order of arrival: readers search them. */
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

/* The watch was faster than the reply to the Binding. */
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

/* Right and wrong guesses are counted; store_expire() does not count expired guesses. */
static void test_guesses(void **state) {
    Store *store = *state;
    const char *const names[] = {"p", "q", "r"}, *const shown[] = {"a", "b", ""};
    StoreFigures figures;
    int64_t next;

    add_node(store, "a");
    add_node(store, "b");
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        Pod pod = pod_of(names[i], names[i], "");

        pod.is_guessed = true;
        assert_int_equal(store_assume(store, &pod, STR("a"), 100), 0);
        assert_true(apply_pod(store, names[i], names[i], shown[i]) >= 0);
    }
    assert_int_equal(count_on(store, "a"), 2);
    assert_int_equal(count_on(store, "b"), 1);
    assert_int_equal(store_expire(store, 100, &next), 0);
    assert_int_equal(count_on(store, "a"), 1);
    store_figures(store, &figures);
    assert_int_equal(figures.n_assumed, 0);
    assert_int_equal(figures.n_guesses[true], 1);
    assert_int_equal(figures.n_guesses[false], 1);
}

/* The same pod counts as guessed, and later for certain. */
static void test_guess_becomes_certain(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *first = NULL, *second = NULL;
    Store *store = *state;
    Pod pod = pod_of("p", "u", "");

    add_node(store, "a");
    pod.is_guessed = true;
    assert_int_equal(store_assume(store, &pod, STR("a"), 100), 0);
    first = publish(store);
    assert_true(snapshot_table(first)->assumed[0]->is_guessed);
    pod.is_guessed = false;
    assert_int_equal(store_assume(store, &pod, STR("a"), 100), 0);
    second = publish(store);
    assert_false(snapshot_table(second)->assumed[0]->is_guessed);
    assert_int_equal(count_on(store, "a"), 1);
}

/* A late request about a deleted pod must not count it. */
static void test_removed_pods_are_remembered(void **state) {
    Store *store = *state;
    char uid[16];

    assert_false(store_was_removed(store, STR("u-0")));
    for (unsigned i = 0; i <= STORE_REMOVED_MAX; i++) {
        (void)snprintf(uid, sizeof(uid), "u-%u", i);
        store_remove_pod(store, STR("shop"), STR("p"), str_from_c(uid));
        assert_true(store_was_removed(store, str_from_c(uid)));
    }
    assert_false(store_was_removed(store, STR("u-0"))); /* too long ago */
    assert_true(store_was_removed(store, STR("u-1")));
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

/* --- nominated pods ----------------------------------------------------------------- */

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
    store_forget(store, STR("u"));
    assert_int_equal(count_nominated(store), 1);
    assert_int_equal(store_assume(store, &pod, STR("unknown"), 9), 0); /* on no row */
    assert_int_equal(count_nominated(store), 0);
    store_forget(store, STR("u"));
    assert_int_equal(count_nominated(store), 1);
    pod.node_name = STR("a");
    assert_int_equal(store_apply_pod(store, &pod), STORE_BOUND);
    assert_int_equal(count_nominated(store), 0);
    pod = pod_of("q", "v", "");
    pod.nominated_node_name = STR("a");
    assert_int_equal(store_apply_pod(store, &pod), 0);
    assert_int_equal(count_nominated(store), 1);
    store_remove_node(store, STR("a"));
    assert_int_equal(count_nominated(store), 0);
}

/* If there are too many, those with the highest priority are kept, then the first by name. */
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
    assert_text("last", table->nominated[TABLE_NOMINATED_MAX - 1]->name, "p-4096");
}

/* --- ceilings ---------------------------------------------------------------------- */

static void test_objects_over_limits(void **state) {
    Store *store = *state;
    Node nodes[] = {node_of("a"), node_of("b"), node_of("c")};
    Pod pods[] = {pod_of("p", "1", "a"), pod_of("q", "2", "a"), pod_of("r", "3", "a")};
    Pod waiting[] = {pod_of("x", "8", ""), pod_of("y", "9", "")};

    store_limit(store, 2, 2, 1);
    assert_int_equal(store_apply_node(store, &nodes[0]), 0);
    assert_int_equal(store_apply_node(store, &nodes[1]), 0);
    assert_int_equal(store_apply_node(store, &nodes[2]), STORE_FULL);
    nodes[1].is_ready = false; /* existing objects may change */
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

/* The limit of nodes, and rows up to it. */
static void test_max_nodes(void **state) {
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

/* Strings that are no longer used are freed. */
static void test_unused_strings_are_freed(void **state) {
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
static void test_snapshot_outlives_store(void **state) {
    Store *store = store_new();
    Label label = {STR("pool"), STR("x")};
    Node node = node_of("a");
    Snapshot *snapshot;

    (void)state;
    node.labels = (Labels){.items = &label, .n = 1};
    assert_int_equal(store_apply_node(store, &node), 0);
    assert_int_equal(apply_pod(store, "p", "u", "a"), STORE_BOUND);
    store_list_begin(store, STORE_PODS); /* and staged objects are freed with it */
    assert_int_equal(store_list_pod(store, &(Pod){.name = STR("q"), .node_name = STR("a")}), 0);
    store_list_begin(store, STORE_NODES);
    assert_int_equal(store_list_node(store, &node), 0);
    snapshot = publish(store);
    store_free(store);
    assert_text("label", *labels_find(table_labels(snapshot_table(snapshot), 0), STR("pool")), "x");
    assert_text("pod", snapshot_table(snapshot)->chunks[0]->pods[0]->items[0]->name, "p");
    snapshot_unref(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
        WITH_STORE(test_guesses),
        WITH_STORE(test_guess_becomes_certain),
        WITH_STORE(test_removed_pods_are_remembered),
        WITH_STORE(test_expiry),
        WITH_STORE(test_nominated),
        WITH_STORE(test_too_many_nominated),
        WITH_STORE(test_objects_over_limits),
        WITH_STORE(test_max_nodes),
        WITH_STORE(test_unused_strings_are_freed),
        cmocka_unit_test(test_snapshot_outlives_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
