#pragma once

/*
 * WatchChanges: notes changes of the watched cluster in history/changes.h: the API server lost and
 * back, objects listed again, the Lease acquired and lost, pods that bypassed berth.
 *
 * The first complete list is not reported as a relist.
 *
 * Threads: one at a time; watch_is_lost(): any.
 */

#include "history/changes.h"
#include "live/live.h"

/* A watch that ends is opened again at once; only longer losses are reported. */
#define WATCH_LOST_SEC 4
#define WATCH_BYPASS_SEC 60 /* minimum between two reports */

/* The state at the last call; zero at the start. */
typedef struct WatchChanges {
    bool is_lost;
    int64_t lost_at_nsec;             /* monotonic: the last update */
    bool is_known[_WATCHER_KINDS];    /* its first list was seen, with ... */
    uint64_t n_lists[_WATCHER_KINDS]; /* ... this number of lists */
    bool is_held;
    uint64_t n_bypassed;         /* as last reported */
    int64_t bypass_told_at_nsec; /* monotonic; 0: never */
} WatchChanges;

/* Whether updates from the API server are overdue: there is no connection for longer than
 * @silence_nsec, or an open one does not even send bookmarks. *ret_updated_nsec: the last update,
 * monotonic; 0: never. Before the first complete list the watch is not ready, but not lost. */
bool watch_is_lost(const WatcherStatus *watcher, int64_t silence_nsec, int64_t now_nsec,
    int64_t *ret_updated_nsec);

void watch_changes_look(WatchChanges *watch, const LiveStatus *live, Changes *changes,
    int64_t wall_nsec, int64_t now_nsec);
