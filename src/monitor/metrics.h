#pragma once

/*
 * Metrics: counters of berth itself, for Prometheus.
 *
 * Requests are counted by atomic adds, rules by their names (rule-figures.h). The configuration
 * limits the number of series: no label has the name of a pod or node.
 */

#include "extender/verbs.h"
#include "extender/view.h"
#include "history/decisions.h"
#include "history/recent-pods.h"
#include "http/server.h"
#include "live/live.h"
#include "live/measuring.h"
#include "monitor/reload.h"
#include "monitor/rule-figures.h"

typedef struct Metrics Metrics;

/* The "verb" label of a request. Verbs come first, in the order of Verb. */
typedef enum RequestKind {
    REQUEST_FILTER,
    REQUEST_PRIORITIZE,
    REQUEST_PREEMPT,
    REQUEST_BIND,
    REQUEST_DRY_RUN,
    REQUEST_HEALTH,
    REQUEST_METRICS,
    REQUEST_DECISIONS,
    REQUEST_SOURCES,
    REQUEST_STATUS,
    REQUEST_PAGES, /* other pages under /api/v1 */
    REQUEST_EVENTS,
    REQUEST_DASHBOARD,
    REQUEST_ADMISSION,
    REQUEST_OTHER,
    _REQUEST_KINDS,
} RequestKind;

Metrics *metrics_new(void); /* NULL when out of memory */
Metrics *metrics_free(Metrics *metrics);
DEFINE_CLEANUP(Metrics *, metrics_free)

/* A request has ended. Any thread. */
void metrics_note_request(Metrics *metrics, RequestKind kind, const HttpOutcome *outcome);

/* The result of an AdmissionReview of a policy. Any thread. */
typedef enum ReviewResult {
    REVIEW_ALLOWED,
    REVIEW_REJECTED,
    REVIEW_ERROR,
    _REVIEW_RESULTS,
} ReviewResult;

void metrics_note_review(Metrics *metrics, ReviewResult result);

/* A verb has been answered, at @at_nsec since 1970. Any thread. */
void metrics_note_decision(
    Metrics *metrics, Verb verb, Program *program, const Decision *decision, int64_t at_nsec);

/* Return the counts of a policy and of a rule. Any thread. */
PolicyFigure metrics_of_policy(Metrics *metrics, Str policy);
RuleFigure metrics_of_rule(Metrics *metrics, Str policy, Str rule);

/* Values for the page beside counters. */
typedef struct MetricsState {
    const View *view;
    const Server *server;
    const Server *admission; /* NULL: no listener for AdmissionReviews */
    Reloads *reloads;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    const DecisionsFigures *decisions;
    const PendingFigures *pending;
    const MeasuringStatus *measuring; /* for the gauges of @view */
    Arena *arena;                     /* for temporary data */
    int64_t wall_nsec;                /* since 1970 */
    int64_t now_nsec;                 /* monotonic */
    int64_t certificate_expiry_sec;   /* 0: no TLS */
    int64_t crl_expiry_sec;           /* 0: no CRL */
    int64_t started_at_sec;
} MetricsState;

/* Writes the page in Prometheus' text format. Any thread. */
void metrics_page(Metrics *metrics, const MetricsState *state, Buf *out);
