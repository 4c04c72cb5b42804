#pragma once

/*
 * Mirror: the cluster as the API server tells it, kept true by one thread.
 *
 *     list or streamed list ──> Store (staged, swapped in whole) ──> publish
 *     watch events ───────────> Store ──> publish, at the end of each turn
 *     bind() ─────────────────> judge, assume in the Store, publish, POST, answer
 *
 * The thread owns the client, the reflectors and the store; others reach it through
 * the functions below, which only leave messages. A decision never waits for it: it
 * reads the last snapshot that was published, whatever state the network is in.
 *
 * Bound pods count on their node from the moment the Binding is posted until the
 * watch shows them (or does not, for MIRROR_ASSUME_SEC): the ledger. After a restart it is
 * empty and need not be more: what was bound is in the first list, what was not will
 * be asked again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/snapshot.h"
#include "kube/access.h"
#include "kube/announce.h"
#include "kube/lease.h"
#include "model/labels.h"
#include "model/pod.h"

typedef struct Mirror Mirror;

#define MIRROR_ERROR_MAX 512u
/* A bound pod is forgotten when the watch has shown something so long after the bind, and never
 * the pod. As long as the watch is silent it stays: nothing could have shown it. */
#define MIRROR_ASSUME_SEC 60
#define MIRROR_BIND_SEC 10     /* a Binding that is not answered by then has failed */
#define MIRROR_BINDS_MAX 4096u /* waiting or under way; more are refused at once */
#define MIRROR_TURN_MSEC 10    /* events are collected for this long before they are published */

typedef enum MirrorKind {
    MIRROR_NODES,
    MIRROR_PODS,
    _MIRROR_KINDS,
} MirrorKind;

const char *mirror_kind_name(MirrorKind kind); /* "nodes", "pods" */

/* A pod to be bound. Whoever makes it keeps it alive until done() and frees it there. */
typedef struct BindJob {
    Str namespace, name, uid, node;
    const Pod *pod;     /* as the filter saw it: what the ledger counts. Never NULL */
    Labels annotations; /* to be set with the Binding; may be empty */
    /* On the mirror's thread, with the snapshot that has everything assumed before this
     * job: false refuses the bind, with a message in @error (MIRROR_ERROR_MAX). */
    bool (*judge)(struct BindJob *job, Snapshot *snapshot, char *error);
    /* On the mirror's thread, once. @error NULL: bound. */
    void (*done)(struct BindJob *job, const char *error);
} BindJob;

/* What a person who runs this would want to know. What happens a thousand times is told once
 * in a while. */
typedef enum MirrorEvent {
    MIRROR_FOLLOWING,   /* it begins: server, origin */
    MIRROR_INSECURE,    /* the server's certificate is not verified: origin. To be said loudly */
    MIRROR_CONNECTED,   /* the API server answers, for the first time or again: kind, server */
    MIRROR_LISTED,      /* kind, n, msec */
    MIRROR_RELISTING,   /* what we had is too old to go on from: kind, why */
    MIRROR_LOST,        /* kind, server, why, msec until the next try */
    MIRROR_KNOWN,       /* everything is listed for the first time: n_nodes, n_pods, msec */
    MIRROR_PASSED_OVER, /* an object could not be used: kind, name, why */
    MIRROR_UNSEEN,      /* n pods that were bound and that no watch showed */
    MIRROR_FORBIDDEN,   /* nodes cannot be marked: the right to patch them is missing */
    MIRROR_STUCK,       /* the client cannot even wait: why */
    MIRROR_TAKEN,       /* the lease is ours: binds are ours */
    MIRROR_GIVEN_UP,    /* ... nobody asked, or it ends */
    MIRROR_DEPRIVED,    /* ... it could not be renewed, or was taken by force: why */
    MIRROR_ELSEWHERE,   /* we are asked, and somebody else holds the lease: why is who */
    MIRROR_NO_LEASE,    /* we are asked, and the lease cannot be had: why */
    MIRROR_NO_EVENTS,   /* Events cannot be written: the right to create them is missing */
} MirrorEvent;

typedef struct MirrorNotice {
    MirrorEvent event;
    MirrorKind kind;
    const char *server, *origin;
    Str name;
    const char *why;
    size_t n, n_nodes, n_pods;
    int64_t msec;
} MirrorNotice;

