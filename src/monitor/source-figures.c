/* The state of the metrics that policies read, as metrics of berth. */

#include "monitor/metrics-internal.h"

#include <inttypes.h>

#include "base/nsec.h"
#include "policy/program.h"

/* A gauge with its labels: "policy=…,metric=…,source=…". */
typedef struct LabelledGauge {
    GaugeState state;
    Str labels;
} LabelledGauge;

static const struct {
    const char *name, *help;
    bool of_queried_only; /* not of annotations */
} figures[] = {
    {"berth_source_up", "Whether the last answer had values of nodes, by metric and source.", true},
    {"berth_source_age_seconds",
        "Seconds since the last good answer; for annotations, the age of the oldest. -1: none yet.",
        false},
    {"berth_source_nodes_covered", "Nodes with a current value.", false},
    {"berth_source_nodes", "Nodes that could have a value.", false},
    {"berth_source_series", "Series of the last answer.", true},
    {"berth_source_query_duration_seconds", "How long the last request took.", true},
    {"berth_source_last_success_timestamp_seconds", "When the last good answer came; 0: never.",
        true},
};

static void print_figure(size_t figure, const LabelledGauge *shown, size_t n, Buf *out) {
    exposition_head(out, figures[figure].name, "gauge", figures[figure].help);
    for (size_t i = 0; i < n; i++) {
        const GaugeState *state = &shown[i].state;
        const PollStatus none = {0}, *poll = state->poll ? state->poll : &none;
        const double values[ELEMENTS_OF(figures)] = {
            poll->state == POLL_OK,
            state->at_nsec == 0 ? -1 : (double)state->age_nsec / (double)NSEC_PER_SEC,
            (double)state->figures.n_present,
            (double)state->figures.n_nodes,
            (double)poll->report.n_series,
            (double)poll->duration_nsec / (double)NSEC_PER_SEC,
            (double)poll->answered_at_nsec / (double)NSEC_PER_SEC,
        };

        if (state->poll || !figures[figure].of_queried_only)
            buf_printf(out, "%s{%.*s} %.17g\n", figures[figure].name, STR_FMT(shown[i].labels),
                values[figure]);
    }
}

static void print_dropped(const LabelledGauge *shown, size_t n, Buf *out) {
    exposition_head(out, "berth_source_dropped_series_total", "counter",
        "Series that could not be used, by cause.");
    for (size_t i = 0; i < n; i++)
        for (size_t cause = 0; shown[i].state.poll && cause < _JOIN_DROPS; cause++)
            buf_printf(out, "berth_source_dropped_series_total{%.*s,cause=\"%s\"} %" PRIu64 "\n",
                STR_FMT(shown[i].labels), join_drop_name((JoinDrop)cause),
                shown[i].state.poll->n_dropped[cause]);
}

static void print_requests(const LabelledGauge *shown, size_t n, Buf *out) {
    exposition_head(
        out, "berth_source_requests_total", "counter", "Requests to sources, by result.");
    for (size_t i = 0; i < n; i++)
        if (shown[i].state.poll)
            buf_printf(out,
                "berth_source_requests_total{%.*s,result=\"ok\"} %" PRIu64 "\n"
                "berth_source_requests_total{%.*s,result=\"failed\"} %" PRIu64 "\n",
                STR_FMT(shown[i].labels), shown[i].state.poll->n_ok, STR_FMT(shown[i].labels),
                shown[i].state.poll->n_failed);
}

/* Names of policies and metrics need no escapes; that of a source may. */
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
    LabelledGauge *shown = ARENA_ARRAY(arena, LabelledGauge, n);

    if (n == 0 || !shown)
        return;
    for (size_t i = 0; i < n; i++)
        shown[i] = (LabelledGauge){
            .state = gauge_state(view, status, i, time),
            .labels = make_labels(view->program, i, arena),
        };
    if (arena_has_failed(arena))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(figures); i++)
        print_figure(i, shown, n, out);
    print_dropped(shown, n, out);
    print_requests(shown, n, out);
}
