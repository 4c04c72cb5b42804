#include "kube/lease.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

#define ONE "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth"
#define ALL "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases"
#define SEC NSEC_PER_SEC

static int64_t now;
static unsigned n_changed;

int64_t clock_monotonic_nsec(void) {
    return now;
}

int64_t clock_wall_nsec(void) {
    return INT64_C(1794700800) * NSEC_PER_SEC + 1234567; /* 2026-11-15T00:00:00.001234Z */
}

static void on_changed(void *context) {
    n_changed++;
}

static Client *client;
static Lease *lease;

static int set_up(void **state) {
    now = 1000 * SEC;
    n_changed = 0;
    client = client_new(NULL);
    lease = lease_new(&(LeaseOptions){
        .client = client,
        .object = {"berth-system", "berth"},
        .identity = "me",
        .changed = on_changed,
    });
    return client && lease ? 0 : -1;
}

static int tear_down(void **state) {
    lease = lease_free(lease);
    client = client_free(client);
    return 0;
}

static const char *object(unsigned version, const char *holder, int duration) {
    static char text[512];

    (void)snprintf(text, sizeof(text),
        "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"berth\",\"resourceVersion\":\"%u\","
        "\"labels\":{\"a\":\"b\"}},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,"
        "\"leaseTransitions\":3,\"renewTime\":\"2026-11-15T00:00:00.000000Z\"}}",
        version, holder, duration);
    return text;
}

static size_t last(void) {
    return fake_n_calls(client) - 1;
}

static void answer(unsigned status, const char *body) {
    fake_answer(client, last(), status, body);
    (void)client_wait(client, 0);
}

/* Wants the lease and runs a tick; returns the call. */
static FakeCall want(void) {
    lease_want(lease, now);
    (void)lease_tick(lease, now);
    assert_true(fake_n_calls(client) > 0);
    return fake_call(client, last());
}

/* Advances time in steps of a tenth of a second until the next call; returns how long that took. */
static int64_t next_call(bool is_wanted) {
    size_t n = fake_n_calls(client);
    int64_t from = now;

    while (fake_n_calls(client) == n && now < from + 100 * SEC) {
        if (is_wanted)
            lease_want(lease, now);
        (void)lease_tick(lease, now);
        if (fake_n_calls(client) == n)
            now += SEC / 10;
    }
    assert_int_equal(fake_n_calls(client), n + 1);
    return now - from;
}

static LeaseStatus status(void) {
    LeaseStatus ret;

    lease_status(lease, &ret);
    return ret;
}

static void take(void) {
    (void)want();
    answer(200, object(7, "", 1));
    (void)lease_tick(lease, now);
    answer(200, object(8, "me", 15));
    assert_true(lease_is_held(lease, now));
}

/* --- one replica ----------------------------------------------------------------------- */

static void test_sends_nothing_unless_wanted(void **state) {
    assert_int_equal(lease_tick(lease, now), INT64_MAX);
    assert_int_equal(fake_n_calls(client), 0);
    assert_false(lease_is_held(lease, now));
    assert_true(lease_release(lease));
}

static void test_creates_missing_lease(void **state) {
    FakeCall call = want();

    assert_string_equal(call.method, "GET");
    assert_string_equal(call.path, ONE);
    assert_int_equal(call.total_sec, LEASE_CALL_SEC);
    answer(404, "{\"kind\":\"Status\",\"code\":404}");
    call = want();
    assert_string_equal(call.method, "POST");
    assert_string_equal(call.path, ALL);
    assert_string_equal(call.content_type, "application/json");
    assert_string_equal(call.body,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
        "\"metadata\":{\"name\":\"berth\",\"namespace\":\"berth-system\"},"
        "\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,"
        "\"acquireTime\":\"2026-11-15T00:00:00.001234Z\","
        "\"renewTime\":\"2026-11-15T00:00:00.001234Z\",\"leaseTransitions\":0}}");
    assert_false(lease_is_held(lease, now));
    answer(201, object(1, "me", 15));
    assert_true(lease_is_held(lease, now));
    assert_int_equal(lease_term(lease), 1);
    assert_string_equal(status().holder, "me");
    assert_int_equal(status().n_taken, 1);
    assert_true(n_changed > 0);
}

