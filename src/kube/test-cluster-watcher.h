#pragma once

/* A watcher with a client without a network, and a clock that tests stop and advance. It records
 * publications and notices. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/test-assert.h"
#include "base/thread.h"
#include "kube/cluster-watcher.h"
#include "kube/test-fake-client.h"

#define TIMEOUT_SEC 20

/* --- time, in place of base/clock.c --------------------------------------------------------- */

static _Atomic int64_t skipped_nsec; /* time skipped so far */
static _Atomic int64_t frozen_nsec;  /* the stopped clock; 0: it runs */

static inline int64_t read_clock(clockid_t id) {
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int64_t clock_monotonic_nsec(void) {
    int64_t frozen = atomic_load(&frozen_nsec);

    return (frozen ? frozen : read_clock(CLOCK_MONOTONIC)) + atomic_load(&skipped_nsec);
}

int64_t clock_wall_nsec(void) {
    return read_clock(CLOCK_REALTIME);
}

static inline void freeze_time(void) {
    atomic_store(&frozen_nsec, read_clock(CLOCK_MONOTONIC));
}

static inline void skip_msec(int64_t msec) {
    atomic_fetch_add(&skipped_nsec, msec * NSEC_PER_MSEC);
}

static inline void skip_sec(int64_t seconds) {
    skip_msec(seconds * 1000);
}

/* --- fixture ------------------------------------------------------------------------------- */

typedef struct WatcherFixture {
    ClusterWatcher *watcher;
    Client *client;
    size_t nodes, pods; /* numbers of their current calls */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Snapshot *snapshot;
    size_t n_published;
    size_t n_offered;   /* calls of publish() */
    size_t n_to_reject; /* number of publications to reject */
    bool is_busy;       /* publish() blocks */
    size_t n_pods_bound;
    char last_bound[64];
    size_t n_pods_deleted;
    char last_deleted[64];
    size_t n_done;
    unsigned n_turns; /* calls of fixture_turn() */

    WatcherNotice notices[256]; /* without texts; written by the watcher's thread */
    size_t n_notices;
} WatcherFixture;

static inline bool on_publish(void *context, Snapshot *snapshot) {
    WatcherFixture *fixture = context;
    bool is_taken;

    pthread_mutex_lock(&fixture->mutex);
    fixture->n_offered++;
    is_taken = fixture->n_to_reject == 0;
    if (is_taken) {
        snapshot_unref(fixture->snapshot);
        fixture->snapshot = snapshot_ref(snapshot);
        fixture->n_published++;
    } else {
        fixture->n_to_reject--;
    }
    pthread_cond_broadcast(&fixture->changed);
    while (fixture->is_busy)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    pthread_mutex_unlock(&fixture->mutex);
    return is_taken;
}

static inline void on_pod_bound(void *context, const Pod *pod) {
    WatcherFixture *fixture = context;

    pthread_mutex_lock(&fixture->mutex);
    fixture->n_pods_bound++;
    (void)snprintf(fixture->last_bound, sizeof(fixture->last_bound), "%.*s", STR_FMT(pod->name));
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->mutex);
}

static inline void on_pod_deleted(void *context, const ObjectMeta *meta) {
    WatcherFixture *fixture = context;

    pthread_mutex_lock(&fixture->mutex);
    fixture->n_pods_deleted++;
    (void)snprintf(
        fixture->last_deleted, sizeof(fixture->last_deleted), "%.*s", STR_FMT(meta->name));
    pthread_mutex_unlock(&fixture->mutex);
}

static inline void on_notice(void *context, const WatcherNotice *notice) {
    WatcherFixture *fixture = context;

    if (fixture->n_notices < ELEMENTS_OF(fixture->notices))
        fixture->notices[fixture->n_notices++] =
            (WatcherNotice){.event = notice->event, .kind = notice->kind};
}

