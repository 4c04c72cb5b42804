/* Requests that are answered later, by another thread, while their connection is asleep. */

#include "http/pending.h"

#include <assert.h>
#include <stddef.h>

#include "http/registry.h"

struct Pendings {
    Registry registry;
    Connections *connections;
    pthread_cond_t filled; /* a fill function has returned */
    bool is_closed;
};

typedef enum Progress {
    PROGRESS_OPEN,
    PROGRESS_FILLING,
    PROGRESS_ANSWERED,
    PROGRESS_OVER,
} Progress;

struct HttpPending {
    RegistryEntry entry; /* must be first */
    Ref ref;
    Pendings *all;
    const HttpRequest *request;
    Connection *connection;
    int tag;

    /* Guarded by the lock of the registry. */
    Progress progress;
    HttpReply reply; /* of the thread that fills it, while one does */
};

Pendings *pendings_new(unsigned max, Connections *connections) {
    Pendings *pendings = calloc(1, sizeof(*pendings));

    if (!pendings)
        return NULL;
    registry_init(&pendings->registry, max);
    pendings->connections = connections;
    (void)pthread_cond_init(&pendings->filled, NULL);
    return pendings;
}

static void pendings_unref(Pendings *pendings) {
    if (!registry_drop(&pendings->registry))
        return;
    (void)pthread_cond_destroy(&pendings->filled);
    free(pendings);
}

static void pending_unref(HttpPending *pending) {
    Pendings *all = pending->all;

    if (!ref_drop(&pending->ref))
        return;
    free(pending);
    pendings_unref(all);
}

unsigned pendings_count(Pendings *pendings) {
    unsigned n;

    registry_lock(&pendings->registry);
    n = pendings->registry.n;
    registry_unlock(&pendings->registry);
    return n;
}

HttpPending *pending_new(
    Pendings *pendings, const HttpRequest *request, Connection *connection, int tag) {
    HttpPending *pending = calloc(1, sizeof(*pending));
    bool is_in;

    if (!pending)
        return NULL;
    *pending =
        (HttpPending){.all = pendings, .request = request, .connection = connection, .tag = tag};
    pending->ref = REF_ONE;
    ref_take(&pending->ref);
    pending->reply.tag = tag;
    registry_lock(&pendings->registry);
    is_in = !pendings->is_closed && registry_add(&pendings->registry, &pending->entry);
    registry_unlock(&pendings->registry);
    if (!is_in) {
        free(pending);
        return NULL;
    }
    return pending;
}

/* With the lock held, and a reference to @pending. */
static void wait_for_fill(HttpPending *pending) {
    while (pending->progress == PROGRESS_FILLING)
        (void)pthread_cond_wait(&pending->all->filled, &pending->all->registry.lock);
}

PendingState pending_wait(HttpPending *pending, HttpReply *ret) {
    Pendings *all = pending->all;
    PendingState state;

    registry_lock(&all->registry);
    *ret = (HttpReply){.tag = pending->tag};
    if (pending->progress == PROGRESS_ANSWERED) {
        state = PENDING_ANSWERED;
        *ret = pending->reply;
    } else if (pending->progress == PROGRESS_OVER || all->is_closed)
        state = PENDING_OVER;
    else {
        state = PENDING_WAITING;
        connection_sleep(all->connections, pending->connection);
    }
    registry_unlock(&all->registry);
    return state;
}

bool server_answer(HttpPending *pending, HttpFill *fill, void *context) {
    Pendings *all = pending->all;
    bool is_wanted;

    registry_lock(&all->registry);
    assert(pending->progress == PROGRESS_OPEN || pending->progress == PROGRESS_OVER);
    is_wanted = pending->progress == PROGRESS_OPEN;
    if (is_wanted)
        pending->progress = PROGRESS_FILLING;
    registry_unlock(&all->registry);
    if (is_wanted) {
        fill(context, pending->request, &pending->reply);
        registry_lock(&all->registry);
        pending->progress = PROGRESS_ANSWERED;
        (void)pthread_cond_broadcast(&all->filled);
        if (!all->is_closed)
            connection_wake(all->connections, pending->connection);
        registry_unlock(&all->registry);
    }
    pending_unref(pending);
    return is_wanted;
}

void pending_end(HttpPending *pending) {
    if (!pending)
        return;
    registry_lock(&pending->all->registry);
    wait_for_fill(pending);
    if (pending->progress == PROGRESS_OPEN)
        pending->progress = PROGRESS_OVER;
    registry_remove(&pending->all->registry, &pending->entry);
    registry_unlock(&pending->all->registry);
    pending_unref(pending);
}

void pendings_close(Pendings *pendings) {
    registry_lock(&pendings->registry);
    pendings->is_closed = true;
    registry_unlock(&pendings->registry);
}

Pendings *pendings_free(Pendings *pendings) {
    if (!pendings)
        return NULL;
    assert(!pendings->registry.first);
    pendings_unref(pendings);
    return NULL;
}
