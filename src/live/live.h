#pragma once

/*
 * Live: connects the watched cluster with the daemon.
 *
 * The ClusterWatcher (src/kube) keeps a copy of the cluster and posts Bindings; this connects it
 * with the verbs, and adds:
 *
 *   bind     only for pairs of pod and node that passed a filter a short while ago, and are
 *            evaluated again with all binds since then; a waiting connection blocks no worker
 *   expect   without bind: a pod counts on the node that is left, or on a guessed one, before the
 *            reply to its filter is sent (live/expectation.h)
 *   wake-up  a node that a rule rejected and would pass now is marked, so that kube-scheduler
 *            retries the pods that it parked because of berth
 *   bypass   counts pods that were bound without a request, by a scheduler that calls berth
 *   events   Kubernetes Events, if they are enabled (history/kube-events.h)
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
    bool is_in_cluster;     /* use the mounted service account */
    bool may_bind;
    unsigned bind_window_sec;
    bool may_touch;     /* wake-ups */
    OwnPod self;        /* Events about berth itself refer to this Pod */
    const Str *managed; /* bypass: count only pods that request one of these; none: all */
    size_t n_managed;
    const Exemptions *exempt; /* bypass: pods that no policy applies to; may be NULL */
    int64_t nominate_weight;  /* berth's weight in kube-scheduler's configuration */
    NominationLog *nominated; /* past nominations; borrowed, may be NULL */
    WatcherOptions watcher;
} LiveOptions;

bool live_is_wanted(const LiveOptions *options);

typedef struct LiveCallbacks {
    void *context;
    /* A bind has been decided: for metrics and the log. Any thread. */
    void (*bound)(void *context, const Decision *decision);
    AnswerFilter *filter;
} LiveCallbacks;

/* Finds the API server and starts the watcher, which puts the cluster into @current on its thread.
 * @options, @current and @recent are borrowed. 0; or a negative errno with a message for users in
 * @error (ACCESS_ERROR_MAX). */
int live_new(const LiveOptions *options, Current *current, RecentPods *recent,
    const LiveCallbacks *callbacks, Live **ret, char *error);
Live *live_free(Live *live); /* after the server, whose workers use it. Takes NULL */
DEFINE_CLEANUP(Live *, live_free)

/* Notes an answered filter, after recent_pods_note(). Ignores a filter without nodes: it is a
 * probe. */
void live_observe_filter(Live *live, const View *view, const Decision *decision, int64_t now_nsec);

/* Calls expect_pod(), unless berth binds. After live_observe_filter(), with the reply to the
 * filter. */
void live_expect(Live *live, const HttpRequest *request, const View *view, const Decision *decision,
    const HttpReply *reply);

/* The last call for a filter: with --nominate its reply may wait a moment, as nominator_wait(). */
int64_t live_wait(Live *live);

/* Answers a bind: at once through @reply, or later (server_defer()). */
void live_bind(Live *live, const HttpRequest *request, int tag, HttpReply *reply);

/* Write Events (history/kube-events.h), if they are enabled. */
void live_note_policy(Live *live, Str error);
void live_note_stale(Live *live, Str policy, Str metric, Str source);

/* Writes the status of cluster policies that has changed, if this replica writes it. Only on the
 * daemon's thread. */
void live_report_policies(Live *live, const PolicyReport *report, int64_t now_nsec);

/* Lists the fields that a new program reads, if they were not kept so far. False: the current
 * cluster does not have them yet; call it again. */
bool live_want(Live *live, const ClusterNeeds *needs);

/* The same for objects that pods refer to (RELATED_BIT()s): watches @wanted from now on, and no
 * others. Returns whether the current cluster has @needed. */
bool live_want_related(Live *live, unsigned wanted, unsigned needed);

/* The view has changed from @before to @after; and a tick, about once a second. The caller never
 * runs both at once. */
void live_note_view(Live *live, const View *before, const View *after);
void live_tick(Live *live, int64_t now_nsec);

/* Ends unfinished work, at most within @timeout_nsec. False: it has not ended (a credential plugin
 * may hang), and live_free() would wait for it. */
bool live_stop(Live *live, int64_t timeout_nsec);

typedef struct LiveStatus {
    WatcherStatus watcher;
    bool is_synced;
    uint64_t n_bypassed;
    uint64_t n_bind_refused;        /* by berth: not passed, too long ago, or it passes no longer */
    uint64_t n_annotations_skipped; /* at binds: their expressions failed */
    PassedFigures passed;           /* watcher.publishes; another replica may hold the Lease */
    const WatcherOptions *options;  /* has names of Leases; borrowed from Live */
    bool publishes;                 /* watcher.publishes is set; the Lease may be another
                                       replica's */
    size_t n_unpublished;           /* nodes that do not show the published values yet */
    int64_t unpublished_since;      /* monotonic, of the oldest of them; 0: none */
    bool writes_policy_status;      /* with watcher.watches_policies: this replica writes it */
    bool has_nominator;             /* --nominate */
    NominatorFigures nominator;
    bool writes_events;
    uint64_t n_events_dropped; /* over a limit, before they reached the watcher */
} LiveStatus;

void live_status(Live *live, LiveStatus *ret);
