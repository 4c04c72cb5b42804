/* Binds of the watcher: how long pods are assumed, and jobs when the watcher stops. */

#include <errno.h>

#include "kube/cluster-watcher.h"
#include "kube/test-cluster-watcher.h"

static bool has_bound_one(const WatcherStatus *status) {
    return status->n_bound == 1;
}

static void test_pod_counts_before_the_binding_is_answered(void **state) {
    WatcherFixture fixture;
    Job job;
    WatcherStatus status;
    size_t post;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    send_pod(&fixture, "ADDED", "web", "");
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    wait_for_pods(&fixture, "n1", 2); /* before the answer */
    post = fake_wait_for(fixture.client, "POST", "/api/v1/namespaces/shop/pods/web/binding", 0);
    assert_true(post != SIZE_MAX);
    fake_answer(fixture.client, post, 201, "{}");
    wait_for_done(&fixture, 1);
    assert_true(job.is_bound);
    assert_int_equal(job.pods_seen, 1);
    status = wait_for_status(&fixture, has_bound_one);
    assert_int_equal(status.n_assumed, 1);
    send_pod(&fixture, "MODIFIED", "web", "n1");
    send_pod(&fixture, "ADDED", "other", "n1");
    wait_for_pods(&fixture, "n1", 3);
    fixture_close(&fixture);
}

/* Binds the pod, without a lease; the API server confirms it. */
static void bind_pod(WatcherFixture *fixture, Job *job, const char *name) {
    size_t before = fixture->n_done;
    char path[64];
    size_t post;

    job_init(job, fixture, name, "n1");
    assert_int_equal(watcher_bind(fixture->watcher, &job->job), 0);
    (void)snprintf(path, sizeof(path), "/pods/%s/binding", name);
    post = fake_wait_for(fixture->client, "POST", path, 0);
    assert_true(post != SIZE_MAX);
    fake_answer(fixture->client, post, 201, "{}");
    wait_for_done(fixture, before + 1);
    assert_true(job->is_bound);
}

static bool has_lost_pods(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].n_failures == 1;
}

/* A bound pod counts until the watch has shown later events, but not the pod. */
static void test_silent_watch_does_not_end_assumption(void **state) {
    WatcherFixture fixture;
    Job first, second;
    size_t before;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    bind_pod(&fixture, &first, "web");
    wait_for_pods(&fixture, "n1", 2);
    freeze_time();
    skip_sec(WATCHER_ASSUME_SEC + 1);
    assert_int_equal(fixture_turn(&fixture).n_assumed, 1);

    /* A watch that was opened again has not shown anything, either. */
    before = fixture.pods;
    skip_sec(WATCHER_SILENCE_SEC);
    (void)fixture_turn(&fixture);
    (void)wait_for_status(&fixture, has_lost_pods);
    skip_sec(1);
    fixture.pods = fake_wait_for(fixture.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(fixture.pods != SIZE_MAX);
    fake_head(fixture.client, fixture.pods, 200, "application/json", -1);
    (void)fixture_turn(&fixture);
    skip_sec(2);
    assert_int_equal(fixture_turn(&fixture).n_expired, 0);
    wait_for_pods(&fixture, "n1", 2);

    skip_sec(10);
    send_text(&fixture, fixture.pods, BOOKMARK);
    (void)fixture_turn(&fixture);
    skip_sec(2);
    assert_int_equal(fixture_turn(&fixture).n_expired, 1);
    wait_for_pods(&fixture, "n1", 1);

    /* The next pod has its own deadline. */
    bind_pod(&fixture, &second, "late");
    skip_sec(WATCHER_ASSUME_SEC - 1);
    send_text(&fixture, fixture.pods, BOOKMARK);
    assert_int_equal(fixture_turn(&fixture).n_expired, 1);
    wait_for_pods(&fixture, "n1", 2);
    skip_sec(2);
    send_text(&fixture, fixture.pods, BOOKMARK);
    (void)fixture_turn(&fixture);
    skip_sec(2);
    assert_int_equal(fixture_turn(&fixture).n_expired, 2);
    assert_int_equal(fixture_turn(&fixture).n_assumed, 0);
    wait_for_pods(&fixture, "n1", 1);
    fixture_close(&fixture);
}

static bool has_failed_one(const WatcherStatus *status) {
    return status->n_bind_failed == 1;
}

static void test_failed_bind_is_not_assumed(void **state) {
    WatcherFixture fixture;
    Job job;
    size_t post;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    post = fake_wait_for(fixture.client, "POST", "/binding", 0);
    wait_for_pods(&fixture, "n1", 2);
    fake_answer(fixture.client, post, 403, "");
    wait_for_done(&fixture, 1);
    assert_false(job.is_bound);
    assert_non_null(strstr(job.error, "create on pods/binding"));
    wait_for_pods(&fixture, "n1", 1);
    (void)wait_for_status(&fixture, has_failed_one);
    fixture_close(&fixture);
}

static void test_bind_fails_before_the_cluster_is_listed(void **state) {
    WatcherFixture fixture;
    Job job;

    fixture_open(&fixture);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    wait_for_done(&fixture, 1);
    assert_string_equal(job.error, "the cluster is not known yet");
    fixture_close(&fixture);
}

/* Each job ends once. Jobs over the limit are refused. */
static void test_unfinished_jobs_fail_at_the_end(void **state) {
    static Job jobs[WATCHER_BINDS_MAX];
    WatcherFixture fixture;
    Job more;
    char name[16];

    fixture_open(&fixture);
    fixture_sync(&fixture);
    for (size_t i = 0; i < WATCHER_BINDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "w%zu", i);
        job_init(&jobs[i], &fixture, name, "n2");
        assert_int_equal(watcher_bind(fixture.watcher, &jobs[i].job), 0);
    }
    job_init(&more, &fixture, "more", "n2");
    assert_int_equal(watcher_bind(fixture.watcher, &more.job), -EBUSY);
    fixture_close(&fixture);
    assert_int_equal(more.n_done, 0);
    for (size_t i = 0; i < WATCHER_BINDS_MAX; i++) {
        assert_int_equal(jobs[i].n_done, 1);
        assert_string_equal(jobs[i].error, "berth is shutting down");
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void test_stopped_watcher_refuses_jobs(void **state) {
    WatcherFixture fixture;
    Job job;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    assert_true(watcher_stop(fixture.watcher, TIMEOUT_SEC * NSEC_PER_SEC));
    assert_true(watcher_stop(fixture.watcher, 0));
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), -ESHUTDOWN);
    fixture_close(&fixture);
}

