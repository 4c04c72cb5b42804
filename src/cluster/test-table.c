#include "cluster/table.h"

#include <errno.h>
#include <stdio.h>

#include "base/test-assert.h"

#define BUDGET ((size_t)16 << 20)

static const Taint gpu_taint[] = {
    {.key = STR("gpu"), .value = STR("a"), .effect = TAINT_NO_SCHEDULE}};
static const Taint same_taint[] = {
    {.key = STR("gpu"), .value = STR("a"), .effect = TAINT_NO_SCHEDULE}};
static const Taint other_value[] = {
    {.key = STR("gpu"), .value = STR("b"), .effect = TAINT_NO_SCHEDULE}};
static const Taint other_effect[] = {
    {.key = STR("gpu"), .value = STR("a"), .effect = TAINT_NO_EXECUTE}};
static const Taint two_taints[] = {
    {.key = STR("gpu"), .value = STR("a"), .effect = TAINT_NO_SCHEDULE},
    {.key = STR("x"), .effect = TAINT_NO_SCHEDULE}};

#define TAINTS(array) ((Taints){.items = (array), .n = ELEMENTS_OF(array)})

/* A list of resources that lives as long as its block. */
#define RESOURCES(...)                                                                             \
    ((Resources){.items = (Resource[]){__VA_ARGS__},                                               \
        .n = sizeof((Resource[]){__VA_ARGS__}) / sizeof(Resource)})

static int64_t amount(const NodeTable *table, const char *resource, uint32_t row, AmountKind kind) {
    size_t column = table_find_resource(table, str_from_c(resource));

    assert_true(column < table->n_resources);
    return table_amount(table, row, column, kind);
}

static int64_t allocatable(const NodeTable *table, const char *resource, uint32_t row) {
    return amount(table, resource, row, AMOUNT_ALLOCATABLE);
}

static int64_t requested(const NodeTable *table, const char *resource, uint32_t row) {
    int64_t n = amount(table, resource, row, AMOUNT_REQUESTED);

    assert_int_equal(
        amount(table, resource, row, AMOUNT_FREE), allocatable(table, resource, row) - n);
    return n;
}

static uint32_t taint_set(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->taint_set[table_slot(row)];
}

static uint32_t n_pods(const NodeTable *table, uint32_t row) {
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

    assert_int_equal(pods ? pods->n : 0, table_chunk(table, row)->n_pods[table_slot(row)]);
    return pods ? pods->n : 0;
}

static const Pod *pod_at(const NodeTable *table, uint32_t row, uint32_t i) {
    assert_true(i < n_pods(table, row));
    return table_chunk(table, row)->pods[table_slot(row)]->items[i];
}

static bool is_ready(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->is_ready[table_slot(row)];
}

static bool is_unschedulable(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->is_unschedulable[table_slot(row)];
}

/* Builds a table of nodes with pods on them. */
static int build(
    const Node *nodes, size_t n_nodes, const Pod *pods, size_t n, Arena *arena, NodeTable *ret) {
    NodeTable empty;
    PodChange changes[8];
    int r = table_build(nodes, n_nodes, arena, &empty);

    assert_true(n <= ELEMENTS_OF(changes));
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        changes[i] = (PodChange){.row = table_find(&empty, pods[i].node_name), .add = &pods[i]};
    return table_change(&empty, changes, n, arena, ret);
}

static int without_pod(
    const NodeTable *table, uint32_t row, Str uid, Arena *arena, NodeTable *ret) {
    return table_change(table, &(PodChange){.row = row, .remove = uid}, 1, arena, ret);
}

/* --- rows ------------------------------------------------------------------------------ */

static void test_empty(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(table_build(NULL, 0, arena, &table), 0);
    assert_int_equal(table.n_rows, 0);
    assert_int_equal(table_find(&table, STR("a")), 0); /* n_rows: unknown */
    assert_int_equal(table_find(&table, STR_NULL), 0);
    assert_int_equal(table.n_resources, 2);
    assert_int_equal(taint_set(&table, 0), 0);
    assert_int_equal(n_pods(&table, 0), 0);
    assert_false(is_ready(&table, 0));
}

