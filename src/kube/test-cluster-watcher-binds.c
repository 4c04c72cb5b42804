/* Pods that the watcher binds: what is assumed and for how long, and what the end leaves behind. */

#include <errno.h>

#include "kube/cluster-watcher.h"
#include "kube/test-cluster-watcher.h"

static bool has_bound_one(const WatcherStatus *status) {
    return status->n_bound == 1;
}

static void test_binding(void **state) {
    Lab lab;
    Job job;
    WatcherStatus status;
    size_t post;

    lab_open(&lab);
    lab_sync(&lab);
    send_pod(&lab, "ADDED", "web", "");
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    wait_for_pods(&lab, "n1", 2); /* assumed, and published, before any answer */
    post = fake_wait_for(lab.client, "POST", "/api/v1/namespaces/shop/pods/web/binding", 0);
    assert_true(post != SIZE_MAX);
    fake_answer(lab.client, post, 201, "{}");
    wait_for_done(&lab, 1);
    assert_true(job.is_bound);
    assert_int_equal(job.pods_seen, 1);
    status = wait_for_status(&lab, has_bound_one);
    assert_int_equal(status.n_assumed, 1);
    send_pod(&lab, "MODIFIED", "web", "n1");
    send_pod(&lab, "ADDED", "other", "n1");
    wait_for_pods(&lab, "n1", 3);
    lab_close(&lab);
}

/* Binds it, and the API server says that it has done so. */
static void bind_pod(Lab *lab, Job *job, const char *name) {
    size_t before = lab->n_done; /* nobody else binds */
    char path[64];
    size_t post;

    job_init(job, lab, name, "n1");
    assert_int_equal(watcher_bind(lab->watcher, &job->job), 0);
    (void)snprintf(path, sizeof(path), "/pods/%s/binding", name);
    post = fake_wait_for(lab->client, "POST", path, 0);
    assert_true(post != SIZE_MAX);
    fake_answer(lab->client, post, 201, "{}");
    wait_for_done(lab, before + 1);
    assert_true(job->is_bound);
}

static bool has_lost_pods(const WatcherStatus *status) {
    return status->kinds[WATCHER_PODS].n_failures == 1;
}

/* A bound pod counts until the watch has had the chance to show it, and has not. */
static void test_a_silent_watch_proves_nothing(void **state) {
    Lab lab;
    Job first, second;
    size_t before;

    lab_open(&lab);
    lab_sync(&lab);
    bind_pod(&lab, &first, "web");
    wait_for_pods(&lab, "n1", 2);
    freeze_time();
    skip_sec(WATCHER_ASSUME_SEC + 1);
    assert_int_equal(lab_turn(&lab).n_assumed, 1);

    /* Given up, and begun again: that alone has not shown anything either. */
    before = lab.pods;
    skip_sec(WATCHER_SILENCE_SEC);
    (void)lab_turn(&lab);
    (void)wait_for_status(&lab, has_lost_pods);
    skip_sec(1);
    lab.pods = fake_wait_for(lab.client, "GET", "/api/v1/pods?", before + 1);
    assert_true(lab.pods != SIZE_MAX);
    fake_head(lab.client, lab.pods, 200, "application/json", -1);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 0);
    wait_for_pods(&lab, "n1", 2);

    skip_sec(10);
    send_text(&lab, lab.pods, BOOKMARK);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 1);
    wait_for_pods(&lab, "n1", 1);

    /* The next one has its own time. */
    bind_pod(&lab, &second, "late");
    skip_sec(WATCHER_ASSUME_SEC - 1);
    send_text(&lab, lab.pods, BOOKMARK);
    assert_int_equal(lab_turn(&lab).n_expired, 1);
    wait_for_pods(&lab, "n1", 2);
    skip_sec(2);
    send_text(&lab, lab.pods, BOOKMARK);
    (void)lab_turn(&lab);
    skip_sec(2);
    assert_int_equal(lab_turn(&lab).n_expired, 2);
    assert_int_equal(lab_turn(&lab).n_assumed, 0);
    wait_for_pods(&lab, "n1", 1);
    lab_close(&lab);
}

static bool has_failed_one(const WatcherStatus *status) {
    return status->n_bind_failed == 1;
}

