/*
 * The section `placements`: how pods count that the value cannot show yet. What is measured often
 * says it (metric-guess.c); what does not, must be told.
 */

#include <stdio.h>

#include "base/nsec.h"
#include "policy/metric-guess.h"
#include "policy/metric-part.h"
#include "policy/promql-text.h"
#include "schema/metrics.h"

/* --- reading ---------------------------------------------------------------------------------- */

static const char *const unit_words[] = {"amount", "fraction", "percent", NULL}; /* GaugeUnit */
static const char *const none_words[] = {"none", NULL};
static const Shape unit_shape = {.kind = SHAPE_WORD, .words = unit_words};
static const Shape none_shape = {.kind = SHAPE_WORD, .words = none_words};

static void read_placed(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->placed = value;
    metric_read_resource(reader, value, "resource", &reading->gauge->placements.resource);
}

static void read_unit(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;
    unsigned number;

    reading->unit = value;
    if (reader_word(reader, value, "unit", unit_words, &number))
        reading->gauge->placements.unit = (GaugeUnit)number;
}

static void read_settle(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->settle = value;
    (void)metric_read_time(
        reader, value, "settle", 0, METRIC_SETTLE_MAX, &reading->gauge->placements.settle_nsec);
}

static void read_by(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_string(reader, value, "by", &((MetricReading *)into)->gauge->placements.by);
}

static const Field placements_fields[] = {
    {.name = STR("resource"),
        .shape = &metric_resource_shape,
        .about = "what it measures of the pods; known of resourceMetrics and some queries",
        .read = read_placed},
    {.name = STR("unit"),
        .shape = &unit_shape,
        .about = "cores and bytes; 0 to 1 of what the node can allocate; 0 to 100 of it",
        .read = read_unit},
    {.name = STR("settle"),
        .shape = &shape_duration,
        .about = "how long it takes until it shows all of a pod; the longest range of the query, "
                 "from 1m to 10m, unless given",
        .read = read_settle},
    {.name = STR("by"),
        .shape = &shape_string,
        .about = "a metric of pods: a pod counts for what its workload uses, if that is known; "
                 "else for what it requests",
        .read = read_by},
};
static const Shape placements_object_shape = {
    .kind = SHAPE_OBJECT, .fields = placements_fields, .n_fields = ELEMENTS_OF(placements_fields)};
const Shape metric_placements_shape = {
    .kind = SHAPE_EITHER, .of = &none_shape, .other = &placements_object_shape};

void metric_read_placements(PolicyReader *reader, const YamlNode *value, void *into) {
    ((MetricReading *)into)->placements = value;
    if (value->kind == YAML_MAPPING)
        reader_fields(
            reader, value, "placements", placements_fields, ELEMENTS_OF(placements_fields), into);
    else if (value->kind != YAML_STRING || !str_is(value->text, "none"))
        reader_error_hint(reader,
            value,
            STR("none: count no pods; or a mapping of resource, unit, settle and by"),
            "placements must be none or a mapping");
}

/* What is known without being told. */
static MetricGuess guess(const Gauge *gauge) {
    if (gauge->source == GAUGE_RESOURCES)
        return (MetricGuess){
            .is_load = true, .resource = gauge->resource, .unit = GAUGE_AMOUNT, .range_nsec = 0};
    if (gauge->source == GAUGE_PROMETHEUS)
        return metric_guess(gauge->query);
    return (MetricGuess){0};
}

static int64_t default_settle(const Gauge *gauge, const MetricGuess *known) {
    int64_t range = known->is_load ? known->range_nsec : promql_longest_range(gauge->query);

    if (range < METRIC_SETTLE_DEFAULT)
        return METRIC_SETTLE_DEFAULT;
    return range < METRIC_SETTLE_DEFAULT_MAX ? range : METRIC_SETTLE_DEFAULT_MAX;
}

/* A number that is a pod's cannot be a share of the node, and the most of several pods is not
 * changed by one more in any way that is known. */
static bool can_count(const Gauge *gauge, const MetricGuess *known) {
    return known->is_load &&
           (!gauge->is_of_pods || (gauge->aggregate == GAUGE_SUM && known->unit == GAUGE_AMOUNT));
}

static void report_unknown(PolicyReader *reader, const YamlNode *at, const char *what) {
    reader_error_hint(reader,
        at,
        STR("resource: cpu or memory, unit: amount, fraction or percent"),
        "placements needs %s: what is measured does not tell",
        what);
}

