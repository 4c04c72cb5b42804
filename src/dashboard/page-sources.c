/*
 * Are the metrics real? A number that is old, absent or of another node looks like a bad policy: so
 * every metric with who api, for how many nodes, how old, and what was left out.
 *
 * For the modules: <p id="sources-verdict">, tables #metrics and #sources.
 */

#include "dashboard/dashboard.h"
#include "dashboard/piece.h"
#include "live/gauge-state.h"
#include "live/measuring.h"

typedef struct SourcesView {
    const Sitting *sitting;
    Html *html;
    const Program *program;
    MeasuringStatus status;
    GaugeState *metrics;
    size_t n;
} SourcesView;

/* --- how a metric fares ----------------------------------------------------------------------- */

typedef enum Fare {
    FARE_FINE,
    FARE_WAITING, /* nothing is wrong yet */
    FARE_PARTLY,  /* some nodes have no value */
    FARE_BAD,     /* none has */
} Fare;

static Fare fare_of(const GaugeState *metric) {
    bool is_annotation = metric->gauge->source == GAUGE_ANNOTATION;
    PollState state = metric->poll ? metric->poll->state : POLL_WAITING;

    if (metric->figures.n_nodes == 0 || (!is_annotation && state == POLL_WAITING))
        return FARE_WAITING;
    if (metric->figures.n_present == 0)
        return FARE_BAD;
    if (metric->figures.n_present < metric->figures.n_nodes || (!is_annotation && state != POLL_OK))
        return FARE_PARTLY;
    return FARE_FINE;
}

static const char *why_none(const GaugeState *metric) {
    if (!metric->poll)
        return "no node has the annotation with a value that is young enough";
    switch (metric->poll->state) {
    case POLL_FAILING:
        return metric->at_nsec == 0
                   ? "its source does not answer"
                   : "its source does not answer, and what it said last is too old";
    case POLL_UNJOINED:
        return "the source api, but no series belongs to a node";
    case POLL_NO_SOURCE:
        return "no source of that name is configured";
    default:
        return "all values are too old";
    }
}

static void say_state(Html *html, const GaugeState *metric) {
    switch (fare_of(metric)) {
    case FARE_FINE:
        html_element_c(html, "span", "good", "✓ every node has a value");
        break;
    case FARE_WAITING:
        html_element_c(html,
            "span",
            "quiet",
            metric->figures.n_nodes == 0 ? "there are no nodes yet" : "not answered yet");
        break;
    case FARE_PARTLY:
        html_element_c(html,
            "span",
            "warn",
            metric->poll && metric->poll->state == POLL_FAILING
                ? "! the source does not answer; the last values are still young enough"
                : "! some nodes have no value");
        break;
    case FARE_BAD:
        html_open(html, "strong");
        html_attr(html, "class", STR("bad"));
        html_text(html, STR("✗ no node has a value: "));
        html_text(html, str_from_c(why_none(metric)));
        html_close(html);
        break;
    }
}

/* --- the verdict ------------------------------------------------------------------------------ */

static void draw_verdict(const SourcesView *view) {
    size_t n_of[FARE_BAD + 1] = {0};
    Html *html = view->html;

    for (size_t i = 0; i < view->n; i++)
        n_of[fare_of(&view->metrics[i])]++;
    html_open(html, "p");
    html_attr(html, "id", STR("sources-verdict"));
    html_attr(html, "class", STR("answer"));
    html_flag(html, "data-live");
    if (n_of[FARE_BAD] > 0)
        html_printf(html,
            "No: %zu of %zu metrics %s no value on any node. Rules that read %s act by their "
            "onMissing.",
            n_of[FARE_BAD],
            view->n,
            n_of[FARE_BAD] == 1 ? "has" : "have",
            n_of[FARE_BAD] == 1 ? "it" : "them");
    else if (n_of[FARE_PARTLY] > 0)
        html_printf(html,
            "Mostly: %zu of %zu metrics %s no value on some nodes.",
            n_of[FARE_PARTLY],
            view->n,
            n_of[FARE_PARTLY] == 1 ? "has" : "have");
    else if (n_of[FARE_FINE] == view->n)
        html_printf(html, "Yes: all %zu metrics have a value on every node.", view->n);
    else
        html_printf(html,
            "Not known yet: %zu of %zu metrics were not answered yet.",
            n_of[FARE_WAITING],
            view->n);
    html_close(html);
}

/* --- metrics ---------------------------------------------------------------------------------- */

static void say_uses_of(Html *html, const Policy *policy, size_t gauge, size_t *n) {
    const SchemaMetrics *metrics = &policy->scope->metrics;

    for (uint32_t i = 0; i < metrics->type.n_fields; i++) {
        if (metrics->gauges[i] != gauge)
            continue;
        html_text(html, (*n)++ > 0 ? STR(", ") : STR("in policy "));
        html_text(html, policy->name);
        html_text(html, STR(" as "));
        html_element(html, "code", NULL, metrics->fields[i].name);
    }
}

