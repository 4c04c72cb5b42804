#include "api/api-pages.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "monitor/health.h"
#include "monitor/metrics-internal.h"
#include "policy/test-scene.h"

#define BUDGET ((size_t)64 * 1024 * 1024)
#define PAGE_MAX ((size_t)4 * 1024 * 1024)
#define ANSWERED_AT (INT64_C(1767323045) * NSEC_PER_SEC) /* 2026-01-02T03:04:05Z */

static const char text[] =
    "now: 2026-01-02T03:04:10Z\n"
    "policies:\n"
    "  warm:\n"
    "    metrics:\n"
    "      - {name: load, prometheus: {query: 'up{a=\"b\"}'}, interval: 10s, maxAge: 60s,"
    "         placements: none}\n"
    "  same:\n"
    "    metrics:\n"
    "      - {name: heat, prometheus: {query: 'up{a=\"b\"}'}, interval: 10s, maxAge: 60s,"
    "         placements: none}\n"
    "      - {name: load, prometheus: {query: other, source: far}, maxAge: 60s, placements: none}\n"
    "  old:\n"
    "    metrics:\n"
    "      - {name: note, annotation: {key: avg}, maxAge: 60s, placements: none}\n"
    "nodes:\n"
    "  n1: {annotations: {avg: '0.25,2026-01-02T03:04:00Z'}}\n"
    "  n2: {}\n"
    "measured: {load: {n1: 0.5}}\n"
    "measuredAge: 5s\n";

typedef struct Fixture {
    TestScene scene;
    View *view;
    Arena *arena;
    PollStatus polls[3];
    SourceNote source;
    MeasuringStatus status;
    Buf page;
} Fixture;

static void fill_status(Fixture *fixture) {
    fixture->polls[0] = (PollStatus){
        .state = POLL_OK,
        .is_polled = true,
        .answered_at_nsec = ANSWERED_AT,
        .answered_uptime = SCENE_UPTIME - 5 * NSEC_PER_SEC,
        .duration_nsec = NSEC_PER_SEC / 4,
        .n_ok = 7,
        .n_failed = 2,
        .report = {.n_series = 3, .n_nodes = 2, .n_covered = 1, .how = "label node is the name"},
    };
    fixture->polls[0].n_dropped[JOIN_NAN] = 9;
    fixture->polls[0].report.n_dropped[JOIN_NAN] = 1;
    (void)snprintf(fixture->polls[0].report.uncovered[0], JOIN_TEXT_MAX, "n2");
    fixture->polls[1] = (PollStatus){.state = POLL_FAILING, .is_polled = true, .n_failed = 4};
    (void)snprintf(fixture->polls[1].error, POLLER_ERROR_MAX, "connection \"refused\"");
    fixture->source = (SourceNote){.name = STR("default"), .url = STR("http://prometheus:9090")};
    fixture->status = (MeasuringStatus){
        .sources = &fixture->source,
        .n_sources = 1,
        .api_server = STR("https://10.0.0.1:6443"),
        .items = fixture->polls,
        .n = ELEMENTS_OF(fixture->polls),
    };
}

