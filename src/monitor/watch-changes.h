#pragma once

/*
 * WatchChanges: changes of the watched cluster since the last look, for history/changes.h: the API
 * server lost and back, everything listed again, the lease taken and lost, pods that bypassed
 * berth.
 *
 * A relist that begins before the first look after the first complete list is not reported.
 *
 * Threads: one at a time; watch_is_lost() any.
 */

#include "history/changes.h"
#include "live/live.h"

/* A watch that ends is opened again at once; only what lasts is worth a word. */
#define WATCH_LOST_SEC 4
#define WATCH_BYPASS_SEC 60 /* bypassing pods: reported at most so often */

/* The state at the last call; all zero at the start. */
typedef struct WatchChanges {
    bool is_lost;
    int64_t lost_at_nsec;             /* monotonic: the last update */
    bool is_known[_WATCHER_KINDS];    /* the first list has been seen, ... */
    uint64_t n_lists[_WATCHER_KINDS]; /* ... and these since */
    bool is_held;
    uint64_t n_bypassed;         /* as reported */
    int64_t bypass_told_at_nsec; /* monotonic; 0: never */
} WatchChanges;

/* Whether updates from the API server are overdue: without a connection, for longer than
 * @silence_nsec, or on one that does not even send bookmarks. @ret_updated_nsec: the last update,
 * monotonic; 0: never. Before the first list is complete the watch is not lost, but not ready. */
bool watch_is_lost(const WatcherStatus *watcher, int64_t silence_nsec, int64_t now_nsec,
    int64_t *ret_updated_nsec);

void watch_changes_look(WatchChanges *watch, const LiveStatus *live, Changes *changes,
    int64_t wall_nsec, int64_t now_nsec);
