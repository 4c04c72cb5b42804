#pragma once

/*
 * A watcher in a laboratory: its thread, a client without a network, and a clock that tests stop
 * and turn on. What it publishes and says is written down.
 */

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

#define PATIENCE_SEC 20

/* --- time, in place of base/clock.c --------------------------------------------------------- */

static _Atomic int64_t skipped_nsec; /* so far: time that nobody had to wait for */
static _Atomic int64_t frozen_nsec;  /* what time it is, but for that; 0: it passes */

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

/* --- what was published -------------------------------------------------------------------- */

typedef struct Lab {
    ClusterWatcher *watcher;
    Client *client;
    size_t nodes, pods; /* the calls */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Snapshot *snapshot;
    size_t n_published;
    size_t n_offered; /* ... or refused */
    size_t n_refuse;  /* those that are still to be refused */
    bool is_busy;     /* publish() does not return */
    size_t n_pods_bound;
    char last_bound[64];
    size_t n_done;
    unsigned n_turns; /* lab_turn() */

    WatcherNotice told[256]; /* what it has said, without the texts; the watcher's thread writes */
    size_t n_told;
} Lab;

static inline bool on_publish(void *context, Snapshot *snapshot) {
    Lab *lab = context;
    bool is_taken;

    pthread_mutex_lock(&lab->mutex);
    lab->n_offered++;
    is_taken = lab->n_refuse == 0;
    if (is_taken) {
        snapshot_unref(lab->snapshot);
        lab->snapshot = snapshot_ref(snapshot);
        lab->n_published++;
    } else {
        lab->n_refuse--;
    }
    pthread_cond_broadcast(&lab->changed);
    while (lab->is_busy)
        pthread_cond_wait(&lab->changed, &lab->mutex);
    pthread_mutex_unlock(&lab->mutex);
    return is_taken;
}

static inline void on_pod_bound(void *context, const Pod *pod) {
    Lab *lab = context;

    pthread_mutex_lock(&lab->mutex);
    lab->n_pods_bound++;
    (void)snprintf(lab->last_bound, sizeof(lab->last_bound), "%.*s", STR_FMT(pod->name));
    pthread_cond_broadcast(&lab->changed);
    pthread_mutex_unlock(&lab->mutex);
}

static inline void on_notice(void *context, const WatcherNotice *notice) {
    Lab *lab = context;

    if (lab->n_told < ELEMENTS_OF(lab->told))
        lab->told[lab->n_told++] = (WatcherNotice){.event = notice->event, .kind = notice->kind};
}

static inline void lab_open_with(Lab *lab, const WatcherOptions *options) {
    const WatcherCallbacks callbacks = {
        .context = lab, .publish = on_publish, .pod_bound = on_pod_bound, .notice = on_notice};

    *lab = (Lab){0};
    pthread_mutex_init(&lab->mutex, NULL);
    deadline_cond_init(&lab->changed);
    assert_int_equal(watcher_new(fake_access_new(true), options, &callbacks, &lab->watcher), 0);
    lab->client = fake_client();
    lab->nodes = fake_wait_for(lab->client, "GET", "/api/v1/nodes?", 0);
    lab->pods = fake_wait_for(lab->client, "GET", "/api/v1/pods?", 0);
    assert_true(lab->nodes != SIZE_MAX && lab->pods != SIZE_MAX);
}

static inline void lab_open(Lab *lab) {
    lab_open_with(lab, &(WatcherOptions){0});
}

static inline void lab_close(Lab *lab) {
    watcher_free(lab->watcher);
    atomic_store(&frozen_nsec, 0);
    snapshot_unref(lab->snapshot);
    pthread_cond_destroy(&lab->changed);
    pthread_mutex_destroy(&lab->mutex);
}

/* Pods on @node in the snapshot that was published last; SIZE_MAX: no such node, or no
 * snapshot. The lock is held. */
static inline size_t pods_on(const Lab *lab, const char *node) {
    const NodeTable *table = lab->snapshot ? snapshot_table(lab->snapshot) : NULL;
    uint32_t row = table ? table_find(table, str_from_c(node)) : 0;

    if (!table || row == table->n_rows)
        return SIZE_MAX;
    return table_chunk(table, row)->n_pods[table_slot(row)];
}