/* Stops a watcher whose thread is blocked in publish(), which times out. */
static void stop_blocked_watcher(bool waits_again) {
    WatcherFixture fixture;
    Job job;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    pthread_mutex_lock(&fixture.mutex);
    fixture.is_busy = true;
    pthread_mutex_unlock(&fixture.mutex);
    send_pod(&fixture, "ADDED", "more", "n1");
    wait_for_pods(&fixture, "n1", 2);
    job_init(&job, &fixture, "web", "n1");
    assert_int_equal(watcher_bind(fixture.watcher, &job.job), 0);
    assert_false(watcher_stop(fixture.watcher, 0));
    assert_false(watcher_stop(fixture.watcher, 10 * NSEC_PER_MSEC));
    assert_int_equal(job.n_done, 0);
    pthread_mutex_lock(&fixture.mutex);
    fixture.is_busy = false;
    pthread_cond_broadcast(&fixture.changed);
    pthread_mutex_unlock(&fixture.mutex);
    if (waits_again) {
        assert_true(watcher_stop(fixture.watcher, TIMEOUT_SEC * NSEC_PER_SEC));
        assert_string_equal(job.error, "berth is shutting down");
    }
    fixture_close(&fixture);
    assert_int_equal(job.n_done, 1);
}

static void test_stopping_a_blocked_watcher_times_out(void **state) {
    stop_blocked_watcher(/* waits_again= */ true);
    stop_blocked_watcher(/* waits_again= */ false);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define N_THREADS 4
#define THREAD_JOBS 100

typedef struct BindThread {
    WatcherFixture *fixture;
    size_t number;
    Job jobs[THREAD_JOBS];
} BindThread;

static void *bind_from_thread(void *context) {
    BindThread *bind_thread = context;
    WatcherStatus status;
    char name[32];

    for (size_t i = 0; i < THREAD_JOBS; i++) {
        (void)snprintf(name, sizeof(name), "c%zu-%zu", bind_thread->number, i);
        job_init(&bind_thread->jobs[i], bind_thread->fixture, name, i % 2 ? "n1" : "n2");
        if (watcher_bind(bind_thread->fixture->watcher, &bind_thread->jobs[i].job) < 0)
            return NULL;
        (void)mark_queue_add(
            watcher_writes(bind_thread->fixture->watcher, WATCHER_MARKS), STR("n1"));
        watcher_status(bind_thread->fixture->watcher, &status);
        (void)watcher_is_synced(bind_thread->fixture->watcher);
    }
    return NULL;
}

/* Many threads call the thread-safe functions while events arrive. */
static void test_many_threads(void **state) {
    static BindThread bind_threads[N_THREADS];
    pthread_t threads[N_THREADS];
    WatcherFixture fixture;
    char name[16];
    size_t from = 0;

    fixture_open(&fixture);
    fixture_sync(&fixture);
    for (size_t i = 0; i < N_THREADS; i++) {
        bind_threads[i] = (BindThread){.fixture = &fixture, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, bind_from_thread, &bind_threads[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS * THREAD_JOBS; i++) {
        from = fake_wait_for(fixture.client, "POST", "/binding", from);
        assert_true(from != SIZE_MAX);
        fake_answer(fixture.client, from++, 201, "{}");
        (void)snprintf(name, sizeof(name), "e%zu", i);
        send_pod(&fixture, "ADDED", name, "n1");
    }
    wait_for_done(&fixture, N_THREADS * THREAD_JOBS);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wait_for_pods(&fixture, "n2", N_THREADS * THREAD_JOBS / 2);
    wait_for_pods(&fixture, "n1", 1 + N_THREADS * THREAD_JOBS / 2 + N_THREADS * THREAD_JOBS);
    for (size_t i = 0; i < N_THREADS; i++)
        for (size_t j = 0; j < THREAD_JOBS; j++)
            assert_true(bind_threads[i].jobs[j].n_done == 1 && bind_threads[i].jobs[j].is_bound);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_counts_before_the_binding_is_answered),
        cmocka_unit_test(test_silent_watch_does_not_end_assumption),
        cmocka_unit_test(test_failed_bind_is_not_assumed),
        cmocka_unit_test(test_bind_fails_before_the_cluster_is_listed),
        cmocka_unit_test(test_unfinished_jobs_fail_at_the_end),
        cmocka_unit_test(test_stopped_watcher_refuses_jobs),
        cmocka_unit_test(test_stopping_a_blocked_watcher_times_out),
        cmocka_unit_test(test_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
