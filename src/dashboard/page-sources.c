/*
 * Are the metrics current? A number that is old, absent or of another node looks like a bad policy.
 * So the page shows every metric with its source, coverage, age and dropped series.
 *
 * For the modules: <p id="sources-verdict">, tables #metrics and #sources.
 */

#include "dashboard/dashboard.h"
#include "dashboard/widgets.h"
#include "live/gauge-state.h"
#include "live/measuring.h"

typedef struct SourcesPage {
    Html *html;
    const Program *program;
    MeasuringStatus status;
    GaugeState *metrics;
    size_t n;
} SourcesPage;

typedef enum MetricHealth {
    METRIC_FINE,
    METRIC_WAITING, /* nothing is wrong yet */
    METRIC_PARTLY,  /* some nodes have no value */
    METRIC_BAD,     /* no node has one */
} MetricHealth;

static MetricHealth metric_health(const GaugeState *metric) {
    bool is_annotation = metric->gauge->source == GAUGE_ANNOTATION;
    PollState state = metric->poll ? metric->poll->state : POLL_WAITING;

    if (metric->figures.n_nodes == 0 || (!is_annotation && state == POLL_WAITING))
        return METRIC_WAITING;
    if (metric->figures.n_present == 0)
        return METRIC_BAD;
    if (metric->figures.n_present < metric->figures.n_nodes || (!is_annotation && state != POLL_OK))
        return METRIC_PARTLY;
    return METRIC_FINE;
}

static const char *why_none(const GaugeState *metric) {
    PollState state = metric->poll ? metric->poll->state : POLL_OK;

    return !metric->poll             ? "no node has the annotation with a current value"
           : state == POLL_UNJOINED  ? "the source answers, but no series matches a node"
           : state == POLL_NO_SOURCE ? "no source with this name is configured"
           : state != POLL_FAILING   ? "all values have expired"
           : metric->at_nsec == 0    ? "its source does not answer"
                                  : "its source does not answer, and the last values have expired";
}

static void say_state(Html *html, const GaugeState *metric) {
    MetricHealth health = metric_health(metric);
    bool is_failing = metric->poll && metric->poll->state == POLL_FAILING;

    if (health == METRIC_FINE)
        html_write(html, "<span class='good'>✓ every node has a value</span>");
    else if (health == METRIC_WAITING)
        html_write(html, "<span class='quiet'>%s</span>",
            metric->figures.n_nodes == 0 ? "no nodes yet" : "no answer yet");
    else if (health == METRIC_PARTLY)
        html_write(html, "<span class='warn'>%s</span>",
            is_failing ? "! the source does not answer; the last values are still valid"
                       : "! some nodes have no value");
    else
        html_write(
            html, "<strong class='bad'>✗ no node has a value: %s</strong>", why_none(metric));
}

static void draw_verdict(const SourcesPage *view) {
    size_t n_of[METRIC_BAD + 1] = {0};
    Html *html = view->html;

    for (size_t i = 0; i < view->n; i++)
        n_of[metric_health(&view->metrics[i])]++;
    html_write(html, "<p id='sources-verdict' class='answer' data-live>");
    if (n_of[METRIC_BAD] > 0)
        html_write(html,
            "No: %zu of %zu metrics %s no value on any node. Rules that read %s use their "
            "onMissing.",
            n_of[METRIC_BAD], view->n, n_of[METRIC_BAD] == 1 ? "has" : "have",
            n_of[METRIC_BAD] == 1 ? "it" : "them");
    else if (n_of[METRIC_PARTLY] > 0)
        html_write(html, "Partly: %zu of %zu metrics %s no value on some nodes.",
            n_of[METRIC_PARTLY], view->n, n_of[METRIC_PARTLY] == 1 ? "has" : "have");
    else if (n_of[METRIC_FINE] == view->n)
        html_write(html, "Yes: all %zu metrics have a value on every node.", view->n);
    else
        html_write(
            html, "Unknown: %zu of %zu metrics have no answer yet.", n_of[METRIC_WAITING], view->n);
    html_close(html);
}

