#include "kube/api-writes.h"

#include "base/clock.h"
#include "base/test-assert.h"
#include "kube/policy-status.h"
#include "test-fake-client.h"

static int64_t now = NSEC_PER_SEC;

int64_t clock_monotonic_nsec(void) {
    return now;
}

int64_t clock_wall_nsec(void) {
    return now;
}

static Client *client;
static WriteQueue *writer;

static void make(const char *lease) {
    client = client_new(NULL);
    writer = patch_queue_new(
        &(LeaseOptions){.client = client, .object = {"berth-system", lease}, .identity = "me"},
        PUBLISH_CALLS);
    assert_non_null(writer);
}

static int tear_down(void **state) {
    writer = write_queue_free(writer);
    client = client_free(client);
    return 0;
}

static bool add(PublishTarget target, const char *node, const char *name, int64_t n) {
    return publish_queue_add(
        writer, &(PublishChange){
                    .target = target, .node = str_from_c(node), .name = str_from_c(name), .n = n});
}

static void test_requests_of_published_filters(void **state) {
    make(NULL);
    assert_true(write_queue_is_ours(writer));
    assert_true(add(PUBLISH_TO_STATUS, "n1.example", "berth.dev/slots.p", 4));
    assert_true(add(PUBLISH_TO_STATUS, "n2", "berth.dev/slots.p", PUBLISH_REMOVED));
    assert_true(add(PUBLISH_TO_LABELS, "n3", "closed.berth.dev/p", 0));
    assert_true(add(PUBLISH_TO_LABELS, "n4", "closed.berth.dev/p", PUBLISH_REMOVED));
    assert_false(add(PUBLISH_TO_STATUS, "../pods", "berth.dev/slots.p", 4));
    (void)write_queue_tick(writer, now);
    assert_int_equal(fake_n_calls(client), 4);
    assert_string_equal(fake_call(client, 0).method, "PATCH");
    assert_string_equal(fake_call(client, 0).path, "/api/v1/nodes/n1.example/status");
    assert_string_equal(fake_call(client, 0).content_type, "application/merge-patch+json");
    assert_string_equal(fake_call(client, 0).body,
        "{\"status\":{\"capacity\":{\"berth.dev/slots.p\":\"4\"},"
        "\"allocatable\":{\"berth.dev/slots.p\":\"4\"}}}");
    assert_string_equal(fake_call(client, 1).body,
        "{\"status\":{\"capacity\":{\"berth.dev/slots.p\":null},"
        "\"allocatable\":{\"berth.dev/slots.p\":null}}}");
    assert_string_equal(fake_call(client, 2).path, "/api/v1/nodes/n3");
    assert_string_equal(
        fake_call(client, 2).body, "{\"metadata\":{\"labels\":{\"closed.berth.dev/p\":\"true\"}}}");
    assert_string_equal(
        fake_call(client, 3).body, "{\"metadata\":{\"labels\":{\"closed.berth.dev/p\":null}}}");
    fake_answer(client, 0, 200, "{}");
    fake_answer(client, 1, 403, "");
    (void)client_wait(client, 0);
    assert_int_equal(write_queue_figures(writer).n_written, 1);
    assert_int_equal(write_queue_figures(writer).n_failed, 1);
    assert_true(write_queue_figures(writer).is_forbidden);
    assert_true(write_queue_release(writer));
    assert_false(write_queue_is_ours(writer));
}

/* Acquires the lease with the first two calls. */
static void take_lease(void) {
    make("berth-publish");
    assert_false(write_queue_is_ours(writer));
    (void)write_queue_tick(writer, now);
    assert_string_equal(fake_call(client, 0).method, "GET");
    fake_answer(client, 0, 404, "");
    (void)client_wait(client, 0);
    (void)write_queue_tick(writer, now);
    assert_string_equal(fake_call(client, 1).method, "POST");
    assert_false(write_queue_is_ours(writer));
    fake_answer(client, 1, 201,
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"me\","
        "\"leaseDurationSeconds\":15}}");
    (void)client_wait(client, 0);
    (void)write_queue_tick(writer, now);
    assert_true(write_queue_is_ours(writer));
}

static size_t count_patches(void) {
    size_t n = 0;

    for (size_t i = 0; i < fake_n_calls(client); i++)
        n += strcmp(fake_call(client, i).method, "PATCH") == 0;
    return n;
}

/* Takes the lease and adds more writes than are sent at once. */
static void take_lease_and_fill(void) {
    take_lease();
    for (size_t i = 0; i < PUBLISH_CALLS + 2; i++)
        assert_true(add(PUBLISH_TO_STATUS, "n1", "berth.dev/slots.p", (int64_t)i));
    (void)write_queue_tick(writer, now);
    assert_int_equal(count_patches(), PUBLISH_CALLS);
}

/* Waiting writes are dropped, not sent, when the next call ends. */
static void check_no_more_patches(void) {
    fake_answer(client, 2, 200, "{}");
    (void)client_wait(client, 0);
    assert_int_equal(count_patches(), PUBLISH_CALLS);
    assert_int_equal(write_queue_figures(writer).n_dropped, 2);
}

static void test_lease_is_taken_without_requests_and_lost_without_renewal(void **state) {
    take_lease();
    now += (LEASE_RENEW_SEC + 1) * NSEC_PER_SEC;
    (void)write_queue_tick(writer, now);
    assert_false(write_queue_is_ours(writer));
}