static void test_a_failed_bind_is_taken_back(void **state) {
    Lab lab;
    Job job;
    size_t post;

    lab_open(&lab);
    lab_sync(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    post = fake_wait_for(lab.client, "POST", "/binding", 0);
    wait_for_pods(&lab, "n1", 2);
    fake_answer(lab.client, post, 403, "");
    wait_for_done(&lab, 1);
    assert_false(job.is_bound);
    assert_non_null(strstr(job.error, "create on pods/binding"));
    wait_for_pods(&lab, "n1", 1);
    (void)wait_for_status(&lab, has_failed_one);
    lab_close(&lab);
}

static void test_binding_before_the_cluster_is_known(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    wait_for_done(&lab, 1);
    assert_string_equal(job.error, "the cluster is not known yet");
    lab_close(&lab);
}

/* However many wait, each is told, once; and there is a limit to how many may. */
static void test_the_end_with_jobs_under_way(void **state) {
    static Job jobs[WATCHER_BINDS_MAX];
    Lab lab;
    Job more;
    char name[16];

    lab_open(&lab);
    lab_sync(&lab);
    for (size_t i = 0; i < WATCHER_BINDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "w%zu", i);
        job_init(&jobs[i], &lab, name, "n2");
        assert_int_equal(watcher_bind(lab.watcher, &jobs[i].job), 0);
    }
    job_init(&more, &lab, "more", "n2");
    assert_int_equal(watcher_bind(lab.watcher, &more.job), -EBUSY);
    lab_close(&lab);
    assert_int_equal(more.n_done, 0);
    for (size_t i = 0; i < WATCHER_BINDS_MAX; i++) {
        assert_int_equal(jobs[i].n_done, 1);
        assert_string_equal(jobs[i].error, "berth is shutting down");
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void test_stopping(void **state) {
    Lab lab;
    Job job;

    lab_open(&lab);
    lab_sync(&lab);
    assert_true(watcher_stop(lab.watcher, PATIENCE_SEC * NSEC_PER_SEC));
    assert_true(watcher_stop(lab.watcher, 0));
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), -ESHUTDOWN);
    lab_close(&lab);
}

/* Something holds the thread up: whoever stops it need not wait for ever. */
static void stop_a_busy_one(bool waits_again) {
    Lab lab;
    Job job;

    lab_open(&lab);
    lab_sync(&lab);
    pthread_mutex_lock(&lab.mutex);
    lab.is_busy = true;
    pthread_mutex_unlock(&lab.mutex);
    send_pod(&lab, "ADDED", "more", "n1");
    wait_for_pods(&lab, "n1", 2);
    job_init(&job, &lab, "web", "n1");
    assert_int_equal(watcher_bind(lab.watcher, &job.job), 0);
    assert_false(watcher_stop(lab.watcher, 0));
    assert_false(watcher_stop(lab.watcher, 10 * NSEC_PER_MSEC));
    assert_int_equal(job.n_done, 0);
    pthread_mutex_lock(&lab.mutex);
    lab.is_busy = false;
    pthread_cond_broadcast(&lab.changed);
    pthread_mutex_unlock(&lab.mutex);
    if (waits_again) {
        assert_true(watcher_stop(lab.watcher, PATIENCE_SEC * NSEC_PER_SEC));
        assert_string_equal(job.error, "berth is shutting down");
    }
    lab_close(&lab);
    assert_int_equal(job.n_done, 1);
}

static void test_stopping_takes_too_long(void **state) {
    stop_a_busy_one(/* waits_again= */ true);
    stop_a_busy_one(/* waits_again= */ false);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define CROWD 4
#define CROWD_JOBS 100

typedef struct Member {
    Lab *lab;
    size_t number;
    Job jobs[CROWD_JOBS];
} Member;

static void *crowd(void *context) {
    Member *member = context;
    WatcherStatus status;
    char name[32];

    for (size_t i = 0; i < CROWD_JOBS; i++) {
        (void)snprintf(name, sizeof(name), "c%zu-%zu", member->number, i);
        job_init(&member->jobs[i], member->lab, name, i % 2 ? "n1" : "n2");
        if (watcher_bind(member->lab->watcher, &member->jobs[i].job) < 0)
            return NULL;
        watcher_mark_node(member->lab->watcher, STR("n1"));
        watcher_status(member->lab->watcher, &status);
        (void)watcher_is_synced(member->lab->watcher);
    }
    return NULL;
}

/* Many threads at the functions that any thread may call, while events come in. */
static void test_many_threads(void **state) {
    static Member members[CROWD];
    pthread_t threads[CROWD];
    Lab lab;
    char name[16];
    size_t from = 0;

    lab_open(&lab);
    lab_sync(&lab);
    for (size_t i = 0; i < CROWD; i++) {
        members[i] = (Member){.lab = &lab, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, crowd, &members[i]), 0);
    }
    for (size_t i = 0; i < CROWD * CROWD_JOBS; i++) {
        from = fake_wait_for(lab.client, "POST", "/binding", from);
        assert_true(from != SIZE_MAX);
        fake_answer(lab.client, from++, 201, "{}");
        (void)snprintf(name, sizeof(name), "e%zu", i);
        send_pod(&lab, "ADDED", name, "n1");
    }
    wait_for_done(&lab, CROWD * CROWD_JOBS);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wait_for_pods(&lab, "n2", CROWD * CROWD_JOBS / 2);
    wait_for_pods(&lab, "n1", 1 + CROWD * CROWD_JOBS / 2 + CROWD * CROWD_JOBS);
    for (size_t i = 0; i < CROWD; i++)
        for (size_t j = 0; j < CROWD_JOBS; j++)
            assert_true(members[i].jobs[j].n_done == 1 && members[i].jobs[j].is_bound);
    lab_close(&lab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_a_silent_watch_proves_nothing),
        cmocka_unit_test(test_a_failed_bind_is_taken_back),
        cmocka_unit_test(test_binding_before_the_cluster_is_known),
        cmocka_unit_test(test_the_end_with_jobs_under_way),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_stopping_takes_too_long),
        cmocka_unit_test(test_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
