#pragma once

/*
 * Daemon: owns everything that lives as long as the process.
 *
 * Workers of the server only ever read: they take a reference to the current view and answer from
 * it. One thread, the one in daemon_run(), does everything else that is quick: signals, files that
 * changed, deadlines of connections. It never waits for a view: policies are loaded, and expired
 * values replaced, by tasks (serve/task.h). A cluster that is watched has one more thread
 * (kube/cluster-watcher.h), and so has what is measured (load/poller.h). Pages are made by page
 * workers (api/page-workers.h).
 *
 * A policy that does not compile, a certificate that does not fit its key, a cluster file or
 * sources that cannot be read leave the last good one in force; the log, /metrics and
 * /readyz?verbose report it.
 */

#include "api/health-summary.h"
#include "api/listeners.h"
#include "base/nsec.h"
#include "cluster/snapshot.h"
#include "extender/view.h"
#include "http/server.h"
#include "http/tls.h"
#include "live/live.h"
#include "policy/exemption.h"
#include "sandbox/sandbox.h"
#include "serve/answers.h"

typedef struct Daemon Daemon;

typedef struct DaemonOptions {
    ServerOptions server;            /* its tls field is set by the daemon */
    const char *const *policy_paths; /* files or folders; none: everything passes */
    size_t n_policy_paths;
    bool policies_from_cluster; /* PlacementPolicies of the API server of live, besides */
    const char *cluster_path;   /* kubectl's List; NULL: none */
    LiveOptions live;           /* a cluster that is watched, instead of cluster_path */
    MeasuringOptions measuring; /* its live and has_cluster are set by the daemon */
    bool is_published;          /* the cluster will come by daemon_publish() */
    const char *dump_path; /* where SIGUSR2 writes the cluster as berth sees it; NULL: nowhere */
    TlsFiles tls;          /* tls.certificate NULL: plain HTTP */
    bool insecure_http;    /* plain HTTP on an address that is not loopback */
    const BindHook *bind_hook;      /* NULL: bind is refused, unless live binds. Borrowed */
    bool quiet;                     /* no log of requests */
    int64_t deadline_nsec;          /* how long policies may be evaluated for one request; 0: as
                                       DAEMON_DEADLINE_DEFAULT */
    int64_t load_nsec;              /* processor time to load policies, or to make any view; 0: as
                                       DAEMON_LOAD_TIME_DEFAULT */
    size_t load_bytes;              /* memory of the results of rules for all nodes; 0: as
                                       DAEMON_LOAD_MEMORY_DEFAULT */
    size_t n_decisions;             /* how many are remembered, at most DECISIONS_MAX; 0: none */
    size_t decisions_bytes;         /* and how much memory that may take */
    const char *state_dir;          /* a folder that keeps decisions over a restart; NULL: none */
    size_t state_bytes;             /* and how large its files may become */
    Exemptions exempt;              /* exempt pods; borrowed like the rest */
    PagesOptions pages;             /* a second listener, for pages only; its address NULL: none */
    AdmissionOptions admission;     /* one more, for AdmissionReviews; its address NULL: none */
    const DashboardHook *dashboard; /* NULL: none */
    bool no_dashboard;              /* they are not to be shown */
    const Sandbox *sandbox;         /* of this process, for pages; NULL: not shown */
    HealthLimits health;            /* all zero: HEALTH_LIMITS_DEFAULT */
    unsigned drain_delay_sec;       /* at the end: how long requests are still taken */
} DaemonOptions;

#define DAEMON_DEADLINE_DEFAULT (INT64_C(100) * 1000 * 1000)

/* Ten times what 1,000 ordinary rules need for 5,000 nodes (docs/benchmarks.md). */
#define DAEMON_LOAD_TIME_DEFAULT (10 * NSEC_PER_SEC)
#define DAEMON_LOAD_TIME_MIN (10 * NSEC_PER_MSEC)
#define DAEMON_LOAD_TIME_MAX (3600 * NSEC_PER_SEC)
#define DAEMON_LOAD_MEMORY_DEFAULT FACTS_BYTES_MAX

#define DAEMON_ERROR_MAX 32768u /* a policy may have many mistakes */

/* Loads everything and listens. 0; or a negative errno with a message for a
 * person in @error (DAEMON_ERROR_MAX): nothing is running then. -ECANCELED: SIGTERM or SIGINT came
 * while policies were loaded; a thread may still be busy with that, and the end of the process is
 * the way out. Options are borrowed and must outlive the daemon. */
int daemon_new(const DaemonOptions *options, Daemon **ret, char *error);
Daemon *daemon_free(Daemon *daemon); /* takes NULL */
DEFINE_CLEANUP(Daemon *, daemon_free)

/* In the order of their ends: metrics on the first show figures of the others. */
typedef enum DaemonListener {
    LISTEN_PAGES,
    LISTEN_VERBS,
    LISTEN_REVIEWS, /* AdmissionReviews */
    _LISTENERS,
} DaemonListener;

/* "http://127.0.0.1:8080", with the port it really has; NULL: there is no such listener. */
const char *daemon_url(const Daemon *daemon, DaemonListener listener);

/* Where the dashboard is; NULL: it is not shown. */
const char *daemon_dashboard_url(const Daemon *daemon);

/* Serves until SIGTERM or SIGINT or daemon_stop(). After a signal, readiness is off at once and
 * requests are still taken for drain_delay_sec, or until the next such signal; then it lets running
 * requests finish (5 seconds at most) and returns. False: connections are left, and
 * daemon_free() may have to wait for a worker that is busy with one; the end of the
 * process is the way out. SIGHUP reloads, SIGUSR2 dumps. The signals must be blocked in all
 * threads: daemon_block_signals(), before daemon_new(). */
void daemon_block_signals(void);
bool daemon_run(Daemon *daemon);

/* Makes daemon_run() return. Any thread. */
void daemon_stop(Daemon *daemon);

/* The cluster is this from now on. Any thread, one at a time. 0, or -ENOMEM (the
 * old one stays). */
int daemon_publish(Daemon *daemon, Snapshot *snapshot);

/* A pod was deleted: if it was pending, it is so no more. Any thread. */
void daemon_note_deleted(Daemon *daemon, Str uid, Str namespace, Str name);

/* The view in force; the caller unrefs it. Any thread. */
View *daemon_view(Daemon *daemon);

/* The file of /api/v1/bundle, also when daemon_run() has returned. 0, or -ENOMEM: it would also be
 * over DAEMON_BUNDLE_MAX. Any thread. */
#define DAEMON_BUNDLE_MAX ((size_t)64 * 1024 * 1024)
int daemon_write_bundle(Daemon *daemon, Buf *out);
