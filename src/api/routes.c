/*
 * The table of routes, and how a page is found, admitted and made. For a new page add a row here
 * and a function that writes it.
 */

#include "api/routes.h"

#include "api/api-pages.h"
#include "api/page-field.h"
#include "base/clock.h"
#include "live/admission-review.h"
#include "live/verb-reply.h"
#include "monitor/health.h"
#include "version.h"
#include "wiring/verb.h"

#define PAGE_MAX ((size_t)8 * 1024 * 1024)

#define BUSY_SEC 1 /* Retry-After */

#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"

/* --- pages from a part of the context --------------------------------------------------------- */

/* NULL: the cluster is not watched. */
static const LiveStatus *live_status_of(ApiContext *api, LiveStatus *ret) {
    if (!api->live)
        return NULL;
    live_status(api->live, ret);
    return ret;
}

static unsigned make_metrics(ApiContext *api, const HttpRequest *request, Buf *out) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    DecisionsFigures decisions = {0};
    MeasuringStatus measuring;
    LiveStatus live;
    PendingFigures pending;
    MetricsState state = {
        .view = view,
        .live = live_status_of(api, &live),
        .decisions = &decisions,
        .pending = &pending,
        .measuring = &measuring,
        .arena = request->arena,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
        .server = api->server,
        .admission = api->admission,
        .reloads = api->reloads,
        .certificate_expiry_sec = api->tls ? tls_store_expiry(api->tls) : 0,
        .crl_expiry_sec = api->tls ? tls_store_crl_expiry(api->tls) : 0,
        .started_at_sec = api->fixed.started_at_sec,
    };

    (void)measuring_status(api->measuring, view, request->arena, &measuring);
    recent_pods_pending(api->recent_pods, &pending);
    if (api->decisions)
        decisions_figures(api->decisions, &decisions);
    metrics_page(api->metrics, &state, out);
    return 200;
}

static unsigned make_decisions(ApiContext *api, const HttpRequest *request, Buf *out) {
    Str id = route_id(request->path);

    return str_is_empty(id)
               ? decisions_list_page(
                     api->decisions, api->nominated, request->query, request->arena, out)
               : decisions_one_page(api->decisions, id, request->query, request->arena, out);
}

static unsigned make_sources(ApiContext *api, const HttpRequest *request, Buf *out) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    GaugeTime time = {.now_nsec = clock_wall_nsec(), .uptime_nsec = clock_monotonic_nsec()};
    MeasuringStatus status;

    if (measuring_status(api->measuring, view, request->arena, &status))
        sources_page(view, &status, time, out);
    return 200;
}

static unsigned make_status(ApiContext *api, const HttpRequest *request, Buf *out) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    HealthSummary health;
    LiveStatus live;
    StatusState state = {
        .api = api,
        .health = &health,
        .view = view,
        .live = live_status_of(api, &live),
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
    };

    if (health_summary_make(api, state.wall_nsec, state.now_nsec, request->arena, &health))
        status_page(&state, out);
    return 200;
}

static unsigned make_version(ApiContext *api, const HttpRequest *request, Buf *out) {
    buf_append(out, STR("{\"version\":\"" BERTH_VERSION "\"}\n"));
    return 200;
}

static unsigned make_review(ApiContext *api, const HttpRequest *request, Buf *out) {
    char error[ADMISSION_ERROR_MAX] = "";
    bool is_allowed = false;
    int r = admission_review_answer(
        api->policies, request->body, request->arena, out, &is_allowed, error);

    metrics_note_review(api->metrics, r != 0       ? REVIEW_ERROR
                                      : is_allowed ? REVIEW_ALLOWED
                                                   : REVIEW_REJECTED);
    if (r < 0)
        return page_write_no_memory(out, "the policy", request->arena);
    return r == 0 ? 200 : page_write_error(out, r == ADMISSION_E_SIZE ? 413 : 400, error);
}

#define PAGE(page_path, page_method, page_kind, page_pace, max, page_type, function, text)         \
    .path = (page_path), .method = (page_method), .clients = ROUTE_VIEWERS, .pace = (page_pace),   \
    .kind = (page_kind), .page_max = (max), .type = (page_type), .make = (function),               \
    .about = (text)

#define API(path, kind, pace, max, function, text)                                                 \
    PAGE("/api/v1/" path, "GET", kind, pace, max, JSON, function, text)

#define OTHER(page_path, page_kind)                                                                \
    PAGE(page_path, "GET", page_kind, ROUTE_FAST, 0, NULL, NULL, NULL)

