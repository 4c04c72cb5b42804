/* Requests that another thread answers while their connection is asleep. */

#include "http/pending.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/ref.h"

typedef enum Progress {
    PROGRESS_OPEN,
    PROGRESS_FILLING,
    PROGRESS_ANSWERED,
    PROGRESS_OVER, /* the request has ended without an answer */
} Progress;

struct HttpPending {
    Ref ref;
    const HttpRequest *request;
    Connections *connections;
    Connection *connection;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t filled;
    Progress progress;
    HttpReply reply; /* of the thread that fills it, while one does */
};

HttpPending *pending_new(
    const HttpRequest *request, Connections *connections, Connection *connection, int tag) {
    HttpPending *pending = calloc(1, sizeof(*pending));

    if (!pending)
        return NULL;
    *pending = (HttpPending){.ref = REF_ONE,
        .request = request,
        .connections = connections,
        .connection = connection,
        .reply.tag = tag};
    ref_take(&pending->ref);
    (void)pthread_mutex_init(&pending->lock, NULL);
    (void)pthread_cond_init(&pending->filled, NULL);
    return pending;
}

static void pending_unref(HttpPending *pending) {
    if (!ref_drop(&pending->ref))
        return;
    (void)pthread_cond_destroy(&pending->filled);
    (void)pthread_mutex_destroy(&pending->lock);
    free(pending);
}

bool pending_wait(HttpPending *pending, HttpReply *ret) {
    bool is_answered;

    (void)pthread_mutex_lock(&pending->lock);
    is_answered = pending->progress == PROGRESS_ANSWERED;
    if (is_answered)
        *ret = pending->reply;
    else
        connection_sleep(pending->connections, pending->connection);
    (void)pthread_mutex_unlock(&pending->lock);
    return is_answered;
}

bool server_answer(HttpPending *pending, HttpFill *fill, void *context) {
    bool is_wanted;

    (void)pthread_mutex_lock(&pending->lock);
    assert(pending->progress == PROGRESS_OPEN || pending->progress == PROGRESS_OVER);
    is_wanted = pending->progress == PROGRESS_OPEN;
    if (is_wanted)
        pending->progress = PROGRESS_FILLING;
    (void)pthread_mutex_unlock(&pending->lock);
    if (is_wanted) {
        fill(context, pending->request, &pending->reply);
        (void)pthread_mutex_lock(&pending->lock);
        pending->progress = PROGRESS_ANSWERED;
        (void)pthread_cond_signal(&pending->filled);
        connection_wake(pending->connections, pending->connection);
        (void)pthread_mutex_unlock(&pending->lock);
    }
    pending_unref(pending);
    return is_wanted;
}

void pending_end(HttpPending *pending) {
    (void)pthread_mutex_lock(&pending->lock);
    while (pending->progress == PROGRESS_FILLING)
        (void)pthread_cond_wait(&pending->filled, &pending->lock);
    if (pending->progress == PROGRESS_OPEN)
        pending->progress = PROGRESS_OVER;
    (void)pthread_mutex_unlock(&pending->lock);
    pending_unref(pending);
}
