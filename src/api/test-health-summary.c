#include "api/health-summary.h"

#include "base/nsec.h"
#include "base/test-assert.h"

#define DAYS(n) ((n)*INT64_C(86400) * NSEC_PER_SEC)

static HealthFacts fine(void) {
    return (HealthFacts){
        .limits = HEALTH_LIMITS_DEFAULT,
        .silence_nsec = NSEC_PER_SEC,
        .has_certificate = true,
        .certificate_nsec = DAYS(30),
        .metrics_age_nsec = -1,
        .n_requests = 1000,
        .n_decided = 1000,
        .p99_nsec = 2 * NSEC_PER_MSEC,
        .deadline_nsec = 100 * NSEC_PER_MSEC,
        .policy_digest = STR("0123456789ab"),
    };
}

static void draining(HealthFacts *facts) {
    facts->is_draining = true;
}

static void unsynced(HealthFacts *facts) {
    facts->is_unsynced = true;
}

static void bypassed(HealthFacts *facts) {
    facts->is_bypassed = true;
    facts->n_bypassed = 4203;
}

static void lost(HealthFacts *facts) {
    facts->is_watch_lost = true;
    facts->silence_nsec = 42 * NSEC_PER_SEC;
}

static void policy_refused(HealthFacts *facts) {
    facts->is_refused[RELOAD_POLICY] = true;
}

static void certificate_soon(HealthFacts *facts) {
    facts->certificate_nsec = DAYS(6);
}

static void certificate_tomorrow(HealthFacts *facts) {
    facts->certificate_nsec = DAYS(2) - 1;
}

static void certificate_today(HealthFacts *facts) {
    facts->certificate_nsec = 5;
}

static void certificate_ended(HealthFacts *facts) {
    facts->certificate_nsec = -5;
}

static void certificate_refused(HealthFacts *facts) {
    facts->is_refused[RELOAD_CERTIFICATES] = true;
}

static void sources_refused(HealthFacts *facts) {
    facts->is_refused[RELOAD_SOURCES] = true;
}

static void stale(HealthFacts *facts) {
    facts->n_stale = 1;
    facts->stale_metric = STR("load");
    facts->stale_why = STR("its source does not answer");
}

static void stale_many(HealthFacts *facts) {
    facts->n_stale = 3;
    facts->stale_metric = STR("load");
}

static void late(HealthFacts *facts) {
    facts->n_late = 25;
}

static void errors(HealthFacts *facts) {
    facts->n_errors = 11;
}

static void pending(HealthFacts *facts) {
    facts->n_waiting = 1400;
    facts->n_blocked = 1370;
}

static void slow(HealthFacts *facts) {
    facts->p99_nsec = 51 * NSEC_PER_MSEC;
}

static const struct {
    void (*spoil)(HealthFacts *facts);
    Health health;
    const char *text;
} cases[] = {
    {draining, HEALTH_NOT_READY, "not ready because berth is shutting down"},
    {unsynced, HEALTH_NOT_READY, "not ready because the cluster has not been listed yet"},
    {bypassed, HEALTH_BYPASSED, "bypassed because pods bypassed berth, 4,203 since it started"},
    {lost, HEALTH_DEGRADED, "degraded because no update from the API server for 42 s"},
    {policy_refused, HEALTH_DEGRADED,
        "degraded because the newest policy was rejected and the last good one is in force"},
    {certificate_soon, HEALTH_DEGRADED, "degraded because the certificate expires in 6 days"},
    {certificate_tomorrow, HEALTH_DEGRADED, "degraded because the certificate expires in 1 day"},
    {certificate_today, HEALTH_DEGRADED, "degraded because the certificate expires within a day"},
    {certificate_ended, HEALTH_DEGRADED, "degraded because the certificate has expired"},
    {certificate_refused, HEALTH_DEGRADED,
        "degraded because the newest certificate was rejected and the last good one is used"},
    {sources_refused, HEALTH_DEGRADED,
        "degraded because the newest metrics sources file was rejected and the last good one is in "
        "force"},
    {stale, HEALTH_DEGRADED,
        "degraded because the metric load has no value on any node: its source does not answer"},
    {stale_many, HEALTH_DEGRADED,
        "degraded because 3 metrics have no value on any node, among them load"},
    {late, HEALTH_DEGRADED,
        "degraded because 2.5 % of requests in the last 5 minutes exceeded the deadline"},
    {errors, HEALTH_DEGRADED, "degraded because 1.1 % of requests in the last 5 minutes failed"},
    {slow, HEALTH_DEGRADED,
        "degraded because p99 latency of filter is 51 ms, and the deadline is 100 ms"},
    {pending, HEALTH_DEGRADED, "degraded because policies keep 1,370 pods pending"},
};