static void test_rows(void **state) {
    static const Label labels[] = {{STR("pool"), STR("x")}};
    Node nodes[] = {
        {.name = STR("a"), .is_ready = true, .labels = {.items = labels, .n = 1}},
        {.name = STR("b.c-d"), .is_unschedulable = true},
        {.name = STR("Not allowed")},
        {.name = STR("a")},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(table_build(nodes, ELEMENTS_OF(nodes), arena, &table), 0);
    assert_int_equal(table_find(&table, STR("a")), 0); /* of equal names the first */
    assert_int_equal(table_find(&table, STR("b.c-d")), 1);
    assert_int_equal(table_find(&table, STR("Not allowed")), 2);
    assert_int_equal(table_find(&table, STR("b")), 4);
    assert_true(is_ready(&table, 0) && !is_ready(&table, 1));
    assert_true(is_unschedulable(&table, 1) && !is_unschedulable(&table, 0));
    assert_int_equal(table_labels(&table, 0)->n, 1);
    assert_int_equal(table_labels(&table, 4)->n, 0); /* the unknown node */
}

/* --- taints ---------------------------------------------------------------------------- */

static void test_taint_sets(void **state) {
    Node nodes[] = {
        {.name = STR("none")},
        {.name = STR("gpu"), .taints = TAINTS(gpu_taint)},
        {.name = STR("same"), .taints = TAINTS(same_taint)},
        {.name = STR("value"), .taints = TAINTS(other_value)},
        {.name = STR("effect"), .taints = TAINTS(other_effect)},
        {.name = STR("two"), .taints = TAINTS(two_taints)},
        {.name = STR("again"), .taints = TAINTS(gpu_taint)},
        {.name = STR("nothing")},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(table_build(nodes, ELEMENTS_OF(nodes), arena, &table), 0);
    assert_int_equal(table.n_taint_sets, 5); /* the empty one, and four */
    assert_int_equal(table.taint_sets[0].n, 0);
    assert_int_equal(taint_set(&table, 0), 0);
    assert_int_equal(taint_set(&table, 7), 0);
    assert_int_equal(taint_set(&table, 1), taint_set(&table, 2));
    assert_int_equal(taint_set(&table, 1), taint_set(&table, 6));
    for (uint32_t i = 3; i < 6; i++)
        assert_int_not_equal(taint_set(&table, 1), taint_set(&table, i));
    assert_int_equal(table.taint_sets[taint_set(&table, 5)].n, 2);
}

/* Many distinct lists, each on two nodes: every row has the list of its node. */
static void test_many_taint_sets(void **state) {
    enum { N = 300 };
    static Node nodes[N];
    static Taint taints[N];
    static char keys[N][16];
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "k%zu", i % 150);
        taints[i] = (Taint){.key = str_from_c(keys[i]), .effect = TAINT_NO_SCHEDULE};
        nodes[i] = (Node){.name = str_from_c(keys[i]), .taints = {.items = &taints[i], .n = 1}};
    }
    assert_int_equal(table_build(nodes, N, arena, &table), 0);
    for (uint32_t i = 0; i < N; i++) {
        const Taints *set = &table.taint_sets[taint_set(&table, i)];

        assert_int_equal(set->n, 1);
        assert_true(str_eq(set->items[0].key, taints[i].key));
    }
}

/* --- resources ------------------------------------------------------------------------- */

static void test_resources(void **state) {
    Node nodes[] = {
        {.name = STR("a"),
            .allocatable = RESOURCES({STR("memory"), 100}, {STR("gpu"), 2}, {STR("cpu"), 1000})},
        {.name = STR("b"), .allocatable = RESOURCES({STR("cpu"), 500}, {STR("memory"), -7})},
    };
    Pod pods[] = {
        {.node_name = STR("b"), .requests = RESOURCES({STR("cpu"), 100}, {STR("disk"), 5})},
        {.node_name = STR("b"), .requests = RESOURCES({STR("cpu"), 20}, {STR("memory"), -3})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(build(nodes, 2, pods, 2, arena, &table), 0);
    assert_text("cpu", table.resources[TABLE_CPU], "cpu");
    assert_text("memory", table.resources[TABLE_MEMORY], "memory");
    assert_int_equal(allocatable(&table, "cpu", 0), 1000);
    assert_int_equal(allocatable(&table, "memory", 0), 100);
    assert_int_equal(allocatable(&table, "gpu", 0), 2);
    assert_int_equal(allocatable(&table, "gpu", 1), 0);
    assert_int_equal(allocatable(&table, "memory", 1), 0); /* never negative */
    assert_int_equal(requested(&table, "cpu", 1), 120);
    assert_true(table_find_resource(&table, STR("disk")) == SIZE_MAX); /* only a pod has it */
    assert_int_equal(requested(&table, "memory", 1), 0);
    assert_true(table_find_resource(&table, STR("nobody has it")) == SIZE_MAX);
    for (size_t i = 0; i < table.n_resources; i++) { /* the unknown node */
        assert_int_equal(table_amount(&table, 2, i, AMOUNT_ALLOCATABLE), 0);
        assert_int_equal(table_amount(&table, 2, i, AMOUNT_REQUESTED), 0);
    }
}

static void test_resources_ceiling(void **state) {
    enum { N = 300 };
    static char names[N][16];
    Resource items[N];
    Node nodes[N / 50];
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "r%zu", i);
        items[i] = (Resource){.name = str_from_c(names[i]), .amount = (int64_t)i + 1};
    }
    for (size_t i = 0; i < N / 50; i++)
        nodes[i] =
            (Node){.name = str_from_c(names[i]), .allocatable = {.items = items + 50 * i, .n = 50}};
    assert_int_equal(table_build(nodes, N / 50, arena, &table), 0);
    assert_int_equal(table.n_resources, TABLE_RESOURCES_MAX);
    assert_int_equal(allocatable(&table, "r60", 1), 61);
    assert_true(table_find_resource(&table, STR("r299")) == SIZE_MAX); /* not counted */
}

