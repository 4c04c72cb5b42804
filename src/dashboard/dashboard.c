/* The table of pages, and how one is parsed, drawn and sent. */

#include "dashboard/dashboard.h"

#include <stdio.h>

#include "base/calendar.h"
#include "base/clock.h"
#include "dashboard/asset.h"
#include "dashboard/widgets.h"

#define ASSETS "/assets/"

/* All pages, in the order of the navigation. */
const DashboardPage dashboard_pages[] = {
    {"/", "Overview", "Overview", "What is berth doing?", "/api/v1/status", page_overview},
    {"/pods", "Pods", "Pods", "Which pods are pending, and why?", "/api/v1/decisions", page_pods,
        {STR("q"), STR("state"), STR("workload"), STR("page")}},
    {"/pod", NULL, "Pod", "Why is it pending, or why is it on this node?", NULL, page_pod,
        {STR("namespace"), STR("name"), STR("id"), STR("node")}},
    {"/policies", "Policies", "Policies", "Which policy keeps pods pending?", "/api/v1/policies",
        page_policies},
    {"/nodes", "Nodes", "Nodes", "Is the load balanced?", "/api/v1/nodes", page_nodes,
        {STR("column"), STR("order"), STR("page")}},
    {"/node", NULL, "Node", "Why not this node?", NULL, page_node, {STR("name")}},
    {"/sources", "Sources", "Metric sources", "Are the metrics current?", "/api/v1/sources",
        page_sources},
    {"/latency", "Latency", "Latency", "Does berth slow down the scheduler?", "/api/v1/latency",
        page_latency, {STR("window")}},
    {"/changes", "Changes", "Changes", "What changed?", "/api/v1/changes", page_changes},
    {"/what-if", "What if", "What if", "What would a policy change do?", NULL, page_what_if},
    {"/search", NULL, "Search", NULL, NULL, page_search, {STR("q")}},
};
const size_t dashboard_n_pages = ELEMENTS_OF(dashboard_pages);

/* Browsers load only what berth serves, run no inline script or style, show no page in a frame, and
 * let no mistake of a script turn text into markup. */
