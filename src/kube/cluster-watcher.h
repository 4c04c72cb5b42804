#pragma once

/*
 * ClusterWatcher: keeps a copy of the cluster by lists and watches, on one thread, and binds pods.
 *
 *     list or streamed list ──> Store (staged, swapped in whole) ──> publish
 *     watch events ───────────> Store ──> publish, at the end of each turn
 *     bind() ─────────────────> judge, assume in the Store, publish, POST, answer
 *
 * The thread owns the client, the reflectors and the store; the functions below only leave
 * messages. A decision never waits for it: it reads the last snapshot that was published.
 *
 * Bound pods count on their node from the moment the Binding is posted until the watch shows them
 * (or does not, for WATCHER_ASSUME_SEC): the ledger. After a restart it is empty: pods that were
 * bound are in the first list, for the others kube-scheduler calls again.
 */

#include "cluster/needs.h"
#include "cluster/related-objects.h"
#include "cluster/snapshot.h"
#include "kube/access.h"
#include "kube/api-writes.h"
#include "kube/policy-objects.h"
#include "kube/reflector.h"
#include "model/labels.h"
#include "model/pod.h"

typedef struct ClusterWatcher ClusterWatcher;

#define WATCHER_ERROR_MAX 512u
/* A bound pod is forgotten when the watch has shown something so long after the bind, and never
 * the pod. As long as the watch is silent it stays: nothing could have shown it. */
#define WATCHER_ASSUME_SEC 60
/* The same for a pod that kube-scheduler is expected to bind, to the only node or to a guessed one.
 */
#define WATCHER_EXPECT_SEC 15
#define WATCHER_BIND_SEC 10     /* a Binding that is not answered by then has failed */
#define WATCHER_BINDS_MAX 4096u /* waiting or under way; more are refused at once */
#define WATCHER_TURN_MSEC 10    /* events are collected for this long before they are published */

typedef enum WatcherKind {
    WATCHER_NODES,
    WATCHER_PODS,
    _WATCHER_KINDS, /* from here on: _WATCHER_KINDS + RelatedKind, watched if they are wanted */
    WATCHER_POLICIES = _WATCHER_KINDS + _RELATED_KINDS, /* with WatcherOptions.policies */
    _WATCHER_ALL_KINDS,
} WatcherKind;

const char *watcher_kind_name(WatcherKind kind); /* "nodes", "pods", "namespaces" */

/* A pod to be bound; or one that kube-scheduler is expected to bind to the node, because no other
 * is left or by a guess, and that counts there from now on. The caller keeps it alive until done()
 * and frees it there. */
typedef struct BindJob {
    Str namespace, name, uid, node;
    bool is_expected;   /* no Binding is sent; @node empty: the pod is expected nowhere any more */
    bool is_guessed;    /* expected: kube-scheduler can choose among several. judge() may set it */
    const Pod *pod;     /* the pod of the filter request, which the ledger counts. Never NULL */
    Labels annotations; /* to be set with the Binding; may be empty */
    /* On the watcher's thread, with the snapshot that has everything assumed before this
     * job: false refuses the bind, with a message in @error (WATCHER_ERROR_MAX). */
    bool (*judge)(struct BindJob *job, Snapshot *snapshot, char *error);
    /* On the watcher's thread, once. @error NULL: bound; or expected, and published. */
    void (*done)(struct BindJob *job, const char *error);
} BindJob;

/* Queues of writes other than Bindings (kube/api-writes.h). */
typedef enum WatcherWrites {
    WATCHER_NOMINATIONS, /* with nominates */
    WATCHER_MARKS,       /* of nodes: always */
    WATCHER_EVENTS,      /* with posts_events */
    WATCHER_PUBLISHED,   /* extended resources and labels: with publishes */
    WATCHER_REPORTS,     /* the status of policies: with policies */
    _WATCHER_WRITES,
} WatcherWrites;

