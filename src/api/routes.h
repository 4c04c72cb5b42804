#pragma once

/*
 * Routes: which question a path asks.
 *
 * A verb is the last part of the path, whatever stands before it, because
 * urlPrefix and the verb's name are the operator's choice in kube-scheduler's
 * configuration; doubled and trailing slashes are harmless. Everything else is at
 * a fixed place.
 */

#include <stdbool.h>

#include "base/str.h"

typedef enum Route {
    ROUTE_FILTER, /* the verbs come first, in the order of Verb */
    ROUTE_PRIORITIZE,
    ROUTE_PREEMPT,
    ROUTE_BIND,
    ROUTE_LIVEZ,
    ROUTE_READYZ,
    ROUTE_HEALTHZ,
    ROUTE_METRICS,
    ROUTE_DECISIONS, /* /api/v1/decisions, and one of them behind it */
    ROUTE_SOURCES,   /* /api/v1/sources */
    ROUTE_STATUS,    /* /api/v1/status */
    ROUTE_POLICIES,  /* /api/v1/policies, and so on */
    ROUTE_NODES,
    ROUTE_LATENCY,
    ROUTE_CHANGES,
    ROUTE_WHAT_IF,
    ROUTE_BUNDLE,
    ROUTE_EVENTS,
    ROUTE_VERSION,
    ROUTE_INDEX,
    ROUTE_DASHBOARD, /* a page of the dashboard or what belongs to one; never found here, but by who
                    knows which there are */
    ROUTE_NONE,
    _ROUTE_MAX,
} Route;

Route route_find(Str path);

/* What stands behind the route's own part of @path: "17" of "/api/v1/decisions/17". Empty:
 * nothing. For ROUTE_DECISIONS only. */
Str route_rest(Str path);

bool route_is_verb(Route route);
bool route_is_health(Route route);

/* Whether making the answer takes long, or may: not something that others should wait for. */
bool route_is_slow(Route route);

/* The method it takes: "POST" for verbs and ROUTE_WHAT_IF, which have a body; "GET" for the rest.
 */
const char *route_method(Route route);

/* By Route, the "handler" label of metrics: "filter", …, "health", "metrics", "decisions",
 * "sources", "status", "pages" (the others under /api/v1), "events", "dashboard", "other". */
extern const char *const route_names[_ROUTE_MAX];