static void draw_name(const SourcesView *view, size_t number) {
    Html *html = view->html;
    size_t n = 0;

    piece_open_head(html);
    html_text(html, view->metrics[number].gauge->name);
    html_open(html, "div");
    html_attr(html, "class", STR("quiet"));
    for (size_t i = 0; i < view->program->n_policies; i++)
        say_uses_of(html, &view->program->policies[i], number, &n);
    html_close(html);
    html_close(html);
}

static void draw_question(Html *html, const Gauge *gauge) {
    const Str questions[] = {
        [GAUGE_PROMETHEUS] = gauge->query,
        [GAUGE_RESOURCES] = gauge->resource,
        [GAUGE_ANNOTATION] = gauge->annotation,
    };

    html_open(html, "td");
    if (gauge->source == GAUGE_ANNOTATION)
        html_text(html, STR("annotation "));
    html_element(html, "code", NULL, questions[gauge->source]);
    if (gauge->is_of_pods)
        html_text(html, STR(" by pod"));
    html_open(html, "div");
    html_attr(html, "class", STR("quiet"));
    if (gauge->source == GAUGE_ANNOTATION) {
        html_text(html, STR("read with the nodes"));
    } else {
        html_text(html, STR("asked of "));
        html_text(html, gauge_source_name(gauge));
        html_text(html, STR(" every "));
        html_duration(html, gauge->interval_nsec);
    }
    html_close(html);
    html_close(html);
}

static void draw_coverage(Html *html, const GaugeState *metric) {
    const PiecePart parts[] = {
        {STR("have a value"), (double)metric->figures.n_present, 3},
        {STR("have none"), (double)(metric->figures.n_nodes - metric->figures.n_present), 8},
    };

    html_open(html, "td");
    html_attr_number(html, "data-value", (int64_t)metric->figures.n_present);
    html_count(html, metric->figures.n_present);
    html_text(html, STR(" of "));
    html_count(html, metric->figures.n_nodes);
    if (metric->figures.n_nodes > 0)
        piece_bar(html, parts, ELEMENTS_OF(parts), (double)metric->figures.n_nodes);
    html_close(html);
}

static void draw_age(Html *html, const GaugeState *metric) {
    bool is_known = metric->at_nsec != 0;
    bool is_old = is_known && metric->age_nsec > metric->gauge->max_age_nsec;

    piece_open_number(html);
    html_attr_number(html, "data-value", is_known ? metric->age_nsec : INT64_MAX);
    if (is_old)
        html_element_c(html, "strong", "bad", "✗ ");
    if (is_known)
        html_duration(html, metric->age_nsec);
    else
        html_text(html, STR("never"));
    html_text(html, STR(" of "));
    html_duration(html, metric->gauge->max_age_nsec);
    html_close(html);
}

/* Series of the last answer that are not used, and why. */
static void draw_dropped(Html *html, const PollStatus *poll) {
    static const char *const why[] = {
        [JOIN_NO_LABEL] = "without the label",
        [JOIN_NO_NODE] = "of no node here",
        [JOIN_DUPLICATE] = "double",
        [JOIN_NAN] = "not a number",
        [JOIN_INFINITE] = "infinite",
        [JOIN_TOO_OLD] = "too old",
    };
    size_t n = 0;

    html_open(html, "td");
    for (size_t i = 0; poll && i < _JOIN_DROPS; i++) {
        if (poll->report.n_dropped[i] == 0)
            continue;
        html_text(html, n++ > 0 ? STR(", ") : STR_NULL);
        html_count(html, poll->report.n_dropped[i]);
        html_text(html, STR(" "));
        html_text(html, str_from_c(why[i]));
    }
    if (poll && n == 0)
        html_text(html, poll->report.n_series > 0 ? STR("nothing") : STR("–"));
    else if (!poll)
        html_text(html, STR("–"));
    html_close(html);
}

static void draw_examples(
    Html *html, const char *what, const char examples[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX]) {
    if (!examples[0][0])
        return;
    html_open(html, "div");
    html_attr(html, "class", STR("quiet"));
    html_text(html, str_from_c(what));
    for (size_t i = 0; i < JOIN_EXAMPLES_MAX && examples[i][0]; i++) {
        html_text(html, i > 0 ? STR(", ") : STR(" "));
        html_element(html, "code", NULL, str_from_c(examples[i]));
    }
    html_close(html);
}

static void draw_error(Html *html, const char *what, const char *text) {
    if (!text[0])
        return;
    html_open(html, "div");
    html_text(html, str_from_c(what));
    html_text(html, str_from_c(text));
    html_close(html);
}

