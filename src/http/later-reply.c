/*
 * Replies by other threads: deferred replies and streams, and the memory counted for them.
 *
 *   server_defer() → handle() returns → request_wait(): asleep ┐
 *                                       server_answer(): awake ┴→ request_wait() → sent
 *
 * Two threads use a deferred reply: the worker that holds the connection (at the end, the thread
 * that frees the server), and the one that answers, at any time, even before handle() has returned.
 * A lock orders them and transfers the request's memory: while a fill function runs, arena and body
 * belong to its thread, otherwise to the worker.
 *
 * An HttpPending belongs to its request and the thread that answers. It may outlive the server.
 */

#include <assert.h>
#include <stdlib.h>

#include "base/ref.h"
#include "base/thread.h"
#include "http/request-internal.h"

typedef enum Progress {
    PROGRESS_OPEN,
    PROGRESS_FILLING,
    PROGRESS_ANSWERED,
    PROGRESS_OVER, /* the request has ended without a reply */
} Progress;

struct HttpPending {
    Ref ref;
    Request *request; /* valid until PROGRESS_OVER */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t filled;
    Progress progress;
    HttpReply reply; /* used without the lock by the thread that fills it */
};

static Request *request_of(const HttpRequest *http) {
    return (Request *)((uintptr_t)http - offsetof(Request, head.http));
}

/* Counts one more. False: there are @max already. */
static bool take_place(atomic_uint *n, unsigned max) {
    if (atomic_fetch_add(n, 1) < max)
        return true;
    atomic_fetch_sub(n, 1);
    return false;
}

HttpPending *server_defer(const HttpRequest *http, int tag) {
    Request *request = request_of(http);
    Server *server = request->server;
    HttpPending *pending;

    assert(!request->pending && !request->stream);
    if (!request->connection->is_kept ||  /* new ones may be evicted */
        !request_charge_arena(request) || /* later another thread may use it */
        !take_place(&server->n_pendings, server->pendings_max))
        return NULL;
    pending = calloc(1, sizeof(*pending));
    if (!pending) {
        atomic_fetch_sub(&server->n_pendings, 1);
        return NULL;
    }
    *pending = (HttpPending){.ref = REF_ONE, .request = request, .reply.tag = tag};
    ref_take(&pending->ref);
    (void)pthread_mutex_init(&pending->lock, NULL);
    (void)pthread_cond_init(&pending->filled, NULL);
    request->later_tag = tag;
    return request->pending = pending;
}

static void pending_unref(HttpPending *pending) {
    if (!ref_drop(&pending->ref))
        return;
    (void)pthread_cond_destroy(&pending->filled);
    (void)pthread_mutex_destroy(&pending->lock);
    free(pending);
}

bool request_wait(Request *request) {
    HttpPending *pending = request->pending;
    _unlock_ pthread_mutex_t *held = mutex_hold(&pending->lock);

    if (pending->progress == PROGRESS_ANSWERED) {
        request->reply = pending->reply;
        return true;
    }
    connection_sleep(request->server->connections, request->connection);
    return false;
}

bool server_answer(HttpPending *pending, HttpFill *fill, void *context) {
    Request *request = pending->request;
    bool is_wanted;

    pthread_mutex_lock(&pending->lock);
    assert(pending->progress == PROGRESS_OPEN || pending->progress == PROGRESS_OVER);
    is_wanted = pending->progress == PROGRESS_OPEN;
    if (is_wanted)
        pending->progress = PROGRESS_FILLING;
    pthread_mutex_unlock(&pending->lock);
    if (is_wanted) {
        fill(context, &request->head.http, &pending->reply);
        pthread_mutex_lock(&pending->lock);
        pending->progress = PROGRESS_ANSWERED;
        (void)pthread_cond_signal(&pending->filled);
        connection_wake(request->server->connections, request->connection);
        pthread_mutex_unlock(&pending->lock);
    }
    pending_unref(pending);
    return is_wanted;
}

/* Drops the request's reference. Waits while a fill function runs. */
static void pending_end(HttpPending *pending) {
    pthread_mutex_lock(&pending->lock);
    while (pending->progress == PROGRESS_FILLING)
        (void)pthread_cond_wait(&pending->filled, &pending->lock);
    if (pending->progress == PROGRESS_OPEN)
        pending->progress = PROGRESS_OVER;
    pthread_mutex_unlock(&pending->lock);
    pending_unref(pending);
}

bool server_charge(const HttpRequest *http, size_t size) {
    /* admit() accepted the client, so it may use the reserve. */
    return body_store_charge(request_of(http)->server->bodies, size, /* is_known= */ true);
}

size_t server_memory_max(const HttpRequest *http) {
    return request_of(http)->server->options.memory_max;
}

void server_release(const HttpRequest *http, size_t size) {
    body_store_release(request_of(http)->server->bodies, size);
}

HttpStream *server_stream(const HttpRequest *http, int tag) {
    Request *request = request_of(http);
    Server *server = request->server;

    assert(!request->pending && !request->stream);
    if (atomic_load(&server->is_draining) || !request->connection->is_kept ||
        !take_place(&server->n_streams, SERVER_STREAMS_MAX))
        return NULL;
    request->later_tag = tag;
    if (body_store_charge(server->bodies, SERVER_STREAM_BUFFER, request->connection->is_known)) {
        request->stream =
            stream_new(server->connections, request->connection, request->head.is_http_1_1);
        if (!request->stream)
            body_store_release(server->bodies, SERVER_STREAM_BUFFER);
    }
    if (!request->stream)
        atomic_fetch_sub(&server->n_streams, 1);
    return request->stream;
}

void request_end_later(Request *request) {
    Server *server = request->server;

    if (request->pending) {
        pending_end(TAKE_PTR(request->pending));
        atomic_fetch_sub(&server->n_pendings, 1);
    }
    if (request->stream) {
        request->streamed = stream_end(TAKE_PTR(request->stream));
        body_store_release(server->bodies, SERVER_STREAM_BUFFER);
        atomic_fetch_sub(&server->n_streams, 1);
    }
}