/* --- pods ------------------------------------------------------------------------------ */

static void test_pods(void **state) {
    Node nodes[] = {{.name = STR("a")}, {.name = STR("b")}, {.name = STR("a")}};
    Pod pods[] = {
        {.name = STR("p0"), .node_name = STR("b")},
        {.name = STR("p1"), .node_name = STR("a"), .requests = RESOURCES({STR("cpu"), 7})},
        {.name = STR("p2"), .node_name = STR("b"), .is_terminating = true},
        {.name = STR("p3"), .node_name = STR("gone"), .requests = RESOURCES({STR("cpu"), 9})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(build(nodes, 3, pods, ELEMENTS_OF(pods), arena, &table), 0);
    assert_int_equal(n_pods(&table, 0), 1);
    assert_int_equal(n_pods(&table, 1), 2);
    assert_int_equal(n_pods(&table, 2), 0); /* of equal names the first has them */
    assert_int_equal(n_pods(&table, 3), 0); /* the unknown node */
    assert_text("pod", pod_at(&table, 0, 0)->name, "p1");
    assert_text("pod", pod_at(&table, 1, 0)->name, "p0");
    assert_text("pod", pod_at(&table, 1, 1)->name, "p2");
    assert_int_equal(requested(&table, "cpu", 0), 7);
    assert_int_equal(requested(&table, "cpu", 1), 0);
    assert_int_equal(requested(&table, "cpu", 3), 0);
}

/* Only chunks with a change are new. */
static void test_change_shares(void **state) {
    enum { N = 3 * CHUNK_ROWS };
    static Node nodes[N];
    static char names[N][16];
    const Pod pod = {.uid = STR("u"), .requests = RESOURCES({STR("cpu"), 1})};
    const PodChange changes[] = {{.row = CHUNK_ROWS + 3, .add = &pod},
        {.row = CHUNK_ROWS + 3, .add = &pod}, {.row = CHUNK_ROWS + 4, .remove = STR("nobody")},
        {.row = N, .add = &pod}};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, changed;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%zu", i);
        nodes[i].name = str_from_c(names[i]);
    }
    assert_int_equal(table_build(nodes, N, arena, &table), 0);
    assert_int_equal(table.n_chunks, 4); /* the unknown node has a row too */
    assert_int_equal(table_change(&table, changes, ELEMENTS_OF(changes), arena, &changed), 0);
    assert_ptr_equal(changed.chunks[0], table.chunks[0]);
    assert_ptr_not_equal(changed.chunks[1], table.chunks[1]);
    assert_ptr_equal(changed.chunks[2], table.chunks[2]);
    assert_ptr_equal(changed.chunks[3], table.chunks[3]);
    assert_int_equal(requested(&changed, "cpu", CHUNK_ROWS + 3), 2);
    assert_int_equal(n_pods(&changed, CHUNK_ROWS + 3), 2);
    assert_int_equal(n_pods(&table, CHUNK_ROWS + 3), 0);
    assert_int_equal(n_pods(&changed, N), 0); /* no pod runs on the unknown node */
}

static void test_requests_saturate(void **state) {
    Node node = {.name = STR("a")};
    Pod pods[] = {
        {.node_name = STR("a"), .requests = RESOURCES({STR("memory"), INT64_MAX})},
        {.node_name = STR("a"), .requests = RESOURCES({STR("memory"), INT64_MAX})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table;

    (void)state;
    assert_int_equal(build(&node, 1, pods, 2, arena, &table), 0);
    assert_int_equal(requested(&table, "memory", 0), INT64_MAX);
}

static int64_t placed_at(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->placed_at[table_slot(row)];
}

/* The time when the last pod of a row was bound, as far as known. */
static void test_placed_at(void **state) {
    Node nodes[] = {{.name = STR("a")}, {.name = STR("b")}, {.name = STR("c")}};
    Pod pods[] = {
        {.uid = STR("u0"), .node_name = STR("a"), .scheduled_at = 5, .started_at = 99},
        {.uid = STR("u1"), .node_name = STR("a"), .started_at = 7, .created_at = 99},
        {.uid = STR("u2"), .node_name = STR("a"), .created_at = 6},
        {.uid = STR("u3"), .node_name = STR("b")},
        {.uid = STR("u4"), .node_name = STR("b"), .scheduled_at = -4},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, without, into;

    (void)state;
    assert_int_equal(build(nodes, 3, pods, ELEMENTS_OF(pods), arena, &table), 0);
    assert_int_equal(placed_at(&table, 0), 7);
    assert_int_equal(placed_at(&table, 1), 0);
    assert_int_equal(placed_at(&table, 2), 0);
    assert_int_equal(placed_at(&table, 3), 0);
    assert_int_equal(without_pod(&table, 0, STR("u1"), arena, &without), 0);
    assert_int_equal(placed_at(&without, 0), 6);
    assert_int_equal(table_build(nodes, 2, arena, &into), 0);
    assert_int_equal(placed_at(&into, 0), 0);
    assert_int_equal(table_adopt_pods(&into, &table, arena), 0);
    assert_int_equal(placed_at(&into, 0), 7);
}

/* Only a view sets loads; a changed table keeps them. */
static void test_loads(void **state) {
    static const char marker;
    Node nodes[] = {{.name = STR("a")}, {.name = STR("b")}};
    Pod pod = {.uid = STR("u"), .node_name = STR("a")};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, changed, into;

    (void)state;
    assert_int_equal(table_build(nodes, 2, arena, &table), 0);
    assert_null(table.loads);
    table.loads = (const Loads *)(const void *)&marker;
    assert_int_equal(
        table_change(&table, &(PodChange){.row = 0, .add = &pod}, 1, arena, &changed), 0);
    assert_ptr_equal(changed.loads, table.loads);
    assert_int_equal(table_build(nodes, 2, arena, &into), 0);
    assert_int_equal(table_adopt_pods(&into, &changed, arena), 0);
    assert_null(into.loads);
}

/* A request with whole nodes does not contain their pods. */
static void test_adopt_pods(void **state) {
    Node known[] = {
        {.name = STR("a"), .allocatable = RESOURCES({STR("disk"), 0})}, {.name = STR("b")}};
    Node sent[] = {
        {.name = STR("b"), .allocatable = RESOURCES({STR("cpu"), 10})},
        {.name = STR("new"), .allocatable = RESOURCES({STR("gpu"), 1})},
        {.name = STR("a")},
        {.name = STR("b")},
    };
    Pod pods[] = {
        {.name = STR("p0"), .node_name = STR("a"), .requests = RESOURCES({STR("disk"), 3})},
        {.name = STR("p1"), .node_name = STR("b"), .requests = RESOURCES({STR("cpu"), 4})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable from, into;

    (void)state;
    assert_int_equal(build(known, 2, pods, 2, arena, &from), 0);
    assert_int_equal(table_build(sent, 4, arena, &into), 0);
    assert_int_equal(table_adopt_pods(&into, &from, arena), 0);
    assert_int_equal(n_pods(&into, 0), 1);
    assert_text("pod", pod_at(&into, 0, 0)->name, "p1");
    assert_int_equal(requested(&into, "cpu", 0), 4);
    assert_int_equal(allocatable(&into, "cpu", 0), 10);
    assert_int_equal(n_pods(&into, 1), 0);
    assert_int_equal(requested(&into, "cpu", 1), 0);
    assert_int_equal(n_pods(&into, 2), 1);
    assert_int_equal(requested(&into, "disk", 2), 3); /* a column that only @from has */
    assert_int_equal(allocatable(&into, "disk", 2), 0);
    assert_int_equal(n_pods(&into, 3), 1); /* the same name again */
    assert_int_equal(allocatable(&into, "gpu", 1), 1);
    assert_text("cpu", into.resources[TABLE_CPU], "cpu");
}

static void test_without_pod(void **state) {
    Node nodes[] = {
        {.name = STR("a"), .allocatable = RESOURCES({STR("gpu"), 2})}, {.name = STR("b")}};
    Pod pods[] = {
        {.uid = STR("u0"), .node_name = STR("a"), .requests = RESOURCES({STR("cpu"), 3})},
        {.uid = STR("u1"),
            .node_name = STR("a"),
            .requests = RESOURCES({STR("cpu"), 4}, {STR("gpu"), 1})},
        {.uid = STR("u2"), .node_name = STR("b"), .requests = RESOURCES({STR("cpu"), 5})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, without;

    (void)state;
    assert_int_equal(build(nodes, 2, pods, 3, arena, &table), 0);
    assert_int_equal(without_pod(&table, 0, STR("u1"), arena, &without), 0);
    assert_int_equal(n_pods(&without, 0), 1);
    assert_ptr_equal(pod_at(&without, 0, 0), &pods[0]);
    assert_int_equal(requested(&without, "cpu", 0), 3);
    assert_int_equal(requested(&without, "gpu", 0), 0);
    assert_int_equal(requested(&without, "cpu", 1), 5);
    assert_int_equal(n_pods(&without, 1), 1);
    assert_int_equal(requested(&table, "cpu", 0), 7); /* the original stays */
    assert_int_equal(n_pods(&table, 0), 2);

    assert_int_equal(without_pod(&table, 0, STR("u2"), arena, &without), 0); /* not there */
    assert_int_equal(n_pods(&without, 0), 2);
    assert_int_equal(requested(&without, "cpu", 0), 7);
    assert_int_equal(requested(&without, "cpu", 1), 5);
}

/* The remaining sum is that of the others, also where it was saturated and where a pod had a
 * negative request. */
static void test_without_pod_is_exact(void **state) {
    Node node = {.name = STR("a")};
    Pod pods[] = {
        {.uid = STR("u0"),
            .node_name = STR("a"),
            .requests = RESOURCES({STR("memory"), INT64_MAX})},
        {.uid = STR("u1"),
            .node_name = STR("a"),
            .requests = RESOURCES({STR("memory"), INT64_MAX})},
        {.uid = STR("u2"), .node_name = STR("a"), .requests = RESOURCES({STR("cpu"), -5})},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, without;

    (void)state;
    assert_int_equal(build(&node, 1, pods, 3, arena, &table), 0);
    assert_int_equal(without_pod(&table, 0, STR("u0"), arena, &without), 0);
    assert_int_equal(requested(&without, "memory", 0), INT64_MAX);
    assert_int_equal(without_pod(&table, 0, STR("u2"), arena, &without), 0);
    assert_int_equal(requested(&without, "cpu", 0), 0);
}

/* --- memory ---------------------------------------------------------------------------- */

/* With any budget: the table, or -ENOMEM. */
static void test_budgets(void **state) {
    Node nodes[] = {
        {.name = STR("a"),
            .taints = TAINTS(gpu_taint),
            .allocatable = RESOURCES({STR("cpu"), 1}, {STR("gpu"), 1}, {STR("disk"), 9})},
        {.name = STR("b"), .taints = TAINTS(two_taints)},
    };
    Pod pods[] = {
        {.uid = STR("u"), .node_name = STR("a"), .requests = RESOURCES({STR("disk"), 3})}};
    unsigned n_built = 0;

    (void)state;
    for (size_t budget = 0; budget < 65536; budget += 16) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        NodeTable table, own, without;
        int r = build(nodes, 2, pods, 1, arena, &table);

        if (r == 0)
            r = table_build(nodes, 2, arena, &own);
        if (r == 0)
            r = table_adopt_pods(&own, &table, arena);
        if (r == 0)
            r = without_pod(&own, 0, STR("u"), arena, &without);
        assert_true(r == 0 || r == -ENOMEM);
        if (r < 0)
            continue;
        assert_int_equal(requested(&own, "disk", 0), 3);
        assert_int_equal(requested(&without, "disk", 0), 0);
        n_built++;
    }
    assert_true(n_built > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_taint_sets),
        cmocka_unit_test(test_many_taint_sets),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_resources_ceiling),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_change_shares),
        cmocka_unit_test(test_requests_saturate),
        cmocka_unit_test(test_placed_at),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_adopt_pods),
        cmocka_unit_test(test_without_pod),
        cmocka_unit_test(test_without_pod_is_exact),
        cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
