#pragma once

/*
 * ClusterWatcher: keeps a copy of the cluster by lists and watches, on one thread, and binds pods.
 *
 *     list or streamed list ──> Store (staged, then replaced as a whole) ──> publish
 *     watch events ───────────> Store ──> publish, at the end of each turn
 *     bind() ─────────────────> judge, assume in the Store, publish, POST, answer
 *
 * The thread owns the client, the reflectors and the store; the functions below only queue work.
 * Decisions never wait for it: they read the last published snapshot.
 *
 * The ledger: bound pods count on their node from the POST of the Binding until the watch shows
 * them, or for WATCHER_ASSUME_SEC. After a restart it is empty: bound pods are in the first list,
 * and for others kube-scheduler calls again.
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
/* A bound pod is forgotten if the watch has shown events this long after the bind, but not the pod.
 * While the watch is silent the pod stays: it could not have been shown. */
#define WATCHER_ASSUME_SEC 60
/* A pod that kube-scheduler is expected to bind is forgotten after this time. */
#define WATCHER_EXPECT_SEC 15
#define WATCHER_BIND_SEC 10     /* then an unanswered Binding has failed */
#define WATCHER_BINDS_MAX 4096u /* waiting or sent; more are refused at once */
#define WATCHER_TURN_MSEC 10    /* collects events before publishing them */

typedef enum WatcherKind {
    WATCHER_NODES,
    WATCHER_PODS,
    _WATCHER_KINDS, /* then _WATCHER_KINDS + RelatedKind, watched if wanted */
    WATCHER_POLICIES = _WATCHER_KINDS + _RELATED_KINDS, /* if WatcherOptions.policies */
    _WATCHER_ALL_KINDS,
} WatcherKind;

const char *watcher_kind_name(WatcherKind kind); /* "nodes", "pods", "namespaces" */

/* A pod to bind; or one that kube-scheduler is expected to bind to the node (the only one left, or
 * a guess), which counts there from now on. The caller owns it, and frees it in done() or later. */
typedef struct BindJob {
    Str namespace, name, uid, node;
    bool is_expected;   /* no Binding is sent; empty @node: it is no longer expected on any */
    bool is_guessed;    /* expected: @node is one of several; judge() may set it */
    const Pod *pod;     /* of the filter request, for the ledger; never NULL */
    Labels annotations; /* set with the Binding; may be empty */
    /* On the watcher's thread; @snapshot has all pods assumed before this job. False refuses the
     * bind, with a message in @error (WATCHER_ERROR_MAX). */
    bool (*judge)(struct BindJob *job, Snapshot *snapshot, char *error);
    /* On the watcher's thread, once. @error NULL: bound; or expected and published. */
    void (*done)(struct BindJob *job, const char *error);
} BindJob;

/* Queues of writes other than Bindings (kube/api-writes.h). */
typedef enum WatcherWrites {
    WATCHER_NOMINATIONS, /* if WatcherOptions.nominates */
    WATCHER_MARKS,       /* marks of nodes: always */
    WATCHER_EVENTS,      /* if posts_events */
    WATCHER_PUBLISHED,   /* extended resources and labels: if publishes */
    WATCHER_REPORTS,     /* the status of policies: if policies */
    _WATCHER_WRITES,
} WatcherWrites;

/* Events to log; frequent ones are reported at a limited rate. The comments list the members that
 * are set in WatcherNotice. */
typedef enum WatcherEvent {
    WATCHER_FOLLOWING,       /* the watcher starts: server, origin */
    WATCHER_INSECURE,        /* the server's certificate is not verified: origin */
    WATCHER_CONNECTED,       /* the API server answers, for the first time or again: kind, server */
    WATCHER_LISTED,          /* kind, n, msec */
    WATCHER_RELISTING,       /* our resourceVersion is too old: kind, why */
    WATCHER_LOST,            /* kind, server, why, msec until the next try */
    WATCHER_SYNCED,          /* all is listed for the first time: n_nodes, n_pods, msec */
    WATCHER_OBJECT_SKIPPED,  /* an object cannot be used: kind, name, why */
    WATCHER_ASSUMED_EXPIRED, /* n bound pods were never shown by the watch */
    WATCHER_MARKS_FORBIDDEN, /* no right to patch nodes */
    WATCHER_WAIT_FAILED,     /* waiting for the network failed: why */
    WATCHER_LEASE_TAKEN,     /* this replica holds the lease and binds */
    WATCHER_LEASE_RELEASED,  /* no requests came, or berth ends */
    WATCHER_LEASE_LOST,      /* it could not be renewed, or was overwritten: why */
    WATCHER_LEASE_HELD_ELSEWHERE, /* requests come, but another replica (why) holds it */
    WATCHER_LEASE_FAILED,         /* requests come, but it cannot be taken: why */
    WATCHER_EVENTS_FORBIDDEN,     /* no right to create Events */
    WATCHER_PUBLISH_FORBIDDEN,    /* no right to patch nodes/status or nodes */
    WATCHER_NOMINATE_FORBIDDEN,   /* no right to patch pods/status */
    WATCHER_REPORT_FORBIDDEN,     /* no right to patch the status of policies */
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
    /* Texts are borrowed. On the watcher's thread. May be NULL. */
    void (*notice)(void *context, const WatcherNotice *notice);
    /* A new snapshot, borrowed, on the watcher's thread. Returns false to reject it; then it, or a
     * newer one, is published again, not sooner than in a second. */
    bool (*publish)(void *context, Snapshot *snapshot);
    /* The watch shows that @pod, which had no node, was bound by any scheduler. Not called for pods
     * of a list, nor for pods created with a node, such as static pods. May be NULL. */
    void (*pod_bound)(void *context, const Pod *pod);
    /* The watch shows that a pod was deleted. Not called if a later list lacks it. May be NULL. */
    void (*pod_deleted)(void *context, const ObjectMeta *meta);
    /* A pod of a list or of the watch, and its JSON; borrowed. May be NULL. */
    void (*pod_seen)(void *context, const Pod *pod, Str text);
    /* A list of all pods begins, or has ended: then pods not seen since it began are gone. May be
     * NULL. */
    void (*pods_listed)(void *context, bool has_ended);
} WatcherCallbacks;