static void test_keeps_fields_of_others(void **state) {
    FakeCall call;

    (void)want();
    answer(200, object(7, "", 1));
    call = want();
    assert_string_equal(call.method, "PUT");
    assert_string_equal(call.path, ONE);
    assert_non_null(strstr(call.body,
        "\"metadata\":{\"name\":\"berth\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"}}"));
    assert_non_null(strstr(call.body, "\"leaseTransitions\":4"));
    answer(200, object(8, "me", 15));
    (void)next_call(true);
    call = fake_call(client, last());
    assert_non_null(strstr(call.body, "\"resourceVersion\":\"8\""));
    assert_non_null(
        strstr(call.body, "\"leaseTransitions\":3")); /* the count of the server's reply */
}

static void test_renewed_every_two_seconds(void **state) {
    take();
    for (unsigned i = 0; i < 5; i++) {
        assert_in_range(next_call(true), LEASE_RETRY_SEC * SEC - SEC / 5, LEASE_RETRY_SEC * SEC);
        assert_string_equal(fake_call(client, last()).method, "PUT");
        answer(200, object(9 + i, "me", 15));
        assert_true(lease_is_held(lease, now));
    }
    assert_int_equal(lease_term(lease), 1);
    assert_int_equal(status().n_taken, 1);
}

static void test_released_when_idle(void **state) {
    int64_t wanted_at;

    take();
    wanted_at = now;
    while (true) {
        (void)next_call(false);
        if (strstr(fake_call(client, last()).body, "\"holderIdentity\":\"\""))
            break;
        answer(200, object((unsigned)(now / SEC), "me", 15));
    }
    assert_in_range(now - wanted_at, LEASE_IDLE_SEC * SEC, LEASE_IDLE_SEC * SEC + SEC / 5);
    assert_non_null(strstr(fake_call(client, last()).body, "\"leaseDurationSeconds\":1,"));
    assert_false(lease_is_held(lease, now)); /* not even before the answer */
    answer(200, object(5000, "", 1));
    now += 3600 * SEC;
    assert_int_equal(lease_tick(lease, now), INT64_MAX);
    assert_int_equal(status().n_lost, 0);

    /* It was free, so it is taken at once, without reading it. */
    assert_string_equal(want().method, "PUT");
    answer(200, object(5001, "me", 15));
    assert_int_equal(lease_term(lease), 1);
    assert_int_equal(status().n_taken, 2);
}

static void test_release_is_final(void **state) {
    take();
    assert_false(lease_release(lease)); /* the PUT is unanswered */
    answer(200, object(9, "", 1));
    assert_true(lease_release(lease));
    assert_false(lease_is_held(lease, now));
    lease_want(lease, now);
    assert_int_equal(lease_tick(lease, now), INT64_MAX); /* never again */
}

static void test_term_grows_after_another_may_have_held_it(void **state) {
    take();
    now += LEASE_IDLE_SEC * SEC;
    (void)lease_tick(lease, now);
    answer(200, object(9, "", 1));
    (void)want();
    answer(409, "{}");
    (void)want(); /* reads the lease */
    answer(200, object(11, "", 1));
    (void)want();
    answer(200, object(12, "me", 15));
    assert_true(lease_is_held(lease, now));
    assert_int_equal(lease_term(lease), 2);
}

/* --- failures ---------------------------------------------------------------------------- */

static void test_hold_ends_without_renewal(void **state) {
    int64_t from = now;

    take();
    (void)next_call(true); /* the renewal is not answered */
    assert_true(lease_is_held(lease, from + LEASE_RENEW_SEC * SEC - 1));
    assert_false(lease_is_held(lease, from + LEASE_RENEW_SEC * SEC));
    now = from + LEASE_RENEW_SEC * SEC;
    (void)lease_tick(lease, now);
    assert_int_equal(status().n_lost, 1);
    assert_false(status().is_held);

    /* A late answer does not bring it back. */
    now += 5 * SEC;
    answer(200, object(9, "me", 15));
    assert_false(lease_is_held(lease, now));
    (void)want();
    answer(200, object(10, "me", 15));
    assert_true(lease_is_held(lease, now));
    assert_int_equal(lease_term(lease), 1);
}

