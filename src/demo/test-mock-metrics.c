/* The mock is polled by berth's own poller, which joins the values to nodes. */

#include "demo/mock-metrics.h"

#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "demo/annotator.h"
#include "demo/demo-cluster.h"
#include "demo/usage.h"
#include "extender/view.h"
#include "input/zones.h"
#include "load/poller.h"

#define N_NODES 60u

static const char policy[] =
    "apiVersion: berth.dev/v1alpha1\n"
    "kind: PlacementPolicy\n"
    "metadata: {name: p}\n"
    "spec:\n"
    "  metrics:\n"
    "    - {name: cpu, prometheus: {query: '1 - avg by (instance) "
    "(rate(node_cpu_seconds_total{mode=\"idle\"}[2m]))'}}\n"
    "    - {name: named, prometheus: {query: 'my:load:ratio'}, placements: none}\n"
    "    - name: labelled\n"
    "      prometheus: {query: 'other_load', nodeLabel: host}\n"
    "      placements: none\n"
    "    - {name: podCpu, prometheus: {query: 'sum by (namespace, pod) "
    "(rate(container_cpu_usage_seconds_total[5m]))'}, pods: {workload: avg}}\n"
    "    - {name: used, resourceMetrics: memory}\n"
    "    - {name: podUsed, resourceMetrics: cpu, pods: {}}\n"
    "    - {name: noted, annotation: {key: cpu_usage_avg_5m, timeZone: Asia/Shanghai}, "
    "placements: none}\n"
    "  scores:\n"
    "    - {name: a, expression: 'metrics.cpu + metrics.named + metrics.labelled + "
    "metrics.podCpu + metrics.used + metrics.podUsed + metrics.noted'}\n";

typedef struct Scene {
    DemoCluster *cluster;
    MockMetrics *metrics;
    Snapshot *snapshot;
    Program *rules;
    MetricSource source;
    MetricSources sources;
    Zones *zones;
} Scene;

static Program *compile(const char *text) {
    PolicySource source = {.file = STR("p.yaml"), .text = str_from_c(text)};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 24);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *rules = NULL;

    if (program_compile(&source, 1, &diags, &rules) != 0) {
        _cleanup_(buf_done) Buf out = BUF_INIT(65536);

        diag_list_print(&diags, /* colour= */ false, &out);
        fail_msg("%.*s", STR_FMT(buf_str(&out)));
    }
    return rules;
}

static void scene_init(Scene *scene) {
    *scene = (Scene){0};
    assert_int_equal(
        demo_cluster_new(N_NODES, 1, clock_wall_nsec() / NSEC_PER_SEC, &scene->cluster), 0);
    assert_int_equal(mock_metrics_new(&scene->metrics), 0);
    assert_int_equal(demo_cluster_snapshot(scene->cluster, &scene->snapshot), 0);
    scene->rules = compile(policy);
    scene->zones = zones_new();
    assert_non_null(scene->zones);
    scene->source =
        (MetricSource){.name = STR("default"), .server.url = mock_metrics_url(scene->metrics)};
    scene->sources = (MetricSources){.items = &scene->source, .n = 1};
}

static void scene_done(Scene *scene) {
    mock_metrics_free(scene->metrics);
    snapshot_unref(scene->snapshot);
    program_unref(scene->rules);
    demo_cluster_free(scene->cluster);
    zones_free(scene->zones);
}

static Access *access_of(const Scene *scene) {
    char error[ACCESS_ERROR_MAX];
    Access *access = NULL;

    assert_int_equal(source_access(&scene->source, &access, error), 0);
    return access;
}

static Measurements *poll_all(
    const Scene *scene, const Gauge *gauges, size_t n, PollStatus *ret_statuses) {
    _cleanup_(access_freep) Access *access = access_of(scene);
    Measurements *measurements = NULL;

    assert_int_equal(poller_once(&scene->sources, access, gauges, n, scene->snapshot,
                         5 * NSEC_PER_SEC, &measurements, ret_statuses),
        0);
    return measurements;
}

static size_t count_ready(const NodeTable *table) {
    size_t n = 0;

    for (uint32_t row = 0; row < table->n_rows; row++)
        n += table_node(table, row)->is_ready;
    return n;
}

static uint32_t find_gauge(const Program *rules, const char *name) {
    for (uint32_t i = 0; i < rules->n_gauges; i++)
        if (str_is(rules->gauges[i].name, name))
            return i;
    fail_msg("no gauge %s", name);
    return 0;
}

