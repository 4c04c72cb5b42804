/* Metrics of the metrics that policies read. */

#include "monitor/metrics-internal.h"

#include <inttypes.h>

#include "base/nsec.h"
#include "policy/program.h"

/* One gauge with its labels: "policy=…,metric=…,source=…". */
typedef struct Shown {
    GaugeState state;
    Str labels;
} Shown;

typedef struct Figure {
    const char *name, *type, *help;
    double (*value)(const Shown *shown);
    bool of_asked_only; /* nobody is asked for annotations */
} Figure;

static double is_up(const Shown *shown) {
    return shown->state.poll->state == POLL_OK;
}

static double age(const Shown *shown) {
    const GaugeState *state = &shown->state;

    return state->at_nsec == 0 ? -1 : (double)state->age_nsec / (double)NSEC_PER_SEC;
}

static double nodes_covered(const Shown *shown) {
    return (double)shown->state.figures.n_present;
}

static double nodes(const Shown *shown) {
    return (double)shown->state.figures.n_nodes;
}

static double series(const Shown *shown) {
    return (double)shown->state.poll->report.n_series;
}

static double duration(const Shown *shown) {
    return (double)shown->state.poll->duration_nsec / (double)NSEC_PER_SEC;
}

static double last_success(const Shown *shown) {
    return (double)shown->state.poll->answered_at_nsec / (double)NSEC_PER_SEC;
}

static const Figure figures[] = {
    {"berth_source_up",
        "gauge",
        "Whether the last answer had values of nodes, by metric and source.",
        is_up,
        true},
    {"berth_source_age_seconds",
        "gauge",
        "Seconds since the last good answer; for annotations, the age of the oldest. -1: none yet.",
        age,
        false},
    {"berth_source_nodes_covered", "gauge", "Nodes with a current value.", nodes_covered, false},
    {"berth_source_nodes", "gauge", "Nodes that could have a value.", nodes, false},
    {"berth_source_series", "gauge", "Series of the last answer.", series, true},
    {"berth_source_query_duration_seconds",
        "gauge",
        "How long the last request took.",
        duration,
        true},
    {"berth_source_last_success_timestamp_seconds",
        "gauge",
        "When the last good answer came; 0: never.",
        last_success,
        true},
};

static void print_figure(const Figure *figure, const Shown *shown, size_t n, Buf *out) {
    exposition_head(out, figure->name, figure->type, figure->help);
    for (size_t i = 0; i < n; i++)
        if (shown[i].state.poll || !figure->of_asked_only)
            buf_printf(out,
                "%s{%.*s} %.17g\n",
                figure->name,
                STR_FMT(shown[i].labels),
                figure->value(&shown[i]));
}

static void print_dropped(const Shown *shown, size_t n, Buf *out) {
    exposition_head(out,
        "berth_source_dropped_series_total",
        "counter",
        "Series that could not be used, by cause.");
    for (size_t i = 0; i < n; i++)
        for (size_t cause = 0; shown[i].state.poll && cause < _JOIN_DROPS; cause++)
            buf_printf(out,
                "berth_source_dropped_series_total{%.*s,cause=\"%s\"} %" PRIu64 "\n",
                STR_FMT(shown[i].labels),
                join_drop_name((JoinDrop)cause),
                shown[i].state.poll->n_dropped[cause]);
}

static void print_requests(const Shown *shown, size_t n, Buf *out) {
    exposition_head(
        out, "berth_source_requests_total", "counter", "Requests to sources, by result.");
    for (size_t i = 0; i < n; i++)
        if (shown[i].state.poll)
            buf_printf(out,
                "berth_source_requests_total{%.*s,result=\"ok\"} %" PRIu64 "\n"
                "berth_source_requests_total{%.*s,result=\"failed\"} %" PRIu64 "\n",
                STR_FMT(shown[i].labels),
                shown[i].state.poll->n_ok,
                STR_FMT(shown[i].labels),
                shown[i].state.poll->n_failed);
}

/* Names of policies and metrics have no characters that would need escapes; a source's might. */
static Str make_labels(const Program *program, size_t number, Arena *arena) {
    const Gauge *gauge = &program->gauges[number];
    Str policy = gauge_policy(program, number);
    _cleanup_(buf_done) Buf text = BUF_INIT(4096);

    buf_printf(
        &text, "policy=\"%.*s\",metric=\"%.*s\",source=\"", STR_FMT(policy), STR_FMT(gauge->name));
    exposition_value(&text, gauge_source_name(gauge));
    buf_append_char(&text, '"');
    return arena_copy(arena, buf_str(&text));
}

void source_figures_print(
    const View *view, const MeasuringStatus *status, GaugeTime time, Arena *arena, Buf *out) {
    size_t n = view->program->n_gauges < MEASURING_SHOWN_MAX ? view->program->n_gauges
                                                             : MEASURING_SHOWN_MAX;
    Shown *shown = ARENA_ARRAY(arena, Shown, n);

    if (n == 0 || !shown)
        return;
    for (size_t i = 0; i < n; i++)
        shown[i] = (Shown){
            .state = gauge_state(view, status, i, time),
            .labels = make_labels(view->program, i, arena),
        };
    if (arena_has_failed(arena))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(figures); i++)
        print_figure(&figures[i], shown, n, out);
    print_dropped(shown, n, out);
    print_requests(shown, n, out);
}