static void test_hold_counts_from_sending(void **state) {
    (void)want();
    answer(200, object(7, "", 1));
    (void)want();
    now += 3 * SEC;
    answer(200, object(8, "me", 15));
    assert_true(lease_is_held(lease, now + (LEASE_RENEW_SEC - 3) * SEC - 1));
    assert_false(lease_is_held(lease, now + (LEASE_RENEW_SEC - 3) * SEC));
}

static void test_reads_lease_after_lost_answer(void **state) {
    (void)want();
    answer(200, object(7, "", 1));
    (void)want();
    fake_done(client, last(), CALL_TIMEOUT);
    (void)client_wait(client, 0);
    assert_false(lease_is_held(lease, now));
    assert_string_equal(status().error, "as the test wants it");
    (void)next_call(true);
    assert_string_equal(fake_call(client, last()).method, "GET");
    answer(200, object(8, "me", 15));
    assert_false(lease_is_held(lease, now)); /* its age is unknown */
    (void)next_call(true);
    assert_non_null(strstr(fake_call(client, last()).body, "\"resourceVersion\":\"8\""));
    answer(200, object(9, "me", 15));
    assert_true(lease_is_held(lease, now));
    assert_string_equal(status().error, "");
}

static void test_expiry_uses_own_clock_only(void **state) {
    (void)want();
    answer(200, object(7, "other", 15));
    assert_string_equal(status().holder, "other");
    for (int i = 0; i < 7; i++) { /* the record does not change */
        assert_in_range(next_call(true), 0, LEASE_RETRY_SEC * SEC);
        assert_string_equal(fake_call(client, last()).method, "GET");
        answer(200, object(7, "other", 15));
    }
    assert_int_equal(now, 1014 * SEC);
    assert_int_equal(next_call(true), SEC);
    assert_string_equal(fake_call(client, last()).method, "PUT");
    answer(200, object(8, "me", 15));
    assert_true(lease_is_held(lease, now));
}

static void test_waits_while_another_renews(void **state) {
    (void)want();
    answer(200, object(7, "other", 15));
    for (unsigned i = 0; i < 20; i++) {
        (void)next_call(true);
        assert_string_equal(fake_call(client, last()).method, "GET");
        answer(200, object(8 + i, "other", 15));
    }
    assert_int_equal(status().n_taken, 0);
}

static void test_lost_when_another_name_is_written(void **state) {
    take();
    (void)next_call(true);
    answer(409, "{}");
    assert_true(lease_is_held(lease, now)); /* the conflict may come from our own write */
    (void)next_call(true);
    answer(200, object(20, "admin", 15));
    assert_false(lease_is_held(lease, now));
    assert_int_equal(status().n_lost, 1);
    assert_string_equal(status().holder, "admin");
}

static void test_endless_conflicts_cause_few_requests(void **state) {
    size_t n;

    lease_want(lease, now);
    for (int i = 0; i < 100; i++) { /* ten seconds */
        (void)lease_tick(lease, now);
        n = fake_n_calls(client);
        if (n > 0 && !fake_call(client, n - 1).is_over)
            answer(
                strcmp(fake_call(client, n - 1).method, "GET") == 0 ? 200 : 409, object(7, "", 1));
        now += SEC / 10;
        lease_want(lease, now);
    }
    assert_in_range(fake_n_calls(client), 2, 30);
}

static void test_deleted_lease_is_created_again(void **state) {
    take();
    (void)next_call(true);
    answer(404, "{}");
    assert_false(lease_is_held(lease, now));
    assert_string_equal(want().method, "POST");
    answer(201, object(30, "me", 15));
    assert_true(lease_is_held(lease, now));
    assert_int_equal(lease_term(lease), 2);
}

