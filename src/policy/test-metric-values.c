/* Tests metric values given by a user: which gauges get them, and the messages. */

#include "policy/metric-values.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cluster/loads.h"
#include "yaml/document.h"

#define BUDGET ((size_t)16 * 1024 * 1024)
#define NOW (INT64_C(1767323045) * 1000000000)
#define UPTIME (INT64_C(1000) * 1000000000)

#define HEAD(name)                                                                                 \
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: " name "}\nspec:\n"   \
    "  filters: [{name: f, nodeReady: true}]\n"

/* Gauges of policy one: 0 load, 1 podCpu, 2 written. Of policy two: 3 is its load, hot is also
 * gauge 0, and used is also gauge 1. */
static const char policies[] =
    HEAD("one") "  metrics:\n"
                "    - {name: load, prometheus: {query: q}}\n"
                "    - {name: podCpu, resourceMetrics: cpu, pods: {}}\n"
                "    - {name: written, annotation: {key: k}}\n"
                "---\n" HEAD("two") "  metrics:\n"
                                    "    - {name: load, prometheus: {query: another}}\n"
                                    "    - {name: hot, prometheus: {query: q}}\n"
                                    "    - {name: used, resourceMetrics: cpu, pods: {}}\n";

typedef struct ValuesFixture {
    Arena *arena;
    Program *program;
    NodeTable table;
    DiagList diags;
    Measurements *measurements;
} ValuesFixture;

static void fixture_open(ValuesFixture *fixture, const char *text) {
    static const Node nodes[] = {{.name = STR("a")}, {.name = STR("b")}};
    PolicySource source = {.file = STR("p.yaml"), .text = str_from_c(policies)};
    YamlStream stream = {0};
    YamlReader reader;
    MetricValues measured;

    *fixture = (ValuesFixture){.arena = arena_new(BUDGET)};
    fixture->diags = DIAG_LIST_IN(fixture->arena);
    assert_int_equal(program_compile(&source, 1, &fixture->diags, &fixture->program), 0);
    assert_int_equal(fixture->program->n_gauges, 4);
    assert_int_equal(table_build(nodes, ELEMENTS_OF(nodes), fixture->arena, &fixture->table), 0);
    reader =
        (YamlReader){.arena = fixture->arena, .diags = &fixture->diags, .source = str_from_c(text)};
    assert_int_equal(
        yaml_parse(STR("m"), str_from_c(text), fixture->arena, &fixture->diags, &stream), 0);
    metric_values_open(&reader, stream.documents[0], &measured);
    assert_int_equal(metric_values_read(&reader, &measured, fixture->program, &fixture->table, NOW,
                         UPTIME, &fixture->measurements),
        0);
}

static void fixture_close(ValuesFixture *fixture) {
    measurements_unref(fixture->measurements);
    program_unref(fixture->program);
    arena_free(fixture->arena);
}

/* Prints the values of each gauge's nodes, like "0.5 -"; "" if it has none. */
static void print_gauge(const Measurement *measurement, Buf *out) {
    for (size_t row = 0; measurement && row < 2; row++) {
        buf_append(out, row > 0 ? STR(" ") : STR_NULL);
        if (isnan(measurement->values[row]))
            buf_append_char(out, '-');
        else
            buf_printf(out, "%g", measurement->values[row]);
    }
    buf_append_char(out, ';');
}

static void test_values_reach_their_gauges(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{}", ";;;;"},
        {"metrics: {load: {a: 0.5}}", "0.5 -;;;0.5 -;"},
        {"metrics: {hot: {b: 2}}", "- 2;;;;"},
        {"metrics: {podCpu: {a: .nan, b: -0.25}}", ";- -0.25;;;"},
        {"metrics: {load: {a: .inf}}", "- -;;;- -;"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(256);
        ValuesFixture fixture;

        fixture_open(&fixture, cases[i].text);
        assert_int_equal(fixture.diags.n_errors, 0);
        for (size_t gauge = 0; gauge < 4; gauge++)
            print_gauge(fixture.measurements->items[gauge], &got);
        assert_text(cases[i].text, buf_str(&got), cases[i].want);
        fixture_close(&fixture);
    }
}