static int setup(void **state) {
    Fixture *fixture = test_calloc(1, sizeof(*fixture));

    scene_init_text(&fixture->scene, text);
    assert_int_equal(fixture->scene.program->n_gauges, 3);
    assert_int_equal(view_new(&(ViewParts){.snapshot = fixture->scene.snapshot,
                                  .program = fixture->scene.program,
                                  .measurements = fixture->scene.measurements,
                                  .now_nsec = fixture->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL, &fixture->view),
        0);
    fixture->arena = arena_new(BUDGET);
    assert_non_null(fixture->arena);
    fixture->page = BUF_INIT(PAGE_MAX);
    fill_status(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    view_unref(fixture->view);
    scene_done(&fixture->scene);
    arena_free(fixture->arena);
    buf_done(&fixture->page);
    test_free(fixture);
    return 0;
}

static void assert_has(const Fixture *fixture, const char *part) {
    Str page = buf_str(&fixture->page);

    assert_int_equal(buf_error(&fixture->page), 0);
    if (!memmem(page.ptr, page.len, part, strlen(part)))
        fail_msg("not in the page: %s\n%.*s", part, STR_FMT(page));
}

static void test_page_shows_sources_and_metrics(void **state) {
    static const char *const parts[] = {
        "\"sources\":[{\"name\":\"default\",\"kind\":\"prometheus\","
        "\"url\":\"http://prometheus:9090\"},"
        "{\"name\":\"metrics.k8s.io\",\"kind\":\"resourceMetrics\","
        "\"url\":\"https://10.0.0.1:6443\"}]",
        "{\"name\":\"load\",\"usedBy\":[{\"policy\":\"warm\",\"name\":\"load\"},"
        "{\"policy\":\"same\",\"name\":\"heat\"}],\"kind\":\"prometheus\",\"source\":\"default\","
        "\"query\":\"up{a=\\\"b\\\"}\",\"perPod\":false,\"state\":\"ok\","
        "\"lastSuccess\":\"2026-01-02T03:04:05Z\",\"ageSeconds\":5,"
        "\"nodes\":{\"covered\":1,\"of\":2},\"intervalSeconds\":10,\"maxAgeSeconds\":60,"
        "\"placements\":\"\",\"querySeconds\":0.25,\"requests\":{\"ok\":7,\"failed\":2}",
        "\"series\":3",
        "\"nan\":1",
        "\"join\":\"label node is the name\",\"unmatched\":[],\"uncovered\":[\"n2\"],"
        "\"failingSince\":null,\"error\":\"\",\"warning\":\"\"}",
        "{\"name\":\"load\",\"usedBy\":[{\"policy\":\"same\",\"name\":\"load\"}],"
        "\"kind\":\"prometheus\",\"source\":\"far\",\"query\":\"other\",\"perPod\":false,"
        "\"state\":\"failing\",\"lastSuccess\":null,\"ageSeconds\":null,",
        "\"error\":\"connection \\\"refused\\\"\"",
        "\"kind\":\"annotation\",\"source\":\"\",\"annotation\":\"avg\",\"perPod\":false,"
        "\"state\":\"ok\",\"lastSuccess\":\"2026-01-02T03:04:00Z\",\"ageSeconds\":10,"
        "\"nodes\":{\"covered\":1,\"of\":2},\"intervalSeconds\":null,\"maxAgeSeconds\":60,"
        "\"placements\":\"\"}",
        "\"untold\":0}\n",
    };
    Fixture *fixture = *state;

    sources_page(fixture->view, &fixture->status,
        (GaugeTime){.now_nsec = fixture->scene.now, .uptime_nsec = SCENE_UPTIME}, &fixture->page);
    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        assert_has(fixture, parts[i]);
}

/* During a reload there is no status of the new gauges. */
static void test_page_without_status(void **state) {
    Fixture *fixture = *state;

    fixture->status.n = 0;
    sources_page(fixture->view, &fixture->status, (GaugeTime){.now_nsec = 1, .uptime_nsec = 1},
        &fixture->page);
    assert_has(fixture, "\"state\":\"waiting\",\"lastSuccess\":null");
}

static void test_writes_metrics_of_sources(void **state) {
    static const char *const parts[] = {
        "\nberth_source_up{policy=\"warm\",metric=\"load\",source=\"default\"} 1\n",
        "\nberth_source_up{policy=\"same\",metric=\"load\",source=\"far\"} 0\n",
        "\nberth_source_age_seconds{policy=\"warm\",metric=\"load\",source=\"default\"} 5\n",
        "\nberth_source_age_seconds{policy=\"same\",metric=\"load\",source=\"far\"} -1\n",
        "\nberth_source_age_seconds{policy=\"old\",metric=\"note\",source=\"\"} 10\n",
        "\nberth_source_nodes_covered{policy=\"warm\",metric=\"load\",source=\"default\"} 1\n",
        "\nberth_source_nodes{policy=\"warm\",metric=\"load\",source=\"default\"} 2\n",
        "\nberth_source_series{policy=\"warm\",metric=\"load\",source=\"default\"} 3\n",
        "\nberth_source_query_duration_seconds{policy=\"warm\",metric=\"load\",source=\"default\"} "
        "0.25\n",
        "\nberth_source_last_success_timestamp_seconds{policy=\"warm\",metric=\"load\","
        "source=\"default\"} 1767323045\n",
        "\nberth_source_dropped_series_total{policy=\"warm\",metric=\"load\",source=\"default\","
        "cause=\"nan\"} 9\n",
        "\nberth_source_requests_total{policy=\"warm\",metric=\"load\",source=\"default\","
        "result=\"ok\"} 7\n",
        "\nberth_source_requests_total{policy=\"same\",metric=\"load\",source=\"far\","
        "result=\"failed\"} 4\n",
    };
    Fixture *fixture = *state;

    source_figures_print(fixture->view, &fixture->status,
        (GaugeTime){.now_nsec = fixture->scene.now, .uptime_nsec = SCENE_UPTIME}, fixture->arena,
        &fixture->page);
    for (size_t i = 0; i < ELEMENTS_OF(parts); i++)
        assert_has(fixture, parts[i]);
}

/* Failing sources are shown, but never make berth unready. */
static void test_failing_sources_do_not_fail_readyz(void **state) {
    Fixture *fixture = *state;
    Reloads reloads = RELOADS_INIT;
    HealthState health = {.shows_reasons = true,
        .reloads = &reloads,
        .program = fixture->scene.program,
        .measuring = &fixture->status};

    assert_int_equal(health_page("readyz", STR("verbose"), &health, &fixture->page), 200);
    assert_has(fixture, "[+]sources ok: 1 of 2 metrics answered; load: connection \"refused\"\n");
    buf_reset(&fixture->page);
    reloads_note_good(&reloads, RELOAD_SOURCES, 1);
    reloads_note_bad(&reloads, RELOAD_SOURCES, "sources.yaml:3:1: error: no");
    assert_int_equal(health_page("readyz", STR("verbose"), &health, &fixture->page), 200);
    assert_has(
        fixture, "[+]sources ok: degraded: the newest was rejected: sources.yaml:3:1: error");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_page_shows_sources_and_metrics),
        TEST(test_page_without_status),
        TEST(test_writes_metrics_of_sources),
        TEST(test_failing_sources_do_not_fail_readyz),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
