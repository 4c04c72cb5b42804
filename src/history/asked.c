#include "history/asked.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

#define NONE UINT32_MAX

/* A pod. Entries are known by their number; all are in one list by age. Numbers rather
 * than pointers, and one array: what has not been used yet costs no memory. */
typedef struct Entry {
    uint64_t hash;
    uint32_t chained; /* next of its bucket */
    uint32_t newer, older;
} Entry;

typedef struct Scheduler {
    int64_t asked_at_nsec; /* the last time */
    size_t len;
    char name[ASKED_NAME_MAX];
} Scheduler;

struct Asked {
    pthread_mutex_t mutex; /* guards what follows */
    Entry *entries;
    uint32_t n, max;
    uint32_t newest, oldest;
    uint32_t *buckets; /* number + 1; 0: empty */
    size_t n_buckets;  /* a power of two */

    Scheduler schedulers[ASKED_SCHEDULERS_MAX];
    size_t n_schedulers;
};

Asked *asked_new(size_t max) {
    Asked *asked = calloc(1, sizeof(*asked));

    assert(max > 0 && max < NONE);
    if (!asked)
        return NULL;
    asked->n_buckets = 1;
    while (asked->n_buckets < max)
        asked->n_buckets *= 2;
    asked->max = (uint32_t)max;
    asked->newest = asked->oldest = NONE;
    asked->entries = calloc(max, sizeof(*asked->entries));
    asked->buckets = calloc(asked->n_buckets, sizeof(*asked->buckets));
    pthread_mutex_init(&asked->mutex, NULL);
    return asked->entries && asked->buckets ? asked : asked_free(asked);
}

Asked *asked_free(Asked *asked) {
    if (!asked)
        return NULL;
    pthread_mutex_destroy(&asked->mutex);
    free(asked->entries);
    free(asked->buckets);
    free(asked);
    return NULL;
}

/* --- with the lock held ---------------------------------------------------------------- */

static uint32_t *bucket_of(const Asked *asked, uint64_t hash) {
    return &asked->buckets[hash & (asked->n_buckets - 1)];
}

static uint32_t find(const Asked *asked, uint64_t hash) {
    uint32_t i = *bucket_of(asked, hash);

    while (i > 0 && asked->entries[i - 1].hash != hash)
        i = asked->entries[i - 1].chained;
    return i > 0 ? i - 1 : NONE;
}

static void leave_bucket(Asked *asked, uint32_t i) {
    uint32_t *at = bucket_of(asked, asked->entries[i].hash);

    while (*at != i + 1)
        at = &asked->entries[*at - 1].chained;
    *at = asked->entries[i].chained;
}

static void enter_bucket(Asked *asked, uint32_t i, uint64_t hash) {
    uint32_t *bucket = bucket_of(asked, hash);

    asked->entries[i].hash = hash;
    asked->entries[i].chained = *bucket;
    *bucket = i + 1;
}

static void leave_line(Asked *asked, uint32_t i) {
    const Entry *entry = &asked->entries[i];

    if (entry->newer != NONE)
        asked->entries[entry->newer].older = entry->older;
    else
        asked->newest = entry->older;
    if (entry->older != NONE)
        asked->entries[entry->older].newer = entry->newer;
    else
        asked->oldest = entry->newer;
}

static void enter_line(Asked *asked, uint32_t i) {
    Entry *entry = &asked->entries[i];

    entry->newer = NONE;
    entry->older = asked->newest;
    if (entry->older != NONE)
        asked->entries[entry->older].newer = i;
    else
        asked->oldest = i;
    asked->newest = i;
}

static void note_pod(Asked *asked, uint64_t hash) {
    uint32_t i = find(asked, hash);

    if (i != NONE) {
        leave_line(asked, i);
    } else if (asked->n < asked->max) {
        i = asked->n++;
        enter_bucket(asked, i, hash);
    } else {
        i = asked->oldest;
        leave_line(asked, i);
        leave_bucket(asked, i);
        enter_bucket(asked, i, hash);
    }
    enter_line(asked, i);
}

static Scheduler *find_scheduler(Asked *asked, Str name) {
    for (size_t i = 0; i < asked->n_schedulers; i++)
        if (str_eq(str_of(asked->schedulers[i].name, asked->schedulers[i].len), name))
            return &asked->schedulers[i];
    return NULL;
}

static Scheduler *add_scheduler(Asked *asked, Str name) {
    Scheduler *at = &asked->schedulers[asked->n_schedulers];

    if (str_is_empty(name) || name.len > ASKED_NAME_MAX ||
        asked->n_schedulers == ASKED_SCHEDULERS_MAX)
        return NULL;
    memcpy(at->name, name.ptr, name.len);
    at->len = name.len;
    asked->n_schedulers++;
    return at;
}

static void note_scheduler(Asked *asked, Str name, int64_t now_nsec) {
    Scheduler *scheduler = find_scheduler(asked, name);

    if (!scheduler)
        scheduler = add_scheduler(asked, name);
    if (scheduler)
        scheduler->asked_at_nsec = now_nsec;
}

/* --- the functions of the header -------------------------------------------------------- */

void asked_note(Asked *asked, Str uid, Str scheduler, int64_t now_nsec) {
    uint64_t hash = hash_str(uid);

    pthread_mutex_lock(&asked->mutex);
    if (!str_is_empty(uid))
        note_pod(asked, hash);
    note_scheduler(asked, scheduler, now_nsec);
    pthread_mutex_unlock(&asked->mutex);
}

bool asked_knows(Asked *asked, Str uid) {
    uint64_t hash = hash_str(uid);
    bool is_known;

    pthread_mutex_lock(&asked->mutex);
    is_known = !str_is_empty(uid) && find(asked, hash) != NONE;
    pthread_mutex_unlock(&asked->mutex);
    return is_known;
}

bool asked_has_scheduler(Asked *asked, Str name, int64_t since_nsec) {
    const Scheduler *scheduler;
    bool has;

    pthread_mutex_lock(&asked->mutex);
    scheduler = find_scheduler(asked, name);
    has = scheduler && scheduler->asked_at_nsec >= since_nsec;
    pthread_mutex_unlock(&asked->mutex);
    return has;
}