static void test_writes_each_reason(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        HealthFacts facts = fine();
        HealthSummary summary;

        cases[i].spoil(&facts);
        assert_true(health_summary_say(&facts, arena, &summary));
        assert_text(cases[i].text, summary.text, cases[i].text);
        assert_case(cases[i].text, summary.health == cases[i].health);
        assert_int_equal(summary.n_reasons, 1);
    }
}

static void test_healthy_at_the_limits(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    HealthFacts facts = fine();
    HealthSummary summary;

    (void)state;
    facts.n_errors = 10; /* exactly at the limit */
    facts.n_late = 10;
    facts.p99_nsec = 50 * NSEC_PER_MSEC;
    facts.certificate_nsec = DAYS(7);
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_text("healthy", summary.text, "healthy");
    assert_int_equal(summary.n_reasons, 0);
    assert_true(summary.error_rate > 0.0099 && summary.error_rate < 0.0101);
    assert_text("digest", summary.facts.policy_digest, "0123456789ab");
}

/* Each value a little below its limit. */
static void test_limits_can_be_set(void **state) {
    static const HealthLimits wide = {.pending = 1371,
        .errors_percent = 3,
        .latency_percent = 60,
        .silence_nsec = 60 * NSEC_PER_SEC,
        .certificate_days = 1};
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    HealthFacts facts = fine();
    HealthSummary summary;

    (void)state;
    facts.limits = wide;
    late(&facts);
    errors(&facts);
    slow(&facts);
    certificate_tomorrow(&facts);
    pending(&facts);
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_text("text", summary.text, "healthy");
    facts.limits.pending = 1370;
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_string_equal(summary.links[0], "/pods?state=pending");
    facts.limits.pending = 0; /* never */
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_int_equal(summary.n_reasons, 0);
}

/* With few samples one error is not a rate. */
static void test_one_error_of_few_requests_is_healthy(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    HealthFacts facts = fine();
    HealthSummary summary;

    (void)state;
    facts.n_requests = facts.n_decided = 20;
    facts.n_errors = facts.n_late = 1;
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_int_equal(summary.health, HEALTH_HEALTHY);
    facts.n_errors = 2;
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_int_equal(summary.health, HEALTH_DEGRADED);
}

static void test_reasons_are_sorted_by_weight(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    HealthFacts facts = fine();
    HealthSummary summary;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        cases[i].spoil(&facts);
    assert_true(health_summary_say(&facts, arena, &summary));
    assert_int_equal(summary.health, HEALTH_NOT_READY);
    assert_int_equal(summary.n_reasons, HEALTH_SUMMARY_REASONS_MAX);
    assert_text("text", summary.text, "not ready because berth is shutting down; and 7 more");
    assert_text("third", summary.reasons[2], "pods bypassed berth, 4,203 since it started");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_each_reason),
        cmocka_unit_test(test_healthy_at_the_limits),
        cmocka_unit_test(test_limits_can_be_set),
        cmocka_unit_test(test_one_error_of_few_requests_is_healthy),
        cmocka_unit_test(test_reasons_are_sorted_by_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
