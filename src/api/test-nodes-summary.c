#include "api/nodes-summary.h"

#include <math.h>

#include "api/api-pages.h"
#include "api/test-api-fixture.h"

static const char scene_text[] =
    "policy:\n"
    "  metrics: [{name: load, prometheus: {query: load}}]\n"
    "  filters: [{name: zone, nodeLabels: {zone: a}, reason: wrong zone}]\n"
    "now: 2026-01-02T03:04:05Z\n"
    "nodes:\n"
    "  n10: {labels: {zone: a}, allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
    "  n9: {labels: {zone: b}, allocatable: {cpu: 2}, ready: false}\n"
    "  n1: {labels: {zone: b}, allocatable: {cpu: 4}, cordoned: true}\n"
    "  b2: {labels: {zone: a}}\n"
    "pods:\n"
    "  - {on: n10, requests: {cpu: 1, memory: 8Gi}}\n"
    "  - {on: n9, requests: {cpu: 3}}\n"
    "measured: {load: {n10: 0.5, n1: 2}}\n";

/* A fixture with a decision history. */
static void open_fixture(ApiFixture *fixture, const char *text) {
    api_fixture_init(fixture, text);
    fixture->api.decisions = decisions_new(5000, FIXTURE_HISTORY_BYTES);
}

static void ask(ApiFixture *fixture, const char *nodes) {
    Str body = arena_printf(fixture->base.arena, "{\"Pod\":{},\"NodeNames\":[%s]}", nodes);

    fixture_request(fixture->api.decisions, fixture->base.view, VERB_FILTER, body,
        (PastTimes){.at_nsec = 1, .duration_nsec = -1});
}

static const NodeColumn *find(const NodesSummary *summary, const char *name) {
    for (size_t i = 0; i < summary->n_columns; i++)
        if (str_is(summary->columns[i].name, name))
            return &summary->columns[i];
    fail_msg("no column %s", name);
    return NULL;
}

#define ALL_NODES "\"n1\",\"n9\",\"n10\",\"b2\",\"ghost\""

static void test_makes_columns(void **state) {
    static const char *const names[] = {"b2", "n1", "n9", "n10"};
    static const struct {
        const char *name;
        double values[4], highest;
        bool is_share;
    } cases[] = {
        {"used.cpu", {NAN, 0, 1.5, 0.25}, 1.5, true},
        {"used.memory", {NAN, NAN, NAN, 1}, 1, true},
        {"used.pods", {NAN, NAN, NAN, 0.1}, 0.1, true},
        {"rejected", {0, 3, 2, 0}, 3, false},
        {"metrics.load", {NAN, 2, NAN, 0.5}, 2, false},
    };
    NodesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    ask(&fixture, ALL_NODES);
    ask(&fixture, ALL_NODES);
    ask(&fixture, "\"n1\"");
    ask(&fixture, "7"); /* has no outcomes */
    assert_int_equal(nodes_summary_make(&fixture.api, fixture.base.arena, &summary), 0);
    assert_int_equal(summary.n, ELEMENTS_OF(names));
    assert_int_equal(summary.n_decisions, 3);
    for (size_t i = 0; i < summary.n; i++) {
        assert_text("node", summary.names[i], names[i]);
        assert_int_equal(summary.is_ready[i], !str_is(summary.names[i], "n9"));
        assert_int_equal(summary.is_cordoned[i], str_is(summary.names[i], "n1"));
    }
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const NodeColumn *column = find(&summary, cases[i].name);

        assert_case(cases[i].name, column->is_share == cases[i].is_share);
        assert_case(cases[i].name, column->highest == cases[i].highest);
        for (size_t j = 0; j < summary.n; j++)
            assert_case(cases[i].name, column->values[j] == cases[i].values[j] ||
                                           (isnan(column->values[j]) && isnan(cases[i].values[j])));
    }
    api_fixture_done(&fixture);
}

/* Numbers in names sort by value. */
static void test_sorts_names(void **state) {
    static const char *const names[] = {"a", "a-01", "a-1", "a-1-b", "a-2", "a-10", "a-10-2",
        "a-10-10", "a-x", "b3", "ip-9", "ip-99"};
    NodesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture,
        "policy: {}\n"
        "nodes: {ip-99: {}, a-10-10: {}, a-x: {}, a-2: {}, a-10: {}, a: {}, a-1-b: {}, ip-9: {},"
        " a-10-2: {}, b3: {}, a-01: {}, a-1: {}}\n");
    assert_int_equal(nodes_summary_make(&fixture.api, fixture.base.arena, &summary), 0);
    assert_int_equal(summary.n, ELEMENTS_OF(names));
    for (size_t i = 0; i < summary.n; i++)
        assert_text("node", summary.names[i], names[i]);
    api_fixture_done(&fixture);
}

/* At most NODES_SUMMARY_DECISIONS_MAX filters are counted. */
static void test_counts_only_the_newest_filters(void **state) {
    NodesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    for (unsigned i = 0; i < NODES_SUMMARY_DECISIONS_MAX + 10; i++)
        ask(&fixture, "\"n1\"");
    assert_int_equal(nodes_summary_make(&fixture.api, fixture.base.arena, &summary), 0);
    assert_int_equal(summary.n_decisions, NODES_SUMMARY_DECISIONS_MAX);
    assert_true(find(&summary, "rejected")->highest == NODES_SUMMARY_DECISIONS_MAX);
    api_fixture_done(&fixture);
}

static void test_works_without_decisions(void **state) {
    Decisions *decisions;
    NodesSummary summary;
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    decisions = TAKE_PTR(fixture.api.decisions);
    assert_int_equal(nodes_summary_make(&fixture.api, fixture.base.arena, &summary), 0);
    assert_true(find(&summary, "rejected")->highest == 0);
    decisions_free(decisions);
    api_fixture_done(&fixture);
}

static void test_page_selects_a_column(void **state) {
    static const struct {
        const char *query;
        unsigned status;
        const char *page;
    } cases[] = {
        {"column=used.cpu", 200,
            "{\"decisions\":0,\"names\":[\"b2\",\"n1\",\"n9\",\"n10\"],\"ready\":[1,1,0,1],"
            "\"cordoned\":[0,1,0,0],\"columns\":[{\"name\":\"used.cpu\",\"label\":\"cpu "
            "requested\",\"share\":true,\"highest\":1.5,\"values\":[null,0,1.5,0.25]}]}\n"},
        {"column=x", 404,
            "{\"Error\":\"berth: there is no such column: /api/v1/nodes has all\"}\n"},
        {"x=1", 400, NULL},
        {"", 200, NULL},
    };
    ApiFixture fixture;

    (void)state;
    open_fixture(&fixture, scene_text);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf page = BUF_INIT(NODES_PAGE_MAX);
        HttpRequest request = {.query = str_from_c(cases[i].query), .arena = fixture.base.arena};

        assert_case(cases[i].query, nodes_page(&fixture.api, &request, &page) == cases[i].status);
        if (cases[i].page)
            assert_text(cases[i].query, buf_str(&page), cases[i].page);
    }
    api_fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makes_columns),
        cmocka_unit_test(test_sorts_names),
        cmocka_unit_test(test_counts_only_the_newest_filters),
        cmocka_unit_test(test_works_without_decisions),
        cmocka_unit_test(test_page_selects_a_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
