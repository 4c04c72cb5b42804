#pragma once

/*
 * Reload: the result of the last attempt to read each configuration.
 *
 * Threads: one writes, any may read.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum ReloadKind {
    RELOAD_POLICY,
    RELOAD_CLUSTER,
    RELOAD_CERTIFICATES,
    RELOAD_SOURCES,
    RELOAD_PAGES_TOKEN,
    _RELOAD_MAX,
} ReloadKind;

#define RELOAD_ERROR_MAX 512u

typedef struct ReloadState {
    bool is_used;        /* berth has such a configuration */
    bool is_good;        /* the newest files are in force */
    int64_t good_at_sec; /* since 1970: when those in force were read */
    uint64_t n_good, n_bad;
    char error[RELOAD_ERROR_MAX];   /* one line: why the newest was rejected; empty: it was not */
    char waiting[RELOAD_ERROR_MAX]; /* one line: what the newest waits for; empty: nothing */
} ReloadState;

typedef struct Reloads {
    pthread_mutex_t lock;
    ReloadState states[_RELOAD_MAX];
} Reloads;

#define RELOADS_INIT ((Reloads){.lock = PTHREAD_MUTEX_INITIALIZER})

extern const char *const reload_kind_names[];

void reloads_note_good(Reloads *reloads, ReloadKind kind, int64_t now_sec);
void reloads_note_bad(Reloads *reloads, ReloadKind kind, const char *error);
void reloads_note_waiting(Reloads *reloads, ReloadKind kind, const char *why); /* "": no more */
void reloads_get(Reloads *reloads, ReloadKind kind, ReloadState *ret);