#define WATCHER_SILENCE_SEC 150 /* bookmarks come each minute, the first after two */

typedef struct WatcherOptions {
    /* A watch without a whole document for this time is ended; 0: WATCHER_SILENCE_SEC. */
    unsigned silence_sec;
    /* The Lease whose holder binds (kube/cluster-watcher-lease.c), and our identity. Without a name
     * there is one replica. These and all pointers below are borrowed by the watcher. */
    LeaseObject lease;
    const char *identity;
    bool posts_events; /* post Events */
    bool publishes;    /* the holder of publish_lease writes published filters */
    LeaseObject publish_lease;
    PolicyObjects *policies;    /* watch PlacementPolicies; NULL: no */
    LeaseObject policies_lease; /* its holder writes their status */
    /* The replica that gets requests, and holds nominate_lease, nominates pods. */
    bool nominates;
    LeaseObject nominate_lease;
    uint64_t seed; /* for delays between retries; 0: random */
    /* Optional fields to keep until watcher_want(); copied. NULL: all. */
    const ClusterNeeds *needs;
    unsigned related; /* RELATED_BIT()s of kinds to watch from the start */
} WatcherOptions;

/* Starts the thread. Takes @access, also on failure. 0, -ENOMEM, or -EAGAIN (no thread). */
int watcher_new(Access *access, const WatcherOptions *options, const WatcherCallbacks *callbacks,
    ClusterWatcher **ret);

/* Ends the thread, and waits for it up to @timeout_nsec: a credential plugin may delay it
 * (kube/access.h). A holder of the lease first waits most of that time for running Bindings, then
 * releases the lease. Remaining jobs end with an error. Returns whether the thread has ended; may
 * be called again. Any thread, but one at a time, and not the watcher's. */
bool watcher_stop(ClusterWatcher *watcher, int64_t timeout_nsec);

/* Like watcher_stop(), without a timeout; then frees. Takes NULL. */
ClusterWatcher *watcher_free(ClusterWatcher *watcher);
DEFINE_CLEANUP(ClusterWatcher *, watcher_free)

/* Queues @job. Any thread. 0; -EBUSY over WATCHER_BINDS_MAX; -ESHUTDOWN. On failure done() is not
 * called. */
int watcher_bind(ClusterWatcher *watcher, BindJob *job);

/* A request has arrived, so a bind will follow: the lease is wanted. Any thread; usually it only
 * reads two flags. */
void watcher_note_request(ClusterWatcher *watcher);

/* Whether this replica writes @which. Any thread. */
bool watcher_may_write(const ClusterWatcher *watcher, WatcherWrites which);

/* The queue of @which, owned by the watcher; NULL: not used. Any thread. This replica wants the
 * lease of nominations for WATCHER_NOMINATE_SEC after each watcher_note_request(): longer than
 * kube-scheduler needs to elect another leader. */
#define WATCHER_NOMINATE_SEC 60
WriteQueue *watcher_writes(const ClusterWatcher *watcher, WatcherWrites which);

/* Also keeps @needs from now on: if they were not kept, their objects are listed again, and the old
 * snapshot stays until that list is complete. Returns whether the last published snapshot has them;
 * if not, call it again. Any thread. */
bool watcher_want(ClusterWatcher *watcher, const ClusterNeeds *needs);

/* The kinds of related objects (cluster/related-objects.h) to watch from now on, as RELATED_BIT()s;
 * others are forgotten. The first snapshot waits for kinds wanted from the start, unless the API
 * server refuses to list them. Any thread. */
void watcher_want_related(ClusterWatcher *watcher, unsigned kinds);

/* Whether the last published snapshot has all of @kinds. Any thread. */
bool watcher_has_related(ClusterWatcher *watcher, unsigned kinds);

typedef ReflectorFigures WatcherKindStatus;

typedef struct WatcherStatus {
    WatcherKindStatus kinds[_WATCHER_ALL_KINDS]; /* zeros: not watched */
    unsigned related_wanted;                     /* RELATED_BIT()s */
    size_t n_related[_RELATED_KINDS];
    bool watches_policies; /* WatcherOptions.policies */
    size_t n_policies;
    size_t n_nodes, n_pods, n_assumed;
    size_t n_resources_left_out; /* resources of nodes over the limit, not counted */
    uint64_t n_published;
    uint64_t n_bound, n_bind_failed; /* jobs that judge() refused count in neither */
    uint64_t n_expired;              /* assumed pods, except guessed ones, never shown */
    uint64_t n_guesses_wrong,
        n_guesses_right; /* pods seen on another node than guessed, on the guessed node */
    bool has_lease;
    LeaseStatus lease;
    bool publishes, nominates; /* this replica does */
    WriteFigures writes[_WATCHER_WRITES];
    char server[256];
} WatcherStatus;

/* Copies the status of the last turn. Any thread. */
void watcher_status(ClusterWatcher *watcher, WatcherStatus *ret);

/* Whether all was listed once, and publish() has accepted it. Any thread. */
bool watcher_is_synced(ClusterWatcher *watcher);
