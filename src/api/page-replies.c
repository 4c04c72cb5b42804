#include "api/page-replies.h"

#include "api/bundle-page.h"
#include "api/changes-page.h"
#include "api/decisions-page.h"
#include "api/latency-page.h"
#include "api/nodes-page.h"
#include "api/policies-page.h"
#include "api/sources-page.h"
#include "api/what-if-page.h"
#include "base/clock.h"
#include "live/verb-reply.h"
#include "monitor/health.h"
#include "version.h"

#define PAGE_MAX ((size_t)8 * 1024 * 1024)

#define BUSY_SEC 1 /* after which to come again */

/* --- replies ---------------------------------------------------------------------------------- */

/* A page of text, copied to where the reply may point. */
static void reply_text(
    const HttpRequest *request, HttpReply *reply, unsigned status, const char *type, Str text) {
    Str *slice = ARENA_ARRAY(request->arena, Str, 1);

    reply->status = status;
    reply->content_type = type;
    if (slice)
        *slice = arena_copy(request->arena, text);
    reply->slices = slice;
    reply->n_slices = slice && slice->ptr ? 1 : 0;
}

void page_refuse(const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    Answer answer = {0};

    answer_error(&answer, request->arena, status, text);
    reply_with(reply, &answer);
}

/* A page that was written; empty: nothing could be. Half of one would pass for a whole. */
static void reply_page(const HttpRequest *request, HttpReply *reply, unsigned status,
    const char *type, const Buf *page) {
    if (buf_error(page) || page->len == 0)
        page_refuse(request, reply, 500, STR("berth: the page needs more memory than it may have"));
    else
        reply_text(request, reply, status, type, buf_str(page));
}

/* --- health and figures ----------------------------------------------------------------------- */

/* NULL when there is none. */
static const LiveStatus *live_status_of(ApiContext *api, LiveStatus *ret) {
    if (!api->live)
        return NULL;
    live_status(api->live, ret);
    return ret;
}

static void answer_health(ApiContext *api, HealthProbe probe, const HttpRequest *request,
    const PageAccess *access, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    MeasuringStatus measuring;
    LiveStatus live;
    HealthState state = {
        .shows_reasons = access->sees_reasons,
        .is_draining = atomic_load(&api->is_draining),
        .reloads = api->reloads,
        .live = live_status_of(api, &live),
        .program = view->program,
        .measuring = &measuring,
        .now_nsec = clock_monotonic_nsec(),
    };
    unsigned status;

    (void)measuring_status(api->measuring, view, request->arena, &measuring);
    status = health_page(probe, request->query, &state, &page);
    reply_text(request, reply, status, "text/plain; charset=utf-8", buf_str(&page));
}

static void answer_metrics(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    DecisionsFigures decisions = {0};
    MeasuringStatus measuring;
    LiveStatus live;
    MetricsState state = {
        .view = view,
        .live = live_status_of(api, &live),
        .decisions = &decisions,
        .measuring = &measuring,
        .arena = request->arena,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
        .server = api->server,
        .reloads = api->reloads,
        .certificate_expiry_sec = api->tls ? tls_store_expiry(api->tls) : 0,
        .started_at_sec = api->fixed.started_at_sec,
    };

    (void)measuring_status(api->measuring, view, request->arena, &measuring);
    if (api->decisions)
        decisions_figures(api->decisions, &decisions);
    metrics_page(api->metrics, &state, &page);
    reply_page(request, reply, 200, "text/plain; version=0.0.4; charset=utf-8", &page);
}

static void answer_decisions(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
    Str id = route_rest(request->path);
    unsigned status =
        str_is_empty(id)
            ? decisions_list_page(api->decisions, request->query, request->arena, &page)
            : decisions_one_page(api->decisions, id, request->query, request->arena, &page);

    reply_page(request, reply, status, "application/json", &page);
}

static void answer_sources(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(SOURCES_PAGE_MAX);
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    MeasuringStatus status;
    SourcesState state = {
        .view = view,
        .status = &status,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };

    if (measuring_status(api->measuring, view, request->arena, &status))
        sources_page(&state, &page);
    reply_page(request, reply, 200, "application/json", &page);
}

static void answer_status(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(STATUS_PAGE_MAX);
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    LiveStatus live;
    StatusState state = {
        .fixed = &api->fixed,
        .view = view,
        .live = live_status_of(api, &live),
        .reloads = api->reloads,
        .metrics = api->metrics,
        .recent_pods = api->recent_pods,
        .tls = api->tls,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
    };

    status_page(&state, &page);
    reply_page(request, reply, 200, "application/json", &page);
}

