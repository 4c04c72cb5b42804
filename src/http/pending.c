#include "http/pending.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/ref.h"

struct Pendings {
    Ref ref; /* one for the server, one for each pending */
    pthread_mutex_t lock;
    pthread_cond_t filled; /* a fill function has returned */
    HttpPending *first;    /* those whose request has not ended */
    unsigned n, max;
    bool is_closed;
};

typedef enum Progress {
    PROGRESS_OPEN,
    PROGRESS_FILLING,
    PROGRESS_ANSWERED,
    PROGRESS_OVER,
} Progress;

struct HttpPending {
    Ref ref;
    Pendings *all;
    const HttpRequest *request;
    int tag;

    /* Guarded by the lock of all. */
    Progress progress;
    struct MHD_Connection *suspended; /* NULL: it is not, or not any more */
    HttpReply reply;                  /* of the thread that fills it, while one does */
    HttpPending *previous, *next;
};

Pendings *pendings_new(unsigned max) {
    Pendings *pendings = calloc(1, sizeof(*pendings));

    if (!pendings)
        return NULL;
    pendings->ref = REF_ONE;
    pendings->max = max;
    pthread_mutex_init(&pendings->lock, NULL);
    pthread_cond_init(&pendings->filled, NULL);
    return pendings;
}

static void pendings_unref(Pendings *pendings) {
    if (!ref_drop(&pendings->ref))
        return;
    pthread_cond_destroy(&pendings->filled);
    pthread_mutex_destroy(&pendings->lock);
    free(pendings);
}

static void pending_unref(HttpPending *pending) {
    Pendings *all = pending->all;

    if (!ref_drop(&pending->ref))
        return;
    free(pending);
    pendings_unref(all);
}

static void lock(Pendings *pendings) {
    pthread_mutex_lock(&pendings->lock);
}

static void unlock(Pendings *pendings) {
    pthread_mutex_unlock(&pendings->lock);
}

unsigned pendings_count(Pendings *pendings) {
    unsigned n;

    lock(pendings);
    n = pendings->n;
    unlock(pendings);
    return n;
}

/* False: there are enough. */
static bool enlist(Pendings *pendings, HttpPending *pending) {
    if (pendings->is_closed || pendings->n >= pendings->max)
        return false;
    pending->next = pendings->first;
    if (pending->next)
        pending->next->previous = pending;
    pendings->first = pending;
    pendings->n++;
    ref_take(&pendings->ref);
    return true;
}

static void strike_off(Pendings *pendings, HttpPending *pending) {
    if (pending->previous)
        pending->previous->next = pending->next;
    else
        pendings->first = pending->next;
    if (pending->next)
        pending->next->previous = pending->previous;
    pendings->n--;
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
    lock(pendings);
    is_in = enlist(pendings, pending);
    unlock(pendings);
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
        pthread_cond_wait(&pending->all->filled, &pending->all->lock);
}

PendingState pending_wait(HttpPending *pending, struct MHD_Connection *mhd, HttpReply *ret) {
    Pendings *all = pending->all;
    PendingState state;

    lock(all);
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
    unlock(all);
    return state;
}

bool server_answer(HttpPending *pending, HttpFill *fill, void *context) {
    Pendings *all = pending->all;
    bool is_wanted;

    lock(all);
    assert(pending->progress == PROGRESS_OPEN || pending->progress == PROGRESS_OVER);
    is_wanted = pending->progress == PROGRESS_OPEN;
    if (is_wanted)
        pending->progress = PROGRESS_FILLING;
    unlock(all);
    if (is_wanted) {
        fill(context, pending->request, &pending->reply);
        lock(all);
        pending->progress = PROGRESS_ANSWERED;
        pthread_cond_broadcast(&all->filled);
        resume(pending);
        unlock(all);
    }
    pending_unref(pending);
    return is_wanted;
}

void pending_end(HttpPending *pending) {
    if (!pending)
        return;
    lock(pending->all);
    wait_for_fill(pending);
    if (pending->progress == PROGRESS_OPEN)
        pending->progress = PROGRESS_OVER;
    strike_off(pending->all, pending);
    unlock(pending->all);
    pending_unref(pending);
}

static bool is_any_filling(const Pendings *pendings) {
    for (const HttpPending *pending = pendings->first; pending; pending = pending->next)
        if (pending->progress == PROGRESS_FILLING)
            return true;
    return false;
}

void pendings_close(Pendings *pendings) {
    lock(pendings);
    pendings->is_closed = true;
    for (HttpPending *pending = pendings->first; pending; pending = pending->next)
        if (pending->suspended && pending->progress == PROGRESS_OPEN) {
            pending->progress = PROGRESS_OVER;
            resume(pending);
        }
    /* What is open now is not suspended, and will not be: pending_wait() sees to it. */
    while (is_any_filling(pendings))
        pthread_cond_wait(&pendings->filled, &pendings->lock);
    unlock(pendings);
}

Pendings *pendings_free(Pendings *pendings) {
    if (!pendings)
        return NULL;
    assert(!pendings->first);
    pendings_unref(pendings);
    return NULL;
}
