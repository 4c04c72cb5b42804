/* Tests entries of `metrics:`: what is guessed from a query, and the gauge of an entry. Messages
 * about invalid entries are in test/data/policy/errors/metrics*.yaml. */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "policy/metric.h"
#include "policy/promql.h"

#define BUDGET ((size_t)16 * 1024 * 1024)

/* --- guesses ----------------------------------------------------------------------------- */

typedef struct GuessCase {
    const char *query;
    const char *want; /* resource, unit and range in seconds; "-": not the load of a node */
} GuessCase;

#define IDLE "rate(node_cpu_seconds_total{mode=\"idle\"}[5m])"
#define AVAILABLE "node_memory_MemAvailable_bytes"
#define TOTAL "node_memory_MemTotal_bytes"
#define USAGE "container_cpu_usage_seconds_total"
#define WORKING "container_memory_working_set_bytes"
#define RECORDED "node_namespace_pod_container:container_cpu_usage_seconds_total:"

static const GuessCase guesses[] = {
    /* Busy time as 1 minus idle time. */
    {"1 - avg by (instance) (" IDLE ")", "cpu fraction 300"},
    {"1-avg by(instance)(" IDLE ")", "cpu fraction 300"},
    {"1 - (avg by (instance) (irate(node_cpu_seconds_total{mode=\"idle\"}[5m])))",
        "cpu fraction 0"},
    {"1 - avg without (cpu, mode) (rate(node_cpu_seconds_total{mode='idle'}[2m]))",
        "cpu fraction 120"},
    {"avg by (instance) (1 - " IDLE ")", "cpu fraction 300"},
    {"(1 - avg(" IDLE ") by (instance)) * 100", "cpu percent 300"},
    {"100 * (1 - avg by (instance) (" IDLE "))", "cpu percent 300"},
    {"100 - (avg by (instance) (" IDLE ") * 100)", "cpu percent 300"},
    {"100 - avg by (instance) (" IDLE ") * 100", "cpu percent 300"},
    {"# how busy\n1 - avg by (node) (" IDLE "\n  * on (instance) group_left (node) "
     "node_uname_info)",
        "cpu fraction 300"},
    {"max by (node) (1 - avg by (instance) (" IDLE "))", "cpu fraction 300"},
    {"clamp_max(1 - avg by (instance) (" IDLE "), 1)", "cpu fraction 300"},
    {"label_replace(1 - avg by (instance) (" IDLE "), \"node\", \"$1\", \"instance\", "
     "\"(.*):.*\")",
        "cpu fraction 300"},
    {"avg_over_time((1 - avg by (instance) (" IDLE "))[15m:1m])", "cpu fraction 900"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total{job=\"node-exporter\", "
     "mode=\"idle\"}[1m30s]))",
        "cpu fraction 90"},
    /* Not a load: idle time, one core of many, a counter, past values. */
    {"avg by (instance) (" IDLE ")", "-"},
    {"1 - " IDLE, "-"},
    {"1 - min by (instance) (" IDLE ")", "-"},
    {"1 - sum by (instance) (" IDLE ")", "-"},
    {"max by (instance) (1 - " IDLE ")", "-"},
    {"1 - avg by (instance) (" IDLE ") * 100", "-"},
    {"avg by (instance) (" IDLE ") * 100", "-"},
    {"100 - avg by (instance) (" IDLE ")", "-"},
    {"1 - avg by (instance) (node_cpu_seconds_total{mode=\"idle\"})", "-"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total[5m]))", "-"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"iowait\"}[5m]))", "-"},
    {"sum by (instance) (rate(node_cpu_seconds_total{mode!=\"idle\"}[5m]))", "-"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\",cpu=\"0\"}[5m]))", "-"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"}[5m] offset 1h))", "-"},
    {"1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"}[5m] @ 0))", "-"},
    {"max_over_time((1 - avg by (instance) (" IDLE "))[1h:])", "-"},
    {"quantile_over_time(0.95, (1 - avg by (instance) (" IDLE "))[1h:])", "-"},
    {"1 - avg by (instance) (" IDLE ") > 0.8", "-"},
    {"1 - avg by (instance) (" IDLE ") > bool 0.8", "-"},
    {"1 - avg by (instance) (" IDLE ") or vector(0)", "-"},
    {"(1 - avg by (instance) (" IDLE ")) ^ 2", "-"},
    {"-(avg by (instance) (" IDLE ")) + 1", "-"},
    {"increase(node_cpu_seconds_total{mode=\"idle\"}[5m])", "-"},
    /* Recorded fractions. */
    {"instance:node_cpu_utilisation:rate5m", "cpu fraction 300"},
    {"instance:node_cpu_utilisation:rate1m{job=\"node-exporter\"}", "cpu fraction 60"},
    {"instance:node_cpu:ratio", "cpu fraction 300"},
    {"max by (instance) (instance:node_cpu:ratio) * 100", "cpu percent 300"},
    {"100 * instance:node_cpu:ratio", "cpu percent 300"},
    {"instance:node_memory_utilisation:ratio", "memory fraction 0"},
    {"1 - instance:node_cpu:ratio", "-"},
    {"instance:node_load1_per_cpu:ratio", "-"},
    {"instance:node_cpu:ratio{instance=\"a\"}", "-"},
    /* Cores of containers. */
    {"sum by (node) (rate(" USAGE "[5m]))", "cpu amount 300"},
    {"sum by (node) (rate(" USAGE "{container!=\"\", image!=\"\", "
     "pod=~\".+\"}[10m]))",
        "cpu amount 600"},
    {"sum by (namespace, pod) (rate(" USAGE "{container!~\"POD|\"}[1m]))", "cpu amount 60"},
    {"sum by (node) (sum by (node, pod) (irate(" USAGE "[5m])))", "cpu amount 0"},
    {"sum by (node) (rate(" USAGE "{id=\"/\"}[5m]))", "cpu amount 300"},
    {"sum by (node) (rate(" USAGE
     "{cpu=\"total\"}[5m]) * on (namespace, pod) group_left (node) kube_pod_info)",
        "cpu amount 300"},
    {"sum by (node) (" RECORDED "sum_irate)", "cpu amount 0"},
    {"sum by (node) (" RECORDED "sum_rate)", "cpu amount 300"},
    {"sum by (namespace, pod) (" RECORDED "sum_rate5m)", "cpu amount 300"},
    {"avg by (node) (rate(" USAGE "[5m]))", "-"},
    {"max by (node) (rate(" USAGE "[5m]))", "-"},
    {"max by (node) (sum by (node, pod) (rate(" USAGE "[5m])))", "-"},
    {"sum by (node) (" USAGE ")", "-"},
    {"sum by (node) (rate(" USAGE "[5m])) * 1000", "-"},
    {"sum by (node) (rate(" USAGE "[5m])) * 100", "-"},
    {"sum by (node) (rate(" USAGE "[5m])) / sum by (node) (machine_cpu_cores)", "-"},
    {"sum by (node) (rate(" USAGE "{namespace=\"prod\"}[5m]))", "-"},
    {"sum by (node) (rate(" USAGE "{namespace!=\"kube-system\"}[5m]))", "-"},
    {"sum by (node) (rate(" USAGE "{pod=~\"web-.*\"}[5m]))", "-"},
    {"sum by (node) (rate(" USAGE "{container=\"app\"}[5m]))", "-"},
    {"topk(5, sum by (node) (rate(" USAGE "[5m])))", "-"},
    {"count by (node) (rate(" USAGE "[5m]))", "-"},
    {"rate(container_cpu_cfs_throttled_seconds_total[5m])", "-"},
    /* Memory: used, never free. */
    {"1 - " AVAILABLE " / " TOTAL, "memory fraction 0"},
    {"1 - (" AVAILABLE " / " TOTAL ")", "memory fraction 0"},
    {"(" TOTAL " - " AVAILABLE ") / " TOTAL, "memory fraction 0"},
    {"100 * (1 - " AVAILABLE " / " TOTAL ")", "memory percent 0"},
    {"(" TOTAL " - " AVAILABLE ") / " TOTAL " * 100", "memory percent 0"},
    {"100 - " AVAILABLE " * 100 / " TOTAL, "memory percent 0"},
    {"1 - avg_over_time(" AVAILABLE "[2m]) / " TOTAL, "memory fraction 120"},
    {TOTAL " - " AVAILABLE, "memory amount 0"},
    {"sum by (node) (" WORKING "{container!=\"\"})", "memory amount 0"},
    {"sum by (node) (avg_over_time(" WORKING "[3m]))", "memory amount 180"},
    {"sum by (node) (" WORKING ") / on (node) max by (node) (" TOTAL ")", "memory fraction 0"},
    {"sum(node_namespace_pod_container:container_memory_working_set_bytes) by (node)",
        "memory amount 0"},
    {AVAILABLE, "-"},
    {TOTAL, "-"},
    {AVAILABLE " / " TOTAL, "-"},
    {AVAILABLE " - " TOTAL, "-"},
    {"100 * " AVAILABLE " / " TOTAL, "-"},
    {"1 - node_memory_MemFree_bytes / " TOTAL, "-"},
    {"max by (node) (" WORKING ")", "-"},
    {"max by (node) (max_over_time(" WORKING "[1h]))", "-"},
    {"max by (node) (" WORKING " / on (node) group_left " TOTAL ")", "-"},
    {"sum by (node) (" WORKING ") / 1024", "-"},
    {"rate(" AVAILABLE "[5m])", "-"},
    /* Several resources, none, and meaningless queries. */
    {"1 - " AVAILABLE " / " TOTAL " + sum by (node) (rate(" USAGE "[5m]))", "-"},
    {"rate(node_disk_io_time_seconds_total[5m])", "-"},
    {"sum by (instance) (rate(node_network_receive_bytes_total[5m]))", "-"},
    {"node_load1", "-"},
    {"1 - node_cpu_seconds_total{mode=\"idle\"}", "-"},
    {"instance:node_cpu:ratio, 1", "-"},
    {"sum sum (instance:node_cpu:ratio)", "-"},
    {"1.2.3 * instance:node_cpu:ratio", "-"},
    {"{__name__=\"instance:node_cpu:ratio\"}", "-"},
    {"kube_pod_info", "-"},
    {"kube_pod_info * kube_node_info", "-"},
    {"0.75", "-"},
    {"", "-"},
    {"(", "-"},
    {")", "-"},
    {"1 - (" AVAILABLE " *)", "-"},
    {"1 -", "-"},
    {"sum", "-"},
    {"sum()", "-"},
    {"instance:node_cpu:ratio instance:node_cpu:ratio", "-"},
    {"instance:node_cpu:ratio{", "-"},
    {"instance:node_cpu:ratio{job=\"", "-"},
    {"instance:node_cpu:ratio[5m", "-"},
    {"label_replace(instance:node_cpu:ratio, \"a", "-"},
    {"sum by (node", "-"},
    {"((((((((((((((((((((((((((((((((((((((((instance:node_cpu:ratio))))))))))))))))))))))))))))))"
     ")))))))))))",
        "-"},
};