static void draw_name(const SourcesPage *view, size_t number) {
    Html *html = view->html;
    size_t n = 0;

    html_write(html, "<th scope='row'>%.*s<div class='quiet'>",
        STR_FMT(view->metrics[number].gauge->name));
    for (size_t i = 0; i < view->program->n_policies; i++) {
        const Policy *policy = &view->program->policies[i];
        const SchemaMetrics *metrics = &policy->scope->metrics;

        for (uint32_t j = 0; j < metrics->type.n_fields; j++)
            if (metrics->gauges[j] == number)
                html_write(html, "%s%.*s as <code>%.*s</code>", n++ > 0 ? ", " : "in policy ",
                    STR_FMT(policy->name), STR_FMT(metrics->fields[j].name));
    }
    html_write(html, "</div></th>");
}

static void draw_query(Html *html, const Gauge *gauge) {
    const Str queries[] = {
        [GAUGE_PROMETHEUS] = gauge->query,
        [GAUGE_RESOURCES] = gauge->resource,
        [GAUGE_ANNOTATION] = gauge->annotation,
        [GAUGE_CUSTOM] = gauge->query,
    };

    html_open(html, "td");
    if (gauge->source == GAUGE_ANNOTATION)
        html_write(html, "annotation ");
    html_write(html, "<code>%.*s</code>", STR_FMT(queries[gauge->source]));
    if (gauge->is_of_pods)
        html_write(html, " by pod");
    html_write(html, "<div class='quiet'>");
    if (gauge->source == GAUGE_ANNOTATION)
        html_write(html, "read with the nodes</div></td>");
    else
        html_write(html, "queried from %.*s every %jd</div></td>",
            STR_FMT(gauge_source_name(gauge)), gauge->interval_nsec);
}

static void draw_age(Html *html, const GaugeState *metric) {
    int64_t max_nsec = metric->gauge->max_age_nsec;

    if (metric->at_nsec == 0) {
        html_write(html, "<td class='number' data-value='%zu'>never of %jd</td>", (size_t)INT64_MAX,
            max_nsec);
        return;
    }
    html_write(html, "<td class='number' data-value='%zu'>", (size_t)metric->age_nsec);
    if (metric->age_nsec > max_nsec)
        html_write(html, "<strong class='bad'>✗ </strong>");
    html_write(html, "%jd of %jd</td>", metric->age_nsec, max_nsec);
}

static void draw_dropped(Html *html, const PollStatus *poll) {
    static const char *const why[] = {
        [JOIN_NO_LABEL] = "without the label",
        [JOIN_NO_NODE] = "of unknown nodes",
        [JOIN_DUPLICATE] = "duplicate",
        [JOIN_NAN] = "not a number",
        [JOIN_INFINITE] = "infinite",
        [JOIN_TOO_OLD] = "expired",
    };
    size_t n = 0;

    html_open(html, "td");
    for (size_t i = 0; poll && i < _JOIN_DROPS; i++)
        if (poll->report.n_dropped[i] > 0)
            html_write(html, "%s%zu %s", n++ > 0 ? ", " : "", poll->report.n_dropped[i], why[i]);
    if (n == 0)
        html_text(html, poll && poll->report.n_series > 0 ? STR("nothing") : STR("–"));
    html_close(html);
}

static void draw_examples(
    Html *html, const char *what, const char examples[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX]) {
    if (!examples[0][0])
        return;
    html_write(html, "<div class='quiet'>%s", what);
    for (size_t i = 0; i < JOIN_EXAMPLES_MAX && examples[i][0]; i++)
        html_write(html, "%s<code>%s</code>", i > 0 ? ", " : " ", examples[i]);
    html_close(html);
}

static void draw_error(Html *html, const char *what, const char *text) {
    if (text[0])
        html_write(html, "<div>%s%s</div>", what, text);
}

static void draw_state(Html *html, const GaugeState *metric) {
    const PollStatus *poll = metric->poll;

    html_open(html, "td");
    say_state(html, metric);
    if (poll) {
        if (poll->failing_since_nsec != 0)
            html_write(html, " (first failed %td)", poll->failing_since_nsec);
        draw_error(html, "Last error: ", poll->error);
        draw_error(html, "The source warns: ", poll->warning);
        draw_error(html, "", poll->report.error);
        draw_examples(html, "Series without a node, for example", poll->report.unmatched);
        draw_examples(html, "Nodes without a value, for example", poll->report.uncovered);
    }
    html_close(html);
}

