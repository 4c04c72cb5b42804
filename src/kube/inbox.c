#include "kube/inbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "model/node.h"

#define MARKS_MAX_BYTES (WATCHER_MARKS_MAX * (NODE_NAME_MAX + 1))

struct Inbox {
    pthread_mutex_t mutex; /* guards what follows */
    bool is_closed;
    BindJob *jobs[WATCHER_BINDS_MAX]; /* a ring: not taken yet */
    size_t first_job, n_jobs;
    size_t n_binds; /* in the ring, or with the binder */
    Buf marks;      /* names of nodes, a line each */
    size_t n_marks;
};

Inbox *inbox_new(void) {
    Inbox *inbox = calloc(1, sizeof(*inbox));

    if (!inbox)
        return NULL;
    (void)pthread_mutex_init(&inbox->mutex, NULL);
    inbox->marks = BUF_INIT(MARKS_MAX_BYTES);
    return inbox;
}

Inbox *inbox_free(Inbox *inbox) {
    if (!inbox)
        return NULL;
    buf_done(&inbox->marks);
    (void)pthread_mutex_destroy(&inbox->mutex);
    free(inbox);
    return NULL;
}

void inbox_close(Inbox *inbox) {
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->is_closed = true;
    (void)pthread_mutex_unlock(&inbox->mutex);
}

/* --- binds ----------------------------------------------------------------------------- */

int inbox_add_bind(Inbox *inbox, BindJob *job) {
    int r = 0;

    (void)pthread_mutex_lock(&inbox->mutex);
    if (inbox->is_closed) {
        r = -ESHUTDOWN;
    } else if (inbox->n_binds == WATCHER_BINDS_MAX) {
        r = -EBUSY;
    } else {
        inbox->jobs[(inbox->first_job + inbox->n_jobs++) % WATCHER_BINDS_MAX] = job;
        inbox->n_binds++;
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return r;
}

size_t inbox_take_binds(Inbox *inbox, BindJob *ret[static INBOX_BINDS_AT_ONCE]) {
    size_t n = 0;

    (void)pthread_mutex_lock(&inbox->mutex);
    for (; n < INBOX_BINDS_AT_ONCE && inbox->n_jobs > 0; n++) {
        ret[n] = inbox->jobs[inbox->first_job];
        inbox->first_job = (inbox->first_job + 1) % WATCHER_BINDS_MAX;
        inbox->n_jobs--;
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
    return n;
}

void inbox_note_bind_ended(Inbox *inbox) {
    (void)pthread_mutex_lock(&inbox->mutex);
    inbox->n_binds--;
    (void)pthread_mutex_unlock(&inbox->mutex);
}

/* --- nodes to be marked ---------------------------------------------------------------- */

void inbox_add_mark(Inbox *inbox, Str node) {
    (void)pthread_mutex_lock(&inbox->mutex);
    if (inbox->n_marks < WATCHER_MARKS_MAX) {
        inbox->n_marks++;
        buf_append(&inbox->marks, node);
        buf_append_char(&inbox->marks, '\n');
    }
    (void)pthread_mutex_unlock(&inbox->mutex);
}

Buf inbox_take_marks(Inbox *inbox) {
    Buf names;

    (void)pthread_mutex_lock(&inbox->mutex);
    names = inbox->marks;
    inbox->marks = BUF_INIT(MARKS_MAX_BYTES);
    inbox->n_marks = 0;
    (void)pthread_mutex_unlock(&inbox->mutex);
    return names;
}
