/* A watcher that binds only while it holds the lease. */

#include "kube/cluster-watcher.h"
#include "kube/test-cluster-watcher.h"

#define LEASE_ONE "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"

static const WatcherOptions by_lease = {
    .lease_namespace = "ns", .lease_name = "l", .identity = "me"};

static void answer_lease(Lab *lab, size_t call, unsigned version, const char *holder) {
    char text[256];

    assert_true(call != SIZE_MAX);
    (void)snprintf(text, sizeof(text),
        "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},\"spec\":{"
        "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15}}",
        version, holder);
    fake_answer(lab->client, call, 200, text);
}

static bool is_wanted(const WatcherStatus *status) {
    return status->lease.is_wanted;
}

static bool is_held(const WatcherStatus *status) {
    return status->lease.is_held;
}

/* Takes it; a new list of pods has been asked for then. */
static void take_lease(Lab *lab, size_t from) {
    size_t call = fake_wait_for(lab->client, "GET", LEASE_ONE, from);

    answer_lease(lab, call, 7, "");
    answer_lease(lab, fake_wait_for(lab->client, "PUT", LEASE_ONE, from), 8, "me");
    (void)wait_for_status(lab, is_held);
    lab->pods = fake_wait_for(lab->client, "GET", "/api/v1/pods?", lab->pods + 1);
    assert_true(lab->pods != SIZE_MAX);
}

static void test_binding_by_lease(void **state) {
    Lab lab;
    Job job;
    size_t call;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    take_lease(&lab, 0);

    /* What somebody else has bound is not known before the new list is whole. */
    (void)lab_turn(&lab);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_pod(&lab, "ADDED", "first", "n1");
    send_pod(&lab, "ADDED", "theirs", "n1");
    (void)lab_turn(&lab);
    assert_int_equal(job.pods_seen, 0);
    send_text(&lab, lab.pods, LIST_END);
    call = fake_wait_for(lab.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(job.pods_seen, 2);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);

    /* The next one needs nothing of that. */
    job_init(&job, &lab, "db", "n2");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    call = fake_wait_for(lab.client, "POST", "/binding", call + 1);
    assert_true(call != SIZE_MAX);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 2);
    lab_close(&lab);
}

static void test_somebody_else_holds_the_lease(void **state) {
    Lab lab;
    Job job;
    size_t last;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    (void)lab_turn(&lab);
    watcher_note_asked(lab.watcher); /* a filter is enough */
    answer_lease(&lab, fake_wait_for(lab.client, "GET", LEASE_ONE, 0), 7, "other");
    (void)wait_for_status(&lab, is_wanted);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    (void)lab_turn(&lab);
    assert_int_equal(job.n_done, 0);
    skip_sec(WATCHER_BIND_SEC);
    wait_for_done(&lab, 1);
    assert_string_equal(job.error, "other holds the lease ns/l and binds; this is me");
    lab_close(&lab);
    assert_int_equal(count_told(&lab, WATCHER_LEASE_HELD_ELSEWHERE, WATCHER_NODES, &last), 1);
}

/* The job's time is over: what keeps it from being bound is what its owner is told. */
static void test_why_it_is_not_bound(void **state) {
    static const struct {
        const char *name, *error;
        unsigned status; /* of the look at the lease; 0: it stays without an answer */
        bool is_taken;
    } cases[] = {
        {"taken, and pods are being listed",
            "this berth has taken the lease ns/l, and is still listing the pods that were bound "
            "before",
            200, true},
        {"no right to look",
            "cannot take the lease ns/l, whose holder binds: HTTP 403: it needs the right get "
            "on leases.coordination.k8s.io in namespace ns (Role berth-lease)",
            403, false},
        {"no answer", "did not get the lease ns/l, whose holder binds, in time", 0, false},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Lab lab;
        Job job;

        lab_open_with(&lab, &by_lease);
        lab_sync(&lab);
        freeze_time();
        job_init(&job, &lab, "web", "n1");
        assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
        if (cases[i].is_taken) {
            take_lease(&lab, 0);
        } else {
            size_t call = fake_wait_for(lab.client, "GET", LEASE_ONE, 0);

            assert_true(call != SIZE_MAX);
            if (cases[i].status != 0)
                fake_answer(lab.client, call, cases[i].status, "{}");
        }
        (void)lab_turn(&lab);
        assert_case(cases[i].name, job.n_done == 0);
        for (int sec = 0; sec < WATCHER_BIND_SEC && cases[i].is_taken; sec += 2) {
            size_t from = fake_n_calls(lab.client);

            skip_sec(2); /* it is renewed, so that it stays ours */
            answer_lease(&lab, fake_wait_for(lab.client, "PUT", LEASE_ONE, from), 9, "me");
            (void)lab_turn(&lab);
        }
        if (!cases[i].is_taken)
            skip_sec(WATCHER_BIND_SEC);
        wait_for_done(&lab, 1);
        assert_text(cases[i].name, str_from_c(job.error), cases[i].error);
        lab_close(&lab);
    }
}

static bool is_held_no_more(const WatcherStatus *status) {
    return !status->lease.is_held && status->lease.n_lost == 1;
}

/* Somebody has written another name into it: they bind now, and people hear of that. */
static void test_taken_by_force(void **state) {
    Lab lab;
    size_t last, call;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    freeze_time();
    watcher_note_asked(lab.watcher);
    take_lease(&lab, 0);
    call = fake_n_calls(lab.client);
    watcher_note_asked(lab.watcher);
    skip_sec(LEASE_RETRY_SEC);
    call = fake_wait_for(lab.client, "PUT", LEASE_ONE, call);
    assert_true(call != SIZE_MAX);
    fake_answer(lab.client, call, 409, "");
    answer_lease(&lab, fake_wait_for(lab.client, "GET", LEASE_ONE, call), 10, "other");
    (void)wait_for_status(&lab, is_held_no_more);
    lab_close(&lab);
    assert_int_equal(count_told(&lab, WATCHER_LEASE_TAKEN, WATCHER_NODES, &last), 1);
    assert_int_equal(count_told(&lab, WATCHER_LEASE_LOST, WATCHER_NODES, &last), 1);
}

static void *stop_it(void *context) {
    Lab *lab = context;

    return watcher_stop(lab->watcher, PATIENCE_SEC * NSEC_PER_SEC) ? lab : NULL;
}

/* First what is under way, then the lease. */
static void test_the_end_of_who_holds_the_lease(void **state) {
    pthread_t thread;
    void *ended;
    Lab lab;
    Job job;
    size_t call, put;

    lab_open_with(&lab, &by_lease);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    take_lease(&lab, 0);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    send_text(&lab, lab.pods, LIST_END);
    call = fake_wait_for(lab.client, "POST", "/binding", 0);
    assert_true(call != SIZE_MAX);
    assert_int_equal(pthread_create(&thread, NULL, stop_it, &lab), 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_int_equal(job.n_done, 0);
    put = fake_n_calls(lab.client);
    fake_answer(lab.client, call, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);
    put = fake_wait_for(lab.client, "PUT", LEASE_ONE, put);
    assert_true(put != SIZE_MAX);
    assert_non_null(strstr(fake_call(lab.client, put).body, "\"holderIdentity\":\"\""));
    answer_lease(&lab, put, 9, "");
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_non_null(ended);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding_by_lease),
        cmocka_unit_test(test_somebody_else_holds_the_lease),
        cmocka_unit_test(test_why_it_is_not_bound),
        cmocka_unit_test(test_taken_by_force),
        cmocka_unit_test(test_the_end_of_who_holds_the_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
