/* A watcher that binds only while it holds the lease. */

#include "kube/cluster-watcher.h"
#include "kube/test-cluster-watcher.h"

#define LEASE_ONE "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"

static const WatcherOptions by_lease = {.lease = {"ns", "l"}, .identity = "me"};

static void answer_lease(
    WatcherFixture *fixture, size_t call, unsigned version, const char *holder) {
    char text[256];

    assert_true(call != SIZE_MAX);
    (void)snprintf(text, sizeof(text),
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},\"spec\":{"
        "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15}}",
        version, holder);
    fake_answer(fixture->client, call, 200, text);
}

static bool is_wanted(const WatcherStatus *status) {
    return status->lease.is_wanted;
}

static bool is_held(const WatcherStatus *status) {
    return status->lease.is_held;
}

/* Takes the lease, and waits for the request of a new list of pods. */
static void take_lease(WatcherFixture *fixture, size_t from) {
    size_t call = fake_wait_for(fixture->client, "GET", LEASE_ONE, from);

    answer_lease(fixture, call, 7, "");
    answer_lease(fixture, fake_wait_for(fixture->client, "PUT", LEASE_ONE, from), 8, "me");
    (void)wait_for_status(fixture, is_held);
    fixture->pods = fake_wait_for(fixture->client, "GET", "/api/v1/pods?", fixture->pods + 1);
    assert_true(fixture->pods != SIZE_MAX);
}

