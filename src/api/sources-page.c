/* /api/v1/sources: metrics that policies read, with their coverage and errors. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "live/gauge-state.h"
#include "policy/metric.h"

/* --- sources ---------------------------------------------------------------------------------- */

static void write_source(JsonWriter *writer, Str name, GaugeSource kind, Str url) {
    page_write(writer, "{name: %.*s, kind: %s, url: %.*s}", STR_FMT(name), gauge_kind_name(kind),
        STR_FMT(url));
}

static void write_sources(
    JsonWriter *writer, const MeasuringStatus *status, const Program *program) {
    json_member_array(writer, "sources");
    for (size_t i = 0; i < status->n_sources; i++)
        write_source(writer, status->sources[i].name, GAUGE_PROMETHEUS, status->sources[i].url);
    if (!str_is_empty(status->api_server))
        write_source(writer, GAUGE_RESOURCES_NAME, GAUGE_RESOURCES, status->api_server);
    if (!str_is_empty(status->api_server) && gauge_source_is_used(program, GAUGE_CUSTOM))
        write_source(writer, GAUGE_CUSTOM_NAME, GAUGE_CUSTOM, status->api_server);
    json_write_end_array(writer);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* Each policy has its own name for it. */
static void write_uses(JsonWriter *writer, const Program *program, size_t gauge) {
    json_member_array(writer, "usedBy");
    for (size_t i = 0; i < program->n_policies; i++) {
        const SchemaMetrics *metrics = &program->policies[i].scope->metrics;

        for (uint32_t j = 0; j < metrics->type.n_fields; j++)
            if (metrics->gauges[j] == gauge)
                page_write(writer, "{policy: %.*s, name: %.*s}", STR_FMT(program->policies[i].name),
                    STR_FMT(metrics->fields[j].name));
    }
    json_write_end_array(writer);
}

static void write_query(JsonWriter *writer, const Gauge *gauge) {
    static const Str keys[] = {
        [GAUGE_PROMETHEUS] = STR("query"),
        [GAUGE_RESOURCES] = STR("resource"),
        [GAUGE_ANNOTATION] = STR("annotation"),
        [GAUGE_CUSTOM] = STR("metric"),
    };
    const Str values[] = {
        [GAUGE_PROMETHEUS] = gauge->query,
        [GAUGE_RESOURCES] = gauge->resource,
        [GAUGE_ANNOTATION] = gauge->annotation,
        [GAUGE_CUSTOM] = gauge->query,
    };

    page_write(writer, "kind: %s, source: %.*s", gauge_kind_name(gauge->source),
        STR_FMT(gauge_source_name(gauge)));
    json_write_member(writer, keys[gauge->source], values[gauge->source]);
    json_member_bool(writer, "perPod", gauge->is_of_pods);
}

static void write_examples(
    JsonWriter *writer, const char *key, const char examples[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX]) {
    json_member_array(writer, key);
    for (size_t i = 0; i < JOIN_EXAMPLES_MAX && examples[i][0]; i++)
        json_write_string(writer, str_from_c(examples[i]));
    json_write_end_array(writer);
}

static void write_answers(JsonWriter *writer, const PollStatus *poll) {
    const JoinReport *report = &poll->report;

    page_write(writer,
        "querySeconds: %g, requests: {ok: %zu, failed: %zu}, bytes: %zu, series: %zu, pods: %zu, "
        "workloads: %zu, dropped: {",
        page_seconds(poll->duration_nsec, poll->n_ok + poll->n_failed > 0), poll->n_ok,
        poll->n_failed, poll->n_bytes, report->n_series, report->n_pods, report->n_workloads);
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        json_member_int(writer, join_drop_name((JoinDrop)i), report->n_dropped[i]);
    page_write(writer, "}, join: %s", report->how);
    write_examples(writer, "unmatched", report->unmatched);
    write_examples(writer, "uncovered", report->uncovered);
    page_write(writer, "failingSince: %td, error: %s, warning: %s", poll->failing_since_nsec,
        poll->error, poll->warning);
}

static void write_settings(JsonWriter *writer, const Gauge *gauge) {
    _cleanup_(buf_done) Buf placements = BUF_INIT(1024);

    metric_describe_placements(gauge, &placements);
    page_write(writer, "intervalSeconds: %g, maxAgeSeconds: %g, placements: %.*s",
        page_seconds(gauge->interval_nsec, gauge->source != GAUGE_ANNOTATION),
        page_seconds(gauge->max_age_nsec, true), STR_FMT(buf_str(&placements)));
}

static void write_metric(JsonWriter *writer, const SourcesState *state, size_t number) {
    const Program *program = state->view->program;
    GaugeState gauge = gauge_state(
        state->view, state->status, number, (GaugeTime){state->now_nsec, state->uptime_nsec});

    json_write_object(writer);
    json_write_member(writer, STR("name"), gauge.gauge->name);
    write_uses(writer, program, number);
    write_query(writer, gauge.gauge);
    page_write(writer,
        "state: %s, lastSuccess: %td, ageSeconds: %g, nodes: {covered: %zu, of: %zu}", gauge.state,
        gauge.at_nsec, page_seconds(gauge.age_nsec, gauge.at_nsec != 0), gauge.figures.n_present,
        gauge.figures.n_nodes);
    write_settings(writer, gauge.gauge);
    if (gauge.poll)
        write_answers(writer, gauge.poll);
    json_write_end_object(writer);
}

void sources_page(const SourcesState *state, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    size_t n = state->view->program->n_gauges;
    size_t n_shown = n < MEASURING_SHOWN_MAX ? n : MEASURING_SHOWN_MAX;

    json_write_object(&writer);
    write_sources(&writer, state->status, state->view->program);
    json_member_array(&writer, "metrics");
    for (size_t i = 0; i < n_shown; i++)
        write_metric(&writer, state, i);
    json_write_end_array(&writer);
    json_member_int(&writer, "untold", n - n_shown);
    (void)page_write_end(&writer);
}
