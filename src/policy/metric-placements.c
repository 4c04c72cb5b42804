/*
 * The section `placements` of a metric: how pods count that the value does not include yet.
 * Resource and unit are often inferred from the query (promql.h); else they must be given.
 */

#include <stdio.h>

#include "base/nsec.h"
#include "policy/metric-internal.h"
#include "policy/promql.h"
#include "schema/metrics.h"

static const char *const unit_words[] = {"amount", "fraction", "percent", NULL}; /* GaugeUnit */
static const char *const none_words[] = {"none", NULL};
static const Shape unit_shape = {.kind = SHAPE_WORD, .words = unit_words};
static const Shape settle_shape = {.kind = SHAPE_DURATION, .max = METRIC_SETTLE_MAX};
static const Shape none_shape = {.kind = SHAPE_WORD, .words = none_words};

static void read_resource(YamlReader *reader, const YamlNode *value, void *into) {
    metric_read_resource(reader, value, "resource", &((Gauge *)into)->placements.resource);
}

static const Field placements_fields[] = {
    {OPTIONAL("resource"), .shape = &metric_resource_shape,
        .about = "resource of the pods that it measures; known for resourceMetrics and some "
                 "queries",
        .read = read_resource},
    {OPTIONAL("unit"), INTO(Gauge, placements.unit, unit_shape),
        .about = "cores or bytes; 0 to 1 of the node's allocatable; 0 to 100 of it"},
    {OPTIONAL("settle"), INTO(Gauge, placements.settle_nsec, settle_shape),
        .about = "time until the value fully includes a new pod; default: the longest range of "
                 "the query, from 1m to 10m"},
    {OPTIONAL("by"), INTO(Gauge, placements.by, shape_string),
        .about = "a metric of pods: a pod counts with its workload's usage, if that is known; "
                 "else with its requests"},
};
static const Shape placements_object_shape = {SHAPE_OF(placements_fields)};
const Shape metric_placements_shape = {
    .kind = SHAPE_EITHER, .of = &none_shape, .other = &placements_object_shape};

void metric_read_placements(YamlReader *reader, const YamlNode *value, void *into) {
    if (value->kind == YAML_MAPPING)
        reader_fields(reader, value, "placements", &placements_object_shape, into);
    else if (value->kind != YAML_STRING || !str_is(value->text, "none"))
        reader_error_hint(reader, value,
            STR("none: do not count pods; or a mapping of resource, unit, settle and by"),
            "placements must be none or a mapping");
}

/* The load as far as the source tells, without the section. */
static PromqlLoad infer_load(const Gauge *gauge) {
    if (gauge->source == GAUGE_RESOURCES)
        return (PromqlLoad){
            .is_load = true, .resource = gauge->resource, .unit = GAUGE_AMOUNT, .range_nsec = 0};
    if (gauge->source == GAUGE_PROMETHEUS)
        return promql_infer_load(gauge->query);
    return (PromqlLoad){0};
}

static int64_t default_settle(const Gauge *gauge, const PromqlLoad *known) {
    int64_t range = known->is_load ? known->range_nsec : promql_longest_range(gauge->query);

    if (range < METRIC_SETTLE_DEFAULT)
        return METRIC_SETTLE_DEFAULT;
    return range < METRIC_SETTLE_DEFAULT_MAX ? range : METRIC_SETTLE_DEFAULT_MAX;
}

/* A number of a pod cannot be a share of the node, and how one more pod changes a maximum is not
 * known. */
static bool can_count(const Gauge *gauge, const PromqlLoad *known) {
    return known->is_load &&
           (!gauge->is_of_pods || (gauge->aggregate == GAUGE_SUM && known->unit == GAUGE_AMOUNT));
}

static void report_unknown(YamlReader *reader, const YamlNode *at, const char *what) {
    reader_error_hint(reader, at, STR("resource: cpu or memory, unit: amount, fraction or percent"),
        "placements needs %s: it cannot be inferred from the source", what);
}

static void check_resource_metrics(
    YamlReader *reader, const YamlNode *placements, const Gauge *gauge) {
    const YamlNode *resource = yaml_find(placements, STR("resource"));
    const YamlNode *unit = yaml_find(placements, STR("unit"));

    if (gauge->source != GAUGE_RESOURCES)
        return;
    if (resource && !str_is_empty(gauge->placements.resource) &&
        !str_eq(gauge->placements.resource, gauge->resource))
        reader_error(reader, resource, "resourceMetrics: %.*s does not measure the %.*s of a pod",
            STR_FMT(gauge->resource), STR_FMT(gauge->placements.resource));
    if (unit && gauge->placements.unit != GAUGE_AMOUNT)
        reader_error_hint(reader, unit,
            STR("in a rule, metrics.x / node.allocatable… computes the share"),
            "resourceMetrics measures amounts: cores or bytes");
}

static void complete_section(
    YamlReader *reader, const YamlNode *section, Gauge *gauge, const PromqlLoad *known) {
    GaugePlacements *placements = &gauge->placements;
    bool has_resource = yaml_find(section, STR("resource"));
    bool has_unit = yaml_find(section, STR("unit"));

    if (gauge->is_of_pods && gauge->aggregate != GAUGE_SUM)
        reader_error_hint(reader, section, STR("aggregate: sum, or placements: none"),
            "placements can be added to a sum only");
    check_resource_metrics(reader, section, gauge);
    placements->is_counted = true;
    placements->is_guessed = !has_resource || !has_unit;
    if (!has_resource && !known->is_load)
        report_unknown(reader, section, "resource");
    else if (!has_resource)
        placements->resource = known->resource;
    if (has_unit)
        return;
    if (known->is_load && str_eq(known->resource, placements->resource))
        placements->unit = known->unit;
    else if (has_resource && gauge->source != GAUGE_RESOURCES)
        report_unknown(reader, section, "unit");
}

