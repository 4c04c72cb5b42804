#include "kube/api-writes.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "test-fake-client.h"

int64_t clock_wall_nsec(void) {
    return INT64_C(1794700800) * NSEC_PER_SEC + 999; /* 2026-11-15T00:00:00Z */
}

int64_t clock_monotonic_nsec(void) {
    return clock_wall_nsec();
}

static Client *client;
static WriteQueue *queue;

/* Adds a mark, and sends it. */
static bool mark(Str node) {
    bool is_added = mark_queue_add(queue, node);

    write_queue_tick(queue, clock_wall_nsec());
    return is_added;
}

static int set_up(void **state) {
    client = client_new(NULL);
    queue = mark_queue_new(client);
    return client && queue ? 0 : -1;
}

static int tear_down(void **state) {
    queue = write_queue_free(queue);
    client = client_free(client);
    return 0;
}

static void test_request_of_a_mark(void **state) {
    assert_true(mark(STR("n1.example")));
    assert_int_equal(fake_n_calls(client), 1);
    assert_string_equal(fake_call(client, 0).method, "PATCH");
    assert_string_equal(fake_call(client, 0).path, "/api/v1/nodes/n1.example");
    assert_string_equal(fake_call(client, 0).content_type, "application/merge-patch+json");
    assert_string_equal(fake_call(client, 0).body,
        "{\"metadata\":{\"annotations\":{\"berth.dev/retry-at\":\"2026-11-15T00:00:00Z\"}}}");
    assert_int_equal(fake_call(client, 0).total_sec, WRITE_QUEUE_SEC);
    fake_answer(client, 0, 200, "{}");
    (void)client_wait(client, 0);
    assert_int_equal(write_queue_figures(queue).n_written, 1);
    assert_int_equal(write_queue_figures(queue).n_failed, 0);
}

static void test_invalid_names_are_dropped(void **state) {
    assert_false(mark(STR("")));
    assert_false(mark(STR("../pods")));
    assert_false(mark(STR("Upper")));
    assert_int_equal(fake_n_calls(client), 0);
}

static void test_failures_are_counted(void **state) {
    static const struct {
        unsigned status; /* 0: no connection */
        bool is_forbidden;
    } cases[] = {{404, false}, {409, false}, {0, false}, {500, false}, {403, true}, {500, true}};

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_true(mark(STR("n1")));
        if (cases[i].status)
            fake_answer(client, i, cases[i].status, "");
        else
            fake_done(client, i, CALL_REFUSED);
        (void)client_wait(client, 0);
        assert_int_equal(write_queue_figures(queue).n_failed, i + 1);
        assert_int_equal(write_queue_figures(queue).is_forbidden, cases[i].is_forbidden);
    }
    fake_refuse_next(client);
    assert_true(mark(STR("n1")));
    assert_int_equal(write_queue_figures(queue).n_failed, ELEMENTS_OF(cases) + 1);
}

static void test_sends_few_at_a_time_from_a_bounded_queue(void **state) {
    char name[16];
    size_t n = 0;

    for (size_t i = 0; i < WRITE_QUEUE_CALLS_MAX + WRITE_QUEUE_WAITING_MAX; i++) {
        (void)snprintf(name, sizeof(name), "n%zu", i);
        assert_true(mark(str_from_c(name)));
    }
    assert_int_equal(fake_n_calls(client), WRITE_QUEUE_CALLS_MAX);
    assert_false(mark(STR("one-more")));
    assert_true(mark(STR("n100"))); /* already queued: not added again */
    for (; n < fake_n_calls(client); n++) {
        fake_answer(client, n, 200, "{}");
        (void)client_wait(client, 0);
    }
    assert_int_equal(n, WRITE_QUEUE_CALLS_MAX + WRITE_QUEUE_WAITING_MAX);
    assert_int_equal(write_queue_figures(queue).n_written, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_request_of_a_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_names_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_sends_few_at_a_time_from_a_bounded_queue, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