/* What resourceMetrics gives is no matter of opinion. */
static void check_resource(PolicyReader *reader, const MetricReading *reading) {
    const GaugePlacements *placements = &reading->gauge->placements;
    Str resource = reading->gauge->resource;

    if (reading->gauge->source != GAUGE_RESOURCES)
        return;
    if (reading->placed && !str_is_empty(placements->resource) &&
        !str_eq(placements->resource, resource))
        reader_error(reader,
            reading->placed,
            "resourceMetrics: %.*s has nothing of the %.*s of a pod",
            STR_FMT(resource),
            STR_FMT(placements->resource));
    if (reading->unit && placements->unit != GAUGE_AMOUNT)
        reader_error_hint(reader,
            reading->unit,
            STR("metrics.x / node.allocatable… makes a share of it in the rule"),
            "resourceMetrics gives amounts: cores or bytes");
}

static void complete_placements(
    PolicyReader *reader, const MetricReading *reading, const MetricGuess *known) {
    GaugePlacements *placements = &reading->gauge->placements;

    if (reading->gauge->is_of_pods && reading->gauge->aggregate != GAUGE_SUM)
        reader_error_hint(reader,
            reading->placements,
            STR("aggregate: sum, or placements: none"),
            "placements can be added to a sum only");
    check_resource(reader, reading);
    placements->is_counted = true;
    placements->is_guessed = !reading->placed || !reading->unit;
    if (!reading->placed && !known->is_load)
        report_unknown(reader, reading->placements, "resource");
    else if (!reading->placed)
        placements->resource = known->resource;
    if (reading->unit)
        return;
    if (known->is_load && str_eq(known->resource, placements->resource))
        placements->unit = known->unit;
    else if (reading->placed && reading->gauge->source != GAUGE_RESOURCES)
        report_unknown(reader, reading->placements, "unit");
}

void metric_settle_placements(PolicyReader *reader, const MetricReading *reading) {
    GaugePlacements *placements = &reading->gauge->placements;
    MetricGuess known = guess(reading->gauge);

    if (reading->placements && reading->placements->kind == YAML_MAPPING)
        complete_placements(reader, reading, &known);
    else if (!reading->placements && can_count(reading->gauge, &known))
        *placements = (GaugePlacements){
            .is_counted = true, .resource = known.resource, .unit = known.unit, .is_guessed = true};
    placements->by_gauge = GAUGE_NONE;
    if (placements->is_counted && !reading->settle)
        placements->settle_nsec = default_settle(reading->gauge, &known);
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
    PolicyReader *reader, const YamlNode *at, const Gauge *gauges, size_t n) {
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
    PolicyReader *reader, const YamlNode *at, const Gauge *gauge, const Gauge *other) {
    Str name = other->name;
    MetricGuess known = guess(other);

    if (!other->is_of_pods)
        reader_error_hint(reader,
            at,
            STR("pods: {} makes a metric one of pods"),
            "by: \"%.*s\" is no metric of pods",
            STR_FMT(name));
    else if (other == gauge || !str_is_empty(other->placements.by))
        reader_error_hint(reader,
            at,
            STR("a metric of its own for it, with placements: none"),
            "by: \"%.*s\" counts by a metric itself",
            STR_FMT(name));
    else if (other->workload_aggregate == GAUGE_SUM)
        reader_error_hint(reader,
            at,
            STR("workload: avg, or max"),
            "by: \"%.*s\" has the sum of a workload's pods, and this is one of them",
            STR_FMT(name));
    else if (known.is_load &&
             (known.unit != GAUGE_AMOUNT || !str_eq(known.resource, gauge->placements.resource)))
        reader_error(reader,
            at,
            "by: \"%.*s\" is not an amount of %.*s",
            STR_FMT(name),
            STR_FMT(gauge->placements.resource));
}

void metrics_check(PolicyReader *reader, const YamlNode *metrics, const Gauge *gauges, size_t n) {
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

/* --- for people ------------------------------------------------------------------------------- */

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
    buf_printf(out,
        "%.*s, %s",
        STR_FMT(placements->resource),
        placements->unit == GAUGE_FRACTION  ? "as a fraction of the node"
        : placements->unit == GAUGE_PERCENT ? "in percent of the node"
        : is_cpu                            ? "in cores"
                                            : "in bytes");
    if (gauge->source == GAUGE_PROMETHEUS && placements->is_guessed)
        buf_append(out, STR(" (by its query)"));
    if (!str_is_empty(placements->by))
        buf_printf(out, ", by %.*s of the pod's workload", STR_FMT(placements->by));
    buf_append(out, STR(", settled in "));
    describe_time(out, placements->settle_nsec);
}