static void test_nothing_is_sent_after_the_lease_is_lost(void **state) {
    take_lease_and_fill();
    now += (LEASE_RENEW_SEC + 1) * NSEC_PER_SEC;
    (void)write_queue_tick(writer, now);
    assert_false(write_queue_is_ours(writer));
    check_no_more_patches();
}

static void test_nothing_is_sent_after_the_lease_is_released(void **state) {
    take_lease_and_fill();
    (void)write_queue_release(writer);
    check_no_more_patches();
}

static void test_unwanted_lease_is_not_taken(void **state) {
    make("berth-publish");
    write_queue_set_wanted(writer, false);
    (void)write_queue_tick(writer, now);
    assert_int_equal(fake_n_calls(client), 0);
    write_queue_set_wanted(writer, true);
    (void)write_queue_tick(writer, now);
    assert_int_equal(fake_n_calls(client), 1);
}

/* --- other patches of this queue ------------------------------------------------------------- */

static void check_nomination(const Nomination *nomination, size_t call, const char *body) {
    assert_true(nomination_queue_add(writer, nomination));
    (void)write_queue_tick(writer, now);
    assert_string_equal(fake_call(client, call).path, "/api/v1/namespaces/team/pods/p/status");
    assert_string_equal(fake_call(client, call).body, body);
}

static void test_requests_of_nominations(void **state) {
    Nomination nomination = {
        .namespace = STR("team"), .name = STR("p"), .uid = STR("u"), .node = STR("n1")};

    make(NULL);
    check_nomination(
        &nomination, 0, "{\"metadata\":{\"uid\":\"u\"},\"status\":{\"nominatedNodeName\":\"n1\"}}");
    nomination.node = STR_NULL;
    nomination.resource_version = STR("7");
    check_nomination(&nomination, 1,
        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},"
        "\"status\":{\"nominatedNodeName\":null}}");
    nomination.name = STR("../p");
    assert_false(nomination_queue_add(writer, &nomination));
    nomination.name = STR("p");
    nomination.namespace = STR("../team");
    assert_false(nomination_queue_add(writer, &nomination));
}

#define CONDITION(type, status, reason, message, since)                                            \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason                        \
    "\",\"message\":\"" message "\",\"observedGeneration\":3,\"lastTransitionTime\":\"" since      \
    "\"}"
#define STATUS(accepted, in_force, generation, mode)                                               \
    "{\"status\":{\"observedGeneration\":3,\"conditions\":[" accepted "," in_force                 \
    "],\"inForceGeneration\":" generation ",\"mode\":" mode                                        \
    ",\"pods\":4,\"rejected\":3,\"pending\":2,\"errors\":1}}"
#define SINCE "1970-01-01T00:00:10Z"
#define NOW "1970-01-01T00:01:00Z"

static void check_status(const PolicyStatus *status, const char *want) {
    _cleanup_(buf_done) Buf body = BUF_INIT(8192);

    policy_status_body(status, 60 * NSEC_PER_SEC, &body);
    assert_text("status", buf_str(&body), want);
}

static void test_status_of_a_policy(void **state) {
    _cleanup_(buf_done) Buf path = BUF_INIT(256);
    PolicyStatus status = {.generation = 3,
        .in_force = 3,
        .since_nsec = 10 * NSEC_PER_SEC,
        .replica = STR("r"),
        .counts = {.n_pods = 4, .n_rejected = 3, .n_pending = 2, .n_errors = 1}};

    policy_status_path(STR("a/b"), &path);
    assert_text("path", buf_str(&path), "/apis/berth.dev/v1alpha1/placementpolicies/a%2Fb/status");
    check_status(&status, STATUS(CONDITION("Accepted", "True", "Valid", "no mistakes", SINCE),
                              CONDITION("InForce", "True", "InForce",
                                  "generation 3 is in force, by replica r", SINCE),
                              "3", "\"Enforce\""));
    status.in_force = 1;
    status.error = STR("line 1");
    status.note = STR("old");
    status.is_observed = true;
    check_status(&status, STATUS(CONDITION("Accepted", "False", "Invalid", "line 1", NOW),
                              CONDITION("InForce", "False", "LastGoodVersion",
                                  "generation 1 is in force, by replica r; old", NOW),
                              "1", "\"Observe\""));
    status.in_force = 0;
    status.note = STR_NULL;
    check_status(
        &status, STATUS(CONDITION("Accepted", "False", "Invalid", "line 1", NOW),
                     CONDITION("InForce", "False", "NoGoodVersion", "no version was good", NOW),
                     "null", "null"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_requests_of_published_filters, tear_down),
        cmocka_unit_test_teardown(
            test_lease_is_taken_without_requests_and_lost_without_renewal, tear_down),
        cmocka_unit_test_teardown(test_nothing_is_sent_after_the_lease_is_lost, tear_down),
        cmocka_unit_test_teardown(test_nothing_is_sent_after_the_lease_is_released, tear_down),
        cmocka_unit_test_teardown(test_unwanted_lease_is_not_taken, tear_down),
        cmocka_unit_test_teardown(test_requests_of_nominations, tear_down),
        cmocka_unit_test(test_status_of_a_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
