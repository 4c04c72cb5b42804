#pragma once

/*
 * Shared by the files of the watcher:
 *
 *     cluster-watcher.c            the thread: binds, snapshots, figures
 *     cluster-watcher-lease.c      the lease, and whether we may bind
 *     cluster-watcher-needs.c      the fields of objects that are kept
 *     cluster-watcher-version.c    the version of the API server
 *     cluster-watcher-writes.c     writes other than Bindings
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
    Reflector *reflector; /* NULL: not watched */
    int64_t list_began_at;
    /* Values of ClusterWatcher.keeping_version: the first with all needed fields, that of the last
     * begun list, and that of the last complete list. */
    uint64_t needed, listing, listed;
    bool is_connected;
    bool has_reported_connected;
    int64_t connected_reported_at, lost_reported_at, skipped_reported_at;
} WatchedResource;

/* The version of the API server decides how resized pods are counted, so pods are listed only after
 * it is known. */
typedef struct ServerVersion {
    Call *call; /* NULL: none */
    Buf answer;
    int64_t ask_at; /* earliest time of the next call */
    bool is_known;
    ResizeRule rule;
} ServerVersion;

struct ClusterWatcher {
    WatcherOptions options;
    WatcherCallbacks callbacks;
    Access *access;
    Client *client;
    WriteQueue *writes[_WATCHER_WRITES]; /* NULL: not used */
    pthread_t thread;

    /* Used only by the thread. */
    Store *store;
    Binder *binder;
    Lease *lease;        /* NULL: a single replica */
    uint64_t lease_term; /* the term for which pods were listed last */
    int64_t listed_by;   /* only a list begun at this time or later counts */
    LeaseStatus lease_reported;
    int64_t lease_reported_at;
    Arena *arena; /* for one object at a time */
    WatchedResource resources[_WATCHER_ALL_KINDS];
    ServerVersion version;
    uint64_t seed;         /* for the reflectors */
    ClusterNeeds *keeping; /* the kept fields; keeping_version counts changes */
    uint64_t keeping_version;
    Snapshot *snapshot; /* the newest */
    bool is_published;
    bool is_urgent; /* publish at once */
    int64_t published_at;
    int64_t publish_at; /* earliest time, after a failure */
    int64_t expire_at;  /* next expiry of assumed pods */
    bool only_expects;  /* kube-scheduler binds the assumed pods */
    int64_t wait_reported_at;
    int64_t began_at;
    uint64_t n_published, n_bound, n_bind_failed, n_expired;
    bool has_reported_forbidden[_WATCHER_WRITES];

    atomic_bool is_synced;
    atomic_bool is_requested;               /* a request since the last turn */
    _Atomic int64_t requested_at;           /* the last request; 0: none */
    atomic_bool is_wanted;                  /* the lease is wanted */
    atomic_uint wants_related, has_related; /* RELATED_BIT()s */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t ended; /* signals has_ended */
    bool is_ending, has_ended;
    int64_t end_by;                    /* monotonic: deadline for ending */
    BindJob *binds[WATCHER_BINDS_MAX]; /* a ring: waiting jobs */
    size_t first_bind, n_waiting_binds;
    size_t n_binds; /* in the ring and in the binder */
    WatcherStatus status;
    ClusterNeeds *wanted;    /* not yet in @keeping; NULL: none */
    ClusterNeeds *published; /* fields of the last published snapshot */
};

/* Limits notices of one kind: whether one may be logged now, after the last at *at; then sets *at
 * to now. */
bool watcher_may_notify(int64_t *at);
void watcher_notify(const ClusterWatcher *watcher, WatcherNotice notice);

/* False when out of memory. */
bool watcher_needs_init(ClusterWatcher *watcher);

/* Starts to keep the fields of watcher_want() that are not kept yet. */
void watcher_keep_wanted(ClusterWatcher *watcher);

/* Updates @published: call it each turn, because a list that changes nothing is not published. */
void watcher_note_published(ClusterWatcher *watcher);

/* False when out of memory. */
bool watched_resource_init(ClusterWatcher *watcher, WatcherKind kind, uint64_t seed);

/* Stops watching a related kind, and removes its objects. */
void watched_resource_done(WatchedResource *resource);

/* Does due work; returns when to call again. */
int64_t watched_resource_tick(WatchedResource *resource, int64_t now_nsec);

/* Requests the version until it is known; returns when to call again. */
int64_t watcher_find_version(ClusterWatcher *watcher, int64_t now_nsec);

/* Makes the lease, if the options have one. False when out of memory. */
bool watcher_make_lease(ClusterWatcher *watcher);

/* Like lease_tick(). Lists pods again after another replica may have bound some. */
int64_t watcher_tick_lease(ClusterWatcher *watcher, int64_t now_nsec);

/* BinderOptions.may_send; @context is the watcher. */
bool watcher_may_bind(void *context, char *error);

/* Makes the queues that the options need. False when out of memory. */
bool watcher_make_writes(ClusterWatcher *watcher);

/* Sends due requests; returns when to call again. */
int64_t watcher_send_writes(ClusterWatcher *watcher, int64_t now_nsec);