/* @version: the answer to GET /version. */
static inline void fixture_open_version(
    WatcherFixture *fixture, const WatcherOptions *options, const char *version) {
    const WatcherCallbacks callbacks = {.context = fixture,
        .publish = on_publish,
        .pod_bound = on_pod_bound,
        .pod_deleted = on_pod_deleted,
        .notice = on_notice};

    *fixture = (WatcherFixture){0};
    pthread_mutex_init(&fixture->mutex, NULL);
    deadline_cond_init(&fixture->changed);
    assert_int_equal(watcher_new(fake_access_new(true), options, &callbacks, &fixture->watcher), 0);
    fixture->client = fake_client();
    fixture->nodes = fake_wait_for(fixture->client, "GET", "/version", 0);
    assert_true(fixture->nodes != SIZE_MAX);
    fake_answer(fixture->client, fixture->nodes, 200, version);
    fixture->nodes = fake_wait_for(fixture->client, "GET", "/api/v1/nodes?", 0);
    fixture->pods = fake_wait_for(fixture->client, "GET", "/api/v1/pods?", 0);
    assert_true(fixture->nodes != SIZE_MAX && fixture->pods != SIZE_MAX);
}

static inline void fixture_open_with(WatcherFixture *fixture, const WatcherOptions *options) {
    fixture_open_version(fixture, options, "{\"major\":\"1\",\"minor\":\"37\"}");
}

static inline void fixture_open(WatcherFixture *fixture) {
    fixture_open_with(fixture, &(WatcherOptions){0});
}

static inline void fixture_close(WatcherFixture *fixture) {
    watcher_free(fixture->watcher);
    atomic_store(&frozen_nsec, 0);
    snapshot_unref(fixture->snapshot);
    pthread_cond_destroy(&fixture->changed);
    pthread_mutex_destroy(&fixture->mutex);
}

/* Pods on @node in the last published snapshot; SIZE_MAX: no such node, or no snapshot. Hold the
 * mutex. */
static inline size_t pods_on(const WatcherFixture *fixture, const char *node) {
    const NodeTable *table = fixture->snapshot ? snapshot_table(fixture->snapshot) : NULL;
    uint32_t row = table ? table_find(table, str_from_c(node)) : 0;

    if (!table || row == table->n_rows)
        return SIZE_MAX;
    return table_chunk(table, row)->n_pods[table_slot(row)];
}

static inline void wait_for_pods(WatcherFixture *fixture, const char *node, size_t want) {
    struct timespec until = deadline_in(TIMEOUT_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&fixture->mutex);
    while (pods_on(fixture, node) != want && r == 0)
        r = pthread_cond_timedwait(&fixture->changed, &fixture->mutex, &until);
    if (r != 0)
        print_error("%s has %zd pods\n", node, (ssize_t)pods_on(fixture, node));
    pthread_mutex_unlock(&fixture->mutex);
    assert_int_equal(r, 0);
}

static inline void wait_for_done(WatcherFixture *fixture, size_t want) {
    struct timespec until = deadline_in(TIMEOUT_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&fixture->mutex);
    while (fixture->n_done < want && r == 0)
        r = pthread_cond_timedwait(&fixture->changed, &fixture->mutex, &until);
    pthread_mutex_unlock(&fixture->mutex);
    assert_int_equal(r, 0);
}

static inline void wait_for_offers(WatcherFixture *fixture, size_t want) {
    struct timespec until = deadline_in(TIMEOUT_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&fixture->mutex);
    while (fixture->n_offered < want && r == 0)
        r = pthread_cond_timedwait(&fixture->changed, &fixture->mutex, &until);
    assert_int_equal(fixture->n_offered, want);
    pthread_mutex_unlock(&fixture->mutex);
}

/* Waits for a turn: answers a mark request and waits until the status shows it. The status is
 * updated at the end of a turn, so all earlier input is processed then. */