static void draw_state(const SourcesView *view, const GaugeState *metric) {
    const PollStatus *poll = metric->poll;
    Html *html = view->html;

    html_open(html, "td");
    say_state(html, metric);
    if (poll) {
        if (poll->failing_since_nsec != 0) {
            html_text(html, STR(" (first failed "));
            html_time(html, poll->failing_since_nsec, view->sitting->wall_nsec);
            html_text(html, STR(")"));
        }
        draw_error(html, "Last error: ", poll->error);
        draw_error(html, "The source warns: ", poll->warning);
        draw_error(html, "", poll->report.error);
        draw_examples(html, "Series of nobody, for example", poll->report.unmatched);
        draw_examples(html, "Nodes without, for example", poll->report.uncovered);
    }
    html_close(html);
}

static void draw_metrics(const SourcesView *view) {
    static const char *const columns[] = {
        "Metric", "Question", "Nodes that have it", "#Age, of at most", "Left out", "State"};

    piece_table(view->html,
        "metrics",
        "What policies measure, as it counts now",
        columns,
        ELEMENTS_OF(columns));
    for (size_t i = 0; i < view->n; i++) {
        html_open(view->html, "tr");
        draw_name(view, i);
        draw_question(view->html, view->metrics[i].gauge);
        draw_coverage(view->html, &view->metrics[i]);
        draw_age(view->html, &view->metrics[i]);
        draw_dropped(view->html, view->metrics[i].poll);
        draw_state(view, &view->metrics[i]);
        html_close(view->html);
    }
    piece_table_end(view->html);
    if (view->program->n_gauges > view->n)
        html_element_c(
            view->html, "p", "notice", "There are more, which are measured but not shown.");
}

/* --- sources ---------------------------------------------------------------------------------- */

static void draw_source(Html *html, Str name, GaugeSource kind, Str url) {
    html_open(html, "tr");
    piece_head(html, name);
    html_element_c(html,
        "td",
        NULL,
        kind == GAUGE_PROMETHEUS ? "Prometheus, or who speaks like it" : "metrics.k8s.io");
    html_open(html, "td");
    html_element(html, "code", NULL, url);
    html_close(html);
    html_close(html);
}

static void draw_sources(const SourcesView *view) {
    static const char *const columns[] = {"Source", "Kind", "Address"};
    const MeasuringStatus *status = &view->status;

    if (status->n_sources == 0 && str_is_empty(status->api_server)) {
        piece_empty(view->html,
            "No source is configured.",
            "berth serve --prometheus URL names one for all metrics, --sources FILE several.");
        return;
    }
    piece_table(view->html, "sources", "Who is asked", columns, ELEMENTS_OF(columns));
    for (size_t i = 0; i < status->n_sources; i++)
        draw_source(view->html, status->sources[i].name, GAUGE_PROMETHEUS, status->sources[i].url);
    if (!str_is_empty(status->api_server))
        draw_source(view->html, GAUGE_RESOURCES_NAME, GAUGE_RESOURCES, status->api_server);
    piece_table_end(view->html);
}

/* --- the page --------------------------------------------------------------------------------- */

static bool read_metrics(SourcesView *view) {
    const Sitting *sitting = view->sitting;
    GaugeTime time = {.now_nsec = sitting->wall_nsec, .uptime_nsec = sitting->now_nsec};
    size_t n = view->program->n_gauges;

    view->n = n < MEASURING_SHOWN_MAX ? n : MEASURING_SHOWN_MAX;
    view->metrics = ARENA_ARRAY(sitting->arena, GaugeState, view->n);
    if (!view->metrics ||
        (sitting->api->measuring &&
            !measuring_status(
                sitting->api->measuring, sitting->view, sitting->arena, &view->status)))
        return false;
    for (size_t i = 0; i < view->n; i++)
        view->metrics[i] = gauge_state(sitting->view, &view->status, i, time);
    return true;
}

static unsigned draw(const Sitting *sitting, Html *html) {
    SourcesView view = {.sitting = sitting, .html = html, .program = sitting->view->program};

    if (!read_metrics(&view))
        return piece_no_memory(html, "this page");
    if (view.n == 0) {
        piece_empty(html,
            "No policy measures anything.",
            "An entry of metrics: in a policy asks for a number of each node, by PromQL, "
            "metrics.k8s.io or an annotation: docs/metrics.md says how.");
    } else {
        draw_verdict(&view);
        draw_metrics(&view);
    }
    draw_sources(&view);
    piece_curl(html, sitting->api->server, "/api/v1/sources");
    return 200;
}

const DashboardPage page_sources = {
    .path = "/sources",
    .label = "Sources",
    .title = "Metric sources",
    .question = "Are the metrics real?",
    .json = "/api/v1/sources",
    .draw = draw,
};