#define HEALTH(health_path, text)                                                                  \
    .path = (health_path), .method = "GET", .clients = ROUTE_EVERYONE, .pace = ROUTE_AT_ONCE,      \
    .kind = REQUEST_HEALTH, .about = (text)

#define VERB(name, verb_kind, text)                                                                \
    .path = (name), .method = "POST", .clients = ROUTE_SCHEDULERS, .pace = ROUTE_AT_ONCE,          \
    .kind = (verb_kind), .about = (text)

enum {
    NO_ROUTE,
    INDEX,
    DASHBOARD,
    DRY_RUN,
    FIRST_FOUND,
    FIRST_PAGE = FIRST_FOUND + _VERB_MAX,
};

static const Route routes[] = {
    [NO_ROUTE] = {OTHER(NULL, REQUEST_OTHER)},
    [INDEX] = {OTHER("/", REQUEST_OTHER)},
    [DASHBOARD] = {OTHER(NULL, REQUEST_DASHBOARD)},
    [DRY_RUN] = {VERB("dry-run/filter", REQUEST_DRY_RUN, "filter, for tools: not recorded")},
    {VERB("filter", REQUEST_FILTER, "the scheduler's verbs")},
    {VERB("prioritize", REQUEST_PRIORITIZE, NULL)},
    {VERB("preempt", REQUEST_PREEMPT, NULL)},
    {VERB("bind", REQUEST_BIND, NULL)},
    [FIRST_PAGE] = {HEALTH("/readyz", "health checks; ?verbose lists them")},
    {HEALTH("/livez", NULL)},
    {HEALTH("/healthz", NULL)},
    {PAGE("/metrics", "GET", REQUEST_METRICS, ROUTE_QUICK, PAGE_MAX,
        "text/plain; version=0.0.4; charset=utf-8", make_metrics, "metrics for Prometheus")},
    {API("decisions", REQUEST_DECISIONS, ROUTE_FAST, DECISIONS_PAGE_MAX, make_decisions,
         "recent decisions; /ID for one of them"),
        .has_id = true},
    {API("sources", REQUEST_SOURCES, ROUTE_FAST, SOURCES_PAGE_MAX, make_sources,
        "metrics that policies read, and where they come from")},
    {API("status", REQUEST_STATUS, ROUTE_FAST, STATUS_PAGE_MAX, make_status,
        "version, settings and state of this berth")},
    {API("policies", REQUEST_PAGES, ROUTE_SLOW, POLICIES_PAGE_MAX, policies_page,
        "policies in force: rejections and cost")},
    {API("nodes", REQUEST_PAGES, ROUTE_FAST, NODES_PAGE_MAX, nodes_page,
        "nodes: usage, metrics, rejections")},
    {API("latency", REQUEST_PAGES, ROUTE_FAST, LATENCY_PAGE_MAX, latency_page,
        "request latency by verb")},
    {API("changes", REQUEST_PAGES, ROUTE_FAST, CHANGES_PAGE_MAX, changes_page,
        "reloads, restarts and lost connections")},
    {PAGE("/api/v1/what-if", "POST", REQUEST_PAGES, ROUTE_SLOW, WHAT_IF_PAGE_MAX, JSON,
         what_if_page, "recent decisions, replayed with other policies"),
        .takes_body = true, .is_replay = true},
    {PAGE("/api/v1/bundle", "GET", REQUEST_PAGES, ROUTE_SLOW, BUNDLE_PAGE_MAX, "application/gzip",
         bundle_page, "policies, decisions and cluster as a .tar.gz"),
        .file = "attachment; filename=berth-bundle.tar.gz", .is_replay = true},
    {API("events", REQUEST_EVENTS, ROUTE_STREAM, 0, NULL, "updates, as an event stream")},
    {.path = ADMISSION_PATH,
        .method = "POST",
        .clients = ROUTE_API_SERVER,
        .pace = ROUTE_AT_ONCE,
        .kind = REQUEST_ADMISSION,
        .takes_body = true,
        .page_max = ADMISSION_REPLY_MAX,
        .type = JSON,
        .make = make_review,
        .about = "AdmissionReviews of policies: --admission-listen"},
    {PAGE("/version", "GET", REQUEST_OTHER, ROUTE_FAST, PAGE_MAX, JSON, make_version, "version")},
};

/* --- finding ---------------------------------------------------------------------------------- */

