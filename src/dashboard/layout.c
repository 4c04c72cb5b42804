/* The header and footer around every page. */

#include "dashboard/dashboard.h"

#include "base/calendar.h"
#include "base/nsec.h"
#include "dashboard/widgets.h"
#include "version.h"

/* The subject of a page, if it has one: it is in the title, and so in the browser's history. */
static Str subject_of(const PageContext *context) {
    const DashboardPage *page = context->page;

    for (size_t i = 0; page && i < DASHBOARD_PARAMETERS_MAX && page->parameters[i].len > 0; i++)
        if (str_is(page->parameters[i], "name"))
            return query_get(context->query, STR("name"));
    return STR_NULL;
}

static void draw_head(const PageContext *context, Html *html) {
    Str subject = subject_of(context);

    html_write(html, "<head><meta charset='utf-8'><title>");
    if (subject.len > 0)
        html_write(html, "%.*s · ", STR_FMT(subject));
    html_write(html, "%s · berth</title>", context->title);
    /* first.js is no module: it sets light or dark before anything is painted. */
    html_write(html,
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'><meta name='robots' content='noindex'>"
        "<script src='/assets/first.js'></script><link rel='stylesheet' "
        "href='/assets/dashboard.css'><link rel='icon' href='/assets/icon.svg'>"
        "<script type='module' src='/assets/dashboard.js'></script></head>");
}

/* Parts of bars differ in colour and in pattern: strokes over a tile of 12 × 12. */
static const char *const hatches[WIDGET_COLOURS] = {
    "",
    "M0 12L12 0",
    "M0 0L12 12",
    "M0 6H12",
    "M6 0V12",
    "M0 12L12 0M0 0L12 12",
    "M6 5V7",
    "M0 6H12M6 0V12",
};

static const struct {
    const char *symbol, *class;
} healths[_HEALTH_MAX] = {
    [HEALTH_HEALTHY] = {"✓", "health-summary healthy"},
    [HEALTH_DEGRADED] = {"‼", "health-summary degraded"},
    [HEALTH_BYPASSED] = {"×", "health-summary bypassed"},
    [HEALTH_NOT_READY] = {"×", "health-summary not-ready"},
};

static void draw_age(Html *html, const char *what, int64_t nsec, const char *none) {
    if (nsec < 0)
        html_write(html, "<div><dt>%s</dt><dd>%s</dd></div>", what, none);
    else
        html_write(html, "<div><dt>%s</dt><dd>%jd</dd></div>", what, nsec);
}

static void draw_figures(const HealthSummary *health, Html *html) {
    html_write(html, "<dl class='figures'><div><dt>errors</dt><dd>");
    if (health->facts.n_requests == 0)
        html_write(html, "no requests");
    else
        html_write(html, "%.1f %%", health->error_rate * 100);
    html_write(html, "</dd></div><div><dt>filter p99 latency</dt><dd>");
    if (health->facts.p99_nsec == 0)
        html_write(html, "none yet");
    else
        html_duration(html, health->facts.p99_nsec);
    html_write(html, " of %jd</dd></div>", health->facts.deadline_nsec);
    draw_age(html, "last update from the API server", health->facts.silence_nsec, "not watched");
    draw_age(html, "metrics", health->facts.metrics_age_nsec, "none");
    html_write(html,
        "<div><dt>policy</dt><dd><a href='/policies'>%.*s</a></dd></div>"
        "<div><dt>nodes</dt><dd>%zu</dd></div>"
        "<div><dt>pending pods</dt><dd><a href='/pods?state=pending'>%zu</a></dd></div></dl>",
        STR_FMT(health->facts.policy_digest), health->facts.n_nodes, health->facts.n_waiting);
}

/* The summary's sentence has the first reason. On a small screen this also opens the figures. */
static void draw_reasons(const HealthSummary *health, Html *html) {
    bool has_more = health->n_reasons > 1;

    html_write(
        html, "<details id='reasons' class='%s'><summary>", has_more ? "more" : "figures-only");
    if (!has_more) {
        html_write(html, "Figures</summary></details>");
        return;
    }
    html_write(html, "%zu reasons</summary><ul>", health->n_reasons);
    for (size_t i = 0; i < health->n_reasons; i++) {
        html_write(html, "<li>%.*s", STR_FMT(health->reasons[i]));
        if (health->links[i])
            html_write(html, " <a href='%s'>Show</a>", health->links[i]);
        html_close(html);
    }
    html_write(html, "</ul></details>");
}

