#include "model/gauge.h"

#include "base/test-assert.h"

/* A gauge with every field set; the arrays may be changed. */
typedef struct FullGauge {
    Gauge gauge;
    Label mapping[2];
    Str values[2], namespaces[2];
    Requirement requirements[2];
} FullGauge;

static void fill(FullGauge *full) {
    *full = (FullGauge){
        .gauge = {.name = STR("load"),
            .source = GAUGE_PROMETHEUS,
            .from = STR("main"),
            .query = STR("up"),
            .resource = STR("cpu"),
            .annotation = STR("note"),
            .zone = STR("Europe/Paris"),
            .node_label = STR("instance"),
            .node_pattern = STR("(.*):.*"),
            .identity = GAUGE_BY_IP,
            .is_of_pods = true,
            .namespace_label = STR("ns"),
            .pod_label = STR("pod"),
            .n_namespaces = 2,
            .aggregate = GAUGE_MAX,
            .workload_aggregate = GAUGE_AVG,
            .interval_nsec = 15,
            .max_age_nsec = 60,
            .placements = {.is_counted = true,
                .resource = STR("memory"),
                .unit = GAUGE_PERCENT,
                .settle_nsec = 30,
                .by = STR("use"),
                .by_gauge = 3}},
        .mapping = {{STR("a"), STR("n1")}, {STR("b"), STR("")}},
        .values = {STR("x"), STR("y")},
        .namespaces = {STR("one"), STR("two")},
    };
    full->requirements[0] =
        (Requirement){.key = STR("app"), .op = SELECTOR_IN, .values = full->values, .n_values = 2};
    full->requirements[1] = (Requirement){.key = STR("n"), .op = SELECTOR_GT, .bound = 7};
    full->gauge.mapping = (Labels){.items = full->mapping, .n = 2};
    full->gauge.selector = (Selector){.items = full->requirements, .n = 2};
    full->gauge.namespaces = full->namespaces;
}

#define CHANGES(CHANGE)                                                                            \
    CHANGE(gauge.source = GAUGE_ANNOTATION)                                                        \
    CHANGE(gauge.from = STR("x"))                                                                  \
    CHANGE(gauge.query = STR("x"))                                                                 \
    CHANGE(gauge.resource = STR("x"))                                                              \
    CHANGE(gauge.annotation = STR("x"))                                                            \
    CHANGE(gauge.zone = STR("x"))                                                                  \
    CHANGE(gauge.node_label = STR("x"))                                                            \
    CHANGE(gauge.node_pattern = STR("x"))                                                          \
    CHANGE(gauge.identity = GAUGE_BY_NAME)                                                         \
    CHANGE(gauge.mapping.n--)                                                                      \
    CHANGE(mapping[1].key = STR("x"))                                                              \
    CHANGE(mapping[1].value = STR("x"))                                                            \
    CHANGE(gauge.is_of_pods = false)                                                               \
    CHANGE(gauge.namespace_label = STR("x"))                                                       \
    CHANGE(gauge.pod_label = STR("x"))                                                             \
    CHANGE(gauge.selector.n--)                                                                     \
    CHANGE(requirements[0].key = STR("x"))                                                         \
    CHANGE(requirements[0].op = SELECTOR_NOT_IN)                                                   \
    CHANGE(requirements[0].n_values--)                                                             \
    CHANGE(requirements[1].bound++)                                                                \
    CHANGE(values[1] = STR("z"))                                                                   \
    CHANGE(gauge.n_namespaces--)                                                                   \
    CHANGE(namespaces[1] = STR("x"))                                                               \
    CHANGE(gauge.aggregate = GAUGE_SUM)                                                            \
    CHANGE(gauge.workload_aggregate = GAUGE_SUM)                                                   \
    CHANGE(gauge.interval_nsec++)                                                                  \
    CHANGE(gauge.max_age_nsec++)                                                                   \
    CHANGE(gauge.placements.is_counted = false)                                                    \
    CHANGE(gauge.placements.resource = STR("x"))                                                   \
    CHANGE(gauge.placements.unit = GAUGE_AMOUNT)                                                   \
    CHANGE(gauge.placements.settle_nsec++)                                                         \
    CHANGE(gauge.placements.by = STR(""))                                                          \
    CHANGE(gauge.placements.by_gauge++)

#define CHECK(change)                                                                              \
    fill(&other);                                                                                  \
    assert_true(gauge_equal(&full.gauge, &other.gauge));                                           \
    other.change;                                                                                  \
    assert_case(#change, !gauge_equal(&full.gauge, &other.gauge));                                 \
    assert_case(#change, !gauge_equal(&other.gauge, &full.gauge));

static void test_equal(void **state) {
    FullGauge full, other;

    (void)state;
    fill(&full);
    CHANGES(CHECK)
    fill(&other);
    other.gauge.name = STR("another name");
    other.gauge.placements.by = STR("another name for the same");
    assert_true(gauge_equal(&full.gauge, &other.gauge));
    assert_true(gauge_equal(&(Gauge){0}, &(Gauge){0}));
}

/* How placements are counted does not matter without placements. */
static void test_equal_without_placements(void **state) {
    FullGauge full, other;

    (void)state;
    fill(&full);
    fill(&other);
    full.gauge.placements.is_counted = false;
    other.gauge.placements = (GaugePlacements){0};
    assert_true(gauge_equal(&full.gauge, &other.gauge));
}

static bool is_in(Str str, const void *from, size_t size) {
    return str.len > 0 && (uintptr_t)str.ptr - (uintptr_t)from < size;
}

static void test_copy(void **state) {
    static char text[] = "main";
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    FullGauge full, same;
    Gauge copy;

    (void)state;
    fill(&full);
    fill(&same);
    full.gauge.from = str_of(text, 4);
    full.values[1] = str_of(text + 1, 1);
    assert_true(gauge_copy(&full.gauge, arena, &copy));
    assert_false(is_in(copy.from, text, sizeof(text)));
    memset(text, 'z', sizeof(text));
    memset(&full, 0xff, sizeof(full)); /* the source is not needed any more */
    same.values[1] = STR("a");
    assert_true(gauge_equal(&copy, &same.gauge));
    assert_text("name", copy.name, "load");
    assert_true(gauge_copy(&(Gauge){0}, arena, &copy));
    assert_true(gauge_equal(&copy, &(Gauge){0}));
}

/* With any budget it is a complete copy, or none. */
static void test_copy_memory(void **state) {
    size_t n_failed = 0;
    FullGauge full;
    Gauge copy;

    (void)state;
    fill(&full);
    for (size_t budget = 0; budget < 4096; budget += 16) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);

        if (gauge_copy(&full.gauge, arena, &copy))
            assert_true(gauge_equal(&copy, &full.gauge));
        else
            n_failed++;
    }
    assert_in_range(n_failed, 10, 250);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_equal_without_placements),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
