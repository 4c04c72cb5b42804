/* /api/v1/sources: metrics that policies read, with their coverage and errors. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "live/gauge-state.h"
#include "policy/metric.h"
#include "json/write.h"

/* --- sources ---------------------------------------------------------------------------------- */

static void write_source(JsonWriter *writer, Str name, GaugeSource kind, Str url) {
    json_write_object(writer);
    json_write_member(writer, STR("name"), name);
    json_write_member(writer, STR("kind"), str_from_c(gauge_kind_name(kind)));
    json_write_member(writer, STR("url"), url);
    json_write_end_object(writer);
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

        for (uint32_t j = 0; j < metrics->type.n_fields; j++) {
            if (metrics->gauges[j] != gauge)
                continue;
            json_write_object(writer);
            json_write_member(writer, STR("policy"), program->policies[i].name);
            json_write_member(writer, STR("name"), metrics->fields[j].name);
            json_write_end_object(writer);
        }
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

    json_write_member(writer, STR("kind"), str_from_c(gauge_kind_name(gauge->source)));
    json_write_member(writer, STR("source"), gauge_source_name(gauge));
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

/* The last answer, and counts of all. */
static void write_answers(JsonWriter *writer, const PollStatus *poll) {
    const JoinReport *report = &poll->report;

    field_seconds(writer, "querySeconds", poll->duration_nsec, poll->n_ok + poll->n_failed > 0);
    json_member_object(writer, "requests");
    json_member_int(writer, "ok", poll->n_ok);
    json_member_int(writer, "failed", poll->n_failed);
    json_write_end_object(writer);
    json_member_int(writer, "bytes", poll->n_bytes);
    json_member_int(writer, "series", report->n_series);
    json_member_int(writer, "pods", report->n_pods);
    json_member_int(writer, "workloads", report->n_workloads);
    json_member_object(writer, "dropped");
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        json_member_int(writer, join_drop_name((JoinDrop)i), report->n_dropped[i]);
    json_write_end_object(writer);
    json_write_member(writer, STR("join"), str_from_c(report->how));
    write_examples(writer, "unmatched", report->unmatched);
    write_examples(writer, "uncovered", report->uncovered);
    field_time(writer, "failingSince", poll->failing_since_nsec);
    json_write_member(writer, STR("error"), str_from_c(poll->error));
    json_write_member(writer, STR("warning"), str_from_c(poll->warning));
}

static void write_settings(JsonWriter *writer, const Gauge *gauge) {
    _cleanup_(buf_done) Buf placements = BUF_INIT(1024);

    metric_describe_placements(gauge, &placements);
    field_seconds(
        writer, "intervalSeconds", gauge->interval_nsec, gauge->source != GAUGE_ANNOTATION);
    field_seconds(writer, "maxAgeSeconds", gauge->max_age_nsec, true);
    json_write_member(writer, STR("placements"), buf_str(&placements));
}

static void write_metric(JsonWriter *writer, const SourcesState *state, size_t number) {
    const Program *program = state->view->program;
    GaugeState gauge = gauge_state(
        state->view, state->status, number, (GaugeTime){state->now_nsec, state->uptime_nsec});

    json_write_object(writer);
    json_write_member(writer, STR("name"), gauge.gauge->name);
    write_uses(writer, program, number);
    write_query(writer, gauge.gauge);
    json_write_member(writer, STR("state"), str_from_c(gauge.state));
    field_time(writer, "lastSuccess", gauge.at_nsec);
    field_seconds(writer, "ageSeconds", gauge.age_nsec, gauge.at_nsec != 0);
    json_member_object(writer, "nodes");
    json_member_int(writer, "covered", gauge.figures.n_present);
    json_member_int(writer, "of", gauge.figures.n_nodes);
    json_write_end_object(writer);
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
