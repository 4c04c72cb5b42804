/*
 * A short list without order: only whether it is empty is ever asked, and what is over is swept out
 * when somebody asks.
 */

#include "history/parked.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/nsec.h"

#define PARKED_NSEC (PARKED_SEC * NSEC_PER_SEC)

typedef struct ParkedPod {
    uint64_t uid;    /* hash of it; a collision costs one wake-up */
    int64_t at_nsec; /* of its last filter */
} ParkedPod;

struct Parked {
    pthread_mutex_t mutex; /* guards what follows */
    ParkedPod pods[PARKED_MAX];
    size_t n;
    size_t n_filters;      /* being answered */
    int64_t doubtful_nsec; /* until then there may be pods that are not in the list */
};

Parked *parked_new(int64_t now_nsec) {
    Parked *parked = calloc(1, sizeof(*parked));

    if (!parked)
        return NULL;
    (void)pthread_mutex_init(&parked->mutex, NULL);
    parked->doubtful_nsec = now_nsec + PARKED_NSEC;
    return parked;
}

Parked *parked_free(Parked *parked) {
    if (!parked)
        return NULL;
    (void)pthread_mutex_destroy(&parked->mutex);
    free(parked);
    return NULL;
}

/* --- with the lock held ------------------------------------------------------------------- */

/* n: it is not there. */
static size_t find(const Parked *parked, uint64_t uid) {
    size_t i = 0;

    while (i < parked->n && parked->pods[i].uid != uid)
        i++;
    return i;
}

static void remove_at(Parked *parked, size_t i) {
    parked->pods[i] = parked->pods[--parked->n];
}

static size_t find_oldest(const Parked *parked) {
    size_t oldest = 0;

    for (size_t i = 1; i < parked->n; i++)
        if (parked->pods[i].at_nsec < parked->pods[oldest].at_nsec)
            oldest = i;
    return oldest;
}

static void forget_oldest(Parked *parked) {
    size_t oldest = find_oldest(parked);
    int64_t until = parked->pods[oldest].at_nsec + PARKED_NSEC;

    if (parked->doubtful_nsec < until)
        parked->doubtful_nsec = until;
    remove_at(parked, oldest);
}

static void note_rejected(Parked *parked, Str uid, int64_t now_nsec) {
    uint64_t hash = hash_str(uid);
    size_t i = find(parked, hash);

    if (i == parked->n) {
        if (parked->n == PARKED_MAX)
            forget_oldest(parked);
        i = parked->n++;
    }
    parked->pods[i] = (ParkedPod){.uid = hash, .at_nsec = now_nsec};
}

/* Of pods without a UID nobody can tell which one it is. */
static void forget(Parked *parked, Str uid) {
    size_t i = str_is_empty(uid) ? parked->n : find(parked, hash_str(uid));

    if (i < parked->n)
        remove_at(parked, i);
}

static void sweep(Parked *parked, int64_t now_nsec) {
    for (size_t i = parked->n; i > 0; i--)
        if (now_nsec - parked->pods[i - 1].at_nsec >= PARKED_NSEC)
            remove_at(parked, i - 1);
}

/* --- the functions of the header ------------------------------------------------------------ */

void parked_begin_filter(Parked *parked) {
    (void)pthread_mutex_lock(&parked->mutex);
    parked->n_filters++;
    (void)pthread_mutex_unlock(&parked->mutex);
}

void parked_end_filter(Parked *parked) {
    (void)pthread_mutex_lock(&parked->mutex);
    assert(parked->n_filters > 0);
    parked->n_filters--;
    (void)pthread_mutex_unlock(&parked->mutex);
}

void parked_note_filter(Parked *parked, Str uid, bool is_rejected, int64_t now_nsec) {
    (void)pthread_mutex_lock(&parked->mutex);
    if (is_rejected)
        note_rejected(parked, uid, now_nsec);
    else
        forget(parked, uid);
    (void)pthread_mutex_unlock(&parked->mutex);
}

void parked_note_bound(Parked *parked, Str uid) {
    (void)pthread_mutex_lock(&parked->mutex);
    forget(parked, uid);
    (void)pthread_mutex_unlock(&parked->mutex);
}

bool parked_has(Parked *parked, int64_t now_nsec) {
    bool has;

    (void)pthread_mutex_lock(&parked->mutex);
    sweep(parked, now_nsec);
    has = parked->n > 0 || parked->n_filters > 0 || now_nsec < parked->doubtful_nsec;
    (void)pthread_mutex_unlock(&parked->mutex);
    return has;
}
