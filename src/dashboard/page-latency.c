/*
 * Does berth slow down the scheduler? kube-scheduler waits for each answer, one pod at a time. So
 * the page begins with a sentence on whether that matters; then it shows where the time goes.
 *
 * Percentiles of the parts do not add up to that of the whole, so bars show means.
 *
 * For the modules: <p id="latency-verdict">, tables #verbs and #parts, <section id="hour"> of
 * lines.
 */

#include <math.h>
#include <stdio.h>

#include "base/nsec.h"
#include "dashboard/page-parts.h"

#define HTTP_TIMEOUT_NSEC (5 * NSEC_PER_SEC) /* kube-scheduler's default */

typedef struct LatencyPage {
    const PageContext *context;
    Html *html;
    unsigned window_sec;
    LatencyVerb verbs[_VERB_MAX];
    uint64_t n_requests, n_decided, n_late;
} LatencyPage;

/* Which part of filters takes most of the time, and what can be done about it. */
static const char *advice(const LatencyVerb *filter) {
    const LatencySummary *parts = filter->parts;

    if (parts[LATENCY_EVALUATE].sum_nsec * 2 > parts[LATENCY_TOTAL].sum_nsec)
        return "Most of the time is spent evaluating policies: see the cost of each on the "
               "Policies page.";
    if (parts[LATENCY_READ].sum_nsec > parts[LATENCY_WRITE].sum_nsec)
        return "Most of the time is spent reading the request: with nodeCacheCapable: true "
               "kube-scheduler sends node names instead of whole nodes.";
    return "Most of the time is spent sending the reply: check the scheduler's machine and the "
           "network.";
}

static void draw_verdict(const LatencyPage *page) {
    const LatencySummary *filter = &page->verbs[VERB_FILTER].parts[LATENCY_TOTAL];
    const LatencySummary *prioritize = &page->verbs[VERB_PRIORITIZE].parts[LATENCY_TOTAL];
    int64_t deadline_nsec = page->context->api->fixed.deadline_nsec;
    bool is_late = page->n_late * 100 > page->n_decided;
    bool is_bad = is_late || filter->p99_nsec * 2 > deadline_nsec;
    Html *html = page->html;

    html_write(html, "<p id='latency-verdict' class='answer' data-live>");
    if (filter->n == 0) {
        html_write(html, "No: there were no filter requests in this time.");
    } else {
        html_write(html,
            "<strong class='%s'>%s</strong>p99 latency of filter is <strong>%jd</strong>",
            is_bad ? "bad" : "good", is_bad ? "Possibly: " : "No: ", filter->p99_nsec);
        if (prioritize->n > 0)
            html_write(html, ", of prioritize <strong>%jd</strong>", prioritize->p99_nsec);
        html_write(html, ".");
        if (is_late)
            html_write(html, " %.1f %% of decisions exceeded the deadline.",
                (double)page->n_late * 100 / (double)page->n_decided);
        if (is_bad)
            html_write(html, " %s", advice(&page->verbs[VERB_FILTER]));
    }
    html_write(html,
        "</p><p>Limits: berth evaluates policies for at most %jd per request (--deadline); "
        "kube-scheduler waits %jd unless the extender's httpTimeout is set.</p>",
        deadline_nsec, HTTP_TIMEOUT_NSEC);
}

static void draw_windows(const LatencyPage *page) {
    static const struct {
        unsigned sec;
        const char *text;
    } windows[] = {
        {LATENCY_WINDOW_SEC, "last 5 minutes"},
        {LATENCY_WINDOW_MAX_SEC, "last hour"},
        {0, "since the start"},
    };
    Html *html = page->html;

    html_write(html, "<p>Time range: ");
    for (size_t i = 0; i < ELEMENTS_OF(windows); i++) {
        html_text(html, i > 0 ? STR(" · ") : STR_NULL);
        if (windows[i].sec == page->window_sec)
            html_write(html, "<strong>%s</strong>", windows[i].text);
        else
            html_write(
                html, "<a href='/latency?window=%u'>%s</a>", windows[i].sec, windows[i].text);
    }
    html_close(html);
}

/* @is_known: false for a row without requests. */
static void draw_time(Html *html, int64_t nsec, bool is_known) {
    if (is_known)
        html_write(html, "<td class='number' data-value='%zu'>%jd</td>", (size_t)nsec, nsec);
    else
        html_write(html, "<td class='number'>–</td>");
}

static double mean_usec(const LatencySummary *summary) {
    return summary->n > 0 ? (double)summary->sum_nsec / (double)summary->n / 1000.0 : 0;
}

