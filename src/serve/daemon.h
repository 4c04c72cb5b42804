#pragma once

/*
 * Daemon: owns everything that lives as long as the process.
 *
 * Workers of the server only read: they take a reference to the current view and answer from it.
 * One thread, in daemon_run(), does everything else that is quick: signals, changed files,
 * deadlines of connections. It never waits for a view: tasks (serve/task.h) load policies and
 * replace expired values. A watched cluster (kube/cluster-watcher.h) and the metrics poller
 * (load/poller.h) have a thread each. Page workers make pages (api/page-workers.h).
 *
 * A policy that does not compile, a certificate that does not fit its key, and unreadable cluster
 * or sources files leave the last good one in force. The log, /metrics and /readyz?verbose report
 * it.
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
    ServerOptions server;            /* the daemon sets its tls field */
    const char *const *policy_paths; /* files or folders; none: every node passes */
    size_t n_policy_paths;
    bool policies_from_cluster; /* also PlacementPolicies of the API server */
    const char *cluster_path;   /* a List of kubectl; NULL: none */
    LiveOptions live;           /* a watched cluster, instead of cluster_path */
    MeasuringOptions measuring; /* the daemon sets its live and has_cluster */
    bool is_published;          /* daemon_publish() will set the cluster */
    const char *dump_path;     /* SIGUSR2 writes berth's view of the cluster there; NULL: nowhere */
    TlsFiles tls;              /* tls.certificate NULL: plain HTTP */
    bool insecure_http;        /* plain HTTP on an address that is not loopback */
    const BindHook *bind_hook; /* NULL: bind is refused, unless live binds. Borrowed */
    bool quiet;                /* requests are not logged */
    int64_t deadline_nsec;     /* limit for evaluating policies, per request; 0:
                                  DAEMON_DEADLINE_DEFAULT */
    int64_t load_nsec;         /* CPU time to load policies, or to make a view; 0:
                                  DAEMON_LOAD_TIME_DEFAULT */
    size_t load_bytes;         /* memory for results of rules for all nodes; 0:
                                  DAEMON_LOAD_MEMORY_DEFAULT */
    size_t n_decisions;        /* number kept, at most DECISIONS_MAX; 0: none */
    size_t decisions_bytes;    /* limit of their memory */
    const char *state_dir;     /* folder that keeps decisions over a restart; NULL: none */
    size_t state_bytes;        /* limit of its files, in bytes */
    Exemptions exempt;         /* exempt pods; borrowed like the rest */
    PagesOptions pages;        /* a second listener, for pages; address NULL: none */
    AdmissionOptions admission;     /* one more, for AdmissionReviews; address NULL: none */
    const DashboardHook *dashboard; /* NULL: none */
    bool no_dashboard;              /* do not show the dashboard */
    const Sandbox *sandbox;         /* of this process, for pages; NULL: not shown */
    HealthLimits health;            /* all zero: HEALTH_LIMITS_DEFAULT */
    unsigned drain_delay_sec;       /* at the end: time in which requests are still served */
} DaemonOptions;

#define DAEMON_DEADLINE_DEFAULT (INT64_C(100) * 1000 * 1000)

/* 10 times what 1,000 ordinary rules need for 5,000 nodes (docs/benchmarks.md). */
#define DAEMON_LOAD_TIME_DEFAULT (10 * NSEC_PER_SEC)
#define DAEMON_LOAD_TIME_MIN (10 * NSEC_PER_MSEC)
#define DAEMON_LOAD_TIME_MAX (3600 * NSEC_PER_SEC)
#define DAEMON_LOAD_MEMORY_DEFAULT FACTS_BYTES_MAX

#define DAEMON_ERROR_MAX 32768u /* a policy may have many mistakes */

/* Loads everything and listens. Options are borrowed and must outlive the daemon. 0; or a negative
 * errno with a message for users in @error (DAEMON_ERROR_MAX), and nothing runs. -ECANCELED:
 * SIGTERM or SIGINT came while policies were loaded; a thread may still load them, so end the
 * process. */
int daemon_new(const DaemonOptions *options, Daemon **ret, char *error);
Daemon *daemon_free(Daemon *daemon); /* takes NULL */
DEFINE_CLEANUP(Daemon *, daemon_free)

/* In the order of their shutdown: metrics on the first show figures of the others. */
typedef enum DaemonListener {
    LISTEN_PAGES,
    LISTEN_VERBS,
    LISTEN_REVIEWS, /* AdmissionReviews */
    _LISTENERS,
} DaemonListener;

/* "http://127.0.0.1:8080", with the actual port; NULL: there is no such listener. */
const char *daemon_url(const Daemon *daemon, DaemonListener listener);

/* The URL of the dashboard; NULL: it is not shown. */
const char *daemon_dashboard_url(const Daemon *daemon);

/* Serves until SIGTERM, SIGINT or daemon_stop(). After a signal /readyz fails at once, and requests
 * are still served for drain_delay_sec, or until the next such signal; then running requests may
 * finish (5 seconds at most). False: connections are left, and daemon_free() may wait for a worker
 * that serves one, so end the process. SIGHUP reloads, SIGUSR2 dumps. Block the signals in all
 * threads with daemon_block_signals() before daemon_new(). */
void daemon_block_signals(void);
bool daemon_run(Daemon *daemon);

/* Makes daemon_run() return. Any thread. */
void daemon_stop(Daemon *daemon);

/* Replaces the cluster. Any thread, one at a time. 0; or -ENOMEM, and the old one stays. */
int daemon_publish(Daemon *daemon, Snapshot *snapshot);

/* A pod was deleted: it is no longer pending. Any thread. */
void daemon_note_deleted(Daemon *daemon, Str uid, Str namespace, Str name);

/* Returns the view in force, a reference for the caller. Any thread. */
View *daemon_view(Daemon *daemon);

/* Writes the file of /api/v1/bundle, also after daemon_run(). 0; or -ENOMEM, also if it exceeds
 * DAEMON_BUNDLE_MAX. Any thread. */
#define DAEMON_BUNDLE_MAX ((size_t)64 * 1024 * 1024)
int daemon_write_bundle(Daemon *daemon, Buf *out);