static void draw_health(const HealthSummary *health, Html *html) {
    html_write(html,
        "<section id='health-summary' class='%s' aria-label='Health of berth' data-live><p><span "
        "class='symbol' aria-hidden='true'>%s</span> berth is <strong>%.*s</strong>",
        healths[health->health].class, healths[health->health].symbol, STR_FMT(health->text));
    if (health->n_reasons > 0 && health->links[0])
        html_write(html, " <a href='%s'>Show</a>", health->links[0]);
    html_write(html, "</p>");
    draw_reasons(health, html);
    draw_figures(health, html);
    html_close(html);
}

static void draw_nav(const PageContext *context, Html *html) {
    html_write(html, "<nav aria-label='Pages'><ul>");
    for (size_t i = 0; i < dashboard_n_pages; i++) {
        const DashboardPage *page = &dashboard_pages[i];

        if (!page->label)
            continue;
        html_write(html, "<li><a href='%s' title='%s'>", page->path, page->question);
        if (page == context->page)
            html_attr(html, "aria-current", STR("page"));
        html_write(html, "%s</a></li>", page->label);
    }
    html_write(html, "</ul></nav>");
}

void layout_begin(const PageContext *context, Html *html) {
    buf_append(html->out, STR("<!DOCTYPE html>\n"));
    html_write(html, "<html lang='en'>");
    draw_head(context, html);
    html_write(html,
        "<body><a href='#main' class='skip'>Skip to the page</a>"
        "<svg class='patterns' width='0' height='0' aria-hidden='true' focusable='false'><defs>");
    for (unsigned i = 1; i <= WIDGET_COLOURS; i++)
        html_write(html,
            "<pattern id='fill-%u' class='colour-%u' patternUnits='userSpaceOnUse' width='12' "
            "height='12'><rect width='12' height='12'></rect><path d='%s'></path></pattern>",
            i, i, hatches[i - 1]);
    html_write(html, "</defs></svg><header class='top'><a href='/' class='brand'>berth</a>");
    draw_nav(context, html);
    /* Modules put their buttons into #tools: pause, theme, keys. */
    html_write(html,
        "<form role='search' action='/search' method='get'><label for='search'>Find a pod or "
        "node</label><input type='search' id='search' name='q' placeholder='Find a pod or node' "
        "autocomplete='off' spellcheck='false'><button>Find</button></form>"
        "<div id='tools'></div>");
    draw_health(context->health, html);
    html_write(html, "</header><main id='main' tabindex='-1'><h1>%s", context->title);
    if (context->page && context->page->question)
        html_write(html, "<small class='question'>%s</small>", context->page->question);
    html_close(html);
    if (context->at_nsec != 0)
        html_write(html,
            "<p class='notice'>This link shows the state as of %td. Decisions and attempts of a "
            "pod are shown as of then if they are still kept; everything else is current.</p>",
            context->at_nsec);
}

static void draw_permalink(const PageContext *context, Html *html) {
    HtmlParameter parameters[QUERY_PARAMETERS_MAX + 1];
    const Query *query = context->query;
    _cleanup_(buf_done) Buf at = BUF_INIT(64);
    size_t n = 0;

    for (size_t i = 0; i < query->n_names; i++)
        if (query->values[i].ptr && !str_is(query->names[i], "at"))
            /* Names of parameters are literals of the pages' tables. */
            parameters[n++] = (HtmlParameter){query->names[i].ptr, query->values[i]};
    calendar_print(
        (context->at_nsec ? context->at_nsec : context->wall_nsec) / NSEC_PER_SEC, 0, &at);
    parameters[n++] = (HtmlParameter){"at", buf_str(&at)};
    html_open(html, "li");
    html_open_link(html, context->page->path, parameters, n);
    html_attr(html, "id", STR("permalink"));
    html_attr(html, "data-live", STR_NULL);
    html_write(html, "Link to this page at this time</a></li>");
}

void layout_end(const PageContext *context, Html *html) {
    html_write(html, "</><footer><section class='share' aria-label='Share'><ul>");
    if (context->page)
        draw_permalink(context, html);
    if (context->page && context->page->json)
        html_write(
            html, "<li><a href='%s' id='json'>This page as JSON</a></li>", context->page->json);
    html_write(html,
        "<li><a href='/api/v1/bundle?anonymize=true'>Download an anonymized bundle for sharing</a> "
        "or <code>berth bundle</code></li></ul></section><p class='version'>%s</p></footer></></>",
        "berth " BERTH_VERSION);
    buf_append_char(html->out, '\n');
}
