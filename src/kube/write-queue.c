/* A bounded queue of writes whose result nothing waits for, with few concurrent calls. */

#include "kube/write-queue.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "kube/api-objects.h"

#define ANSWER_MAX_BYTES ((size_t)2 * 1024 * 1024) /* the written object; etcd allows 1.5 MiB */
#define ANSWER_BUDGET ((size_t)256 * 1024)

typedef struct PendingWrite {
    char *path, *body;
} PendingWrite;

typedef struct WriteCall {
    WriteQueue *queue;
    Call *call; /* NULL: free */
    int64_t sent_at;
    Buf answer;
} WriteCall;

struct WriteQueue {
    WriteQueueOptions options;
    WriteCall calls[WRITE_QUEUE_CALLS_MAX]; /* only for the client's thread */
    int64_t forbidden_until, paused_until;
    Lease *lease; /* NULL: a single replica */
    bool is_unwanted;
    atomic_bool is_ours;

    pthread_mutex_t lock;                          /* protects the fields below */
    PendingWrite waiting[WRITE_QUEUE_WAITING_MAX]; /* a ring */
    size_t first, n_waiting;
    size_t n_calls; /* running */
    WriteFigures figures;
};

static void pending_done(PendingWrite *write) {
    free(write->path);
    free(write->body);
    *write = (PendingWrite){0};
}

WriteQueue *write_queue_new(const WriteQueueOptions *options) {
    WriteQueue *queue = calloc(1, sizeof(*queue));

    assert(options->n_calls <= WRITE_QUEUE_CALLS_MAX);
    if (!queue)
        return NULL;
    queue->options = *options;
    for (size_t i = 0; i < WRITE_QUEUE_CALLS_MAX; i++)
        queue->calls[i] = (WriteCall){.queue = queue, .answer = BUF_INIT(ANSWER_MAX_BYTES)};
    pthread_mutex_init(&queue->lock, NULL);
    atomic_init(&queue->is_ours, !options->lease.object.name);
    if (options->lease.object.name)
        queue->lease = lease_new(&options->lease);
    return queue->lease || !options->lease.object.name ? queue : write_queue_free(queue);
}

WriteQueue *write_queue_free(WriteQueue *queue) {
    if (!queue)
        return NULL;
    for (size_t i = 0; i < WRITE_QUEUE_CALLS_MAX; i++) {
        call_cancel(queue->calls[i].call);
        buf_done(&queue->calls[i].answer);
    }
    for (size_t i = 0; i < WRITE_QUEUE_WAITING_MAX; i++)
        pending_done(&queue->waiting[i]);
    lease_free(queue->lease);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return NULL;
}

WriteFigures write_queue_figures(WriteQueue *queue) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&queue->lock);
    WriteFigures figures = queue->figures;

    figures.n_unanswered = queue->n_waiting + queue->n_calls;
    return figures;
}

static PendingWrite *waiting_at(WriteQueue *queue, size_t i) {
    return &queue->waiting[(queue->first + i) % WRITE_QUEUE_WAITING_MAX];
}

static bool is_waiting(WriteQueue *queue, const char *path) {
    for (size_t i = 0; i < queue->n_waiting; i++)
        if (strcmp(waiting_at(queue, i)->path, path) == 0)
            return true;
    return false;
}

bool write_queue_add(WriteQueue *queue, Buf *path, Buf *body) {
    PendingWrite write = {.path = buf_take(path), .body = buf_take(body)};
    bool is_sound = write.path && write.body, is_same, is_taken;

    pthread_mutex_lock(&queue->lock);
    is_same = is_sound && queue->options.skips_same_path && is_waiting(queue, write.path);
    is_taken = is_sound && !is_same && queue->n_waiting < queue->options.waiting_max;
    if (is_taken)
        *waiting_at(queue, queue->n_waiting++) = write;
    else
        queue->figures.n_dropped += !is_same;
    pthread_mutex_unlock(&queue->lock);
    if (is_taken)
        client_wake(queue->options.lease.client);
    else
        pending_done(&write);
    return is_taken || is_same;
}

void write_queue_drop(WriteQueue *queue) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&queue->lock);

    queue->figures.n_dropped++;
}

/* Whether a 403 is for lack of rights: RBAC answers "User x cannot create resource …". */
static bool is_for_rights(const WriteCall *call) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    ApiStatus status;
    char sign[32];

    (void)snprintf(sign, sizeof(sign), " cannot %s ", call->queue->options.verb);
    return !arena || !api_status_read(buf_str(&call->answer), arena, &status) ||
           str_is_empty(status.message) ||
           memmem(status.message.ptr, status.message.len, sign, strlen(sign));
}

