#pragma once

/*
 * Metrics: what berth tells Prometheus about itself.
 *
 * Counting is atomic adds on the request path; what rules said is counted by their names
 * (rule-figures.h). The number of series is bounded by the configuration: no label ever carries
 * a pod's or node's name.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "extender/verbs.h"
#include "extender/view.h"
#include "http/server.h"
#include "serve/decisions.h"
#include "serve/live.h"
#include "serve/measuring.h"
#include "serve/policy-figures.h"
#include "serve/reload.h"
#include "serve/routes.h"
#include "serve/rule-figures.h"

typedef struct Metrics Metrics;

Metrics *metrics_new(void); /* NULL when out of memory */
Metrics *metrics_free(Metrics *metrics);
DEFINE_CLEANUP(Metrics *, metrics_free)

/* A request has ended. Any thread. */
void metrics_note_request(Metrics *metrics, Route route, const HttpOutcome *outcome);

/* A verb has been answered. Any thread. */
void metrics_note_decision(Metrics *metrics, Verb verb, Program *program, const Decision *decision);

/* What was counted of a policy, and of a rule. Any thread. */
PolicyFigure metrics_of_policy(Metrics *metrics, Str policy);
RuleFigure metrics_of_rule(Metrics *metrics, Str policy, Str rule);

/* What the page shows besides counters. */
typedef struct MetricsState {
    const View *view;
    const Server *server;
    Reloads *reloads;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    const DecisionsFigures *decisions;
    const MeasuringStatus *measuring; /* of the gauges of @view */
    Arena *arena;                     /* for what is needed on the way */
    int64_t wall_nsec;                /* since 1970 */
    int64_t now_nsec;                 /* monotonic */
    int64_t certificate_expiry_sec;   /* 0: no TLS */
    int64_t started_at_sec;
} MetricsState;

/* The page, in Prometheus' text format. Any thread. */
void metrics_page(Metrics *metrics, const MetricsState *state, Buf *out);
