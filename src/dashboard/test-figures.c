/* Pages about latency and recent changes. */

#include "dashboard/test-dashboard-fixture.h"

static void note_decision(Latency *latency, Verb verb, size_t n_in, size_t n_rejected,
    size_t n_unjudged, int64_t now_nsec) {
    const DecisionSummary summary = {
        .n_in = n_in, .n_rejected = n_rejected, .n_unjudged = n_unjudged};

    latency_note_decision(latency, verb, &summary, now_nsec);
}

static const char scene_text[] = "policies: {}\nnodes: {n1: {}}\n";

#define MSEC(n) ((int64_t)(n)*NSEC_PER_MSEC)

static void answered(DashboardFixture *fixture, int64_t read_nsec, int64_t evaluate_nsec,
    int64_t write_nsec, int64_t ago_sec) {
    const int64_t parts[_LATENCY_PARTS] = {
        [LATENCY_READ] = read_nsec,
        [LATENCY_EVALUATE] = evaluate_nsec,
        [LATENCY_WRITE] = write_nsec,
        [LATENCY_TOTAL] = read_nsec + evaluate_nsec + write_nsec,
    };
    int64_t at_nsec = clock_monotonic_nsec() - AT(ago_sec);

    latency_note_request(fixture->api.latency, VERB_FILTER, parts, at_nsec);
    note_decision(fixture->api.latency, VERB_FILTER, 100, 40, 0, at_nsec);
}

/* Half of the deadline of one second is slow; the suggestion depends on where the time goes. */
static void test_reports_slow_filters(void **state) {
    static const struct {
        const char *name;
        int64_t read_msec, evaluate_msec, write_msec;
        const char *said, *not_said;
    } cases[] = {
        {"quick", 1, 2, 3, "\"good\">No: </strong>p99 latency of filter is", "Most of the time"},
        {"evaluating", 100, 500, 100, "Most of the time is spent evaluating policies", ">No: "},
        {"reading", 400, 100, 300, "nodeCacheCapable: true kube-scheduler sends node names",
            ">No: "},
        {"writing", 300, 100, 400, "check the scheduler&#39;s machine and the network", ">No: "},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *page;
        DashboardFixture fixture;

        fixture_init_text(&fixture, scene_text);
        assert_has(get(&fixture, "/latency", "", 200), "No: there were no filter requests");
        answered(&fixture, MSEC(cases[i].read_msec), MSEC(cases[i].evaluate_msec),
            MSEC(cases[i].write_msec),
            /* ago_sec= */ 1);
        page = get(&fixture, "/latency", "", 200);
        assert_case(cases[i].name, strstr(page, cases[i].said) != NULL);
        assert_case(cases[i].name, strstr(page, cases[i].not_said) == NULL);
        fixture_done(&fixture);
    }
}

static void test_reports_exceeded_deadlines(void **state) {
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, scene_text);
    for (int i = 0; i < 8; i++)
        answered(&fixture, 1, 1, 1, /* ago_sec= */ 1);
    for (int i = 0; i < 2; i++)
        note_decision(fixture.api.latency, VERB_FILTER, 10, 0, 5, clock_monotonic_nsec() - AT(1));
    page = get(&fixture, "/latency", "", 200);
    assert_has(page, "\"bad\">Possibly: ");
    assert_has(page, " 20.0 % of decisions exceeded the deadline. ");
    fixture_done(&fixture);
}

/* Charts cover at least berth's uptime; nothing is drawn before its start. */
static void test_charts_cover_the_uptime(void **state) {
    const char *page;
    DashboardFixture fixture;

    (void)state;
    fixture_init_text(&fixture, scene_text);
    answered(&fixture, MSEC(1), MSEC(2), MSEC(3), /* ago_sec= */ 50);
    answered(&fixture, MSEC(1), MSEC(1), MSEC(1), /* ago_sec= */ 30);
    answered(
        &fixture, MSEC(1), MSEC(1), MSEC(1), /* ago_sec= */ UPTIME_SEC + 20); /* before the start */
    changes_note(fixture.api.changes, CHANGE_STARTED, clock_wall_nsec() - AT(UPTIME_SEC), STR("x"),
        STR_NULL);
    changes_note(fixture.api.changes, CHANGE_WATCH_LOST, clock_wall_nsec() - AT(60), STR("nodes"),
        STR("<refused>"));
    page = get(&fixture, "/changes", "", 200);
    assert_has(page, ">Last 10 minutes</h2>");
    assert_has(page, "Nodes rejected by filters</span>: last <b>");
    assert_has(page, "highest <b>40 in 10 s</b>");
    assert_has(page, "highest <b>5."); /* of 6 ms, nearly */
    assert_has(page, "<path class=\"mark bad\" vector-effect=\"non-scaling-stroke\" d=\"M");
    assert_has(page, "2 changes in the last hour, 1 of them problems.");
    assert_has(page, "&lt;refused&gt;");
    page = get(&fixture, "/latency", "window=0", 200);
    assert_has(page, "Filter p99 latency</span>: last <b>2.");
    fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports_slow_filters),
        cmocka_unit_test(test_reports_exceeded_deadlines),
        cmocka_unit_test(test_charts_cover_the_uptime),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
