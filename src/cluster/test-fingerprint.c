#include "cluster/fingerprint.h"

#include "base/test-assert.h"

#define BUDGET ((size_t)16 << 20)

static const Label labels_a[] = {{STR("pool"), STR("a")}};
static const Label labels_b[] = {{STR("pool"), STR("b")}};
static const Taint taint[] = {{.key = STR("gpu"), .effect = TAINT_NO_SCHEDULE}};
static Resource small[] = {{STR("cpu"), 4000}, {STR("memory"), 8}};
static Resource large[] = {{STR("cpu"), 4000}, {STR("memory"), 16}};
static Resource gpus[] = {{STR("example.com/gpu"), 8}, {STR("cpu"), 64000}};
static Resource requested[] = {{STR("cpu"), 500}};

#define LABELS(array) ((Labels){.items = (array), .n = ELEMENTS_OF(array)})
#define RESOURCES(array) ((Resources){.items = (array), .n = ELEMENTS_OF(array)})

static const Node one = {.name = STR("one"),
    .is_ready = true,
    .labels = LABELS(labels_a),
    .allocatable = RESOURCES(small)};
static const Node two = {.name = STR("two"), .is_ready = true, .allocatable = RESOURCES(gpus)};
static const Pod pod = {
    .uid = STR("u1"), .node_name = STR("one"), .requests = RESOURCES(requested)};

static Digest digest_of_nodes(const Node *nodes, size_t n, const Pod *on_one) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    NodeTable table, with_pod;
    Digest digest;

    assert_int_equal(table_build(nodes, n, arena, &table), 0);
    with_pod = table;
    if (on_one)
        assert_int_equal(
            table_change(&table,
                &(PodChange){.row = table_find(&table, on_one->node_name), .add = on_one}, 1, arena,
                &with_pod),
            0);
    assert_int_equal(table_fingerprint(&with_pod, &digest), 0);
    return digest;
}

static bool is_same(Digest a, Digest b) {
    return a.high == b.high && a.low == b.low;
}

/* Rows and columns in another order, plus an unused column. */
static void test_order_does_not_matter(void **state) {
    const Node forth[] = {one, two}, back[] = {two, one};

    (void)state;
    assert_true(is_same(digest_of_nodes(forth, 2, NULL), digest_of_nodes(back, 2, NULL)));
    assert_true(is_same(digest_of_nodes(forth, 2, &pod), digest_of_nodes(back, 2, &pod)));
}

/* Users compare it across versions, so it must not change by accident. */
static void test_is_stable(void **state) {
    const Node nodes[] = {one, two};
    char text[DIGEST_TEXT_MAX];

    (void)state;
    assert_true(is_same(digest_of_nodes(nodes, 0, NULL), DIGEST_NONE));
    assert_string_equal(
        digest_print(digest_of_nodes(nodes, 2, NULL), text), "951f12c2b5ae96e647f9a3302fe58326");
}

static void test_every_part_counts(void **state) {
    Node renamed = one, relabelled = one, tainted = one, unready = one, cordoned = one,
         larger = one;
    const struct {
        const char *name;
        const Node *node;
        const Pod *pod;
    } cases[] = {
        {"name", &renamed, NULL},
        {"labels", &relabelled, NULL},
        {"taints", &tainted, NULL},
        {"ready", &unready, NULL},
        {"cordoned", &cordoned, NULL},
        {"allocatable", &larger, NULL},
        {"pods", &one, &pod},
    };
    Digest known[ELEMENTS_OF(cases) + 2];
    const Node twice[] = {one, one};
    size_t n = 0;

    (void)state;
    renamed.name = STR("eno");
    relabelled.labels = LABELS(labels_b);
    tainted.taints = (Taints){.items = taint, .n = 1};
    unready.is_ready = false;
    cordoned.is_unschedulable = true;
    larger.allocatable = RESOURCES(large);
    known[n++] = digest_of_nodes(&one, 1, NULL);
    known[n++] = digest_of_nodes(twice, 2, NULL);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        known[n] = digest_of_nodes(cases[i].node, 1, cases[i].pod);
        for (size_t j = 0; j < n; j++)
            assert_case(cases[i].name, !is_same(known[n], known[j]));
        n++;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_is_stable),
        cmocka_unit_test(test_every_part_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
