/* Gauges as JSON and back. */

#include "base/test-assert.h"
#include "bundle/bundle-internal.h"

#define BYTES_MAX ((size_t)1 << 20)

static const Label mapping[] = {{STR("\"b\""), STR("n2")}, {STR("a:9100"), STR("n1")}}; /* sorted */
static const Str values[] = {STR("web"), STR("db")};
static const Requirement requirements[] = {
    {.key = STR("app"), .op = SELECTOR_IN, .values = values, .n_values = 2},
    {.key = STR("canary"), .op = SELECTOR_ABSENT},
    {.key = STR("gen"), .op = SELECTOR_GT, .bound = -3},
};

/* Each source with all its fields. */
static const Gauge gauges[] = {
    {
        .name = STR("load"),
        .source = GAUGE_PROMETHEUS,
        .from = STR("main"),
        .query = STR("avg by (instance) (load\n)"),
        .identity = GAUGE_BY_IP,
        .node_label = STR("instance"),
        .node_pattern = STR("(.*):9100"),
        .mapping = {.items = mapping, .n = ELEMENTS_OF(mapping)},
        .interval_nsec = 15,
        .max_age_nsec = INT64_MAX,
    },
    {
        .name = STR("podCpu"),
        .source = GAUGE_RESOURCES,
        .resource = STR("cpu"),
        .is_of_pods = true,
        .selector = {.items = requirements, .n = ELEMENTS_OF(requirements)},
        .namespaces = values,
        .n_namespaces = 2,
        .namespace_label = STR("namespace"),
        .pod_label = STR("pod"),
        .aggregate = GAUGE_MAX,
        .workload_aggregate = GAUGE_AVG,
    },
    {
        .name = STR("noted"),
        .source = GAUGE_ANNOTATION,
        .annotation = STR("load"),
        .zone = STR("Asia/Shanghai"),
        .identity = GAUGE_BY_HOSTNAME,
    },
    {.name = STR("plain")},
};

static void test_round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(gauges); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
        _cleanup_(buf_done) Buf text = BUF_INIT(BYTES_MAX);
        JsonWriter writer = JSON_WRITER(&text);
        Gauge want = gauges[i], back;
        JsonReader reader;

        want.placements.by_gauge = GAUGE_NONE;
        gauge_text_write(&writer, &want);
        assert_int_equal(buf_error(&text), 0);
        json_reader_init(&reader, buf_str(&text));
        gauge_text_read(&reader, arena, &back);
        json_end(&reader);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_true(str_eq(back.name, want.name));
        assert_true(gauge_equal(&back, &want));
    }
}

/* Unknown fields of a later version are skipped; unknown words are errors. */
static void test_unknown_fields_and_words(void **state) {
    static const struct {
        Str text;
        JsonError want;
    } cases[] = {
        {STR("{\"name\":\"a\",\"colour\":[1,{}],\"selector\":[{\"key\":\"k\",\"new\":1}]}"),
            JSON_OK},
        {STR("{\"source\":\"a crystal ball\"}"), JSON_E_TYPE},
        {STR("{\"selector\":[{\"key\":\"k\",\"operator\":\"Near\"}]}"), JSON_E_TYPE},
        {STR("{\"namespaces\":\"a\"}"), JSON_E_TYPE},
        {STR("{\"ofPods\":1}"), JSON_E_TYPE},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
        JsonReader reader;
        Gauge gauge;

        json_reader_init(&reader, cases[i].text);
        gauge_text_read(&reader, arena, &gauge);
        json_end(&reader);
        assert_case(cases[i].text.ptr, json_error(&reader) == cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_unknown_fields_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
