#pragma once

/*
 * Live: connects the watched cluster with the daemon.
 *
 * The ClusterWatcher (src/kube) keeps a copy of the cluster and posts Bindings; this connects it
 * with the verbs. What it adds:
 *
 *   bind     only for pairs of pod and node that passed a filter a short while ago, and
 *            judged once more with everything that was bound since; the connection waits
 *            without holding up a worker
 *   expect   without bind: a pod counts on the node that is left, or on a guessed one, before the
 *            reply to its filter is sent (live/expectation.h)
 *   wake-up  when a node that a rule rejected would pass now, it is marked, so that
 *            kube-scheduler tries again the pods that it parked because of berth
 *   bypass   counts pods that were bound without a request, by a scheduler that calls berth
 *   events   Kubernetes Events, if they are wanted (history/kube-events.h)
 *
 * Threads: functions are for any thread unless they say otherwise.
 */

#include "extender/verbs.h"
#include "extender/view.h"
#include "history/kube-events.h"
#include "history/recent-pods.h"
#include "http/server.h"
#include "kube/cluster-watcher.h"
#include "live/expectation.h"
#include "live/nominator.h"
#include "live/policy-reporter.h"

typedef struct Live Live;

#define LIVE_BIND_WINDOW_SEC (RECENT_PODS_WINDOW_NSEC / NSEC_PER_SEC)
#define LIVE_MANAGED_RESOURCES_MAX 32u /* names given by flags */

typedef struct LiveOptions {
    const char *kubeconfig; /* NULL: none */
    const char *context;    /* NULL: the current one */
    bool is_in_cluster;     /* the mounted service account */
    bool may_bind;
    unsigned bind_window_sec;
    bool may_touch;     /* wake-ups */
    OwnPod self;        /* with watcher.posts_events: whom Events about ourselves are about */
    const Str *managed; /* bypass: only pods that request one of these; none: all */
    size_t n_managed;
    const Exemptions *exempt; /* bypass: pods that no policy applies to; may be NULL */
    int64_t nominate_weight; /* with watcher.nominates: berth's in kube-scheduler's configuration */
    NominationLog *nominated; /* past nominations; borrowed, may be NULL */
    WatcherOptions watcher;
} LiveOptions;

bool live_is_wanted(const LiveOptions *options);

typedef struct LiveCallbacks {
    void *context;
    /* A bind has been decided, for figures and the log. */
    void (*bound)(void *context, const Decision *decision);
    AnswerFilter *filter;
} LiveCallbacks;

/* Finds out how to reach the API server, and begins: the cluster is put into @current, on the
 * watcher's thread. @options, @current and @recent are borrowed. 0; or a negative errno with a
 * message for users in @error (ACCESS_ERROR_MAX). */
int live_new(const LiveOptions *options, Current *current, RecentPods *recent,
    const LiveCallbacks *callbacks, Live **ret, char *error);
Live *live_free(Live *live); /* after the server, whose workers use it. Takes NULL */
DEFINE_CLEANUP(Live *, live_free)

/* A filter was answered, and recent_pods_note() was called. A filter without nodes is a probe: it
 * is ignored. */
void live_observe_filter(Live *live, const View *view, const Decision *decision, int64_t now_nsec);

/* Called after live_observe_filter(), with the reply to that filter: as expect_pod(), unless berth
 * binds. */
void live_expect(Live *live, const HttpRequest *request, const View *view, const Decision *decision,
    const HttpReply *reply);

/* The last call of a filter: with --nominate its reply may wait a moment, as nominator_wait(). */
int64_t live_wait(Live *live);

/* Answers a bind: at once through @reply, or later (server_defer()). */
void live_bind(Live *live, const HttpRequest *request, int tag, HttpReply *reply);

/* Where Events are written (history/kube-events.h); does nothing if they are disabled. */
void live_note_policy(Live *live, Str error);
void live_note_stale(Live *live, Str policy, Str metric, Str source);

/* Writes the status of policies of the cluster that has changed, if this berth is the one to.
 * Daemon's thread. */
void live_report_policies(Live *live, const PolicyReport *report, int64_t now_nsec);

/* The fields that a new program reads are listed, if they were not kept so far. False: they are not
 * in the current cluster yet; call it again. */
bool live_want(Live *live, const ClusterNeeds *needs);

/* The same for objects that pods refer to (RELATED_BIT()s): @wanted are watched from now on, and no
 * others. Whether the current cluster has @needed. */
bool live_want_related(Live *live, unsigned wanted, unsigned needed);

/* The view has changed from @before to @after; and a tick, about once a second. Never at the same
 * time. */
void live_note_view(Live *live, const View *before, const View *after);
void live_tick(Live *live, int64_t now_nsec);

/* Ends unfinished work within the time; false: it has not ended (a credential plugin may hang), and
 * live_free() would wait for it. */
bool live_stop(Live *live, int64_t timeout_nsec);

typedef struct LiveStatus {
    WatcherStatus watcher;
    bool is_synced;
    uint64_t n_bypassed;
    uint64_t n_bind_refused;        /* by us: never passed, too long ago, or no longer */
    uint64_t n_annotations_skipped; /* of binds: their expressions failed */
    PassedFigures passed;           /* all zero without bind */
    const WatcherOptions *options;  /* names of leases; as long as Live */
    bool publishes;                 /* watcher.publishes: and this berth is the one that writes */
    size_t n_unpublished;           /* nodes that do not offer yet what they should */
    int64_t unpublished_since;      /* monotonic: the first of them; 0: none */
    bool writes_policy_status;      /* with watcher.watches_policies: whether this berth does */
    bool has_nominator;             /* --nominate */
    NominatorFigures nominator;
    bool writes_events;
    uint64_t n_events_dropped; /* before they were the watcher's, for being too many */
} LiveStatus;

void live_status(Live *live, LiveStatus *ret);
