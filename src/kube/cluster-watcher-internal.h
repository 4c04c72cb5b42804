#pragma once

/*
 * What the files of the watcher share. watcher.h is the contract: nobody else includes this.
 *
 *     watcher.c          its begin, its turns, its end
 *     watcher-resource.c     one resource: what its reflector brings, and what people hear of that
 *     watcher-show.c     the newest snapshot, and when it is shown
 *     watcher-lease.c    whether it is ours to bind
 *     watcher-status.c   figures
 *
 * What other threads leave is in the inbox (kube/inbox.h).
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "cluster/store.h"
#include "kube/bind-permit.h"
#include "kube/binder.h"
#include "kube/cluster-watcher.h"
#include "kube/inbox.h"
#include "kube/node-marker.h"
#include "kube/reflector.h"

/* One resource: the sink of its reflector. */
typedef struct WatchedResource {
    ClusterWatcher *watcher;
    WatcherKind kind;
    Reflector *reflector;
    int64_t list_began_at;
    bool is_connected;
    bool says_connected; /* the last word was that */
    int64_t connected_said_at, lost_said_at, unfit_said_at;
} WatchedResource;

struct ClusterWatcher {
    WatcherOptions options;
    WatcherCallbacks callbacks;
    Access *access;
    Client *client;
    Inbox *inbox;
    pthread_t thread;

    /* Of the thread alone. */
    Store *store;
    Binder *binder;
    NodeMarker *marker;
    EventPoster *poster; /* NULL: no Events are written */
    BindPermit *permit;  /* NULL: nobody else binds */
    LeaseStatus lease_said;
    int64_t lease_said_at;
    Arena *arena; /* of one object */
    WatchedResource resources[_WATCHER_KINDS];
    Snapshot *snapshot; /* the newest */
    bool is_shown;      /* ... and published */
    bool is_urgent;     /* do not wait for the end of the turn */
    int64_t shown_at;
    int64_t publish_at; /* not before: it has just failed */
    int64_t expire_at;  /* when the ledger is to be walked */
    int64_t wait_said_at;
    int64_t began_at;
    uint64_t n_published, n_bound, n_bind_failed, n_expired;
    bool has_said_forbidden, has_said_no_events;

    atomic_bool is_synced;
    atomic_bool is_asked;  /* since the last turn */
    atomic_bool is_wanted; /* the lease is, and will be for a while */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ended;  /* has_ended */
    bool is_ending, has_ended;
    int64_t end_by; /* monotonic: until when it may take to end */
    WatcherStatus status;
};

/* --- watcher.c ---------------------------------------------------------------------------- */

/* Whether something that was last said @at may be said again; it is, then. Things that happen
 * a thousand times must not become a thousand lines. */
bool watcher_may_say(int64_t *at);
void watcher_say(const ClusterWatcher *watcher, WatcherNotice notice);

/* --- watcher-resource.c ------------------------------------------------------------------------
 */

/* False when out of memory. */
bool watched_resource_init(
    WatchedResource *resource, ClusterWatcher *watcher, WatcherKind kind, uint64_t seed);

/* Does what is due; when to come again. */
int64_t watched_resource_tick(WatchedResource *resource, int64_t now_nsec);
void watched_resource_status(const WatchedResource *resource, WatcherKindStatus *ret);

/* --- watcher-show.c ------------------------------------------------------------------------ */

/* Shows what is new, if it is time; when to come again. */
int64_t watcher_show(ClusterWatcher *watcher, int64_t now_nsec);

/* For the binder: what a job is judged by. */
Snapshot *watcher_current_snapshot(void *watcher);

/* --- watcher-lease.c ----------------------------------------------------------------------- */

/* True also where there is no lease. False when out of memory. */
bool watcher_make_permit(ClusterWatcher *watcher);

/* Does what is due; when to come again. */
int64_t watcher_tend_lease(ClusterWatcher *watcher, int64_t now_nsec);

/* For the binder, too. */
bool watcher_may_bind(void *watcher, char *error);

/* --- watcher-status.c ---------------------------------------------------------------------- */

/* What watcher_status() tells from now on. */
void watcher_update_status(ClusterWatcher *watcher);
