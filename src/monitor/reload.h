#pragma once

/*
 * Reload: how the last attempt to read some configuration went.
 *
 * Written by the daemon's thread, read by any.
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
    bool is_used;        /* the daemon has such a configuration at all */
    bool is_good;        /* the files on disk are in force */
    int64_t good_at_sec; /* when the one in force was read, since 1970 */
    uint64_t n_good, n_bad;
    char error[RELOAD_ERROR_MAX];   /* why the newest was rejected, one line; empty when good */
    char waiting[RELOAD_ERROR_MAX]; /* what the newest waits for, one line; empty: for nothing */
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