/* --- pages that make themselves --------------------------------------------------------------- */

typedef struct OwnPage {
    Route route;
    unsigned (*make)(ApiContext *api, const HttpRequest *request, Buf *out);
    size_t max;
    const char *type; /* of what is sent with 200 */
} OwnPage;

static const OwnPage own_pages[] = {
    {ROUTE_POLICIES, policies_page, POLICIES_PAGE_MAX, "application/json"},
    {ROUTE_NODES, nodes_page, NODES_PAGE_MAX, "application/json"},
    {ROUTE_LATENCY, latency_page, LATENCY_PAGE_MAX, "application/json"},
    {ROUTE_CHANGES, changes_page, CHANGES_PAGE_MAX, "application/json"},
    {ROUTE_WHAT_IF, what_if_page, WHAT_IF_PAGE_MAX, "application/json"},
    {ROUTE_BUNDLE, bundle_page, BUNDLE_PAGE_MAX, "application/gzip"},
};

static const HttpHeader bundle_headers[] = {
    {"Content-Disposition", "attachment; filename=berth-bundle.tar.gz"},
};

static void answer_own(
    ApiContext *api, const OwnPage *own, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(own->max);
    unsigned status = own->make(api, request, &page);

    reply_page(request, reply, status, status == 200 ? own->type : "application/json", &page);
    if (own->route == ROUTE_BUNDLE && reply->status == 200) {
        reply->headers = bundle_headers;
        reply->n_headers = ELEMENTS_OF(bundle_headers);
    }
}

/* NULL: there is none. */
static const OwnPage *find_own(Route route) {
    for (size_t i = 0; i < ELEMENTS_OF(own_pages); i++)
        if (own_pages[i].route == route)
            return &own_pages[i];
    return NULL;
}

/* --- the list of all -------------------------------------------------------------------------- */

#define INDEX_HEAD "berth " BERTH_VERSION ", a Kubernetes scheduler extender\n\n"
#define INDEX_VERBS                                                                                \
    "POST  .../filter  .../prioritize  .../preempt  .../bind   the scheduler's verbs\n"
#define INDEX_PAGES                                                                                \
    "GET   /readyz?verbose  /livez  /healthz                   health\n"                           \
    "GET   /metrics                                            figures for Prometheus\n"           \
    "GET   /api/v1/decisions  /api/v1/decisions/ID             what was decided lately\n"          \
    "GET   /api/v1/sources                                     what is measured, and by whom\n"    \
    "GET   /api/v1/status                                      what this berth is and does\n"      \
    "GET   /api/v1/policies  /api/v1/nodes                     what rules did, what nodes are\n"   \
    "GET   /api/v1/latency  /api/v1/changes                    where time goes, what changed\n"    \
    "POST  /api/v1/what-if                                     decisions with other policies\n"    \
    "GET   /api/v1/bundle                                      all of it to take away, .tar.gz\n"  \
    "GET   /api/v1/events                                      what is new, as an event stream\n"  \
    "GET   /version                                            version\n"

#define INDEX_DASHBOARD "\nIn a browser, this is the dashboard.\n"

static void answer_index(const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);

    buf_append(&page, STR(INDEX_HEAD));
    if (access->has_verbs)
        buf_append(&page, STR(INDEX_VERBS));
    buf_append(&page, STR(INDEX_PAGES));
    if (access->has_dashboard)
        buf_append(&page, STR(INDEX_DASHBOARD));
    reply_page(request, reply, 200, "text/plain; charset=utf-8", &page);
}

/* --- by route --------------------------------------------------------------------------------- */

Route page_route(const ApiContext *api, const HttpRequest *request) {
    Route route = route_find(request->path);

    if (route == ROUTE_NONE && api->dashboard && api->dashboard->has(request->path))
        return ROUTE_DASHBOARD;
    return route;
}

static void answer_version(const HttpRequest *request, HttpReply *reply) {
    reply_text(
        request, reply, 200, "application/json", STR("{\"version\":\"" BERTH_VERSION "\"}\n"));
}