/* Counts the end of a call; @result NULL: it could not be started. */
static void count_end(WriteCall *call, const CallResult *result) {
    WriteQueue *queue = call->queue;
    bool is_answered = result && result->outcome == CALL_DONE;
    bool is_written = is_answered && result->status == queue->options.ok_status;
    bool is_forbidden = is_answered && result->status == 403 && is_for_rights(call);
    bool is_throttled = is_answered && result->status == 429;
    int64_t now = clock_monotonic_nsec(), *latency = &queue->figures.latency_nsec;

    pthread_mutex_lock(&queue->lock);
    queue->figures.n_written += is_written;
    queue->figures.n_failed += !is_written;
    queue->figures.n_refused +=
        is_answered && !is_throttled && result->status >= 400 && result->status < 500;
    queue->n_calls--;
    if (is_answered)
        *latency += (now - call->sent_at - *latency) / (*latency == 0 ? 1 : 8);
    if (is_written || is_forbidden)
        queue->figures.is_forbidden = is_forbidden;
    pthread_mutex_unlock(&queue->lock);
    if (is_forbidden)
        queue->forbidden_until = now + queue->options.forbidden_sec * NSEC_PER_SEC;
    if (is_throttled) {
        int64_t sec = result->retry_after_sec > 0 ? result->retry_after_sec : WRITE_QUEUE_PAUSE_SEC;

        sec = sec < WRITE_QUEUE_PAUSE_MAX_SEC ? sec : WRITE_QUEUE_PAUSE_MAX_SEC;
        queue->paused_until = now + sec * NSEC_PER_SEC;
    }
}

static void send_waiting(WriteQueue *queue, int64_t now);

static void on_done(void *context, const CallResult *result) {
    WriteCall *call = context;

    call->call = NULL;
    count_end(call, result);
    buf_done(&call->answer);
    send_waiting(call->queue, clock_monotonic_nsec());
}

/* Takes the next waiting write; path NULL: none. */
static PendingWrite take(WriteQueue *queue, bool is_dropped) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&queue->lock);
    PendingWrite write = queue->waiting[queue->first];

    if (queue->n_waiting == 0)
        return (PendingWrite){0};
    queue->waiting[queue->first] = (PendingWrite){0};
    queue->first = (queue->first + 1) % WRITE_QUEUE_WAITING_MAX;
    queue->n_waiting--;
    queue->n_calls += !is_dropped;
    queue->figures.n_dropped += is_dropped;
    return write;
}

/* Returns false if nothing waits. */
static bool send_next(WriteQueue *queue, WriteCall *call) {
    const CallHandler handler = {.context = call, .done = on_done};
    PendingWrite write = take(queue, /* is_dropped= */ false);

    if (!write.path)
        return false;
    call->sent_at = clock_monotonic_nsec();
    call->call = client_call(queue->options.lease.client,
        &(CallOptions){
            .method = queue->options.method,
            .path = write.path,
            .content_type = queue->options.content_type,
            .body = str_from_c(write.body),
            .total_sec = WRITE_QUEUE_SEC,
            .bytes_max = ANSWER_MAX_BYTES,
            .answer = &call->answer,
        },
        &handler);
    if (!call->call)
        count_end(call, NULL);
    pending_done(&write);
    return true;
}

/* Whether waiting writes are dropped: rights are missing, or another replica may write now. */
static bool must_drop(const WriteQueue *queue, int64_t now) {
    return now < queue->forbidden_until || (queue->lease && !write_queue_is_ours(queue));
}

static void send_waiting(WriteQueue *queue, int64_t now) {
    PendingWrite dropped;

    while (must_drop(queue, now) && (dropped = take(queue, true)).path)
        pending_done(&dropped);
    if (now < queue->paused_until)
        return;
    for (size_t i = 0; i < queue->options.n_calls; i++)
        while (!queue->calls[i].call)
            if (!send_next(queue, &queue->calls[i]))
                return;
}

int64_t write_queue_tick(WriteQueue *queue, int64_t now_nsec) {
    int64_t next_at = INT64_MAX;

    if (queue->lease) {
        if (!queue->is_unwanted)
            lease_want(queue->lease, now_nsec);
        next_at = lease_tick(queue->lease, now_nsec);
        atomic_store(&queue->is_ours, lease_is_held(queue->lease, now_nsec));
    }
    send_waiting(queue, now_nsec);
    return now_nsec < queue->paused_until ? clock_earlier(next_at, queue->paused_until) : next_at;
}

bool write_queue_is_ours(const WriteQueue *queue) {
    return atomic_load(&queue->is_ours);
}

void write_queue_set_wanted(WriteQueue *queue, bool is_wanted) {
    queue->is_unwanted = !is_wanted;
}

bool write_queue_release(WriteQueue *queue) {
    atomic_store(&queue->is_ours, false);
    return !queue->lease || lease_release(queue->lease);
}
