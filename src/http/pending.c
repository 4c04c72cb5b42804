/* Requests that are answered later, by another thread, while their connection is suspended. */

#include "http/pending.h"

#include <assert.h>
#include <stddef.h>

#include "http/registry.h"

struct Pendings {
    Registry registry;
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
    int tag;

    /* Guarded by the lock of the registry. */
    Progress progress;
    struct MHD_Connection *suspended; /* NULL: it is not, or not any more */
    HttpReply reply;                  /* of the thread that fills it, while one does */
};

Pendings *pendings_new(unsigned max) {
    Pendings *pendings = calloc(1, sizeof(*pendings));

    if (!pendings)
        return NULL;
    registry_init(&pendings->registry, max);
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

static HttpPending *first_of(const Pendings *pendings) {
    return (HttpPending *)pendings->registry.first;
}

static HttpPending *next_of(const HttpPending *pending) {
    return (HttpPending *)pending->entry.next;
}

HttpPending *pending_new(Pendings *pendings, const HttpRequest *request, int tag) {
    HttpPending *pending = calloc(1, sizeof(*pending));
    bool is_in;

    if (!pending)
        return NULL;
    *pending = (HttpPending){.all = pendings, .request = request, .tag = tag};
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

/* With the lock held. */
static void resume(HttpPending *pending) {
    if (pending->suspended)
        MHD_resume_connection(TAKE_PTR(pending->suspended));
}

/* With the lock held, and a reference to @pending. */
static void wait_for_fill(HttpPending *pending) {
    while (pending->progress == PROGRESS_FILLING)
        (void)pthread_cond_wait(&pending->all->filled, &pending->all->registry.lock);
}

PendingState pending_wait(HttpPending *pending, struct MHD_Connection *mhd, HttpReply *ret) {
    Pendings *all = pending->all;
    PendingState state;

    registry_lock(&all->registry);
    if (all->is_closed) {
        wait_for_fill(pending);
        if (pending->progress == PROGRESS_OPEN)
            pending->progress = PROGRESS_OVER;
    }
    *ret = (HttpReply){.tag = pending->tag};
    if (pending->progress == PROGRESS_ANSWERED) {
        state = PENDING_ANSWERED;
        *ret = pending->reply;
    } else {
        state = pending->progress == PROGRESS_OVER ? PENDING_OVER : PENDING_WAITING;
    }
    if (state == PENDING_WAITING && !pending->suspended) {
        MHD_suspend_connection(mhd);
        pending->suspended = mhd;
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
        resume(pending);
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

static bool is_any_filling(const Pendings *pendings) {
    for (const HttpPending *pending = first_of(pendings); pending; pending = next_of(pending))
        if (pending->progress == PROGRESS_FILLING)
            return true;
    return false;
}

void pendings_close(Pendings *pendings) {
    registry_lock(&pendings->registry);
    pendings->is_closed = true;
    for (HttpPending *pending = first_of(pendings); pending; pending = next_of(pending))
        if (pending->suspended && pending->progress == PROGRESS_OPEN) {
            pending->progress = PROGRESS_OVER;
            resume(pending);
        }
    /* What is open now is not suspended, and will not be: pending_wait() sees to it. */
    while (is_any_filling(pendings))
        (void)pthread_cond_wait(&pendings->filled, &pendings->registry.lock);
    registry_unlock(&pendings->registry);
}

Pendings *pendings_free(Pendings *pendings) {
    if (!pendings)
        return NULL;
    assert(!first_of(pendings));
    pendings_unref(pendings);
    return NULL;
}