void metric_complete_placements(YamlReader *reader, const YamlNode *metric, Gauge *gauge) {
    const YamlNode *section = yaml_find(metric, STR("placements"));
    GaugePlacements *placements = &gauge->placements;
    PromqlLoad known = infer_load(gauge);

    if (section && section->kind == YAML_MAPPING)
        complete_section(reader, section, gauge, &known);
    else if (!section && can_count(gauge, &known))
        *placements = (GaugePlacements){
            .is_counted = true, .resource = known.resource, .unit = known.unit, .is_guessed = true};
    placements->by_gauge = GAUGE_NONE;
    if (placements->is_counted && !yaml_find(section, STR("settle")))
        placements->settle_nsec = default_settle(gauge, &known);
}

/* --- the list --------------------------------------------------------------------------------- */

static const YamlNode *find_by(const YamlNode *metrics, Str name) {
    for (size_t i = 0; i < metrics->n; i++) {
        const YamlNode *its = yaml_find(metrics->items[i], STR("name"));

        if (its && str_eq(its->text, name))
            return yaml_find(yaml_find(metrics->items[i], STR("placements")), STR("by"));
    }
    return NULL;
}

static void report_unknown_by(
    YamlReader *reader, const YamlNode *at, const Gauge *gauges, size_t n) {
    Str names[SCHEMA_METRICS_MAX], meant;
    char hint[128] = "a metric with pods, of the same policy";
    size_t n_names = 0;

    for (size_t i = 0; i < n && n_names < SCHEMA_METRICS_MAX; i++)
        if (gauges[i].is_of_pods)
            names[n_names++] = gauges[i].name;
    meant = str_nearest(at->text, names, n_names);
    if (!str_is_empty(meant))
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(meant));
    reader_error_hint(
        reader, at, str_from_c(hint), "the policy has no metric \"%.*s\"", STR_FMT(at->text));
}

/* @gauge counts pods by @other. */
static void check_by(
    YamlReader *reader, const YamlNode *at, const Gauge *gauge, const Gauge *other) {
    Str name = other->name;
    PromqlLoad known = infer_load(other);

    if (!other->is_of_pods)
        reader_error_hint(reader, at, STR("pods: {} makes it a metric of pods"),
            "by: \"%.*s\" is not a metric of pods", STR_FMT(name));
    else if (other == gauge || !str_is_empty(other->placements.by))
        reader_error_hint(reader, at, STR("declare another metric for it, with placements: none"),
            "by: \"%.*s\" counts by another metric itself", STR_FMT(name));
    else if (other->workload_aggregate == GAUGE_SUM)
        reader_error_hint(reader, at, STR("workload: avg, or max"),
            "by: \"%.*s\" is the sum over a workload's pods, but one pod is counted",
            STR_FMT(name));
    else if (known.is_load &&
             (known.unit != GAUGE_AMOUNT || !str_eq(known.resource, gauge->placements.resource)))
        reader_error(reader, at, "by: \"%.*s\" is not an amount of %.*s", STR_FMT(name),
            STR_FMT(gauge->placements.resource));
}

void metrics_check(YamlReader *reader, const YamlNode *metrics, const Gauge *gauges, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const YamlNode *at = find_by(metrics, gauges[i].name);
        const Gauge *other = NULL;

        if (str_is_empty(gauges[i].placements.by) || !at)
            continue;
        for (size_t j = 0; j < n; j++)
            if (str_eq(gauges[j].name, gauges[i].placements.by))
                other = &gauges[j];
        if (other)
            check_by(reader, at, &gauges[i], other);
        else
            report_unknown_by(reader, at, gauges, n);
    }
}

/* --- description ------------------------------------------------------------------------------ */

static void describe_time(Buf *out, int64_t nsec) {
    int64_t seconds = nsec / NSEC_PER_SEC;

    if (seconds >= 60 && seconds % 60 == 0)
        buf_printf(out, "%lldm", (long long)(seconds / 60));
    else
        buf_printf(out, "%llds", (long long)seconds);
}

void metric_describe_placements(const Gauge *gauge, Buf *out) {
    const GaugePlacements *placements = &gauge->placements;
    bool is_cpu = str_is(placements->resource, "cpu");

    if (!placements->is_counted)
        return;
    buf_printf(out, "%.*s, %s", STR_FMT(placements->resource),
        placements->unit == GAUGE_FRACTION  ? "as a fraction of the node"
        : placements->unit == GAUGE_PERCENT ? "in percent of the node"
        : is_cpu                            ? "in cores"
                                            : "in bytes");
    if (gauge->source == GAUGE_PROMETHEUS && placements->is_guessed)
        buf_append(out, STR(" (inferred from its query)"));
    if (!str_is_empty(placements->by))
        buf_printf(out, ", by %.*s of the pod's workload", STR_FMT(placements->by));
    buf_append(out, STR(", settled in "));
    describe_time(out, placements->settle_nsec);
}