static inline void wait_for_pods(Lab *lab, const char *node, size_t want) {
    struct timespec until = deadline_in(PATIENCE_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (pods_on(lab, node) != want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    if (r != 0)
        print_error("%s has %zd pods\n", node, (ssize_t)pods_on(lab, node));
    pthread_mutex_unlock(&lab->mutex);
    assert_int_equal(r, 0);
}

static inline void wait_for_done(Lab *lab, size_t want) {
    struct timespec until = deadline_in(PATIENCE_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (lab->n_done < want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    pthread_mutex_unlock(&lab->mutex);
    assert_int_equal(r, 0);
}

static inline void wait_for_offers(Lab *lab, size_t want) {
    struct timespec until = deadline_in(PATIENCE_SEC * NSEC_PER_SEC);
    int r = 0;

    pthread_mutex_lock(&lab->mutex);
    while (lab->n_offered < want && r == 0)
        r = pthread_cond_timedwait(&lab->changed, &lab->mutex, &until);
    assert_int_equal(lab->n_offered, want);
    pthread_mutex_unlock(&lab->mutex);
}

/* What was sent is taken, and what is due is done: figures are written at the end of a turn, so
 * that a turn has ended since the answer to the mark came. */
static inline WatcherStatus lab_turn(Lab *lab) {
    char name[32], path[64];
    WatcherStatus status;
    uint64_t n_written;
    size_t call;

    watcher_status(lab->watcher, &status);
    n_written = status.marks.n_written;
    (void)snprintf(name, sizeof(name), "turn-%u", lab->n_turns++);
    (void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", name);
    watcher_mark_node(lab->watcher, str_from_c(name));
    call = fake_wait_for(lab->client, "PATCH", path, 0);
    assert_true(call != SIZE_MAX);
    fake_answer(lab->client, call, 200, "{}");
    for (int i = 0; i < PATIENCE_SEC * 1000 && status.marks.n_written == n_written; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        watcher_status(lab->watcher, &status);
    }
    assert_true(status.marks.n_written > n_written);
    return status;
}

/* The status is written at the end of a turn: until @is_so says that it is. */
static inline WatcherStatus wait_for_status(Lab *lab, bool (*is_so)(const WatcherStatus *status)) {
    WatcherStatus status;

    for (int i = 0; i < PATIENCE_SEC * 1000; i++) {
        watcher_status(lab->watcher, &status);
        if (is_so(&status))
            return status;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail();
    return status;
}

/* --- what is sent ----------------------------------------------------------------------------- */

#define LIST_END                                                                                   \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"100\","                \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

#define BOOKMARK "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"200\"}}}\n"

static inline void send_text(Lab *lab, size_t call, const char *text) {
    fake_data(lab->client, call, str_from_c(text));
}

static inline void send_node(Lab *lab, const char *type, const char *name, unsigned version) {
    char text[512];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
        "\"resourceVersion\":\"%u\"},\"status\":{\"allocatable\":{\"cpu\":\"8\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}}\n",
        type, name, name, version);
    send_text(lab, lab->nodes, text);
}

static inline void send_pod(Lab *lab, const char *type, const char *name, const char *node) {
    static atomic_uint version = 1000;
    char text[512];

    (void)snprintf(text, sizeof(text),
        "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
        "\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":\"%s\","
        "\"containers\":[]},\"status\":{\"phase\":\"Running\"}}}\n",
        type, name, name, atomic_fetch_add(&version, 1), node);
    send_text(lab, lab->pods, text);
}

/* Two nodes, n1 with one pod and n2 with none. */
static inline void lab_sync(Lab *lab) {
    fake_head(lab->client, lab->nodes, 200, "application/json", -1);
    send_node(lab, "ADDED", "n1", 1);
    send_node(lab, "ADDED", "n2", 2);
    send_text(lab, lab->nodes, LIST_END);
    fake_head(lab->client, lab->pods, 200, "application/json", -1);
    send_pod(lab, "ADDED", "first", "n1");
    send_text(lab, lab->pods, LIST_END);
    wait_for_pods(lab, "n1", 1);
}

/* --- jobs ------------------------------------------------------------------------------------- */

typedef struct Job {
    BindJob job; /* first */
    Lab *lab;
    Pod pod;
    char name[32], uid[40];
    size_t pods_seen; /* by the judge, on the node */
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

    pthread_mutex_lock(&job->lab->mutex);
    job->n_done++;
    job->is_bound = error == NULL;
    (void)snprintf(job->error, sizeof(job->error), "%s", error ? error : "");
    job->lab->n_done++;
    pthread_cond_broadcast(&job->lab->changed);
    pthread_mutex_unlock(&job->lab->mutex);
}

static inline void job_init(Job *job, Lab *lab, const char *name, const char *node) {
    *job = (Job){.lab = lab};
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

/* How often @event was told of @kind, and which word the last of them was. The watcher has
 * ended: nobody writes any more. */
static inline size_t count_told(
    const Lab *lab, WatcherEvent event, WatcherKind kind, size_t *ret_last) {
    size_t n = 0;

    *ret_last = 0;
    for (size_t i = 0; i < lab->n_told; i++) {
        if (lab->told[i].event != event || lab->told[i].kind != kind)
            continue;
        n++;
        *ret_last = i;
    }
    return n;
}
