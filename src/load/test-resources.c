#include "load/vector.h"

#include <errno.h>

#include "base/test-assert.h"

#define BUDGET ((size_t)16 * 1024 * 1024)

static const char nodes[] =
    "{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{},"
    "\"items\":[{\"metadata\":{\"name\":\"n1\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\"},"
    "\"timestamp\":\"2026-01-02T03:04:05Z\",\"window\":\"20.045s\",\"usage\":{\"cpu\":"
    "\"123456789n\","
    "\"memory\":\"1234Ki\"}},"
    "{\"usage\":{\"memory\":\"2Gi\",\"cpu\":\"1\"},\"metadata\":{\"name\":\"n2\"}},"
    "{\"metadata\":{\"name\":\"n3\"},\"usage\":{}}]}";

static const char pods[] =
    "{\"kind\":\"PodMetricsList\",\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":\"s\"},"
    "\"timestamp\":\"2026-01-02T03:04:05Z\",\"containers\":["
    "{\"name\":\"a\",\"usage\":{\"cpu\":\"1500u\",\"memory\":\"1Mi\"}},"
    "{\"name\":\"b\",\"usage\":{\"cpu\":\"250m\",\"memory\":\"5\"}}]},"
    "{\"metadata\":{\"name\":\"half\",\"namespace\":\"s\"},\"containers\":["
    "{\"name\":\"a\",\"usage\":{\"cpu\":\"1\"}},{\"name\":\"b\",\"usage\":{}}]},"
    "{\"metadata\":{\"name\":\"none\",\"namespace\":\"s\"},\"containers\":[]}]}";

static void test_nodes(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX];
    Vector v;

    (void)state;
    assert_int_equal(vector_read_resources(STR(nodes), STR("cpu"), false, arena, &v, error), 0);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.n_histograms, 1);
    assert_text("node", series_label(&v.items[0], STR("node")), "n1");
    assert_true(v.items[0].value == 0.123456789);
    assert_int_equal(v.items[0].at_msec, INT64_C(1767323045000));
    assert_text("node", series_label(&v.items[1], STR("node")), "n2");
    assert_true(v.items[1].value == 1);
    assert_int_equal(v.items[1].at_msec, 0);

    assert_int_equal(vector_read_resources(STR(nodes), STR("memory"), false, arena, &v, error), 0);
    assert_true(v.items[0].value == 1234 * 1024.0 && v.items[1].value == 2147483648.0);
}

static void test_pods(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX];
    Vector v;

    (void)state;
    assert_int_equal(vector_read_resources(STR(pods), STR("cpu"), true, arena, &v, error), 0);
    assert_int_equal(v.n, 1);
    assert_int_equal(v.n_histograms, 2);
    assert_text("pod", series_label(&v.items[0], STR("pod")), "p");
    assert_text("namespace", series_label(&v.items[0], STR("namespace")), "s");
    assert_true(v.items[0].value == 0.2515);
    assert_int_equal(vector_read_resources(STR(pods), STR("memory"), true, arena, &v, error), 0);
    assert_true(v.items[0].value == 1048581);
}

static const char custom[] =
    "{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/"
    "v1beta1\",\"metadata\":{},"
    "\"items\":[{\"describedObject\":{\"kind\":\"Node\",\"name\":\"n1\",\"apiVersion\":\"/v1\"},"
    "\"metricName\":\"temperature\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"value\":\"81500m\"},"
    "{\"describedObject\":{\"name\":\"n2\"},\"metric\":{\"name\":\"temperature\",\"selector\":null}"
    ","
    "\"value\":\"1k\"},{\"describedObject\":{\"name\":\"n3\"}}]}";

static void test_custom(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX];
    Vector v;

    (void)state;
    assert_int_equal(vector_read_custom(STR(custom), arena, &v, error), 0);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.n_histograms, 1);
    assert_text("node", series_label(&v.items[0], STR("node")), "n1");
    assert_true(v.items[0].value == 81.5 && v.items[1].value == 1000);
    assert_int_equal(v.items[0].at_msec, INT64_C(1767323045000));

    assert_int_equal(vector_read_custom(STR(nodes), arena, &v, error), -EPROTO);
    assert_non_null(strstr(error, "of kind \"NodeMetricsList\", not a MetricValueList"));
    assert_int_equal(vector_read_custom(STR("{}"), arena, &v, error), -EPROTO);
    assert_non_null(strstr(error, "no list of custom.metrics.k8s.io"));
}

static void test_errors(void **state) {
    static const struct {
        const char *body, *part;
    } cases[] = {
        {"", "an empty answer"},
        {"404 page not found", "text, not JSON: \"404 page not found\""},
        {"{}", "no list of metrics.k8s.io"},
        {"{\"kind\":\"Status\",\"message\":\"nodes is forbidden\\u001b\"}",
            "the server answered: nodes is forbidden\\x1b"},
        {"{\"kind\":\"NodeList\",\"items\":[]}", "of kind \"NodeList\", not a NodeMetricsList"},
        {"{\"kind\":\"NodeMetricsList\"}", "not a NodeMetricsList"},
        {"{\"kind\":\"NodeMetricsList\",\"items\":[{\"usage\":{\"cpu\":\"lots\"}}]}",
            "expected a quantity"},
        {"{\"kind\":\"NodeMetricsList\",\"items\":[{\"usage\":", "cut off after"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
        char error[VECTOR_ERROR_MAX] = "";
        Vector v;
        int r =
            vector_read_resources(str_from_c(cases[i].body), STR("cpu"), false, arena, &v, error);

        if (!strstr(error, cases[i].part))
            print_error("%s: %s\n", cases[i].body, error);
        assert_int_equal(r, -EPROTO);
        assert_non_null(strstr(error, cases[i].part));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_custom),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
