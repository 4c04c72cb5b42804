/* Handlers that start, end and cancel calls; waking a client; two clients of one loop. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "kube/client.h"
#include "kube/test-client-scene.h"

/* --- starting, ending and cancelling from handlers --- */

static void test_data_handler_can_end_the_call(void **state) {
    _cleanup_(record_done) CallRecord record = {.ends_in_data = true}, after = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    get(setup.client, &record, "/stream");
    assert_int_equal(record.result.outcome, CALL_ENDED);
    assert_int_equal(record.result.status, 200);
    assert_text("what came", buf_str(&record.body), "first");
    get(setup.client, &after, "/echo");
    assert_int_equal(after.result.outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_answer_without_callbacks_is_dropped(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    assert_non_null(client_call(setup.client, &(CallOptions){.method = "GET", .path = "/large"},
        &(CallHandler){.context = &record, .done = on_done}));
    finish(setup.client, &record);
    assert_int_equal(record.result.outcome, CALL_DONE);
    setup_done(&setup);
}

static void test_handlers_can_cancel_calls(void **state) {
    static const struct {
        const char *name;
        CallRecord record;
        bool is_done; /* done() is called, before the cancellation */
    } cases[] = {
        {"in head", {.cancels_in_head = true}, false},
        {"in data", {.cancels_in_data = true}, false},
        {"in data that ends", {.cancels_in_data = true, .ends_in_data = true}, false},
        {"in done", {.cancels_in_done = true}, true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(record_done) CallRecord record = cases[i].record, other = {0}, started = {0};
        Setup setup;

        setup_init(&setup, NULL, NULL, "");
        open_client(&setup);
        record.client = setup.client; /* also starts a call */
        record.started = &started;
        record.other = &other;
        start(setup.client, &other, "/stream");
        start(setup.client, &record, "/large");
        finish(setup.client, &started);
        for (int k = 0; k < 3; k++)
            assert_int_equal(client_wait(setup.client, 10), 0);
        assert_case(cases[i].name, started.result.outcome == CALL_DONE);
        assert_case(cases[i].name, record.n_done == cases[i].is_done);
        assert_case(cases[i].name, other.n_done == 0);
        setup_done(&setup);
    }
}

static void test_calls_can_be_cancelled_at_any_time(void **state) {
    CallRecord before = {0}, during = {0};
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    start(setup.client, &before, "/echo");
    call_cancel(before.call); /* before it began */
    start(setup.client, &during, "/stream");
    while (during.n_data == 0)
        assert_int_equal(client_wait(setup.client, 100), 0);
    call_cancel(during.call);
    call_cancel(NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(client_wait(setup.client, 10), 0);
    assert_int_equal(before.n_heads + before.n_done + during.n_done, 0);
    assert_int_equal(during.n_data, 1);
    record_done(&before);
    record_done(&during);
    setup_done(&setup);
}

/* libcurl resolves names on another thread. */
static void test_cancelling_does_not_wait_for_name_resolution(void **state) {
    _cleanup_(record_done) CallRecord record = {0};
    char text[512];
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    (void)snprintf(text, sizeof(text),
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {server: 'http://localhost:%u'}}]\n",
        test_server_port(setup.server));
    (void)folder_replace(&setup.folder, "config", text);
    open_client(&setup);
    for (int i = 0; i < 10; i++) {
        CallRecord cancelled = {0};

        start(setup.client, &cancelled, "/never");
        assert_int_equal(client_wait(setup.client, 0), 0);
        call_cancel(cancelled.call);
        record_done(&cancelled);
    }
    get(setup.client, &record, "/echo");
    assert_int_equal(record.result.outcome, CALL_DONE);
    setup_done(&setup);
}

/* --- waking --- */

typedef struct Waker {
    Client *client;
    atomic_bool is_awake;
} Waker;

static void *wake(void *context) {
    Waker *waker = context;

    while (!atomic_load(&waker->is_awake)) {
        client_wake(waker->client);
        (void)usleep(1000);
    }
    return NULL;
}

/* Without a wake-up this would wait for an hour. */
static void test_wake_ends_a_wait(void **state) {
    Waker waker = {0};
    pthread_t thread;
    Setup setup;

    (void)state;
    setup_init(&setup, NULL, NULL, "");
    open_client(&setup);
    waker.client = setup.client;
    assert_int_equal(pthread_create(&thread, NULL, wake, &waker), 0);
    assert_int_equal(client_wait(setup.client, 3600 * 1000), 0);
    assert_int_equal(client_wait(setup.client, 3600 * 1000), 0);
    atomic_store(&waker.is_awake, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    setup_done(&setup);
}

/* --- several servers --- */

/* Freeing one client does not affect the other. */
static void test_one_wait_serves_both_clients_of_a_loop(void **state) {
    _cleanup_(record_done) CallRecord here = {0}, there = {0}, stuck = {0}, last = {0};
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    Client *first, *second;
    Setup setups[2];

    (void)state;
    assert_non_null(loop);
    for (size_t i = 0; i < 2; i++) {
        setup_init(&setups[i], NULL, NULL, "");
        open_client(&setups[i]);
    }
    first = client_new_in(loop, setups[0].access);
    second = client_new_in(loop, setups[1].access);
    assert_true(first && second);

    start(first, &here, "/echo");
    start(second, &there, "/echo");
    while (here.n_done + there.n_done < 2)
        assert_int_equal(client_loop_wait(loop, 10000), 0);
    assert_int_equal(here.result.status, 200);
    assert_int_equal(there.result.status, 200);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&setups[i].state.n_requests), 1);

    start(first, &stuck, "/never");
    assert_int_equal(client_loop_wait(loop, 10), 0);
    client_free(first);
    get(second, &last, "/echo");
    assert_int_equal(stuck.n_done, 0);
    client_free(second);
    for (size_t i = 0; i < 2; i++)
        setup_done(&setups[i]);
}

static int ignore_pipes(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_handler_can_end_the_call),
        cmocka_unit_test(test_answer_without_callbacks_is_dropped),
        cmocka_unit_test(test_handlers_can_cancel_calls),
        cmocka_unit_test(test_calls_can_be_cancelled_at_any_time),
        cmocka_unit_test(test_cancelling_does_not_wait_for_name_resolution),
        cmocka_unit_test(test_wake_ends_a_wait),
        cmocka_unit_test(test_one_wait_serves_both_clients_of_a_loop),
    };

    return cmocka_run_group_tests(tests, ignore_pipes, NULL);
}