/* Changes worth a line of the log. Those that happen a thousand times are reported now and then. */
typedef enum WatcherEvent {
    WATCHER_FOLLOWING,       /* it begins: server, origin */
    WATCHER_INSECURE,        /* the server's certificate is not verified: origin. Worth a warning */
    WATCHER_CONNECTED,       /* the API server answers, for the first time or again: kind, server */
    WATCHER_LISTED,          /* kind, n, msec */
    WATCHER_RELISTING,       /* what we had is too old to go on from: kind, why */
    WATCHER_LOST,            /* kind, server, why, msec until the next try */
    WATCHER_SYNCED,          /* everything is listed for the first time: n_nodes, n_pods, msec */
    WATCHER_OBJECT_SKIPPED,  /* an object could not be used: kind, name, why */
    WATCHER_ASSUMED_EXPIRED, /* n pods that were bound and that no watch showed */
    WATCHER_MARKS_FORBIDDEN, /* nodes cannot be marked: the right to patch them is missing */
    WATCHER_WAIT_FAILED,     /* the client cannot even wait: why */
    WATCHER_LEASE_TAKEN,     /* the lease is ours: binds are ours */
    WATCHER_LEASE_RELEASED,  /* ... no requests came, or berth ends */
    WATCHER_LEASE_LOST,      /* ... it could not be renewed, or was taken by force: why */
    WATCHER_LEASE_HELD_ELSEWHERE, /* requests come, and another berth (why) holds the lease */
    WATCHER_LEASE_FAILED,         /* requests come, and the lease cannot be taken: why */
    WATCHER_EVENTS_FORBIDDEN,   /* Events cannot be written: the right to create them is missing */
    WATCHER_PUBLISH_FORBIDDEN,  /* the same for what is published: patch on nodes/status, nodes */
    WATCHER_NOMINATE_FORBIDDEN, /* the same for nominations: patch on pods/status */
    WATCHER_REPORT_FORBIDDEN,   /* the same for the status of policies */
} WatcherEvent;

typedef struct WatcherNotice {
    WatcherEvent event;
    WatcherKind kind;
    const char *server, *origin;
    Str name;
    const char *why;
    size_t n, n_nodes, n_pods;
    int64_t msec;
} WatcherNotice;

typedef struct WatcherCallbacks {
    void *context;
    /* A notice; all texts are borrowed. On the watcher's thread. May be NULL. */
    void (*notice)(void *context, const WatcherNotice *notice);
    /* A new snapshot; borrowed. On the watcher's thread. Returns false if it was not taken; it, or
     * one that is newer by then, is shown again at a later turn, not sooner than in a second. */
    bool (*publish)(void *context, Snapshot *snapshot);
    /* The watch shows that @pod, which was there before, now has a node: some scheduler has
     * bound it. Not for pods of a list, nor for those that are made with a node, as static
     * ones are. May be NULL. */
    void (*pod_bound)(void *context, const Pod *pod);
    /* The watch shows that a pod was deleted. Not for pods that a later list lacks. May be NULL. */
    void (*pod_deleted)(void *context, const ObjectMeta *meta);
    /* A pod of a list or of the watch, and its JSON; borrowed. May be NULL. */
    void (*pod_seen)(void *context, const Pod *pod, Str text);
    /* A list of all pods begins, or has ended: pods that were not seen since the begin are gone.
     * May be NULL. */
    void (*pods_listed)(void *context, bool has_ended);
} WatcherCallbacks;

#define WATCHER_SILENCE_SEC 150 /* bookmarks come once a minute, the first after two */

typedef struct WatcherOptions {
    /* A watch that brings nothing whole for so long is given up; 0: WATCHER_SILENCE_SEC. */
    unsigned silence_sec;
    /* The Lease whose holder binds, of several berths (kube/cluster-watcher-lease.c), and our
     * identity; they outlive the watcher, as all below. Without a name there is one berth. */
    LeaseObject lease;
    const char *identity;
    bool posts_events; /* Events are posted */
    bool publishes;    /* published filters are written to nodes, by the holder of the Lease */
    LeaseObject publish_lease;
    PolicyObjects *policies;    /* PlacementPolicies are watched; NULL: no */
    LeaseObject policies_lease; /* whose holder writes their status */
    /* Pods are nominated, by the berth that gets requests; of several by the holder of the Lease.
     */
    bool nominates;
    LeaseObject nominate_lease;
    uint64_t seed; /* of delays between retries; 0: a random one */
    /* The fields that are kept besides those that always are, until watcher_want(); copied. NULL:
     * all of them. */
    const ClusterNeeds *needs;
    unsigned related; /* RELATED_BIT()s that are wanted from the start */
} WatcherOptions;