static const char *const unit_names[] = {"amount", "fraction", "percent"};

static void test_guesses_placements_from_queries(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(guesses); i++) {
        PromqlLoad guess = promql_infer_load(str_from_c(guesses[i].query));
        _cleanup_(buf_done) Buf got = BUF_INIT(256);

        if (guess.is_load)
            buf_printf(&got, "%.*s %s %lld", STR_FMT(guess.resource), unit_names[guess.unit],
                (long long)(guess.range_nsec / 1000000000));
        else
            buf_append_char(&got, '-');
        assert_text(guesses[i].query, buf_str(&got), guesses[i].want);
    }
}

/* A query cut off at any place is parsed to its end, and not beyond. */
static void test_cut_queries_are_not_read_beyond_their_end(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(guesses); i++) {
        Str query = str_from_c(guesses[i].query);

        for (size_t n = 0; n < query.len; n++) {
            char *own = malloc(n > 0 ? n : 1);

            assert_non_null(own);
            memcpy(own, query.ptr, n);
            (void)promql_infer_load(str_of(own, n));
            (void)promql_longest_range(str_of(own, n));
            free(own);
        }
    }
}

static void test_finds_the_range_of_a_query(void **state) {
    static const struct {
        const char *query;
        int64_t seconds;
    } cases[] = {
        {"x", 0},
        {"rate(x[5m])", 300},
        {"rate(x[1m]) + rate(y[1h30m])", 5400},
        {"max_over_time(x[ 2h : 1m ])", 7200},
        {"x{a=\"[1h]\"}", 0},
        {"# [1h]\nrate(x[30s])", 30},
        {"x[500ms]", 0},
        {"x[52w]", 86400},
        {"x[20h5h]", 86400},
        {"x[99999999999999999999999999h]", 86400},
        {"x[", 0},
        {"x[5", 0},
        {"x[m]", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].query,
            promql_longest_range(str_from_c(cases[i].query)) / 1000000000 == cases[i].seconds);
}