typedef struct MirrorCallbacks {
    void *context;
    /* Something to tell; all texts are borrowed. On the mirror's thread. May be NULL. */
    void (*notice)(void *context, const MirrorNotice *notice);
    /* A new snapshot; borrowed. On the mirror's thread. False: it was not taken; it, or one
     * that is newer by then, is shown again at a later turn, not sooner than in a second. */
    bool (*publish)(void *context, Snapshot *snapshot);
    /* The watch shows that @pod, which was there before, now has a node: some scheduler has
     * bound it. Not for pods of a list, nor for those that are made with a node, as static
     * ones are. May be NULL. */
    void (*pod_bound)(void *context, const Pod *pod);
} MirrorCallbacks;

#define MIRROR_SILENCE_SEC 150 /* bookmarks come once a minute, the first after two */

typedef struct MirrorOptions {
    /* A watch that brings nothing whole for so long is given up; 0: MIRROR_SILENCE_SEC. */
    unsigned silence_sec;
    /* The Lease that says which of several berths binds (kube/warrant.h), and who we are; they
     * outlive the mirror. lease_name NULL: there is one berth. */
    const char *lease_namespace, *lease_name, *identity;
    bool may_announce; /* Events are written (kube/announce.h) */
} MirrorOptions;

/* Takes @access. Starts the thread. 0, or -ENOMEM/-EAGAIN (no thread): @access is freed
 * in every case. */
int mirror_new(
    Access *access, const MirrorOptions *options, const MirrorCallbacks *callbacks, Mirror **ret);

/* Tells the thread to end, and waits for that, at most @timeout_nsec: a credential plugin may
 * hold it up (kube/access.h). Who holds the lease takes most of that time, if need be, for the
 * Bindings that are under way, and then gives it up. Jobs that are left get done() with an error
 * first. Whether it has ended; may be called again. Any thread, but one at a time, and not the
 * mirror's. */
bool mirror_stop(Mirror *mirror, int64_t timeout_nsec);

/* Ends the thread as mirror_stop() does, however long it takes. Takes NULL. */
Mirror *mirror_free(Mirror *mirror);
DEFINE_CLEANUP(Mirror *, mirror_free)

/* Any thread. 0; -EBUSY over MIRROR_BINDS_MAX; -ESHUTDOWN: done() is not called then. */
int mirror_bind(Mirror *mirror, BindJob *job);

/* Somebody asks about a pod, which is to be bound soon: the lease is wanted. Any thread; costs a
 * look at two flags as long as that is known. */
void mirror_note_asked(Mirror *mirror);

/* Marks the node with the annotation MIRROR_RETRY_ANNOTATION and the time, so that
 * kube-scheduler tries again the pods it parked. Any thread; dropped when many are
 * waiting. */
#define MIRROR_RETRY_ANNOTATION "berth.dev/retry-at"
#define MIRROR_TOUCHES_MAX 256u
void mirror_touch_node(Mirror *mirror, Str node);

/* Posts an Event, soon; dropped when many are waiting, and unless may_announce. Any thread. */
void mirror_announce(Mirror *mirror, const Announcement *announcement);

typedef struct MirrorKindStatus {
    bool is_synced;         /* one complete list has been seen */
    bool is_connected;      /* the API server sends: a watch is open, or a list comes in */
    int64_t synced_at_nsec; /* monotonic: last time it was known to be complete */
    int64_t heard_at_nsec;  /* monotonic: last byte that was no refusal; 0: never */
    uint64_t n_lists, n_watches, n_restarts;
    uint64_t n_added, n_modified, n_deleted, n_bookmarks, n_errors, n_unknown;
    uint64_t n_malformed; /* documents that could not be told apart: a new list follows */
    uint64_t n_unfit;     /* objects that could not be read, or are too many: passed over */
    uint64_t n_bytes;
    uint64_t n_failures;               /* calls that ended in any other way than they should */
    char last_error[MIRROR_ERROR_MAX]; /* of now: empty while connected */
} MirrorKindStatus;

typedef struct MirrorStatus {
    MirrorKindStatus kinds[_MIRROR_KINDS];
    size_t n_nodes, n_pods, n_assumed;
    size_t n_resources_left_out; /* offered by nodes, over the ceiling: not counted */
    uint64_t n_published;
    uint64_t n_bound, n_bind_failed; /* what judge() refused is neither */
    uint64_t n_expired;              /* assumed, never seen */
    uint64_t n_touched, n_touch_failed;
    bool has_lease;
    LeaseStatus lease;
    bool may_announce;
    AnnounceFigures events;
    char server[256];
} MirrorStatus;

/* Any thread; copied under a lock that is never held for long. */
void mirror_status(Mirror *mirror, MirrorStatus *ret);

/* Everything has been listed once, and publish() has taken it. Any thread. */
bool mirror_is_synced(Mirror *mirror);
