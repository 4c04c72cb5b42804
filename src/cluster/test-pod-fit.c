/* Whether a node has the amounts that a pod requests. */

#include "cluster/pod-fit.h"

#include "base/test-assert.h"

#define BUDGET ((size_t)1 << 20)
#define RESOURCES(...)                                                                             \
    {                                                                                              \
        .items = (Resource[]){__VA_ARGS__},                                                        \
        .n = sizeof((Resource[]){__VA_ARGS__}) / sizeof(Resource)                                  \
    }

/* What @pod lacks on @row: the name of the resource, or "". */
static Str lacking(const NodeTable *table, const Pod *pod, uint32_t row, AmountKind kind) {
    PodFit fit;
    size_t i;

    pod_fit_init(&fit, table, pod);
    i = pod_fit_lacking(&fit, table, row, kind);
    return i == SIZE_MAX ? STR("") : fit.requests[i].name;
}

static void test_lacks_what_does_not_fit(void **state) {
    Node nodes[] = {
        {.name = STR("a"),
            .allocatable =
                RESOURCES({STR("cpu"), 2000}, {STR("example.com/gpu"), 1}, {STR("memory"), 64})},
        {.name = STR("b"), .allocatable = RESOURCES({STR("cpu"), 2000}, {STR("memory"), 64})},
        {.name = STR("unknown")},
    };
    static const struct {
        Resource request;
        const char *never[3], *now[3]; /* by node; one pod with 500m runs on a */
    } cases[] = {
        {{STR("cpu"), 1500}, {"", "", ""}, {"", "", ""}},
        {{STR("cpu"), 1501}, {"", "", ""}, {"cpu", "", ""}},
        {{STR("cpu"), 2000}, {"", "", ""}, {"cpu", "", ""}},
        {{STR("cpu"), 2001}, {"cpu", "cpu", ""}, {"cpu", "cpu", ""}},
        {{STR("example.com/gpu"), 1}, {"", "example.com/gpu", ""}, {"", "example.com/gpu", ""}},
        {{STR("example.com/gpu"), 0}, {"", "", ""}, {"", "", ""}},
        {{STR("example.com/none"), 1}, {"example.com/none", "example.com/none", ""},
            {"example.com/none", "example.com/none", ""}},
        {{STR("example.com/none"), 0}, {"", "", ""}, {"", "", ""}},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Pod resident = {.name = STR("p"), .uid = STR("p"), .requests = RESOURCES({STR("cpu"), 500})};
    NodeTable empty, table;

    (void)state;
    assert_int_equal(table_build(nodes, ELEMENTS_OF(nodes), arena, &empty), 0);
    assert_int_equal(
        table_change(&empty, &(PodChange){.row = 0, .add = &resident}, 1, arena, &table), 0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Resource request = cases[i].request;
        Pod pod = {.name = STR("q"), .requests = {.items = &request, .n = 1}};

        for (uint32_t row = 0; row < 3; row++) {
            assert_text(
                "never", lacking(&table, &pod, row, AMOUNT_ALLOCATABLE), cases[i].never[row]);
            assert_text("now", lacking(&table, &pod, row, AMOUNT_FREE), cases[i].now[row]);
        }
    }
}

/* A pod takes a slot, whatever it requests; nodes without slots have no limit. */
static void test_a_pod_takes_a_slot(void **state) {
    Node nodes[] = {
        {.name = STR("a"), .allocatable = RESOURCES({STR("cpu"), 2000}, {STR("pods"), 1})},
        {.name = STR("b"), .allocatable = RESOURCES({STR("cpu"), 2000}, {STR("pods"), 2})},
    };
    Node without[] = {{.name = STR("a"), .allocatable = RESOURCES({STR("cpu"), 2000})}};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Pod residents[] = {{.name = STR("p"), .uid = STR("p")}, {.name = STR("q"), .uid = STR("q")}};
    const PodChange changes[] = {
        {.row = 0, .add = &residents[0]}, {.row = 1, .add = &residents[1]}};
    Pod pod = {.name = STR("r"), .requests = RESOURCES({STR("pods"), 7})};
    NodeTable empty, table;

    (void)state;
    assert_int_equal(table_build(nodes, ELEMENTS_OF(nodes), arena, &empty), 0);
    assert_text("empty", lacking(&empty, &pod, 0, AMOUNT_FREE), "");
    assert_int_equal(table_change(&empty, changes, ELEMENTS_OF(changes), arena, &table), 0);
    assert_text("full", lacking(&table, &pod, 0, AMOUNT_FREE), "pods");
    assert_text("one is left", lacking(&table, &pod, 1, AMOUNT_FREE), "");
    assert_text("if they end", lacking(&table, &pod, 0, AMOUNT_ALLOCATABLE), "");

    assert_int_equal(table_build(without, ELEMENTS_OF(without), arena, &empty), 0);
    assert_int_equal(table_change(&empty, changes, 1, arena, &table), 0);
    assert_text("no slots", lacking(&table, &pod, 0, AMOUNT_FREE), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lacks_what_does_not_fit),
        cmocka_unit_test(test_a_pod_takes_a_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