/* --- entries ----------------------------------------------------------------------------- */

typedef struct Read {
    Arena *arena;
    DiagList diags;
    Gauge gauge;
    bool is_right;
} Read;

static void read_init(Read *read, const char *source) {
    YamlStream stream = {0};
    YamlReader reader;

    *read = (Read){.arena = arena_new(BUDGET)};
    read->diags = DIAG_LIST_IN(read->arena);
    reader =
        (YamlReader){.arena = read->arena, .diags = &read->diags, .source = str_from_c(source)};
    assert_case(source,
        yaml_parse(STR("test"), str_from_c(source), read->arena, &read->diags, &stream) == 0);
    metric_read(&reader, stream.documents[0], &read->gauge);
    read->is_right = read->diags.n_errors == 0;
}

static void read_done(Read *read) {
    read->arena = arena_free(read->arena);
}

static void print_times(const Gauge *gauge, Buf *out) {
    buf_printf(out, "%lld/%lld ", (long long)(gauge->interval_nsec / 1000000000),
        (long long)(gauge->max_age_nsec / 1000000000));
}

typedef struct EntryCase {
    const char *source;
    const char *want; /* interval/maxAge, placements */
} EntryCase;

#define LOAD_QUERY "'instance:node_cpu:ratio'"

static const EntryCase entries[] = {
    {"{name: a, prometheus: {query: up}}", "15/45 "},
    {"{name: a, prometheus: {query: up}, interval: 1s}", "1/3 "},
    {"{name: a, prometheus: {query: up}, interval: 90s}", "90/270 "},
    {"{name: a, prometheus: {query: up}, interval: 2m}", "120/300 "},
    {"{name: a, prometheus: {query: up}, interval: 10m}", "600/1200 "},
    {"{name: a, prometheus: {query: up}, interval: 1d}", "86400/172800 "},
    {"{name: a, prometheus: {query: up}, maxAge: 15s}", "15/15 "},
    {"{name: a, prometheus: {query: up}, maxAge: 36500d}", "15/3153600000 "},
    {"{name: a, annotation: {key: b.c/d}}", "0/300 "},
    {"{name: a, annotation: {key: d, timeZone: Asia/Shanghai}, maxAge: 8m}", "0/480 "},
    /* Default placements. */
    {"{name: a, resourceMetrics: cpu}", "15/180 cpu, in cores, settled in 1m"},
    {"{name: a, resourceMetrics: memory}", "15/180 memory, in bytes, settled in 1m"},
    {"{name: a, resourceMetrics: cpu, pods: {}}", "15/180 cpu, in cores, settled in 1m"},
    {"{name: a, resourceMetrics: cpu, pods: {aggregate: max}}", "15/180 "},
    {"{name: a, resourceMetrics: cpu, pods: {aggregate: avg}}", "15/180 "},
    {"{name: a, resourceMetrics: cpu, placements: none}", "15/180 "},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}}",
        "15/45 cpu, as a fraction of the node (inferred from its query), settled in 5m"},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, placements: none}", "15/45 "},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, pods: {}}", "15/45 "},
    {"{name: a, prometheus: {query: 'sum by (namespace, pod) (rate(" USAGE "[30s]))'}, pods: {}}",
        "15/45 cpu, in cores (inferred from its query), settled in 1m"},
    {"{name: a, prometheus: {query: '100 * avg_over_time(instance:node_cpu:ratio[1h])'}}",
        "15/45 cpu, in percent of the node (inferred from its query), settled in 10m"},
    {"{name: a, annotation: {key: cpu_usage_avg_5m}}", "0/300 "},
    /* Explicit placements. */
    {"{name: a, prometheus: {query: 'f(x[7m])'}, placements: {resource: memory, unit: percent}}",
        "15/45 memory, in percent of the node, settled in 7m"},
    {"{name: a, prometheus: {query: up}, placements: {resource: cpu, unit: amount, settle: 0s}}",
        "15/45 cpu, in cores, settled in 0s"},
    {"{name: a, prometheus: {query: up}, placements: {resource: cpu, unit: amount, settle: 90s}}",
        "15/45 cpu, in cores, settled in 90s"},
    {"{name: a, annotation: {key: k}, placements: {resource: cpu, unit: fraction, settle: 5m}}",
        "0/300 cpu, as a fraction of the node, settled in 5m"},
    {"{name: a, resourceMetrics: cpu, placements: {by: podCpu}}",
        "15/180 cpu, in cores, by podCpu of the pod's workload, settled in 1m"},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, placements: {settle: 2m}}",
        "15/45 cpu, as a fraction of the node (inferred from its query), settled in 2m"},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, placements: {unit: percent}}",
        "15/45 cpu, in percent of the node (inferred from its query), settled in 5m"},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, placements: {resource: cpu, unit: fraction}}",
        "15/45 cpu, as a fraction of the node, settled in 5m"},
    {"{name: a, prometheus: {query: " LOAD_QUERY "}, placements: {resource: cpu}}",
        "15/45 cpu, as a fraction of the node (inferred from its query), settled in 5m"},
};

