#pragma once

/*
 * ApiContext: the parts of the daemon from which pages are made.
 *
 * The daemon owns everything and sets it before the first request, except the servers, which are
 * NULL until they listen.
 */

#include <stdatomic.h>

#include "api/health-summary.h"
#include "api/page-workers.h"
#include "api/updates.h"
#include "extender/verbs.h"
#include "history/changes.h"
#include "history/decisions.h"
#include "history/nomination-log.h"
#include "history/recent-pods.h"
#include "http/server.h"
#include "http/tls.h"
#include "live/cluster-policies.h"
#include "live/current.h"
#include "live/live.h"
#include "live/measuring.h"
#include "monitor/latency.h"
#include "monitor/metrics.h"
#include "monitor/reload.h"
#include "sandbox/sandbox.h"

typedef enum ClusterOrigin {
    CLUSTER_NONE, /* berth knows only the Node objects of requests */
    CLUSTER_WATCHED,
    CLUSTER_FILE,
    CLUSTER_PUBLISHED, /* set by the demo in the same process */
} ClusterOrigin;

/* Values that do not change during a run. Everything is borrowed. */
typedef struct StatusFixed {
    const char *identity;
    int64_t started_at_sec;  /* since 1970 */
    int64_t started_at_nsec; /* monotonic: for the uptime, which a set wall clock must not change */
    int64_t deadline_nsec;   /* for evaluating policies, per request */
    HealthLimits health;
    ClusterOrigin source;
    bool may_bind, may_touch;
    bool answers_reviews; /* --admission-listen */
    const Str *managed;
    size_t n_managed;
    const Exemptions *exempt;
    const Sandbox *sandbox; /* NULL: not shown */
} StatusFixed;

/*
 * DashboardHook: draws the pages of the dashboard.
 *
 * The dashboard (src/dashboard) is a layer above this one and the daemon, so they can call it only
 * by this hook. NULL in DaemonOptions: there is no dashboard, and "/" lists paths.
 */
typedef struct DashboardHook {
    /* Whether @path (without query) is one of its pages or assets: "/", "/assets/dashboard.css". */
    bool (*has)(Str path);

    /* Answers GET or HEAD with the page, or with a 404 page for other paths. Runs on a page worker
     * (api/page-workers.h). */
    void (*show)(ApiContext *api, const HttpRequest *request, HttpReply *reply);
} DashboardHook;

/* Counts since the start. */
typedef struct AnswerCounts {
    _Atomic uint64_t answered[_VERB_MAX];
    _Atomic uint64_t rejected_nodes; /* in filters, by rules */
} AnswerCounts;

typedef struct ApiContext {
    Current *current;  /* the view in force */
    StatusFixed fixed; /* the daemon's settings */

    Metrics *metrics;
    Decisions *decisions; /* NULL: none are kept */
    Reloads *reloads;
    TlsStore *tls; /* NULL: plain HTTP */
    Measuring *measuring;
    Live *live;                /* NULL: the cluster is not watched */
    ClusterPolicies *policies; /* NULL: policies come only from files */
    RecentPods *recent_pods;
    NominationLog *nominated; /* NULL: berth does not nominate */
    Changes *changes;
    Latency *latency;
    const DashboardHook *dashboard; /* NULL: none */
    bool dashboard_on_verbs;        /* shown on the verbs' listener, ... */
    bool dashboard_on_pages;        /* ... and on the pages' listener */
    PageWorkers *workers;
    Updates *updates;
    const Server *_Atomic server;    /* of the verbs; NULL: not listening yet */
    const Server *_Atomic admission; /* of AdmissionReviews; NULL: none, or not listening yet */

    AnswerCounts counts;
    _Atomic bool is_draining;
} ApiContext;
