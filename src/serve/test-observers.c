#include "serve/answers.h"

#include "api/routes.h"
#include "api/test-api-fixture.h"
#include "base/clock.h"

/* Rules that read only the node still reject after the deadline. */
static const char scene_text[] =
    "policies:\n"
    "  zones:\n"
    "    onTimeout: allow\n"
    "    filters:\n"
    "      - {name: a, expression: \"node.metadata.name != 'n1'\", reason: not this one}\n"
    "      - {name: b, expression: \"node.metadata.name != pod.metadata.name\", reason: own}\n"
    "nodes: {n1: {}, n2: {}, n3: {}}\n";

static bool is_over(void *context) {
    (void)context;
    return true;
}

/* All readers must count the same. */
static void test_counts_rejections_after_deadline(void **state) {
    const RequestTime time = {.is_over = is_over};
    const Str body =
        STR("{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"}},"
            "\"NodeNames\":[\"n1\",\"n2\",\"n3\"]}");
    int64_t now = clock_monotonic_nsec();
    LatencySlot slots[LATENCY_SLOTS];
    LatencyVerb verbs[_VERB_MAX];
    FoundDecision found;
    ApiFixture fixture;
    Answer answer;
    Answers answers = {.api = &fixture.api, .is_quiet = true};

    (void)state;
    api_fixture_init(&fixture, scene_text);
    fixture.api.decisions = decisions_new(10, FIXTURE_HISTORY_BYTES);
    extender_filter(fixture.base.view, &time, body, fixture.base.arena, &answer);
    answers_observe(&answers, &(Observation){
                                  .verb = VERB_FILTER,
                                  .view = fixture.base.view,
                                  .decision = &answer.decision,
                                  .begin_nsec = -1,
                                  .now_nsec = now,
                              });
    assert_int_equal(answer.decision.summary.n_unjudged, 3);
    assert_int_equal(atomic_load(&fixture.api.counts.rejected_nodes), 1);
    latency_slots(fixture.api.latency, now, slots);
    assert_int_equal(slots[LATENCY_SLOTS - 1].n_rejected, 1);
    latency_read(fixture.api.latency, 0, now, verbs);
    assert_int_equal(verbs[VERB_FILTER].n_late, 1);
    assert_true(decisions_find(fixture.api.decisions, 1, &found));
    assert_int_equal(found.past->summary.n_rejected, 1);
    assert_int_equal(found.past->summary.n_out, 2);
    found_done(&found);
    api_fixture_done(&fixture);
}

/* A filter that waits for nominations on purpose is not slow: the Overview must not report it. */
static void test_waits_are_no_latency(void **state) {
    const HttpRequest request = {.method = STR("POST"), .path = STR("/filter")};
    HttpOutcome outcome = {
        .status = 200,
        .duration_nsec = 100 * NSEC_PER_MSEC,
        .read_nsec = NSEC_PER_MSEC,
        .handle_nsec = 97 * NSEC_PER_MSEC,
        .waited_nsec = 90 * NSEC_PER_MSEC,
    };
    LatencyVerb verbs[_VERB_MAX];
    const LatencySummary *parts = verbs[VERB_FILTER].parts;
    ApiFixture fixture;
    Answers answers = {.api = &fixture.api, .is_quiet = true};

    (void)state;
    api_fixture_init(&fixture, scene_text);
    outcome.tag = route_tag(route_find(&fixture.api, &request));
    answers_finished(&answers, &outcome);
    latency_read(fixture.api.latency, 0, clock_monotonic_nsec(), verbs);
    assert_int_equal(parts[LATENCY_TOTAL].sum_nsec, 10 * NSEC_PER_MSEC);
    assert_int_equal(parts[LATENCY_READ].sum_nsec, NSEC_PER_MSEC);
    assert_int_equal(parts[LATENCY_EVALUATE].sum_nsec, 7 * NSEC_PER_MSEC);
    assert_int_equal(parts[LATENCY_WRITE].sum_nsec, 2 * NSEC_PER_MSEC);
    api_fixture_done(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_rejections_after_deadline),
        cmocka_unit_test(test_waits_are_no_latency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
