#pragma once

/*
 * Shared by the files of the watcher:
 *
 *     cluster-watcher.c            its thread: binds, snapshots, figures
 *     cluster-watcher-lease.c      the lease, and whether we may bind
 *     cluster-watcher-needs.c      the fields of objects that are kept
 *     cluster-watcher-version.c    the version of the API server
 *     cluster-watcher-writes.c     what is written besides Bindings
 *     cluster-watcher-resource.c   nodes or pods, or objects of another kind: the sink of a
 *                                  reflector
 */

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/store.h"
#include "kube/binder.h"
#include "kube/cluster-watcher.h"
#include "kube/lease.h"
#include "kube/reflector.h"

/* One resource: the sink of its reflector. */
typedef struct WatchedResource {
    ClusterWatcher *watcher;
    WatcherKind kind;
    Reflector *reflector; /* NULL: it is not wanted */
    int64_t list_began_at;
    /* Versions of ClusterWatcher.keeping: the first that has all it needs, that of the list under
     * way or the last one, and that of the last whole one. */
    uint64_t needed, listing, listed;
    bool is_connected;
    bool has_reported_connected;
    int64_t connected_reported_at, lost_reported_at, skipped_reported_at;
} WatchedResource;

/* The version of the API server, which decides how resized pods are counted: pods are listed once
 * that is known. */
typedef struct ServerVersion {
    Call *call; /* NULL: none under way */
    Buf answer;
    int64_t ask_at; /* not before */
    bool is_known;
    ResizeRule rule;
} ServerVersion;

struct ClusterWatcher {
    WatcherOptions options;
    WatcherCallbacks callbacks;
    Access *access;
    Client *client;
    WriteQueue *writes[_WATCHER_WRITES]; /* NULL: there are none of that sort */
    pthread_t thread;

    /* Only for the thread. */
    Store *store;
    Binder *binder;
    Lease *lease;        /* NULL: there is one berth */
    uint64_t lease_term; /* for which pods have been, or are being, listed ... */
    int64_t listed_by;   /* ... by a list that was begun at this time, or later */
    LeaseStatus lease_reported;
    int64_t lease_reported_at;
    Arena *arena; /* of one object */
    WatchedResource resources[_WATCHER_ALL_KINDS];
    ServerVersion version;
    uint64_t seed;         /* of the reflectors */
    ClusterNeeds *keeping; /* the fields that are kept, and how often that has changed */
    uint64_t keeping_version;
    Snapshot *snapshot; /* the newest */
    bool is_published;
    bool is_urgent; /* do not wait for the end of the turn */
    int64_t published_at;
    int64_t publish_at; /* not before: it has just failed */
    int64_t expire_at;  /* when assumed pods expire next */
    bool only_expects;  /* assumed pods are expected, not bound by us */
    int64_t wait_reported_at;
    int64_t began_at;
    uint64_t n_published, n_bound, n_bind_failed, n_expired;
    bool has_reported_forbidden[_WATCHER_WRITES];

    atomic_bool is_synced;
    atomic_bool is_requested;               /* since the last turn */
    _Atomic int64_t requested_at;           /* the last request; 0: none */
    atomic_bool is_wanted;                  /* the lease is, and will be for a while */
    atomic_uint wants_related, has_related; /* RELATED_BIT()s */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t ended; /* has_ended */
    bool is_ending, has_ended;
    int64_t end_by;                    /* monotonic: until when it may take to end */
    BindJob *binds[WATCHER_BINDS_MAX]; /* a ring: not taken yet */
    size_t first_bind, n_waiting_binds;
    size_t n_binds; /* in the ring, or with the binder */
    WatcherStatus status;
    ClusterNeeds *wanted;    /* not taken yet; NULL: nothing more */
    ClusterNeeds *published; /* those that the last published snapshot has */
};

/* Whether a notice that was last given at *@at may be given again, which sets *@at to now. An event
 * that happens a thousand times must not log a thousand lines. */
bool watcher_may_notify(int64_t *at);
void watcher_notify(const ClusterWatcher *watcher, WatcherNotice notice);

/* False when out of memory. */
bool watcher_needs_init(ClusterWatcher *watcher);

/* Takes the fields of watcher_want(), if they are more than are kept. */
void watcher_keep_wanted(ClusterWatcher *watcher);

/* Notes the fields that the published snapshot has. A list that changes nothing is not published.
 */
void watcher_note_published(ClusterWatcher *watcher);

/* False when out of memory. */
bool watched_resource_init(ClusterWatcher *watcher, WatcherKind kind, uint64_t seed);

/* Stops watching a related kind, and removes its objects. */
void watched_resource_done(WatchedResource *resource);

/* Does the work that is due; returns when to call again. */
int64_t watched_resource_tick(WatchedResource *resource, int64_t now_nsec);

/* Asks for the version until it is known; returns when to call again. */
int64_t watcher_find_version(ClusterWatcher *watcher, int64_t now_nsec);

/* Makes the lease of the options, if there is one. False when out of memory. */
bool watcher_make_lease(ClusterWatcher *watcher);

/* As lease_tick(). Pods are listed again after another berth may have bound some. */
int64_t watcher_tick_lease(ClusterWatcher *watcher, int64_t now_nsec);

/* For the binder: whether a Binding may be sent now; if not, why, in @error (may be NULL). */
bool watcher_may_bind(void *context, char *error);

/* Makes the queues that the options need. False when out of memory. */
bool watcher_make_writes(ClusterWatcher *watcher);

/* Sends due requests; returns when to call again. */
int64_t watcher_send_writes(ClusterWatcher *watcher, int64_t now_nsec);