static void test_binds_after_a_new_list_of_pods(void **state) {
    WatcherFixture fixture;
    Job job;
    size_t call;

    fixture_open_with(&fixture, &by_lease);
    fixture_sync(&fixture);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    take_lease(&fixture, 0);

    /* Pods bound by another replica are not known before the new list is complete. */
    (void)fixture_turn(&fixture);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_pod(&fixture, "ADDED", "first", "n1");
    send_pod(&fixture, "ADDED", "theirs", "n1");
    (void)fixture_turn(&fixture);
    assert_int_equal(job.pods_seen, 0);
    send_text(&fixture, fixture.pods, LIST_END);
    call = fake_wait_for(fixture.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(job.pods_seen, 2);
    fake_answer(fixture.client, call, 201, "{}");
    wait_for_done(&fixture, 1);
    assert_true(job.is_bound);

    /* The next job needs no new list. */
    job_init(&job, &fixture, "db", "n2");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    call = fake_wait_for(fixture.client, "POST", "/binding", call + 1);
    assert_true(call != SIZE_MAX);
    fake_answer(fixture.client, call, 201, "{}");
    wait_for_done(&fixture, 2);
    fixture_close(&fixture);
}

static void test_bind_fails_while_another_replica_holds_the_lease(void **state) {
    WatcherFixture fixture;
    Job job;
    size_t last;

    fixture_open_with(&fixture, &by_lease);
    fixture_sync(&fixture);
    (void)fixture_turn(&fixture);
    watcher_note_request(fixture.watcher); /* a filter is enough */
    answer_lease(&fixture, fake_wait_for(fixture.client, "GET", LEASE_ONE, 0), 7, "other");
    (void)wait_for_status(&fixture, is_wanted);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    (void)fixture_turn(&fixture);
    assert_int_equal(job.n_done, 0);
    skip_sec(WATCHER_BIND_SEC);
    wait_for_done(&fixture, 1);
    assert_string_equal(job.error, "other holds the lease ns/l and binds; this is me");
    fixture_close(&fixture);
    assert_int_equal(
        count_notices(&fixture, WATCHER_LEASE_HELD_ELSEWHERE, WATCHER_NODES, &last), 1);
}

/* The error of a job at its deadline. */
static void test_error_names_the_reason_for_not_binding(void **state) {
    static const struct {
        const char *name, *error;
        unsigned status; /* of reading the lease; 0: no answer */
        bool is_taken;
    } cases[] = {
        {"taken, and pods are being listed",
            "this berth has taken the lease ns/l, and is still listing the pods that were bound "
            "before",
            200, true},
        {"no right to read the lease",
            "cannot take the lease ns/l, whose holder binds: HTTP 403: it needs the right get "
            "on leases.coordination.k8s.io in namespace ns (Role berth-lease)",
            403, false},
        {"no answer", "did not get the lease ns/l, whose holder binds, in time", 0, false},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        WatcherFixture fixture;
        Job job;

        fixture_open_with(&fixture, &by_lease);
        fixture_sync(&fixture);
        freeze_time();
        job_init(&job, &fixture, "web", "n1");
        assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
        if (cases[i].is_taken) {
            take_lease(&fixture, 0);
        } else {
            size_t call = fake_wait_for(fixture.client, "GET", LEASE_ONE, 0);

            assert_true(call != SIZE_MAX);
            if (cases[i].status != 0)
                fake_answer(fixture.client, call, cases[i].status, "{}");
        }
        (void)fixture_turn(&fixture);
        assert_case(cases[i].name, job.n_done == 0);
        for (int sec = 0; sec < WATCHER_BIND_SEC && cases[i].is_taken; sec += 2) {
            size_t from = fake_n_calls(fixture.client);

            skip_sec(2); /* renew it */
            answer_lease(&fixture, fake_wait_for(fixture.client, "PUT", LEASE_ONE, from), 9, "me");
            (void)fixture_turn(&fixture);
        }
        if (!cases[i].is_taken)
            skip_sec(WATCHER_BIND_SEC);
        wait_for_done(&fixture, 1);
        assert_text(cases[i].name, str_from_c(job.error), cases[i].error);
        fixture_close(&fixture);
    }
}

static bool is_held_no_more(const WatcherStatus *status) {
    return !status->lease.is_held && status->lease.n_lost == 1;
}

/* Another client writes its name into the lease. */
static void test_reports_lease_taken_by_force(void **state) {
    WatcherFixture fixture;
    size_t last, call;

    fixture_open_with(&fixture, &by_lease);
    fixture_sync(&fixture);
    freeze_time();
    watcher_note_request(fixture.watcher);
    take_lease(&fixture, 0);
    call = fake_n_calls(fixture.client);
    watcher_note_request(fixture.watcher);
    skip_sec(LEASE_RETRY_SEC);
    call = fake_wait_for(fixture.client, "PUT", LEASE_ONE, call);
    assert_true(call != SIZE_MAX);
    fake_answer(fixture.client, call, 409, "");
    answer_lease(&fixture, fake_wait_for(fixture.client, "GET", LEASE_ONE, call), 10, "other");
    (void)wait_for_status(&fixture, is_held_no_more);
    fixture_close(&fixture);
    assert_int_equal(count_notices(&fixture, WATCHER_LEASE_TAKEN, WATCHER_NODES, &last), 1);
    assert_int_equal(count_notices(&fixture, WATCHER_LEASE_LOST, WATCHER_NODES, &last), 1);
}

static void *stop_watcher(void *context) {
    WatcherFixture *fixture = context;

    return watcher_stop(fixture->watcher, TIMEOUT_SEC * NSEC_PER_SEC) ? fixture : NULL;
}

static void test_releases_the_lease_after_its_jobs(void **state) {
    pthread_t thread;
    void *ended;
    WatcherFixture fixture;
    Job job;
    size_t call, put;

    fixture_open_with(&fixture, &by_lease);
    fixture_sync(&fixture);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    take_lease(&fixture, 0);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    send_text(&fixture, fixture.pods, LIST_END);
    call = fake_wait_for(fixture.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(pthread_create(&thread, NULL, stop_watcher, &fixture), 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_int_equal(job.n_done, 0);
    put = fake_n_calls(fixture.client);
    fake_answer(fixture.client, call, 201, "{}");
    wait_for_done(&fixture, 1);
    assert_true(job.is_bound);
    put = fake_wait_for(fixture.client, "PUT", LEASE_ONE, put);
    assert_true(put != SIZE_MAX);
    assert_non_null(strstr(fake_call(fixture.client, put).body, "\"holderIdentity\":\"\""));
    answer_lease(&fixture, put, 9, "");
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_non_null(ended);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binds_after_a_new_list_of_pods),
        cmocka_unit_test(test_bind_fails_while_another_replica_holds_the_lease),
        cmocka_unit_test(test_error_names_the_reason_for_not_binding),
        cmocka_unit_test(test_reports_lease_taken_by_force),
        cmocka_unit_test(test_releases_the_lease_after_its_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
