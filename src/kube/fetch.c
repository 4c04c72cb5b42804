/* Reads the cluster, or a pod, once, for commands. */

#include "kube/fetch.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/thread.h"
#include "base/url.h"
#include "kube/api-objects.h"
#include "kube/blocking-client.h"
#include "kube/cluster-watcher.h"

static_assert(FETCH_ERROR_MAX >= BLOCKING_CLIENT_ERROR_MAX, "the client's message fits");

#define LOOK_MSEC 100 /* between two checks of the progress */

typedef struct FirstSnapshot {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Snapshot *snapshot;
} FirstSnapshot;

static bool keep_first(void *context, Snapshot *snapshot) {
    FirstSnapshot *first = context;

    pthread_mutex_lock(&first->lock);
    if (!first->snapshot)
        first->snapshot = snapshot_ref(snapshot);
    pthread_cond_signal(&first->changed);
    pthread_mutex_unlock(&first->lock);
    return true;
}

static void describe(const WatcherStatus *status, char *error) {
    for (unsigned i = 0; i < WATCHER_POLICIES; i++) {
        const WatcherKindStatus *kind = &status->kinds[i];

        if (kind->is_synced)
            continue;
        (void)snprintf(error, FETCH_ERROR_MAX, "%s: %s cannot be listed: %s", status->server,
            watcher_kind_name((WatcherKind)i),
            kind->last_error[0] ? kind->last_error : "no answer in time");
        return;
    }
}

/* Waits until there is a snapshot, FETCH_SEC has passed, or a kind cannot be listed. */
static void wait_for_first(FirstSnapshot *first, ClusterWatcher *watcher, char *error) {
    int64_t deadline = clock_monotonic_nsec() + FETCH_SEC * NSEC_PER_SEC;
    WatcherStatus status;
    bool is_over = false;

    pthread_mutex_lock(&first->lock);
    while (!first->snapshot && !is_over) {
        struct timespec until = deadline_in(LOOK_MSEC * NSEC_PER_MSEC);

        pthread_cond_timedwait(&first->changed, &first->lock, &until);
        watcher_status(watcher, &status);
        is_over = clock_monotonic_nsec() > deadline;
        for (size_t i = 0; i < WATCHER_POLICIES && !is_over; i++) /* this kind cannot be listed */
            is_over =
                !status.kinds[i].is_synced && status.kinds[i].n_failures >= FETCH_FAILURES_MAX;
    }
    if (!first->snapshot)
        describe(&status, error);
    pthread_mutex_unlock(&first->lock);
}

int fetch_cluster(Access *access, unsigned related, Snapshot **ret, char *error) {
    FirstSnapshot first = {.lock = PTHREAD_MUTEX_INITIALIZER};
    _cleanup_(watcher_freep) ClusterWatcher *watcher = NULL;
    int r;

    deadline_cond_init(&first.changed);
    r = watcher_new(access, &(WatcherOptions){.related = related},
        &(WatcherCallbacks){.context = &first, .publish = keep_first}, &watcher);
    if (r == -ENOMEM)
        return message_no_memory(error, FETCH_ERROR_MAX, "the cluster", NULL);
    if (r < 0) {
        (void)snprintf(error, FETCH_ERROR_MAX, "cannot start the thread that reads the cluster: %s",
            strerror(-r));
        return r;
    }
    wait_for_first(&first, watcher, error);
    watcher = watcher_free(watcher); /* nothing is published after this */
    *ret = first.snapshot;
    return *ret ? 0 : -ETIMEDOUT;
}

int fetch_pod(Access *access, Str namespace, Str name, Arena *arena, Pod *ret, char *error) {
    _cleanup_(buf_done) Buf path = BUF_INIT(4096);
    BlockingReply reply;
    JsonReader reader;
    int r;

    pod_path(&path, namespace, name);
    if (!url_text(&path))
        return message_no_memory(error, FETCH_ERROR_MAX, "the request for the pod", NULL);
    r = blocking_client_request(access,
        &(BlockingRequest){.path = url_text(&path), .total_sec = FETCH_SEC}, arena, &reply, error);
    if (r != 0)
        return r < 0 ? r : -EHOSTUNREACH;
    if (reply.status != 200) {
        (void)snprintf(error, FETCH_ERROR_MAX,
            reply.status == 404 ? "there is no pod %.*s/%.*s"
                                : "pod %.*s/%.*s: the API server answered %u",
            STR_FMT(namespace), STR_FMT(name), reply.status);
        return reply.status == 404 ? -ENOENT : -EACCES;
    }
    json_reader_init(&reader, reply.body);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader) == JSON_OK)
        return 0;
    (void)snprintf(error, FETCH_ERROR_MAX, "the API server's answer is no pod");
    return -EBADMSG;
}
