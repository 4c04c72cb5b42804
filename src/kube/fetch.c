#include "kube/fetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "kube/client.h"
#include "kube/mirror.h"
#include "kube/url.h"

#define POD_MAX ((size_t)16 * 1024 * 1024)

/* --- the cluster ------------------------------------------------------------------------ */

typedef struct First {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    Snapshot *snapshot;
} First;

static bool keep_first(void *context, Snapshot *snapshot) {
    First *first = context;

    (void)pthread_mutex_lock(&first->lock);
    if (!first->snapshot)
        first->snapshot = snapshot_ref(snapshot);
    (void)pthread_cond_signal(&first->changed);
    (void)pthread_mutex_unlock(&first->lock);
    return true;
}

/* What keeps a list from being complete; NULL: nothing but time. */
static const MirrorKindStatus *find_trouble(const MirrorStatus *status) {
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        if (!status->kinds[i].is_synced && status->kinds[i].n_failures >= FETCH_FAILURES_MAX)
            return &status->kinds[i];
    return NULL;
}

static void describe(const MirrorStatus *status, char *error) {
    for (size_t i = 0; i < _MIRROR_KINDS; i++) {
        if (status->kinds[i].is_synced)
            continue;
        (void)snprintf(error,
            FETCH_ERROR_MAX,
            "%s: %s cannot be listed: %s",
            status->server,
            mirror_kind_name((MirrorKind)i),
            status->kinds[i].last_error[0] ? status->kinds[i].last_error : "no answer in time");
        return;
    }
}

/* Until there is a snapshot, the time is over, or it is clear that there will be none. */
static void wait_for_first(First *first, Mirror *mirror, char *error) {
    int64_t deadline = clock_monotonic_nsec() + FETCH_SEC * NSEC_PER_SEC;
    MirrorStatus status;
    bool is_over = false;

    (void)pthread_mutex_lock(&first->lock);
    while (!first->snapshot && !is_over) {
        struct timespec until;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * NSEC_PER_MSEC;
        until.tv_sec += until.tv_nsec / NSEC_PER_SEC;
        until.tv_nsec %= NSEC_PER_SEC;
        (void)pthread_cond_timedwait(&first->changed, &first->lock, &until);
        mirror_status(mirror, &status);
        is_over = find_trouble(&status) || clock_monotonic_nsec() > deadline;
    }
    if (!first->snapshot)
        describe(&status, error);
    (void)pthread_mutex_unlock(&first->lock);
}

int fetch_cluster(Access *access, Snapshot **ret, char *error) {
    First first = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    _cleanup_(mirror_freep) Mirror *mirror = NULL;
    int r;

    (void)snprintf(error, FETCH_ERROR_MAX, "out of memory");
    r = mirror_new(access,
        &(MirrorOptions){0},
        &(MirrorCallbacks){.context = &first, .publish = keep_first},
        &mirror);
    if (r < 0)
        return error_trace(r);
    wait_for_first(&first, mirror, error);
    mirror = mirror_free(mirror); /* from here on nobody publishes */
    *ret = first.snapshot;
    return *ret ? 0 : error_origin(-ETIMEDOUT);
}

/* --- one pod ------------------------------------------------------------------------------ */

typedef struct Get {
    Buf body;
    bool is_done;
    CallOutcome outcome;
    unsigned status;
    char *error;
} Get;

static bool take_data(void *context, Str bytes) {
    Get *get = context;

    buf_append(&get->body, bytes);
    return buf_error(&get->body) == 0;
}

static void take_end(void *context, const CallResult *result) {
    Get *get = context;

    get->is_done = true;
    get->outcome = result->outcome;
    get->status = result->status;
    if (result->outcome != CALL_DONE)
        (void)snprintf(get->error, FETCH_ERROR_MAX, "%s", result->error);
}

static int run(Access *access, const char *path, Get *get) {
    _cleanup_(client_freep) Client *client = client_new(access);
    const CallOptions options = {
        .method = "GET", .path = path, .total_sec = FETCH_SEC, .bytes_max = POD_MAX};
    const CallHandler handler = {.context = get, .data = take_data, .done = take_end};

    if (!client || !client_call(client, &options, &handler))
        return error_origin(-ENOMEM);
    while (!get->is_done) {
        int r = client_wait(client, 1000);

        if (r < 0)
            return error_trace(r);
    }
    return get->outcome == CALL_DONE ? 0 : error_origin(-EHOSTUNREACH);
}

static int decode(Str body, Arena *arena, Pod *ret, char *error) {
    Str text = arena_copy(arena, body);
    JsonReader reader;

    if (!text.ptr)
        return error_origin(-ENOMEM);
    json_reader_init(&reader, text);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader) == JSON_OK)
        return 0;
    (void)snprintf(error, FETCH_ERROR_MAX, "the API server's answer is no pod");
    return error_origin(-EBADMSG);
}

int fetch_pod(Access *access, Str namespace, Str name, Arena *arena, Pod *ret, char *error) {
    _cleanup_(buf_done) Buf path = BUF_INIT(4096);
    Get get = {.body = BUF_INIT(POD_MAX), .error = error};
    int r;

    (void)snprintf(error, FETCH_ERROR_MAX, "out of memory");
    url_pod(&path, namespace, name);
    r = url_text(&path) ? run(access, url_text(&path), &get) : error_origin(-ENOMEM);
    if (r == 0 && get.status != 200) {
        (void)snprintf(error,
            FETCH_ERROR_MAX,
            get.status == 404 ? "there is no pod %.*s/%.*s"
                              : "pod %.*s/%.*s: the API server says %u",
            STR_FMT(namespace),
            STR_FMT(name),
            get.status);
        r = error_origin(get.status == 404 ? -ENOENT : -EACCES);
    }
    if (r == 0)
        r = decode(buf_str(&get.body), arena, ret, error);
    buf_done(&get.body);
    return error_trace(r);
}