/* Every metric is joined to all running nodes. */
static void test_every_node_gets_a_value(void **state) {
    static const struct {
        const char *name, *how;
    } cases[] = {
        {"cpu", "instance"},
        {"named", "node"},
        {"labelled", "host"},
        {"podCpu", ""},
        {"used", ""},
        {"podUsed", ""},
    };
    PollStatus statuses[16];
    Measurements *measurements;
    const NodeTable *table;
    Scene scene;

    (void)state;
    scene_init(&scene);
    table = snapshot_table(scene.snapshot);
    mock_metrics_show(scene.metrics, scene.snapshot);
    mock_metrics_follow(scene.metrics, scene.rules);
    measurements = poll_all(&scene, scene.rules->gauges, scene.rules->n_gauges, statuses);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        uint32_t gauge = find_gauge(scene.rules, cases[i].name);
        const PollStatus *status = &statuses[gauge];

        assert_string_equal(status->error, "");
        assert_case(cases[i].name, status->state == POLL_OK);
        assert_case(cases[i].name, strstr(status->report.how, cases[i].how) != NULL);
        assert_case(cases[i].name, status->report.n_dropped[JOIN_NO_NODE] == 0);
        if (!scene.rules->gauges[gauge].is_of_pods)
            assert_case(cases[i].name, status->report.n_covered == count_ready(table));
        else
            assert_case(
                cases[i].name, status->report.n_pods > N_NODES && status->report.n_workloads > 3);
    }
    measurements_unref(measurements);
    scene_done(&scene);
}

/* Values are those of demo/usage.h, and change slowly. */
static void test_values_follow_usage(void **state) {
    PollStatus statuses[16];
    Measurements *measurements;
    const NodeTable *table;
    uint32_t gauge;
    Scene scene;
    Usage usage;

    (void)state;
    scene_init(&scene);
    table = snapshot_table(scene.snapshot);
    mock_metrics_show(scene.metrics, scene.snapshot);
    mock_metrics_follow(scene.metrics, scene.rules);
    gauge = find_gauge(scene.rules, "cpu");
    usage = usage_of_gauge(&scene.rules->gauges[gauge]);
    measurements = poll_all(&scene, scene.rules->gauges, scene.rules->n_gauges, statuses);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        double expected = usage_measure(&usage, table, row, clock_wall_nsec());
        double value = measurements->items[gauge]->values[row];

        assert_true(isnan(expected) == isnan(value));
        assert_true(isnan(value) || fabs(value - expected) < 0.1);
    }
    measurements_unref(measurements);
    scene_done(&scene);
}

static size_t take_nothing(char *data, size_t size, size_t n, void *context) {
    (void)data;
    (void)context;
    return size * n;
}

static long get(const char *base, const char *path) {
    CURL *curl = curl_easy_init();
    char url[256];
    long status = 0;

    assert_non_null(curl);
    (void)snprintf(url, sizeof(url), "%s%s", base, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_nothing);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    return status;
}

static void test_rejects_bad_requests(void **state) {
    static const struct {
        const char *path;
        long status;
    } cases[] = {
        {"/api/v1/query?query=node_load1", 200},
        {"/api/v1/query?query=sum%20by%20%28pod%29%20%28x%29&time=1", 200},
        {"/api/v1/query", 400},
        {"/api/v1/query?query=%zz", 400},
        {"/api/v1/query?q=x", 400},
        {"/apis/metrics.k8s.io/v1beta1/nodes", 200},
        {"/apis/metrics.k8s.io/v1beta1/pods", 200},
        {"/", 404},
    };
    Scene scene;

    (void)state;
    scene_init(&scene);
    assert_int_equal(
        get(mock_metrics_url(scene.metrics), "/api/v1/query?query=x"), 503); /* no cluster */
    mock_metrics_show(scene.metrics, scene.snapshot);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(
            cases[i].path, get(mock_metrics_url(scene.metrics), cases[i].path) == cases[i].status);
    scene_done(&scene);
}

/* --- annotations ----------------------------------------------------------- */

static View *make_view(const Scene *scene, Measurements *measurements) {
    const ViewParts parts = {
        .snapshot = scene->snapshot,
        .program = scene->rules,
        .zones = zones_finder(scene->zones),
        .measurements = measurements,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };
    View *view = NULL;

    assert_int_equal(view_new(&parts, NULL, &view), 0);
    return view;
}

/* Annotations with a time in another zone count as of now; older ones are replaced. */
static void test_annotator_writes_values_and_times(void **state) {
    uint32_t gauge;
    Scene scene;

    (void)state;
    scene_init(&scene);
    gauge = find_gauge(scene.rules, "noted");
    assert_true(annotator_is_needed(scene.rules));
    for (int i = 0; i < 2; i++) {
        _cleanup_(view_unrefp) View *before = make_view(&scene, NULL), *after = NULL;
        LoadsFigures figures;

        assert_int_equal(annotator_write(scene.cluster, before, before->measured.now_nsec), 0);
        snapshot_unref(scene.snapshot);
        assert_int_equal(demo_cluster_snapshot(scene.cluster, &scene.snapshot), 0);
        after = make_view(&scene, NULL);
        loads_figures(&after->loads, after->table, gauge, &figures);
        assert_int_equal(figures.n_present, count_ready(after->table));
        assert_true(llabs(figures.oldest_nsec - before->measured.now_nsec) <= NSEC_PER_SEC);
    }
    scene_done(&scene);
}

static int begin(void **state) {
    (void)state;
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node_gets_a_value),
        cmocka_unit_test(test_values_follow_usage),
        cmocka_unit_test(test_rejects_bad_requests),
        cmocka_unit_test(test_annotator_writes_values_and_times),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
