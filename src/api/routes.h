#pragma once

/*
 * Routes: the table of everything that can be requested, one row each (routes.c).
 *
 * A verb is the last part of the path, whatever stands before it, because urlPrefix and the verb's
 * name are set in kube-scheduler's configuration; doubled and trailing slashes do no harm. After
 * dry-run it is answered, and nothing else happens. All other routes are whole paths. Pages of the
 * dashboard share one row: their own table is dashboard/dashboard.c.
 *
 * Threads: any.
 */

#include "api/context.h"
#include "monitor/metrics.h"

/* Which pages a client may read; decided by the listener. */
typedef struct PageAccess {
    bool sees_reasons;  /* why a health check failed; health itself is open to all */
    bool may_replay;    /* what-if, and bundles of many decisions */
    bool has_verbs;     /* the listener answers verbs: they get a line on "/" */
    bool has_reviews;   /* it answers AdmissionReviews, and nothing else */
    bool has_dashboard; /* it shows the dashboard */
} PageAccess;

typedef enum RouteClients {
    ROUTE_SCHEDULERS, /* verbs */
    ROUTE_EVERYONE,   /* health: a kubelet's probe has no certificate */
    ROUTE_VIEWERS,    /* clients that may see pages */
    ROUTE_API_SERVER, /* AdmissionReviews, on their own listener */
} RouteClients;

typedef enum RoutePace {
    ROUTE_AT_ONCE, /* on the server's worker: answered also when everything else is busy */
    ROUTE_QUICK,   /* on the worker of the pages' listener, by page workers for the verbs' */
    ROUTE_FAST,    /* by page workers, like ... */
    ROUTE_SLOW,    /* ... these, one at a time */
    ROUTE_STREAM,  /* never ends: /api/v1/events */
} RoutePace;

typedef unsigned RouteMake(ApiContext *api, const HttpRequest *request, Buf *out);

typedef struct Route {
    const char *path; /* "/api/v1/nodes"; of a verb "filter"; NULL: not found by its path */
    bool has_id;      /* one more part may follow: /api/v1/decisions/17 */
    bool is_replay;   /* for clients that may replay; a bundle of one decision is not one */
    const char *method;
    RouteClients clients;
    RoutePace pace;
    RequestKind kind;  /* in metrics; verbs have the number of their Verb, but for a dry run */
    bool takes_body;   /* JSON or YAML; verbs always do */
    size_t page_max;   /* bytes of the answer */
    const char *type;  /* Content-Type with status 200; errors are JSON */
    RouteMake *make;   /* NULL: a verb, the event stream, the index, health or the dashboard */
    const char *file;  /* it is a download: the Content-Disposition header */
    const char *about; /* for the index; NULL: described by the row above */
} Route;

/* The route of @request; never NULL. */
const Route *route_find(const ApiContext *api, const HttpRequest *request);

/* A route as the tag of a request, and back; an invalid tag is an unknown path. */
int route_tag(const Route *route);
const Route *route_of_tag(int tag);

static inline bool route_is_verb(const Route *route) {
    return route->clients == ROUTE_SCHEDULERS;
}

/* The part of @path after /api/v1/decisions/; empty: none. */
Str route_id(Str path);

/* Before the body is read, for a client that may use the route: path, method, body, and the origin
 * of a browser's request. Returns false with the error in @reply. */
bool route_admit(
    const Route *route, const HttpRequest *request, const PageAccess *access, HttpReply *reply);

/* Makes the page. For a page worker, or a server's worker if the pace allows it. */
void route_reply(const Route *route, ApiContext *api, const HttpRequest *request,
    const PageAccess *access, HttpReply *reply);

/* Inside handle(): @task, whose context is the ApiContext, will call route_reply(); or the client
 * joins the event stream; or it gets 503. */
void route_defer(const Route *route, ApiContext *api, const HttpRequest *request, HttpFill *task,
    HttpReply *reply);

/* {"Error": text}; for a browser (Accept: text/html) a page. @text is berth's own, in UTF-8. */
void reply_error(const HttpRequest *request, HttpReply *reply, unsigned status, Str text);

#define PAGE_MISADDRESSED                                                                          \
    "berth: without TLS, pages on loopback are shown for localhost and addresses only: another "   \
    "name could be a site that misleads a browser; --pages-host NAME allows a name"