static void draw_verb(Html *html, Verb verb, const LatencyVerb *about) {
    const LatencySummary *total = &about->parts[LATENCY_TOTAL];
    bool is_known = total->n > 0;
    const BarPart parts[] = {
        {STR("µs reading"), round(mean_usec(&about->parts[LATENCY_READ])), 1},
        {STR("µs evaluating"), round(mean_usec(&about->parts[LATENCY_EVALUATE])), 2},
        {STR("µs writing"), round(mean_usec(&about->parts[LATENCY_WRITE])), 3},
    };
    double whole = parts[0].value + parts[1].value + parts[2].value;

    html_write(
        html, "<tr><th scope='row'>%s</th><td class='number'>%zu</td>", verb_name(verb), total->n);
    draw_time(html, total->p50_nsec, is_known);
    draw_time(html, total->p99_nsec, is_known);
    draw_time(html, total->max_nsec, is_known);
    html_open(html, "td");
    if (about->parts[LATENCY_TOTAL].n > 0)
        widget_bar(html, parts, ELEMENTS_OF(parts), whole);
    html_close(html);
    html_write(html, "<td class='number' data-value='%zu'>", about->n_nodes_p50);
    if (about->n_decided > 0)
        html_write(html, "%zu, %zu", about->n_nodes_p50, about->n_nodes_max);
    else
        html_write(html, "–");
    html_write(html, "</td><td class='number'>%zu</td><td class='number'>%zu</td></tr>",
        about->n_late, about->n_errors);
}

static void draw_part(Html *html, Verb verb, LatencyPart part, const LatencySummary *summary) {
    static const char *const names[] = {
        [LATENCY_READ] = "read the request",
        [LATENCY_EVALUATE] = "evaluate policies",
        [LATENCY_WRITE] = "send the reply",
        [LATENCY_TOTAL] = "total",
    };

    html_write(html, "<tr><th scope='row'>%s</th><td>%s</td>", verb_name(verb), names[part]);
    draw_time(html, summary->p50_nsec, true);
    draw_time(html, summary->p90_nsec, true);
    draw_time(html, summary->p99_nsec, true);
    draw_time(html, summary->max_nsec, true);
    html_close(html);
}

static void draw_parts(const LatencyPage *page) {
    if (page->n_requests == 0)
        return;
    widget_table(
        page->html, "parts", "Latency of each part", "Verb|Part|#p50|#p90|#p99 latency|#Max");
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        for (LatencyPart part = 0; part < _LATENCY_PARTS; part++)
            if (page->verbs[verb].parts[LATENCY_TOTAL].n > 0)
                draw_part(page->html, verb, part, &page->verbs[verb].parts[part]);
    widget_table_end(page->html);
}

static double late_of(const LatencySlot *slot) {
    return slot->n_late;
}

unsigned page_latency(const PageContext *context, Html *html) {
    static const HourChart charts[] = {
        {"Requests", "/ s", slot_requests},
        {"Filter p99 latency", "ms", slot_p99_msec},
        {"Deadline exceeded", "in 10 s", late_of},
    };
    LatencyPage page = {.context = context, .html = html};
    char error[QUERY_ERROR_MAX], path[64];
    int64_t window_sec;

    if (!query_number(context->query, STR("window"), 0, LATENCY_WINDOW_MAX_SEC, LATENCY_WINDOW_SEC,
            &window_sec, error))
        return widget_problem(html, error);
    page.window_sec = (unsigned)window_sec;
    latency_read(context->api->latency, page.window_sec, context->now_nsec, page.verbs);
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        page.n_requests += page.verbs[verb].parts[LATENCY_TOTAL].n;
        page.n_decided += page.verbs[verb].n_decided;
        page.n_late += page.verbs[verb].n_late;
    }
    draw_verdict(&page);
    draw_windows(&page);
    if (page.n_requests == 0)
        widget_empty(html, "No requests in this time.",
            "Is berth configured as an extender of the scheduler? berth config prints the "
            "configuration, berth check --live tests it.");
    widget_table(html, "verbs", "Requests by verb, from headers received to reply sent",
        "Verb|#Requests|#p50 latency|#p99 latency|#Max|Mean, by part|#Nodes: median, max|#Deadline "
        "exceeded|#Errors");
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        draw_verb(html, verb, &page.verbs[verb]);
    widget_table_end(html);
    draw_parts(&page);
    last_hour_draw(context, html, charts, ELEMENTS_OF(charts), /* marks= */ NULL, 0);
    html_write(html, "<h2>See also</h2><p><a href='/policies'>Cost of each policy</a> · <a "
                     "href='/changes'>changes in the last hour</a></p>");
    (void)snprintf(path, sizeof(path), "/api/v1/latency?window=%u", page.window_sec);
    widget_curl(html, context->api->server, path);
    return 200;
}
