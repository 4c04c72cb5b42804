#include "kube/publish-writer.h"

#include "base/nsec.h"
#include "base/test-assert.h"
#include "kube/lease.h"
#include "test-fake-client.h"

static int64_t now = NSEC_PER_SEC;

static int64_t clock_now(void) {
    return now;
}

static Client *client;
static PublishWriter *writer;

static void make(const char *lease) {
    client = client_new(NULL);
    writer = publish_writer_new(&(PublishWriterOptions){
        .client = client,
        .lease_namespace = "berth-system",
        .lease_name = lease,
        .identity = "me",
        .clock = clock_now,
        .wall_clock = clock_now,
    });
    assert_non_null(writer);
}

static int tear_down(void **state) {
    writer = publish_writer_free(writer);
    client = client_free(client);
    return 0;
}

static bool add(PublishTarget target, const char *node, const char *name, int64_t n) {
    return publish_writer_add(
        writer, &(PublishChange){
                    .target = target, .node = str_from_c(node), .name = str_from_c(name), .n = n});
}

static void test_requests(void **state) {
    make(NULL);
    assert_true(publish_writer_is_ours(writer));
    assert_true(add(PUBLISH_TO_STATUS, "n1.example", "berth.dev/slots.p", 4));
    assert_true(add(PUBLISH_TO_STATUS, "n2", "berth.dev/slots.p", PUBLISH_REMOVED));
    assert_true(add(PUBLISH_TO_LABELS, "n3", "closed.berth.dev/p", 0));
    assert_true(add(PUBLISH_TO_LABELS, "n4", "closed.berth.dev/p", PUBLISH_REMOVED));
    assert_false(add(PUBLISH_TO_STATUS, "../pods", "berth.dev/slots.p", 4));
    (void)publish_writer_tick(writer, now);
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
    assert_int_equal(publish_writer_figures(writer).n_written, 1);
    assert_int_equal(publish_writer_figures(writer).n_failed, 1);
    assert_true(publish_writer_figures(writer).is_forbidden);
    assert_true(publish_writer_release(writer));
    assert_false(publish_writer_is_ours(writer));
}

/* The lease is taken without any request, and lost when it cannot be renewed. */
static void test_lease(void **state) {
    make("berth-publish");
    assert_false(publish_writer_is_ours(writer));
    (void)publish_writer_tick(writer, now);
    assert_string_equal(fake_call(client, 0).method, "GET");
    fake_answer(client, 0, 404, "");
    (void)client_wait(client, 0);
    (void)publish_writer_tick(writer, now);
    assert_string_equal(fake_call(client, 1).method, "POST");
    assert_false(publish_writer_is_ours(writer));
    fake_answer(client, 1, 201,
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"me\","
        "\"leaseDurationSeconds\":15}}");
    (void)client_wait(client, 0);
    (void)publish_writer_tick(writer, now);
    assert_true(publish_writer_is_ours(writer));
    now += (LEASE_RENEW_SEC + 1) * NSEC_PER_SEC;
    (void)publish_writer_tick(writer, now);
    assert_false(publish_writer_is_ours(writer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_requests, tear_down),
        cmocka_unit_test_teardown(test_lease, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