static void test_workloads_and_age(void **state) {
    const Measurement *measurement;
    ValuesFixture fixture;

    (void)state;
    fixture_open(
        &fixture, "{workloads: {podCpu: {shop/Deployment/web: 1.5, x/Job/y: .nan}}, age: 90s}");
    assert_int_equal(fixture.diags.n_errors, 0);
    measurement = fixture.measurements->items[1];
    assert_true(measurement_workload(measurement, STR("shop/Deployment/web")) == 1.5);
    assert_true(isnan(measurement_workload(measurement, STR("x/Job/y"))));
    assert_true(measurement->at_nsec == NOW - INT64_C(90000000000));
    assert_true(measurement->uptime_nsec == UPTIME - INT64_C(90000000000));
    fixture_close(&fixture);
}

/* If two names of one gauge have different values, the later one counts. */
static void test_later_name_of_a_gauge_counts(void **state) {
    const Measurement *measurement;
    ValuesFixture fixture;

    (void)state;
    fixture_open(&fixture, "{metrics: {podCpu: {a: 1}, used: {a: 2}},"
                           " workloads: {podCpu: {x/Job/y: 1, x/Job/z: 3}, used: {x/Job/y: 2}}}");
    assert_int_equal(fixture.diags.n_errors, 0);
    measurement = fixture.measurements->items[1];
    assert_true(measurement->values[0] == 2);
    assert_true(measurement_workload(measurement, STR("x/Job/y")) == 2);
    assert_true(measurement_workload(measurement, STR("x/Job/z")) == 3);
    assert_int_equal(measurement->n_workloads, 2);
    fixture_close(&fixture);
}

static void test_mistakes_are_reported(void **state) {
    static const struct {
        const char *text, *want; /* a part of the message */
    } cases[] = {
        {"metrics: {lod: {a: 1}}", "no policy has a metric \"lod\""},
        {"metrics: {load: {c: 1}}", "there is no node \"c\""},
        {"metrics: {load: {a: x}}", "a metric value must be a number"},
        {"metrics: {load: 1}", "the values of a metric must be a mapping"},
        {"metrics: {written: {a: 1}}", "metric \"written\" comes from an annotation"},
        {"workloads: {load: {x/Job/y: 1}}", "\"load\" is not a metric of pods"},
        {"workloads: {podCpu: {web: 1}}", "a workload is NAMESPACE/KIND/NAME"},
        {"workloads: {podCpu: {a//c: 1}}", "a workload is NAMESPACE/KIND/NAME"},
        {"workloads: {podCpu: {a/b/: 1}}", "a workload is NAMESPACE/KIND/NAME"},
        {"workloads: {podCpu: {a/b/c/d: 1}}", "a workload is NAMESPACE/KIND/NAME"},
        {"workloads: {podCpu: {a/b/c: x}}", "a metric value must be a number"},
        {"metrics: [load]", "metrics must be a mapping"},
        {"workloads: podCpu", "workloads must be a mapping"},
        {"age: old", "age must be a duration"},
        {"numbers: {}", "unknown field \"numbers\""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(4096);
        ValuesFixture fixture;

        fixture_open(&fixture, cases[i].text);
        diag_list_print(&fixture.diags, /* colour= */ false, &got);
        buf_append_char(&got, 0);
        if (fixture.diags.n_errors != 1 || !strstr(got.data, cases[i].want))
            print_error("%s: %s", cases[i].text, got.data);
        assert_case(cases[i].text, fixture.diags.n_errors == 1 && strstr(got.data, cases[i].want));
        fixture_close(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_reach_their_gauges),
        cmocka_unit_test(test_workloads_and_age),
        cmocka_unit_test(test_later_name_of_a_gauge_counts),
        cmocka_unit_test(test_mistakes_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