/* Pages that are made from what is passed to them. */
static bool show_plain(ApiContext *api, Route route, const HttpRequest *request, HttpReply *reply) {
    switch (route) {
    case ROUTE_METRICS:
        answer_metrics(api, request, reply);
        return true;
    case ROUTE_DECISIONS:
        answer_decisions(api, request, reply);
        return true;
    case ROUTE_SOURCES:
        answer_sources(api, request, reply);
        return true;
    case ROUTE_STATUS:
        answer_status(api, request, reply);
        return true;
    case ROUTE_VERSION:
        answer_version(request, reply);
        return true;
    default:
        return false;
    }
}

static bool show_health(ApiContext *api, Route route, const HttpRequest *request,
    const PageAccess *access, HttpReply *reply) {
    if (!route_is_health(route))
        return false;
    answer_health(api,
        route == ROUTE_LIVEZ    ? PROBE_LIVEZ
        : route == ROUTE_READYZ ? PROBE_READYZ
                                : PROBE_HEALTHZ,
        request,
        access,
        reply);
    return true;
}

static bool is_for_dashboard(Route route, const HttpRequest *request, const PageAccess *access) {
    return access->has_dashboard &&
           (route == ROUTE_DASHBOARD || (route == ROUTE_INDEX && request->accepts_html));
}

void page_show(
    ApiContext *api, const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    Route route = page_route(api, request);
    const OwnPage *own = find_own(route);

    if (is_for_dashboard(route, request, access))
        api->dashboard->show(api, request, access, reply);
    else if (own)
        answer_own(api, own, request, reply);
    else if (route == ROUTE_INDEX)
        answer_index(request, access, reply);
    else if (!show_health(api, route, request, access, reply) &&
             !show_plain(api, route, request, reply))
        page_refuse(request, reply, 404, STR("berth: no such path"));
    reply->tag = (int)route;
}

static void say_busy(const HttpRequest *request, HttpReply *reply) {
    page_refuse(request, reply, 503, STR("berth: too many pages are asked for at once"));
    reply->retry_after_sec = BUSY_SEC;
}

void page_hand_over(
    ApiContext *api, const HttpRequest *request, Route route, PageTask *task, HttpReply *reply) {
    PagePace pace = route_is_slow(route) ? PAGE_SLOW : PAGE_FAST;

    if (!page_workers_add(api->workers, request, (int)route, pace, task))
        say_busy(request, reply);
}

void page_listen(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    if (!updates_join(api->updates, request, (int)ROUTE_EVENTS))
        say_busy(request, reply);
}

/* --- what is let in --------------------------------------------------------------------------- */

static bool admit_path(
    const HttpRequest *request, const PageAccess *access, Route route, HttpReply *reply) {
    if (route == ROUTE_NONE)
        page_refuse(request, reply, 404, STR("berth: no such path; / lists those there are"));
    else if (route == ROUTE_DASHBOARD && !access->has_dashboard)
        reply_text(request,
            reply,
            404,
            "text/plain; charset=utf-8",
            STR("berth: there is no dashboard on this listener. It is on loopback addresses "
                "without\n"
                "--client-ca, and where --pages-listen is, for who may see pages there; unless "
                "berth\n"
                "was started with --no-dashboard.\n"));
    else
        return true;
    return false;
}

static bool admit_method(const HttpRequest *request, Route route, HttpReply *reply) {
    bool is_post = str_is(str_from_c(route_method(route)), "POST");

    if (str_is(request->method, route_method(route)) ||
        (!is_post && str_is(request->method, "HEAD")))
        return true;
    page_refuse(request, reply, 405, STR("berth: wrong method for this path"));
    reply->allow = is_post ? "POST" : "GET, HEAD";
    return false;
}

static bool admit_what_if(const HttpRequest *request, HttpReply *reply) {
    if (request->has_origin && !request->is_same_origin)
        page_refuse(request, reply, 403, STR("berth: a page of another site asks"));
    else if (!what_if_takes(request->content_type))
        page_refuse(request,
            reply,
            403,
            STR("berth: Content-Type must be application/json, application/yaml or text/yaml"));
    else
        return true;
    return false;
}

bool page_admit(
    const HttpRequest *request, const PageAccess *access, Route route, HttpReply *reply) {
    if (!admit_path(request, access, route, reply) || !admit_method(request, route, reply))
        return false;
    if (route == ROUTE_WHAT_IF) {
        reply->body_max = WHAT_IF_BODY_MAX;
        return admit_what_if(request, reply);
    }
    if (request->has_body && !route_is_verb(route)) {
        page_refuse(request, reply, 413, STR("berth: no body is taken here"));
        return false;
    }
    return true;
}
