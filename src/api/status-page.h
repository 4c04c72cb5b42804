#pragma once

/*
 * The page /api/v1/status: version, settings and state of this berth, and the schedulers that call
 * it; also for `berth check --live`, which compares replicas. docs/api.md has the fields; they are
 * kept stable. Everything about policies and the cluster is of one view. Threads: any.
 */

#include "api/health-summary.h"
#include "extender/view.h"
#include "live/live.h"
#include "sandbox/sandbox.h"

/* Room that the buffer of the page should have: 1,000 policies with names of 253 bytes fit. */
#define STATUS_PAGE_MAX ((size_t)4 * 1024 * 1024)

typedef enum ClusterOrigin {
    CLUSTER_NONE, /* only Node objects of requests are judged */
    CLUSTER_WATCHED,
    CLUSTER_FILE,
    CLUSTER_PUBLISHED, /* by the program berth is part of */
} ClusterOrigin;

/* Values that do not change while it runs. Everything is borrowed. */
typedef struct StatusFixed {
    const char *identity;
    int64_t started_at_sec;  /* since 1970 */
    int64_t started_at_nsec; /* monotonic: how long ago that was, also if the clock was set */
    int64_t deadline_nsec;   /* for policies to be evaluated in, of one request */
    HealthLimits health;
    ClusterOrigin source;
    bool may_bind, may_touch;
    bool answers_reviews; /* --admission-listen */
    const Str *managed;
    size_t n_managed;
    const Exemptions *exempt;
    const Sandbox *sandbox; /* NULL: not shown */
} StatusFixed;

typedef struct StatusState {
    const ApiContext *api;
    const HealthSummary *health;
    const View *view;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    int64_t wall_nsec;      /* since 1970 */
    int64_t now_nsec;       /* monotonic */
} StatusState;

/* Leaves @out empty when there is no memory. */
void status_page(const StatusState *state, Buf *out);
