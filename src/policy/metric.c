/*
 * One entry of `metrics:`. Its fields are read in any order; then those that do not go together are
 * told, and what was not given follows from what was: how old a value may be from how often it is
 * asked for, how placements count from what is measured (metric-guess.c).
 */

#include "base/ascii.h"
#include "base/nsec.h"
#include "policy/metric-part.h"

static const char *const aggregate_words[] = {"sum", "max", "avg", NULL}; /* GaugeAggregate */
static const Shape aggregate_shape = {.kind = SHAPE_WORD, .words = aggregate_words};

static void read_aggregate_word(
    PolicyReader *reader, const YamlNode *value, const char *what, GaugeAggregate *ret) {
    unsigned number;

    if (reader_word(reader, value, what, aggregate_words, &number))
        *ret = (GaugeAggregate)number;
}

/* --- the other sources ------------------------------------------------------------------------ */

static void read_resource(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->resource = value;
    metric_read_resource(reader, value, "resourceMetrics", &reading->gauge->resource);
}

static void read_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "key", &((MetricReading *)into)->gauge->annotation))
        (void)reader_annotation_key(reader, value);
}

/* Whether there is such a zone is found out where zones are. */
static void read_zone(PolicyReader *reader, const YamlNode *value, void *into) {
    Str zone;
    bool is_zone;

    if (!reader_string(reader, value, "timeZone", &zone))
        return;
    is_zone = zone.len > 0 && zone.len <= METRIC_TEXT_MAX && zone.ptr[0] != '/';
    for (size_t i = 0; is_zone && i < zone.len; i++) {
        char c = zone.ptr[i];

        is_zone = ascii_is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/';
    }
    if (is_zone)
        ((MetricReading *)into)->gauge->zone = zone;
    else
        reader_error_hint(reader,
            value,
            STR("like Asia/Shanghai; without one, times say themselves where they are"),
            "\"%.*s\" is not a time zone",
            STR_FMT(zone));
}

static const Shape zone_shape = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z0-9_+-][A-Za-z0-9_+/-]*$"};
static const Field annotation_fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the annotation of the node: a number, a comma, a time",
        .read = read_key},
    {.name = STR("timeZone"),
        .shape = &zone_shape,
        .about = "its times are local times of this zone, whatever letter follows them",
        .read = read_zone},
};
static const Shape annotation_shape = {
    .kind = SHAPE_OBJECT, .fields = annotation_fields, .n_fields = ELEMENTS_OF(annotation_fields)};