static void test_error_names_the_missing_right(void **state) {
    static const struct {
        const char *method;
        unsigned before; /* status of the GET before it */
        const char *right;
    } cases[] = {
        {"GET", 0, "the right get on leases.coordination.k8s.io in namespace berth-system"},
        {"POST", 404, "the right create on leases.coordination.k8s.io in namespace berth-system"},
        {"PUT", 200, "the right update on leases.coordination.k8s.io in namespace berth-system"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        (void)want();
        if (cases[i].before) {
            answer(cases[i].before, object(7, "", 1));
            (void)want();
        }
        assert_string_equal(fake_call(client, last()).method, cases[i].method);
        answer(403, "{\"kind\":\"Status\",\"message\":\"leases is forbidden\",\"code\":403}");
        assert_non_null(strstr(status().error, cases[i].right));
        assert_non_null(strstr(status().error, "Role berth-lease"));
        assert_false(lease_is_held(lease, now));
        assert_in_range(next_call(true), SEC - SEC / 5, LEASE_RETRY_SEC * SEC);
        assert_non_null(
            strstr(status().error, cases[i].right)); /* a successful read does not clear it */
        (void)tear_down(state);
        (void)set_up(state);
    }
}

static void test_unreadable_answers(void **state) {
    static const char *const bodies[] = {
        "",
        "x",
        "{}",
        "[]",
        "{\"metadata\":{\"name\":\"berth\"}}",
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"leaseDurationSeconds\":\"x\"}}",
        "{\"metadata\":{\"resourceVersion\":\"1\"",
    };

    for (size_t i = 0; i < ELEMENTS_OF(bodies); i++) {
        (void)want();
        answer(200, bodies[i]);
        assert_string_equal(status().error, "the API server's answer is no Lease");
        assert_false(lease_is_held(lease, now));
        now += 10 * SEC;
    }
    /* An unreadable answer to our own write does not give us the lease either. */
    (void)want();
    answer(404, "");
    (void)lease_tick(lease, now);
    answer(201, "{}");
    assert_string_equal(status().error, "the API server's answer is no Lease");
    assert_false(lease_is_held(lease, now));
    now += 10 * SEC;
    fake_refuse_next(client); /* no memory for a call */
    lease_want(lease, now);
    assert_int_equal(lease_tick(lease, now), now + SEC);
    assert_string_equal(status().error, "out of memory for the request");
}

static void test_release_waits_for_a_renewal_and_retries(void **state) {
    take();
    (void)next_call(true); /* a renewal is unanswered, and may succeed */
    assert_false(lease_release(lease));
    answer(200, object(9, "me", 15));
    assert_false(lease_release(lease));
    assert_non_null(strstr(fake_call(client, last()).body, "\"holderIdentity\":\"\""));
    fake_done(client, last(), CALL_BROKEN);
    (void)client_wait(client, 0);
    assert_false(lease_release(lease));
    now += LEASE_PAUSE_MSEC * NSEC_PER_MSEC;
    assert_false(lease_release(lease));
    answer(200, object(10, "", 1));
    assert_true(lease_release(lease));
}

/* Another client has overwritten the lease: nothing must be released. */
static void test_release_leaves_the_lease_of_others(void **state) {
    size_t n;

    take();
    (void)next_call(/* is_wanted= */ true);
    answer(409, "");
    (void)next_call(/* is_wanted= */ true);
    answer(200, object(9, "other", 15));
    n = fake_n_calls(client);
    assert_true(lease_release(lease));
    assert_int_equal(fake_n_calls(client), n);
}

static void test_release_ends_without_an_answer(void **state) {
    int64_t from = now;

    take();
    while (!lease_release(lease)) {
        if (!fake_call(client, last()).is_over)
            fake_done(client, last(), CALL_REFUSED);
        (void)client_wait(client, 0);
        now += SEC / 10;
        assert_true(now < from + 20 * SEC);
    }
    assert_in_range(now - from, LEASE_DURATION_SEC * SEC, LEASE_DURATION_SEC * SEC + SEC);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sends_nothing_unless_wanted),
        TEST(test_creates_missing_lease),
        TEST(test_keeps_fields_of_others),
        TEST(test_renewed_every_two_seconds),
        TEST(test_released_when_idle),
        TEST(test_release_is_final),
        TEST(test_term_grows_after_another_may_have_held_it),
        TEST(test_hold_ends_without_renewal),
        TEST(test_hold_counts_from_sending),
        TEST(test_reads_lease_after_lost_answer),
        TEST(test_expiry_uses_own_clock_only),
        TEST(test_waits_while_another_renews),
        TEST(test_lost_when_another_name_is_written),
        TEST(test_endless_conflicts_cause_few_requests),
        TEST(test_deleted_lease_is_created_again),
        TEST(test_error_names_the_missing_right),
        TEST(test_unreadable_answers),
        TEST(test_release_waits_for_a_renewal_and_retries),
        TEST(test_release_leaves_the_lease_of_others),
        TEST(test_release_ends_without_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