static Str without_slashes(Str path) {
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

/* Whether @path is the path of @route with an id at the end. */
static bool has_id(const Route *route, Str path) {
    Str own = str_from_c(route->path);
    Str rest = str_skip(path, own.len);

    return route->has_id && str_has_prefix(path, own) && rest.len > 0 && rest.ptr[0] == '/' &&
           str_find(str_skip(rest, 1), '/') == SIZE_MAX;
}

const Route *route_find(const ApiContext *api, const HttpRequest *request) {
    Str path = without_slashes(request->path);
    WiringVerb verb = wiring_verb_find(path);

    if (verb != WIRING_NO_VERB && wiring_is_dry_run(path)) /* only filter has a dry run */
        return &routes[verb == WIRING_FILTER ? DRY_RUN : NO_ROUTE];
    if (verb != WIRING_NO_VERB)
        return &routes[FIRST_FOUND + (int)verb];
    for (size_t i = FIRST_PAGE; i < ELEMENTS_OF(routes); i++) {
        const Route *route = &routes[i];

        if (str_is(path, route->path) || has_id(route, path))
            return route;
    }
    if (str_is(path, "/"))
        return &routes[INDEX];
    return &routes[api->dashboard && api->dashboard->has(request->path) ? DASHBOARD : NO_ROUTE];
}

Str route_id(Str path) {
    return str_skip(without_slashes(path), sizeof("/api/v1/decisions/") - 1);
}

int route_tag(const Route *route) {
    return (int)(route - routes);
}

const Route *route_of_tag(int tag) {
    return &routes[tag >= 0 && tag < (int)ELEMENTS_OF(routes) ? tag : NO_ROUTE];
}

/* --- replies ---------------------------------------------------------------------------------- */

/* Copies @text to the request's arena. */
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

/* An error page for browsers. Clients that may not see the dashboard get it without style. */
static void reply_error_page(
    const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    static const HttpHeader headers[] = {
        {"Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
    };
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);

    buf_printf(&page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>%u · "
        "berth</title>"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
        "<meta name=\"color-scheme\" content=\"light dark\"/>"
        "<link rel=\"stylesheet\" href=\"/assets/dashboard.css\"/></head>"
        "<body><main><h1>This page cannot be shown</h1><p>",
        status);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '<' || text.ptr[i] == '&')
            buf_append(&page, text.ptr[i] == '<' ? STR("&lt;") : STR("&amp;"));
        else
            buf_append_char(&page, text.ptr[i]);
    }
    buf_append(&page, STR("</p></main></body></html>\n"));
    reply_text(request, reply, status, "text/html; charset=utf-8", buf_str(&page));
    reply->headers = headers;
    reply->n_headers = ELEMENTS_OF(headers);
}

void reply_error(const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    Answer answer = {0};

    if (request->accepts_html) {
        reply_error_page(request, reply, status, text);
        return;
    }
    answer_error(&answer, request->arena, status, text);
    reply_with(reply, &answer);
}

/* Pages that could not be made are empty. An incomplete page would look complete: it is not
 * sent. */
static void reply_page(const HttpRequest *request, HttpReply *reply, unsigned status,
    const char *type, const Buf *page) {
    if (buf_error(page) || page->len == 0)
        reply_error(request, reply, 500, STR("berth: the page needs more memory than it may have"));
    else
        reply_text(request, reply, status, type, buf_str(page));
}

static void reply_health(const Route *route, ApiContext *api, const HttpRequest *request,
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
        .sandbox = api->fixed.sandbox,
        .now_nsec = clock_monotonic_nsec(),
    };
    unsigned status;

    (void)measuring_status(api->measuring, view, request->arena, &measuring);
    status = health_page(route->path + 1, request->query, &state, &page);
    reply_text(request, reply, status, TEXT, buf_str(&page));
}

/* Writes a line for a row with a description, with the paths of the following rows without one. */
static void write_index_line(const Route *route, Buf *out) {
    const Route *end = routes + ELEMENTS_OF(routes);
    const Route *first = route;
    size_t begin = out->len;

    buf_printf(out, "%-4s ", route->method);
    do {
        buf_printf(out, " %s%s", route_is_verb(route) ? ".../" : "", route->path);
        route++;
    } while (route < end && !route->about);
    do {
        buf_append_char(out, ' ');
    } while (out->len - begin < 58);
    buf_printf(out, "%s\n", first->about);
}

static void reply_index(const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);

    buf_append(&page, STR("berth " BERTH_VERSION ", a Kubernetes scheduler extender\n\n"));
    for (size_t i = 0; i < ELEMENTS_OF(routes); i++)
        if (routes[i].about && (access->has_verbs || !route_is_verb(&routes[i])))
            write_index_line(&routes[i], &page);
    if (access->has_dashboard)
        buf_append(&page, STR("\nIn a browser, this is the dashboard.\n"));
    reply_page(request, reply, 200, TEXT, &page);
}