static void read_annotation(PolicyReader *reader, const YamlNode *value, void *into) {
    ((MetricReading *)into)->annotation = value;
    reader_fields(
        reader, value, "annotation", annotation_fields, ELEMENTS_OF(annotation_fields), into);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void read_aggregate(PolicyReader *reader, const YamlNode *value, void *into) {
    read_aggregate_word(reader, value, "aggregate", &((MetricReading *)into)->gauge->aggregate);
}

static void read_workload(PolicyReader *reader, const YamlNode *value, void *into) {
    read_aggregate_word(
        reader, value, "workload", &((MetricReading *)into)->gauge->workload_aggregate);
}

static void read_pod_selector(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_selector(reader, value, &((MetricReading *)into)->gauge->selector);
}

static void read_namespaces(PolicyReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = ((MetricReading *)into)->gauge;

    if (!reader_string_list(reader, value, "namespaces", &gauge->namespaces, &gauge->n_namespaces))
        return;
    for (size_t i = 0; i < gauge->n_namespaces; i++)
        (void)reader_namespace(reader, value->items[i]);
}

static void read_namespace_label(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->of_pods_labels = value;
    metric_read_label(reader, value, "namespaceLabel", &reading->gauge->namespace_label);
}

static void read_pod_label(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->of_pods_labels = value;
    metric_read_label(reader, value, "podLabel", &reading->gauge->pod_label);
}

static const Field pods_fields[] = {
    {.name = STR("aggregate"),
        .shape = &aggregate_shape,
        .about = "what the pods of a node give together; `sum` unless given",
        .read = read_aggregate},
    {.name = STR("podSelector"),
        .shape = &shape_selector,
        .about = "only pods with these labels",
        .read = read_pod_selector},
    {.name = STR("namespaces"),
        .shape = &shape_scalars,
        .about = "only pods of these",
        .read = read_namespaces},
    {.name = STR("workload"),
        .shape = &aggregate_shape,
        .about = "what the pods of a workload give together; `avg` unless given",
        .read = read_workload},
    {.name = STR("namespaceLabel"),
        .shape = &metric_label_shape,
        .about = "the label of a series that says the namespace; `namespace` unless given",
        .read = read_namespace_label},
    {.name = STR("podLabel"),
        .shape = &metric_label_shape,
        .about = "the label of a series that says the pod; `pod` unless given",
        .read = read_pod_label},
};
static const Shape pods_shape = {
    .kind = SHAPE_OBJECT, .fields = pods_fields, .n_fields = ELEMENTS_OF(pods_fields)};

static void read_pods(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->pods = value;
    reading->gauge->is_of_pods = true;
    reading->gauge->workload_aggregate = GAUGE_AVG;
    reading->gauge->namespace_label = STR("namespace");
    reading->gauge->pod_label = STR("pod");
    reader_fields(reader, value, "pods", pods_fields, ELEMENTS_OF(pods_fields), into);
}

/* --- times ------------------------------------------------------------------------------------ */

static void read_interval(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->interval = value;
    (void)metric_read_time(reader,
        value,
        "interval",
        METRIC_INTERVAL_MIN,
        METRIC_INTERVAL_MAX,
        &reading->gauge->interval_nsec);
}

static void read_max_age(PolicyReader *reader, const YamlNode *value, void *into) {
    MetricReading *reading = into;

    reading->max_age = value;
    (void)metric_read_time(
        reader, value, "maxAge", NSEC_PER_SEC, READER_DURATION_MAX, &reading->gauge->max_age_nsec);
}

/* Three intervals; but not more than 5 minutes, unless even that is hardly an interval. */
static int64_t default_age(const Gauge *gauge) {
    int64_t age = METRIC_AGE_INTERVALS * gauge->interval_nsec;
    int64_t most = METRIC_AGE_DEFAULT_MAX;

    if (gauge->source == GAUGE_ANNOTATION)
        return METRIC_AGE_DEFAULT_MAX;
    if (most < 2 * gauge->interval_nsec)
        most = 2 * gauge->interval_nsec;
    if (gauge->source == GAUGE_RESOURCES && age < METRIC_AGE_RESOURCES_MIN)
        age = METRIC_AGE_RESOURCES_MIN;
    return age < most ? age : most;
}

static void settle_times(PolicyReader *reader, const MetricReading *reading) {
    Gauge *gauge = reading->gauge;

    if (gauge->source != GAUGE_ANNOTATION && gauge->interval_nsec == 0)
        gauge->interval_nsec = METRIC_INTERVAL_DEFAULT;
    if (!reading->max_age)
        gauge->max_age_nsec = default_age(gauge);
    else if (gauge->max_age_nsec > 0 && gauge->max_age_nsec < gauge->interval_nsec)
        reader_error_hint(reader,
            reading->max_age,
            STR("some intervals long, so that one answer that is late does no harm"),
            "maxAge is less than interval: the value would be absent most of the time");
}

/* --- one entry -------------------------------------------------------------------------------- */

static void read_metric_name(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_string(reader, value, "name", &((MetricReading *)into)->gauge->name);
}

static const Shape name_shape = {.kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"};

static const Field metric_fields[] = {
    {.name = STR("name"),
        .is_required = true,
        .shape = &name_shape,
        .about = "metrics.NAME in expressions",
        .read = read_metric_name},
    {.name = STR("prometheus"),
        .shape = &metric_prometheus_shape,
        .about = "measured by Prometheus, or what speaks its API; one of three sources",
        .read = metric_read_prometheus},
    {.name = STR("resourceMetrics"),
        .shape = &metric_resource_shape,
        .about = "measured by metrics.k8s.io, in cores or bytes: what `kubectl top` shows",
        .read = read_resource},
    {.name = STR("annotation"),
        .shape = &annotation_shape,
        .about = "written on the node: `0.25,2026-01-02T03:04:05Z`",
        .read = read_annotation},
    {.name = STR("pods"),
        .shape = &pods_shape,
        .about = "the numbers are of pods, and brought together for nodes and workloads",
        .read = read_pods},
    {.name = STR("interval"),
        .shape = &shape_duration,
        .about = "how often it is asked for, from 1s to 1d; `15s` unless given",
        .read = read_interval},
    {.name = STR("maxAge"),
        .shape = &shape_duration,
        .about = "an older value is absent; three intervals, at most 5m, unless given; at least 3m "
                 "for resourceMetrics",
        .read = read_max_age},
    {.name = STR("placements"),
        .shape = &metric_placements_shape,
        .about = "how pods count that the value cannot show yet; on for what is known to be load",
        .read = metric_read_placements},
};

static const char *const sources[] = {"prometheus", "resourceMetrics", "annotation", NULL};
const Shape metric_shape = {.kind = SHAPE_OBJECT,
    .fields = metric_fields,
    .n_fields = ELEMENTS_OF(metric_fields),
    .one_of = sources};

/* A field that nobody knows may be the source that is missing, and has been reported. */
static bool has_unknown_field(const YamlNode *metric) {
    for (size_t i = 0; i < metric->n; i++) {
        bool is_known = false;

        for (size_t j = 0; j < ELEMENTS_OF(metric_fields); j++)
            is_known |= str_eq(metric->pairs[i].key->text, metric_fields[j].name);
        if (!is_known)
            return true;
    }
    return false;
}

/* Of several the first one counts; the others are reported. */
static void check_sources(PolicyReader *reader, const YamlNode *metric, Gauge *gauge) {
    const YamlNode *first = NULL;

    for (size_t i = 0; i < metric->n; i++) {
        const YamlNode *key = metric->pairs[i].key;

        for (unsigned source = 0; sources[source]; source++) {
            if (!str_is(key->text, sources[source]))
                continue;
            if (first) {
                reader_error_hint(reader,
                    key,
                    STR("declare two metrics"),
                    "a metric has one source, and \"%.*s\" is given already",
                    STR_FMT(first->text));
            } else {
                first = key;
                gauge->source = (GaugeSource)source;
            }
        }
    }
    if (!first && !has_unknown_field(metric))
        reader_error_hint(reader,
            metric,
            STR("one of prometheus, resourceMetrics, annotation"),
            "a metric needs a source");
}

/* What means nothing beside the others. */
static void check_together(PolicyReader *reader, const MetricReading *reading) {
    if (reading->annotation && reading->pods)
        reader_error_hint(reader,
            reading->pods,
            STR("leave out pods"),
            "an annotation is of the node, not of pods");
    if (reading->annotation && reading->interval)
        reader_error_hint(reader,
            reading->interval,
            STR("maxAge says how old it may be"),
            "an annotation comes by itself: nobody asks for it in an interval");
    if (reading->pods && reading->of_nodes)
        reader_error_hint(reader,
            reading->of_nodes,
            STR("namespaceLabel and podLabel of pods say which pod it is"),
            "%s is for series of nodes, and with pods these are of pods",
            reading->of_nodes_name);
    if (reading->resource && reading->of_pods_labels)
        reader_error(reader, reading->of_pods_labels, "resourceMetrics has no labels");
}

void metric_read(PolicyReader *reader, const YamlNode *value, Gauge *ret) {
    size_t n_errors = reader->diags->n_errors;
    MetricReading reading = {.gauge = ret};

    *ret = (Gauge){.placements.by_gauge = GAUGE_NONE};
    reader_fields(reader, value, "a metric", metric_fields, ELEMENTS_OF(metric_fields), &reading);
    if (value->kind != YAML_MAPPING)
        return;
    check_sources(reader, value, ret);
    check_together(reader, &reading);
    if (reader->diags->n_errors > n_errors)
        return;
    settle_times(reader, &reading);
    metric_settle_placements(reader, &reading);
}
