#pragma once

/*
 * Routes: which question a path asks.
 *
 * A verb is the last part of the path, whatever stands before it, because
 * urlPrefix and the verb's name are the operator's choice in kube-scheduler's
 * configuration; doubled and trailing slashes are harmless. Everything else is at
 * a fixed place.
 */

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
    ROUTE_VERSION,
    ROUTE_INDEX,
    ROUTE_NONE,
    _ROUTE_MAX,
} Route;

Route route_find(Str path);

/* The method it takes: "POST" for verbs, "GET" for the rest. */
const char *route_method(Route route);

/* For metrics: "filter", …, "health", "metrics", "other". */
const char *route_name(Route route);
