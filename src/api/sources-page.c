/* /api/v1/sources: metrics that policies read, with their coverage and errors. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "policy/metric.h"

static void write_source(JsonWriter *writer, Str name, GaugeSource kind, Str url) {
    json_write(writer, "{name: %.*s, kind: %s, url: %.*s}", STR_FMT(name), gauge_kind_name(kind),
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

/* Policies may use different names for one metric. */
static void write_uses(JsonWriter *writer, const Program *program, size_t gauge) {
    json_member_array(writer, "usedBy");
    for (size_t i = 0; i < program->n_policies; i++) {
        const SchemaMetrics *metrics = &program->policies[i].scope->metrics;

        for (uint32_t j = 0; j < metrics->type.n_fields; j++)
            if (metrics->gauges[j] == gauge)
                json_write(writer, "{policy: %.*s, name: %.*s}", STR_FMT(program->policies[i].name),
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

    json_write(writer, "kind: %s, source: %.*s, %.*s: %.*s, perPod: %i",
        gauge_kind_name(gauge->source), STR_FMT(gauge_source_name(gauge)),
        STR_FMT(keys[gauge->source]), STR_FMT(values[gauge->source]), gauge->is_of_pods);
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

    json_write(writer,
        "querySeconds: %g, requests: {ok: %zu, failed: %zu}, bytes: %zu, series: %zu, pods: %zu, "
        "workloads: %zu, dropped: {",
        page_seconds(poll->duration_nsec, poll->n_ok + poll->n_failed > 0), poll->n_ok,
        poll->n_failed, poll->n_bytes, report->n_series, report->n_pods, report->n_workloads);
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        json_member_int(writer, join_drop_name((JoinDrop)i), report->n_dropped[i]);
    json_write(writer, "}, join: %s", report->how);
    write_examples(writer, "unmatched", report->unmatched);
    write_examples(writer, "uncovered", report->uncovered);
    json_write(writer, "failingSince: %td, error: %s, warning: %s", poll->failing_since_nsec,
        poll->error, poll->warning);
}

static void write_metric(JsonWriter *writer, const View *view, const MeasuringStatus *status,
    GaugeTime time, size_t number) {
    _cleanup_(buf_done) Buf placements = BUF_INIT(1024);
    GaugeState is = gauge_state(view, status, number, time);

    metric_describe_placements(is.gauge, &placements);
    json_write(writer, "{name: %.*s", STR_FMT(is.gauge->name));
    write_uses(writer, view->program, number);
    write_query(writer, is.gauge);
    json_write(writer,
        "state: %s, lastSuccess: %td, ageSeconds: %g, nodes: {covered: %zu, of: %zu}, "
        "intervalSeconds: %g, maxAgeSeconds: %g, placements: %.*s",
        is.state, is.at_nsec, page_seconds(is.age_nsec, is.at_nsec != 0), is.figures.n_present,
        is.figures.n_nodes,
        page_seconds(is.gauge->interval_nsec, is.gauge->source != GAUGE_ANNOTATION),
        page_seconds(is.gauge->max_age_nsec, true), STR_FMT(buf_str(&placements)));
    if (is.poll)
        write_answers(writer, is.poll);
    json_write_end_object(writer);
}

void sources_page(const View *view, const MeasuringStatus *status, GaugeTime time, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    size_t n = view->program->n_gauges;
    size_t n_shown = n < MEASURING_SHOWN_MAX ? n : MEASURING_SHOWN_MAX;

    json_write_object(&writer);
    write_sources(&writer, status, view->program);
    json_member_array(&writer, "metrics");
    for (size_t i = 0; i < n_shown; i++)
        write_metric(&writer, view, status, time, i);
    json_write(&writer, "], untold: %zu}\n", n - n_shown);
}