static const HttpHeader headers[] = {
    {"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy",
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"},
};

static const DashboardPage *find_page(Str path) {
    for (size_t i = 0; i < dashboard_n_pages; i++)
        if (str_is(path, dashboard_pages[i].path))
            return &dashboard_pages[i];
    return NULL;
}

static bool dashboard_has(Str path) {
    return find_page(path) || str_has_prefix(path, STR(ASSETS));
}

/* A form sends its empty fields, too: "q=&state=pending" has a state only. */
static Str drop_empty(Str text, Arena *arena) {
    char *kept = arena_alloc(arena, text.len + 1);
    size_t n = 0;
    Str rest = text, part;

    if (!kept)
        return STR_NULL;
    while (rest.len > 0 && str_split(&rest, '&', &part)) {
        if (part.len > 0 && str_find(part, '=') == part.len - 1)
            continue;
        if (n > 0)
            kept[n++] = '&';
        for (size_t i = 0; i < part.len; i++)
            kept[n++] = part.ptr[i];
    }
    return str_of(kept, n);
}

/* Reads ?at=… as the end of that second, to include everything in it. */
static void read_at(const Query *query, int64_t *ret_nsec, char *error) {
    Str text = query_get(query, STR("at"));
    uint32_t nanos;
    int64_t sec;

    if (!text.ptr)
        return;
    if (calendar_parse(text, &sec, &nanos) && sec > 0 && sec < INT64_MAX / NSEC_PER_SEC - 1)
        *ret_nsec = (sec + 1) * NSEC_PER_SEC - 1;
    else
        (void)snprintf(
            error, QUERY_ERROR_MAX, "at must be a time like 2026-01-02T03:04:05Z, in UTC");
}

static void reply_short(HttpReply *reply, unsigned status) {
    static const Str texts[] = {STR("berth: no such page; the dashboard is at /\n"),
        STR("berth: not enough memory for this page; try again later\n")};

    reply->status = status;
    reply->content_type = "text/plain; charset=utf-8";
    reply->slices = &texts[status == 404 ? 0 : 1];
    reply->n_slices = 1;
    reply->retry_after_sec = status == 503 ? 1 : 0;
}

static void reply_target(const HttpRequest *request, HttpReply *reply, Str target) {
    HttpHeader *all = ARENA_ARRAY(request->arena, HttpHeader, ELEMENTS_OF(headers) + 1);

    if (!all) {
        reply_short(reply, 503);
        return;
    }
    all[0] = (HttpHeader){"Location", target.ptr};
    for (size_t i = 0; i < ELEMENTS_OF(headers); i++)
        all[i + 1] = headers[i];
    reply->status = 303;
    reply->content_type = "text/plain; charset=utf-8";
    reply->headers = all;
    reply->n_headers = ELEMENTS_OF(headers) + 1;
}

/* @error: the error in the query; empty: none. */
static void show_page(
    const PageContext *context, const char *error, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf out = BUF_INIT(DASHBOARD_PAGE_MAX);
    Html html = {.out = &out, .now_nsec = context->wall_nsec};
    Str *slice = ARENA_NEW(request->arena, Str);
    unsigned status = 404;

    layout_begin(context, &html);
    if (error[0] != '\0')
        status = widget_problem(&html, error);
    else if (context->page)
        status = context->page->draw(context, &html);
    if (status == 303) {
        reply_target(request, reply, *context->target);
        return;
    }
    if (status == 404 && !context->page) {
        html_write(&html, "<p class='problem'>There is no page <b>%.*s</b>.</p><ul>",
            STR_FMT(request->path));
        for (size_t i = 0; i < dashboard_n_pages; i++)
            if (dashboard_pages[i].label)
                html_write(&html, "<li><a href='%s'>%s</a>: %s</li>", dashboard_pages[i].path,
                    dashboard_pages[i].label, dashboard_pages[i].question);
        html_write(&html, "</ul>");
    }
    if (status != 200)
        html_write(&html, "<p><a href='/'>Back to the overview</a></p>");
    layout_end(context, &html);
    if (slice && !buf_error(&out))
        *slice = arena_copy(request->arena, buf_str(&out));
    if (!slice || !slice->ptr) {
        reply_short(reply, 503);
        return;
    }
    reply->status = status;
    reply->content_type = "text/html; charset=utf-8";
    reply->slices = slice;
    reply->n_slices = 1;
}

/* @page NULL: the path is unknown. */
static void show_found(
    ApiContext *api, const DashboardPage *page, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    char error[QUERY_ERROR_MAX] = "";
    HealthSummary health;
    Query query = {0};
    Str target = STR_NULL;
    PageContext context = {
        .page = page,
        .title = page ? page->title : "No such page",
        .api = api,
        .view = view,
        .query = &query,
        .health = &health,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
        .arena = request->arena,
        .target = &target,
    };
    Str names[DASHBOARD_PARAMETERS_MAX + 1]; /* those of the page, and the time */
    size_t n_names = 0;

    if (!health_summary_make(api, context.wall_nsec, context.now_nsec, context.arena, &health)) {
        reply_short(reply, 503);
        return;
    }
    while (page && n_names < DASHBOARD_PARAMETERS_MAX && page->parameters[n_names].len > 0) {
        names[n_names] = page->parameters[n_names];
        n_names++;
    }
    names[n_names++] = STR("at");
    if (page && query_parse(drop_empty(request->query, request->arena), names, n_names,
                    request->arena, &query, error))
        read_at(&query, &context.at_nsec, error);
    if (error[0] != '\0') {
        context.page = NULL;
        context.title = "This page cannot be shown";
    }
    show_page(&context, error, request, reply);
}

static void dashboard_show(ApiContext *api, const HttpRequest *request, HttpReply *reply) {
    const Asset *asset;

    reply->headers = headers;
    reply->n_headers = ELEMENTS_OF(headers);
    if (!str_has_prefix(request->path, STR(ASSETS))) {
        show_found(api, find_page(request->path), request, reply);
        return;
    }
    asset = asset_find(str_skip(request->path, sizeof(ASSETS) - 1));
    if (asset)
        asset_show(asset, request, headers, ELEMENTS_OF(headers), reply);
    else
        reply_short(reply, 404);
}

const HttpHeader *dashboard_headers(size_t *ret_n) {
    *ret_n = ELEMENTS_OF(headers);
    return headers;
}

const DashboardHook dashboard_hook = {.has = dashboard_has, .show = dashboard_show};
