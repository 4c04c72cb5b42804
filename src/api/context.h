#pragma once

/*
 * ApiContext: the parts of the daemon that pages are made from.
 *
 * Everything is the daemon's, and set before the first request, except the servers: pages must
 * expect NULL until they listen.
 */

#include <stdatomic.h>

#include "api/dashboard-hook.h"
#include "api/page-workers.h"
#include "api/status-page.h"
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

/* Counted since the start. */
typedef struct AnswerCounts {
    _Atomic uint64_t answered[_VERB_MAX];
    _Atomic uint64_t rejected_nodes; /* by rules, in filters */
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
    ClusterPolicies *policies; /* NULL: they come from files only */
    RecentPods *recent_pods;
    NominationLog *nominated; /* NULL: berth nominates nothing */
    Changes *changes;
    Latency *latency;
    const DashboardHook *dashboard; /* NULL: none */
    bool dashboard_on_verbs;        /* shown on the verbs' listener, ... */
    bool dashboard_on_pages;        /* ... and on that of the pages */
    PageWorkers *workers;
    Updates *updates;
    const Server *_Atomic server;    /* of the verbs; NULL: it does not listen yet */
    const Server *_Atomic admission; /* of AdmissionReviews; NULL: the same, or there is none */

    AnswerCounts counts;
    _Atomic bool is_draining;
} ApiContext;