static inline WatcherStatus fixture_turn(WatcherFixture *fixture) {
    char name[32], path[64];
    WatcherStatus status;
    uint64_t n_written;
    size_t call;

    watcher_status(fixture->watcher, &status);
    n_written = status.writes[WATCHER_MARKS].n_written;
    (void)snprintf(name, sizeof(name), "turn-%u", fixture->n_turns++);
    (void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", name);
    assert_true(mark_queue_add(watcher_writes(fixture->watcher, WATCHER_MARKS), str_from_c(name)));
    call = fake_wait_for(fixture->client, "PATCH", path, 0);
    assert_true(call != SIZE_MAX);
    fake_answer(fixture->client, call, 200, "{}");
    for (int i = 0; i < TIMEOUT_SEC * 1000 && status.writes[WATCHER_MARKS].n_written == n_written;
         i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        watcher_status(fixture->watcher, &status);
    }
    assert_true(status.writes[WATCHER_MARKS].n_written > n_written);
    return status;
}

/* Waits until @is_so returns true for the status. */
static inline WatcherStatus wait_for_status(
    WatcherFixture *fixture, bool (*is_so)(const WatcherStatus *status)) {
    WatcherStatus status;

    for (int i = 0; i < TIMEOUT_SEC * 1000; i++) {
        watcher_status(fixture->watcher, &status);
        if (is_so(&status))
            return status;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail();
    return status;
}

/* --- events ----------------------------------------------------------------------------------- */

#define LIST_END                                                                                   \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"100\","                \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

#define BOOKMARK "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"200\"}}}\n"

static inline void send_text(WatcherFixture *fixture, size_t call, const char *text) {
    fake_data(fixture->client, call, str_from_c(text));
}

static inline void send_node(
    WatcherFixture *fixture, const char *type, const char *name, unsigned version) {
    char text[512];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
        "\"resourceVersion\":\"%u\"},\"status\":{\"allocatable\":{\"cpu\":\"8\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}}\n",
        type, name, name, version);
    send_text(fixture, fixture->nodes, text);
}

static inline void send_pod(
    WatcherFixture *fixture, const char *type, const char *name, const char *node) {
    static atomic_uint version = 1000;
    char text[512];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
        "\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":\"%s\","
        "\"containers\":[]},\"status\":{\"phase\":\"Running\"}}}\n",
        type, name, name, atomic_fetch_add(&version, 1), node);
    send_text(fixture, fixture->pods, text);
}

/* Lists two nodes, n1 with one pod and n2 with none. */
static inline void fixture_sync(WatcherFixture *fixture) {
    fake_head(fixture->client, fixture->nodes, 200, "application/json", -1);
    send_node(fixture, "ADDED", "n1", 1);
    send_node(fixture, "ADDED", "n2", 2);
    send_text(fixture, fixture->nodes, LIST_END);
    fake_head(fixture->client, fixture->pods, 200, "application/json", -1);
    send_pod(fixture, "ADDED", "first", "n1");
    send_text(fixture, fixture->pods, LIST_END);
    wait_for_pods(fixture, "n1", 1);
}

/* --- jobs ------------------------------------------------------------------------------------- */

typedef struct Job {
    BindJob job; /* must be first: judge() and done() cast */
    WatcherFixture *fixture;
    Pod pod;
    char name[32], uid[40];
    size_t pods_seen; /* on the node, in judge()'s snapshot */
    int n_done;
    bool is_bound;
    char error[WATCHER_ERROR_MAX];
} Job;

static inline bool judge(BindJob *bind, Snapshot *snapshot, char *error) {
    Job *job = (Job *)bind;
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, bind->node);

    job->pods_seen = table_chunk(table, row)->n_pods[table_slot(row)];
    return true;
}

static inline void done(BindJob *bind, const char *error) {
    Job *job = (Job *)bind;

    pthread_mutex_lock(&job->fixture->mutex);
    job->n_done++;
    job->is_bound = error == NULL;
    (void)snprintf(job->error, sizeof(job->error), "%s", error ? error : "");
    job->fixture->n_done++;
    pthread_cond_broadcast(&job->fixture->changed);
    pthread_mutex_unlock(&job->fixture->mutex);
}

static inline void job_init(Job *job, WatcherFixture *fixture, const char *name, const char *node) {
    *job = (Job){.fixture = fixture};
    (void)snprintf(job->name, sizeof(job->name), "%s", name);
    (void)snprintf(job->uid, sizeof(job->uid), "u-%s", name);
    job->pod =
        (Pod){.namespace = STR("shop"), .name = str_from_c(job->name), .uid = str_from_c(job->uid)};
    job->job = (BindJob){
        .namespace = STR("shop"),
        .name = job->pod.name,
        .uid = job->pod.uid,
        .node = str_from_c(node),
        .pod = &job->pod,
        .judge = judge,
        .done = done,
    };
}

/* Counts notices of @event and @kind; *ret_last: index of the last. The watcher must have ended. */
static inline size_t count_notices(
    const WatcherFixture *fixture, WatcherEvent event, WatcherKind kind, size_t *ret_last) {
    size_t n = 0;

    *ret_last = 0;
    for (size_t i = 0; i < fixture->n_notices; i++) {
        if (fixture->notices[i].event != event || fixture->notices[i].kind != kind)
            continue;
        n++;
        *ret_last = i;
    }
    return n;
}