static void reply_made(
    const Route *route, ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(route->page_max);
    unsigned status = route->make(api, request, &page);
    HttpHeader *header;

    reply_page(request, reply, status, status == 200 ? route->type : JSON, &page);
    if (!route->file || reply->status != 200)
        return;
    header = ARENA_NEW(request->arena, HttpHeader);
    if (header)
        *header = (HttpHeader){"Content-Disposition", route->file};
    reply->headers = header;
    reply->n_headers = header ? 1 : 0;
}

/* For browsers the dashboard also shows "/" and errors about unknown paths. */
static bool is_for_dashboard(
    const Route *route, const HttpRequest *request, const PageAccess *access) {
    return access->has_dashboard &&
           (route == &routes[DASHBOARD] ||
               ((route == &routes[INDEX] || route == &routes[NO_ROUTE]) && request->accepts_html));
}

void route_reply(const Route *route, ApiContext *api, const HttpRequest *request,
    const PageAccess *access, HttpReply *reply) {
    if (is_for_dashboard(route, request, access))
        api->dashboard->show(api, request, reply);
    else if (route->make)
        reply_made(route, api, request, reply);
    else if (route == &routes[INDEX])
        reply_index(request, access, reply);
    else if (route->clients == ROUTE_EVERYONE)
        reply_health(route, api, request, access, reply);
    else
        reply_error(request, reply, 404, STR("berth: no such path"));
    reply->tag = route_tag(route);
}

void route_defer(const Route *route, ApiContext *api, const HttpRequest *request, HttpFill *task,
    HttpReply *reply) {
    int tag = route_tag(route);

    if (route->pace == ROUTE_STREAM
            ? updates_join(api->updates, request, tag)
            : page_workers_add(api->workers, request, tag, route->pace == ROUTE_SLOW, task))
        return;
    reply_error(request, reply, 503, STR("berth: too many pages are requested at once"));
    reply->retry_after_sec = BUSY_SEC;
}

/* --- admission -------------------------------------------------------------------------------- */

static bool admit_path(
    const Route *route, const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    if ((route->clients == ROUTE_API_SERVER) != access->has_reviews)
        reply_error(request, reply, 404,
            access->has_reviews
                ? STR("berth: this listener (--admission-listen) answers POST " ADMISSION_PATH
                      " only")
                : STR("berth: AdmissionReviews are answered on --admission-listen"));
    else if (route == &routes[NO_ROUTE] && !is_for_dashboard(route, request, access))
        reply_error(request, reply, 404, STR("berth: no such path; / lists all paths"));
    else if (route == &routes[DASHBOARD] && !access->has_dashboard)
        reply_text(request, reply, 404, TEXT,
            STR("berth: this listener does not show the dashboard. It is shown on loopback "
                "addresses without\n"
                "--client-ca, and on --pages-listen to clients that may see pages there; unless "
                "berth\n"
                "was started with --no-dashboard.\n"));
    else
        return true;
    return false;
}

/* `berth explain` needs a bundle of the one decision that it explains. */
static bool admit_replay(
    const Route *route, const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    if (!route->is_replay || access->may_replay || str_has_prefix(request->query, STR("id=")))
        return true;
    reply_error(request, reply, 403,
        STR("berth: the token of viewers is not for what-if and bundles: they need the token of "
            "--pages-token-file"));
    return false;
}

static bool admit_method(const Route *route, const HttpRequest *request, HttpReply *reply) {
    bool is_post = str_is(str_from_c(route->method), "POST");

    if (str_is(request->method, route->method) || (!is_post && str_is(request->method, "HEAD")))
        return true;
    reply_error(request, reply, 405, STR("berth: wrong method for this path"));
    reply->allow = is_post ? "POST" : "GET, HEAD";
    return false;
}

static bool admit_body(const Route *route, const HttpRequest *request, HttpReply *reply) {
    if (!route->takes_body) {
        if (request->body_size == 0 || route_is_verb(route))
            return true;
        reply_error(request, reply, 413, STR("berth: this path accepts no body"));
        return false;
    }
    if (request->has_origin && !request->is_same_origin)
        reply_error(request, reply, 403, STR("berth: the request comes from another site"));
    else if (route->clients == ROUTE_API_SERVER)
        return true; /* the listener's limit applies */
    else if (!what_if_takes(request->content_type))
        reply_error(request, reply, 403,
            STR("berth: Content-Type must be application/json, application/yaml or text/yaml"));
    else
        return what_if_fits(request, reply);
    return false;
}

bool route_admit(
    const Route *route, const HttpRequest *request, const PageAccess *access, HttpReply *reply) {
    return admit_path(route, request, access, reply) && admit_method(route, request, reply) &&
           admit_replay(route, request, access, reply) && admit_body(route, request, reply);
}