static void test_reads_times_and_placements(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(entries); i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(1024);
        Read read;

        read_init(&read, entries[i].source);
        if (!read.is_right)
            diag_list_print(&read.diags, /* colour= */ false, &got);
        print_times(&read.gauge, &got);
        metric_describe_placements(&read.gauge, &got);
        assert_text(entries[i].source, buf_str(&got), entries[i].want);
        read_done(&read);
    }
}

static void test_reads_prometheus_metrics(void **state) {
    Read read;
    const Gauge *gauge = &read.gauge;

    (void)state;
    read_init(&read,
        "{name: load, prometheus: {query: 'up', source: long-term, nodeLabel: instance, "
        "nodePattern: '(.*):9100', nodeIs: ip, nodes: {b: node-b, a: node-a, 10: 7}}}");
    assert_true(read.is_right);
    assert_text("name", gauge->name, "load");
    assert_int_equal(gauge->source, GAUGE_PROMETHEUS);
    assert_text("query", gauge->query, "up");
    assert_text("source", gauge->from, "long-term");
    assert_text("nodeLabel", gauge->node_label, "instance");
    assert_text("nodePattern", gauge->node_pattern, "(.*):9100");
    assert_int_equal(gauge->identity, GAUGE_BY_IP);
    assert_int_equal(gauge->mapping.n, 3);
    assert_text("10", *labels_find(&gauge->mapping, STR("10")), "7");
    assert_text("a", *labels_find(&gauge->mapping, STR("a")), "node-a");
    assert_text("b", *labels_find(&gauge->mapping, STR("b")), "node-b");
    assert_false(gauge->is_of_pods);
    assert_int_equal(gauge->placements.by_gauge, GAUGE_NONE);
    read_done(&read);
}