static void draw_metrics(const SourcesPage *view) {
    Html *html = view->html;

    widget_table(html, "metrics", "Metrics that policies read",
        "Metric|Query|Nodes with a value|#Age, max age|Dropped series|State");
    for (size_t i = 0; i < view->n; i++) {
        const GaugeState *metric = &view->metrics[i];
        size_t n = metric->figures.n_nodes, n_present = metric->figures.n_present;
        const BarPart parts[] = {
            {STR("have a value"), (double)n_present, 3},
            {STR("have none"), (double)(n - n_present), 8},
        };

        html_open(html, "tr");
        draw_name(view, i);
        draw_query(html, metric->gauge);
        html_write(html, "<td data-value='%zu'>%zu of %zu", n_present, n_present, n);
        if (n > 0)
            widget_bar(html, parts, ELEMENTS_OF(parts), (double)n);
        html_close(html);
        draw_age(html, metric);
        draw_dropped(html, metric->poll);
        draw_state(html, metric);
        html_close(html);
    }
    widget_table_end(html);
    if (view->program->n_gauges > view->n)
        html_write(html, "<p class='notice'>More metrics are queried but not shown.</p>");
}

static void draw_source(Html *html, Str name, GaugeSource kind, Str url) {
    html_write(html, "<tr><th scope='row'>%.*s</th><td>%s</td><td><code>%.*s</code></td></tr>",
        STR_FMT(name),
        kind == GAUGE_PROMETHEUS  ? "Prometheus API"
        : kind == GAUGE_RESOURCES ? "metrics.k8s.io"
                                  : "custom.metrics.k8s.io",
        STR_FMT(url));
}

static void draw_sources(const SourcesPage *view) {
    const MeasuringStatus *status = &view->status;

    if (status->n_sources == 0 && str_is_empty(status->api_server)) {
        widget_empty(view->html, "No source is configured.",
            "berth serve --prometheus URL sets one source for all metrics, --sources FILE "
            "several.");
        return;
    }
    widget_table(view->html, "sources", "Sources", "Source|Kind|Address");
    for (size_t i = 0; i < status->n_sources; i++)
        draw_source(view->html, status->sources[i].name, GAUGE_PROMETHEUS, status->sources[i].url);
    if (!str_is_empty(status->api_server))
        draw_source(view->html, GAUGE_RESOURCES_NAME, GAUGE_RESOURCES, status->api_server);
    if (!str_is_empty(status->api_server) && gauge_source_is_used(view->program, GAUGE_CUSTOM))
        draw_source(view->html, GAUGE_CUSTOM_NAME, GAUGE_CUSTOM, status->api_server);
    widget_table_end(view->html);
}

unsigned page_sources(const PageContext *context, Html *html) {
    SourcesPage view = {.html = html, .program = context->view->program};
    GaugeTime time = {.now_nsec = context->wall_nsec, .uptime_nsec = context->now_nsec};
    size_t n = view.program->n_gauges;

    view.n = n < MEASURING_SHOWN_MAX ? n : MEASURING_SHOWN_MAX;
    view.metrics = ARENA_ARRAY(context->arena, GaugeState, view.n);
    if (!view.metrics ||
        (context->api->measuring && !measuring_status(context->api->measuring, context->view,
                                        context->arena, &view.status)))
        return widget_no_memory(html, "this page");
    for (size_t i = 0; i < view.n; i++)
        view.metrics[i] = gauge_state(context->view, &view.status, i, time);
    if (view.n == 0) {
        widget_empty(html, "No policy reads metrics.",
            "An entry under metrics: in a policy reads one number per node, by PromQL, from "
            "metrics.k8s.io, custom.metrics.k8s.io or an annotation: see docs/metrics.md.");
    } else {
        draw_verdict(&view);
        draw_metrics(&view);
    }
    draw_sources(&view);
    widget_curl(html, context->api->server, "/api/v1/sources");
    return 200;
}