/* Takes @access. Starts the thread. 0, or -ENOMEM/-EAGAIN (no thread): @access is freed
 * in every case. */
int watcher_new(Access *access, const WatcherOptions *options, const WatcherCallbacks *callbacks,
    ClusterWatcher **ret);

/* Makes the thread end, and waits for that, at most @timeout_nsec: a credential plugin may
 * hold it up (kube/access.h). With the lease it takes most of that time, if need be, for the
 * Bindings under way, and then gives the lease up. Jobs that are left get done() with an error
 * first. Whether it has ended; may be called again. Any thread, but one at a time, and not the
 * watcher's. */
bool watcher_stop(ClusterWatcher *watcher, int64_t timeout_nsec);

/* Ends the thread as watcher_stop() does, however long it takes. Takes NULL. */
ClusterWatcher *watcher_free(ClusterWatcher *watcher);
DEFINE_CLEANUP(ClusterWatcher *, watcher_free)

/* Also for expected pods. Any thread. 0; -EBUSY over WATCHER_BINDS_MAX; -ESHUTDOWN: done()
 * is not called then. */
int watcher_bind(ClusterWatcher *watcher, BindJob *job);

/* A request for a pod has arrived, which will be bound soon: the lease is wanted. Any thread; in
 * the steady state it only reads two flags. */
void watcher_note_request(ClusterWatcher *watcher);

/* Whether this berth is the one that writes @which. Any thread. */
bool watcher_may_write(const ClusterWatcher *watcher, WatcherWrites which);

/* The queue of @which, as long as the watcher; NULL: there are no such writes. Any thread. This
 * berth wants the lease of nominations for WATCHER_NOMINATE_SEC after each watcher_note_request():
 * longer than kube-scheduler takes to elect another leader. */
#define WATCHER_NOMINATE_SEC 60
WriteQueue *watcher_writes(const ClusterWatcher *watcher, WatcherWrites which);

/* @needs are kept from now on, besides those of before: if they were not so far, their objects are
 * listed again, and the snapshot of before stays until that is complete. Whether the last published
 * snapshot has them; if not, call it again. Any thread. */
bool watcher_want(ClusterWatcher *watcher, const ClusterNeeds *needs);

/* The objects that pods refer to (cluster/related-objects.h) which are watched from now on, as
 * RELATED_BIT()s; others are forgotten. The first snapshot waits for those that are wanted from the
 * start, unless the API server refuses to list them. Any thread. */
void watcher_want_related(ClusterWatcher *watcher, unsigned kinds);

/* Whether the last published snapshot knows all of @kinds. Any thread. */
bool watcher_has_related(ClusterWatcher *watcher, unsigned kinds);

typedef ReflectorFigures WatcherKindStatus;

typedef struct WatcherStatus {
    WatcherKindStatus kinds[_WATCHER_ALL_KINDS]; /* zero: it is not watched */
    unsigned related_wanted;                     /* RELATED_BIT()s */
    size_t n_related[_RELATED_KINDS];
    bool watches_policies; /* WatcherOptions.policies */
    size_t n_policies;
    size_t n_nodes, n_pods, n_assumed;
    size_t n_resources_left_out; /* offered by nodes, over the ceiling: not counted */
    uint64_t n_published;
    uint64_t n_bound, n_bind_failed;           /* what judge() refused is neither */
    uint64_t n_expired;                        /* assumed, never seen; without guesses */
    uint64_t n_guesses_wrong, n_guesses_right; /* as the watch has shown */
    bool has_lease;
    LeaseStatus lease;
    bool publishes, nominates; /* this berth is the one that does */
    WriteFigures writes[_WATCHER_WRITES];
    char server[256];
} WatcherStatus;

/* Any thread; copied under a lock that is never held for long. */
void watcher_status(ClusterWatcher *watcher, WatcherStatus *ret);

/* Everything has been listed once, and publish() has taken it. Any thread. */
bool watcher_is_synced(ClusterWatcher *watcher);