static void test_reads_pod_metrics(void **state) {
    Read read;
    const Gauge *gauge = &read.gauge;

    (void)state;
    read_init(&read, "{name: a, prometheus: {query: up, source: default}, pods: {}}");
    assert_true(read.is_right);
    assert_true(gauge->is_of_pods);
    assert_text("source", gauge->from, "");
    assert_int_equal(gauge->aggregate, GAUGE_SUM);
    assert_int_equal(gauge->workload_aggregate, GAUGE_AVG);
    assert_text("namespaceLabel", gauge->namespace_label, "namespace");
    assert_text("podLabel", gauge->pod_label, "pod");
    assert_int_equal(gauge->selector.n, 0);
    read_done(&read);

    read_init(&read,
        "{pods: {aggregate: max, podSelector: {matchLabels: {app: web}}, namespaces: [x, y], "
        "workload: sum, namespaceLabel: exported_namespace, podLabel: pod_name}, "
        "prometheus: {query: up}, name: a}");
    assert_true(read.is_right);
    assert_int_equal(gauge->aggregate, GAUGE_MAX);
    assert_int_equal(gauge->workload_aggregate, GAUGE_SUM);
    assert_text("namespaceLabel", gauge->namespace_label, "exported_namespace");
    assert_text("podLabel", gauge->pod_label, "pod_name");
    assert_int_equal(gauge->selector.n, 1);
    assert_int_equal(gauge->n_namespaces, 2);
    assert_text("namespace", gauge->namespaces[1], "y");
    read_done(&read);
}

/* The name of an invalid entry is declared, so that using it is not a second error. */
static void test_name_of_invalid_entry_is_declared(void **state) {
    Read read;

    (void)state;
    read_init(&read, "{name: a, prometheus: {query: ''}}");
    assert_false(read.is_right);
    assert_text("name", read.gauge.name, "a");
    read_done(&read);
    read_init(&read, "[a]");
    assert_false(read.is_right);
    assert_text("name", read.gauge.name, "");
    read_done(&read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guesses_placements_from_queries),
        cmocka_unit_test(test_cut_queries_are_not_read_beyond_their_end),
        cmocka_unit_test(test_finds_the_range_of_a_query),
        cmocka_unit_test(test_reads_times_and_placements),
        cmocka_unit_test(test_reads_prometheus_metrics),
        cmocka_unit_test(test_reads_pod_metrics),
        cmocka_unit_test(test_name_of_invalid_entry_is_declared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
