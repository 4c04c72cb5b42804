#pragma once

/*
 * The dashboard: HTML pages drawn from the daemon's state (api/context.h).
 *
 * A page is a function that draws a <main>; the layout around it has the health summary, the
 * navigation and the search. All can be read without JavaScript; the modules under /assets make it
 * live: they fetch the page again when the event stream has news, and update what differs.
 *
 * Paths have no names in them (a pod may be called "filter"): /pod?namespace=…&name=….
 *
 * Every page takes ?at=2026-01-02T03:04:05Z besides its own parameters: the footer has a link with
 * it, for sharing. Empty parameters count as not given: forms send them.
 *
 * Everything is read-only. Threads: those of DashboardHook.
 */

#include "api/context.h"
#include "api/health-summary.h"
#include "api/query.h"
#include "dashboard/html.h"
#include "extender/view.h"

/* The hook for DaemonOptions.dashboard. */
extern const DashboardHook dashboard_hook;

/* The headers of every page. `berth open` adds them: its client does not hand them on. Static. */
const HttpHeader *dashboard_headers(size_t *ret_n);

typedef struct DashboardPage DashboardPage;

/* The data for drawing a page. Everything is borrowed, and does not change meanwhile. */
typedef struct PageContext {
    const DashboardPage *page; /* NULL: an error page */
    const char *title;
    ApiContext *api;
    const View *view; /* in force */
    const Query *query;
    const HealthSummary *health;
    int64_t wall_nsec; /* since 1970 */
    int64_t now_nsec;  /* monotonic */
    int64_t at_nsec;   /* ?at=…: show the state of that time, as far as it is kept; 0: now */
    Arena *arena;
    Str *target; /* for a page that returns 303 */
} PageContext;

#define DASHBOARD_PAGE_MAX ((size_t)8 * 1024 * 1024)
#define DASHBOARD_PARAMETERS_MAX 8u

/* A row of the table of pages, in dashboard.c. */
struct DashboardPage {
    const char *path;     /* "/policies" */
    const char *label;    /* in the navigation; NULL: not there */
    const char *title;    /* "Policies" */
    const char *question; /* the question it answers: "Which policy is hurting?" */
    const char *json;     /* path of the same data as JSON; NULL: none */
    unsigned (*draw)(const PageContext *context, Html *html); /* DrawPage */
    const Str parameters[DASHBOARD_PARAMETERS_MAX]; /* its parameters, terminated by an empty one */
};
extern const DashboardPage dashboard_pages[];
extern const size_t dashboard_n_pages;

/* Draw everything around the content of <main> (layout.c): the health summary, navigation, search;
 * and links for sharing. */
void layout_begin(const PageContext *context, Html *html);
void layout_end(const PageContext *context, Html *html);

/* Each draws the content of <main>, after the heading, and returns 200, 400, 404 or 503; or 303
 * with the page to go to in *context->target. */
typedef unsigned DrawPage(const PageContext *context, Html *html);
DrawPage page_overview, page_pods, page_pod, page_policies, page_nodes, page_node, page_sources,
    page_latency, page_changes, page_what_if, page_search;
