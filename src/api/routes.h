#pragma once

/*
 * Routes: the table of all paths that can be requested, one row each (routes.c).
 *
 * A verb is the last part of the path, behind any prefix, because urlPrefix and the verb's name are
 * set in kube-scheduler's configuration. Doubled and trailing slashes are ignored. After dry-run it
 * is answered without any other effect. All other routes are whole paths. Pages of the dashboard
 * share one row: their table is in dashboard/dashboard.c.
 *
 * Threads: any.
 */

#include "api/context.h"
#include "monitor/metrics.h"

/* The pages that a client may read, as its listener decides. */
typedef struct PageAccess {
    bool sees_reasons;  /* why a health check failed; all clients may see health itself */
    bool may_replay;    /* what-if, and bundles of many decisions */
    bool has_verbs;     /* the listener answers verbs, so "/" lists them */
    bool has_reviews;   /* it answers only AdmissionReviews */
    bool has_dashboard; /* it shows the dashboard */
} PageAccess;

typedef enum RouteClients {
    ROUTE_SCHEDULERS, /* verbs */
    ROUTE_EVERYONE,   /* health: a kubelet's probe has no certificate */
    ROUTE_VIEWERS,    /* clients that may see pages */
    ROUTE_API_SERVER, /* AdmissionReviews, on their own listener */
} RouteClients;

typedef enum RoutePace {
    ROUTE_AT_ONCE, /* by the server's worker: also when everything else is busy */
    ROUTE_QUICK,   /* by the worker of the pages' listener; else by page workers */
    ROUTE_FAST,    /* by page workers */
    ROUTE_SLOW,    /* by page workers, one at a time */
    ROUTE_STREAM,  /* never ends: /api/v1/events */
} RoutePace;

typedef unsigned RouteMake(ApiContext *api, const HttpRequest *request, Buf *out);

typedef struct Route {
    const char *path; /* such as "/api/v1/nodes"; of a verb "filter"; NULL: not found by path */
    bool has_id;      /* one more part may follow: /api/v1/decisions/17 */
    bool is_replay;   /* only for clients that may replay, unless it is a bundle of one decision */
    const char *method;
    RouteClients clients;
    RoutePace pace;
    RequestKind kind;  /* in metrics; verbs have the number of their Verb, except a dry run */
    bool takes_body;   /* JSON or YAML; verbs always take one */
    size_t page_max;   /* limit of the answer in bytes */
    const char *type;  /* Content-Type with status 200; errors are JSON */
    RouteMake *make;   /* NULL: a verb, the event stream, the index, health or the dashboard */
    const char *file;  /* for a download: the Content-Disposition header */
    const char *about; /* for the index; NULL: the row above describes it */
} Route;

/* The route of @request; never NULL. */
const Route *route_find(const ApiContext *api, const HttpRequest *request);

/* The tag of a request for a route, and back. An invalid tag is the route of unknown paths. */
int route_tag(const Route *route);
const Route *route_of_tag(int tag);

static inline bool route_is_verb(const Route *route) {
    return route->clients == ROUTE_SCHEDULERS;
}

/* The part of @path after /api/v1/decisions/; empty: none. */
Str route_id(Str path);

/* Checks path, method, body and a browser's Origin before the body is read, for a client that may
 * use the route. False: @reply has the error. */
bool route_admit(
    const Route *route, const HttpRequest *request, const PageAccess *access, HttpReply *reply);

/* Makes the page, on a page worker, or on a server's worker if the pace allows it. */
void route_reply(const Route *route, ApiContext *api, const HttpRequest *request,
    const PageAccess *access, HttpReply *reply);

/* Call it in handle(). @task, whose context is the ApiContext, will call route_reply(); or the
 * client joins the event stream; or it gets 503. */
void route_defer(const Route *route, ApiContext *api, const HttpRequest *request, HttpFill *task,
    HttpReply *reply);

/* Replies {"Error": text}, or a page for browsers (Accept: text/html). @text is UTF-8 of berth. */
void reply_error(const HttpRequest *request, HttpReply *reply, unsigned status, Str text);

#define PAGE_MISADDRESSED                                                                          \
    "berth: without TLS, pages on loopback are shown for localhost and addresses only: another "   \
    "name could be a site that misleads a browser; --pages-host NAME allows a name"
