/* Reads an entry of `metrics:`. Fields are read in any order; then conflicting fields are reported,
 * and defaults derived: the maximum age from the interval, placements from the query (promql.h). */

#include "policy/metric.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "policy/promql.h"
#include "regex/regex.h"
#include "schema/metrics.h"

#define METRIC_TEXT_MAX 128u /* bytes of a label's or zone's name */
#define PATTERN_SCRATCH ((size_t)4 * 1024 * 1024)

static const Shape resource_shape = {SHAPE_WORDS("cpu", "memory"), .is_text = true};

static bool is_text(Str text, const char *others) {
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.ptr[i]) && !strchr(others, text.ptr[i]))
            return false;
    return text.len > 0 && text.len <= METRIC_TEXT_MAX;
}

static bool check_label(YamlReader *reader, const YamlNode *value) {
    return (is_text(value->text, "_") && !ascii_is_digit(value->text.ptr[0])) ||
           reader_error_hint(reader, value,
               STR("a label of the series: letters, digits and '_', no digit at the beginning"),
               "\"%.*s\" is not a label of Prometheus", STR_FMT(value->text));
}

static const Shape label_shape = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]*$", .check = check_label};
/* GaugeAggregate */
static const Shape aggregate_shape = {SHAPE_WORDS("sum", "max", "avg")};

/* --- prometheus ------------------------------------------------------------------------------- */

static bool check_query(YamlReader *reader, const YamlNode *value) {
    if (str_is_empty(str_trim(value->text)))
        reader_error_hint(reader, value,
            STR("PromQL that returns one number for each node, or for each pod"), "query is empty");
    else if (value->text.len > METRIC_QUERY_MAX)
        reader_error_hint(reader, value, STR("a recording rule gives it a short name"),
            "query has %zu bytes, and the limit is %u", value->text.len, METRIC_QUERY_MAX);
    else
        return true;
    return false;
}

/* Compiles the pattern only to check it; load/join.c compiles it again. */
static bool check_pattern(YamlReader *reader, const YamlNode *value) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(PATTERN_SCRATCH);
    RegexError error = {.text = STR("out of memory for the expression")};
    const Regex *regex =
        scratch ? regex_compile(value->text, GAUGE_PATTERN_MAX, scratch, &error) : NULL;

    if (str_is_empty(value->text))
        reader_error(reader, value, "nodePattern is empty");
    else if (!regex)
        reader_error_hint(reader, value, STR("RE2: https://github.com/google/re2/wiki/Syntax"),
            "nodePattern is not a regular expression: %.*s: `%.*s`", STR_FMT(error.text),
            STR_FMT(error.part));
    else if (regex_n_groups(regex) > 1)
        reader_error_hint(reader, value, STR("use (?:…) for the other groups"),
            "nodePattern has %zu groups; only one may capture the node", regex_n_groups(regex));
    else
        return true;
    return false;
}

static const Shape identity_shape = {SHAPE_WORDS("name", "hostname", "ip"), .min = GAUGE_BY_NAME};

static int compare_labels(const void *a, const void *b) {
    return str_cmp(((const Label *)a)->key, ((const Label *)b)->key);
}

static void read_nodes(YamlReader *reader, const YamlNode *value, void *into) {
    Labels *mapping = &((Gauge *)into)->mapping;
    Label *items;

    items = ARENA_ARRAY(reader->arena, Label, value->n);
    if (!items)
        return;
    for (size_t i = 0; i < value->n; i++) {
        items[i].key = value->pairs[i].key->text;
        if (reader_label_value(reader, value->pairs[i].value, "a node's name", &items[i].value) &&
            str_is_empty(items[i].value))
            reader_error(reader, value->pairs[i].value, "a node's name must not be empty");
    }
    qsort(items, value->n, sizeof(*items), compare_labels);
    *mapping = (Labels){.items = items, .n = value->n};
}

static const Shape query_shape = {.kind = SHAPE_STRING, .pattern = "\\S", .check = check_query};
static const Shape pattern_shape = {.kind = SHAPE_STRING, .pattern = ".", .check = check_pattern};
static const Shape nodes_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .min = 1, .max = METRIC_NODES_MAX};

static const Field prometheus_fields[] = {
    {REQUIRED("query"), INTO(Gauge, query, query_shape),
        "PromQL that returns a number for each node, or with `pods` for each pod"},
    {OPTIONAL("source"), INTO(Gauge, from, shape_name),
        "name of the server; default: that of `--prometheus`"},
    {OPTIONAL("nodeLabel"), INTO(Gauge, node_label, label_shape),
        "label of the series that names the node; default: detected"},
    {OPTIONAL("nodePattern"), INTO(Gauge, node_pattern, pattern_shape),
        "regular expression (RE2): its group, or the whole match, names the node"},
    {OPTIONAL("nodeIs"), INTO(Gauge, identity, identity_shape),
        "how the label names the node; default: detected"},
    {OPTIONAL("nodes"), .shape = &nodes_shape,
        .about = "label values and the names of the nodes they stand for", .read = read_nodes},
};
static const Shape prometheus_shape = {SHAPE_OF(prometheus_fields)};

/* --- the other sources ------------------------------------------------------------------------ */

/* Checks only the form; lint.h checks whether the zone exists. */
static bool check_zone(YamlReader *reader, const YamlNode *value) {
    return (is_text(value->text, "_-+/") && value->text.ptr[0] != '/') ||
           reader_error_hint(reader, value,
               STR("like Asia/Shanghai; by default the times name their own zone"),
               "\"%.*s\" is not a time zone", STR_FMT(value->text));
}

/* Checks the name, which becomes part of a URL path. */
static bool check_custom_name(YamlReader *reader, const YamlNode *value) {
    return (is_text(value->text, "_-.:") && value->text.ptr[0] != '.') ||
           reader_error_hint(reader, value, STR("letters, digits, '_', '-', '.' and ':'"),
               "\"%.*s\" is not the name of a metric", STR_FMT(value->text));
}

static const Shape custom_shape = {.kind = SHAPE_STRING,
    .check = check_custom_name,
    .pattern = "^[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$"};

static const Shape annotation_key_shape = {.kind = SHAPE_STRING, .check = reader_annotation_key};
static const Shape zone_shape = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z0-9_+-][A-Za-z0-9_+/-]*$", .check = check_zone};
static const Field annotation_fields[] = {
    {REQUIRED("key"), INTO(Gauge, annotation, annotation_key_shape),
        "annotation of the node: a number, a comma, a time"},
    {OPTIONAL("timeZone"), INTO(Gauge, zone, zone_shape),
        "its times are local times of this zone, whatever letter follows them"},
};
static const Shape annotation_shape = {SHAPE_OF(annotation_fields)};

/* --- pods ------------------------------------------------------------------------------------- */

static void read_namespaces(YamlReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = into;
    StrList list = {0};

    (void)reader_value(reader, value, "namespaces", &shape_namespaces, &list);
    gauge->namespaces = list.items;
    gauge->n_namespaces = list.n;
}

static const Field pods_fields[] = {
    {OPTIONAL("aggregate"), INTO(Gauge, aggregate, aggregate_shape),
        "how the numbers of a node's pods are combined; default `sum`"},
    {OPTIONAL("podSelector"), INTO(Gauge, selector, shape_selector), "only pods with these labels"},
    {OPTIONAL("namespaces"), .shape = &shape_namespaces, .about = "only pods of these namespaces",
        .read = read_namespaces},
    {OPTIONAL("workload"), INTO(Gauge, workload_aggregate, aggregate_shape),
        "how the numbers of a workload's pods are combined; default `avg`"},
    {OPTIONAL("namespaceLabel"), INTO(Gauge, namespace_label, label_shape),
        "label of the series that names the namespace; default `namespace`"},
    {OPTIONAL("podLabel"), INTO(Gauge, pod_label, label_shape),
        "label of the series that names the pod; default `pod`"},
};
static const Shape pods_shape = {SHAPE_OF(pods_fields)};

static void read_pods(YamlReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = into;

    gauge->is_of_pods = true;
    gauge->workload_aggregate = GAUGE_AVG;
    gauge->namespace_label = STR("namespace");
    gauge->pod_label = STR("pod");
    reader_fields(reader, value, "pods", &pods_shape, gauge);
}

/* --- times ------------------------------------------------------------------------------------ */

/* The default maxAge: three intervals, at most 5 minutes or two intervals if these are longer. */
static int64_t default_age(const Gauge *gauge) {
    int64_t age = METRIC_AGE_INTERVALS * gauge->interval_nsec;
    int64_t most = METRIC_AGE_DEFAULT_MAX;

    if (gauge->source == GAUGE_ANNOTATION)
        return METRIC_AGE_DEFAULT_MAX;
    if (most < 2 * gauge->interval_nsec)
        most = 2 * gauge->interval_nsec;
    if ((gauge->source == GAUGE_RESOURCES || gauge->source == GAUGE_CUSTOM) &&
        age < METRIC_AGE_RESOURCES_MIN)
        age = METRIC_AGE_RESOURCES_MIN;
    return age < most ? age : most;
}

static void complete_times(YamlReader *reader, const YamlNode *metric, Gauge *gauge) {
    const YamlNode *max_age = yaml_find(metric, STR("maxAge"));

    if (gauge->source != GAUGE_ANNOTATION && gauge->interval_nsec == 0)
        gauge->interval_nsec = METRIC_INTERVAL_DEFAULT;
    if (!max_age)
        gauge->max_age_nsec = default_age(gauge);
    else if (gauge->max_age_nsec > 0 && gauge->max_age_nsec < gauge->interval_nsec)
        reader_error_hint(reader, max_age,
            STR("allow several intervals, so that one late response does no harm"),
            "maxAge is less than interval: the value would be absent most of the time");
}

/* --- placements ------------------------------------------------------------------------------- */

/* Placements: pods that the measured value does not include yet. Resource and unit are inferred
 * from the query if possible (promql.h), else they are required. */

/* GaugeUnit */
static const Shape unit_shape = {SHAPE_WORDS("amount", "fraction", "percent")};
static const Shape settle_shape = {.kind = SHAPE_DURATION, .max = METRIC_SETTLE_MAX};
static const Shape none_shape = {SHAPE_WORDS("none")};

static const Field placements_fields[] = {
    {OPTIONAL("resource"), INTO(Gauge, placements.resource, resource_shape),
        "resource of the pods that it measures; known for resourceMetrics and some "
        "queries"},
    {OPTIONAL("unit"), INTO(Gauge, placements.unit, unit_shape),
        "cores or bytes; 0 to 1 of the node's allocatable; 0 to 100 of it"},
    {OPTIONAL("settle"), INTO(Gauge, placements.settle_nsec, settle_shape),
        "time until the value fully includes a new pod; default: the longest range of "
        "the query, from 1m to 10m"},
    {OPTIONAL("by"), INTO(Gauge, placements.by, shape_string),
        "a metric of pods: a pod counts with its workload's usage, if that is known; "
        "else with its requests"},
};
static const Shape placements_object_shape = {SHAPE_OF(placements_fields)};
static const Shape placements_shape = {
    .kind = SHAPE_EITHER, .of = &none_shape, .other = &placements_object_shape};

static void read_placements(YamlReader *reader, const YamlNode *value, void *into) {
    if (value->kind == YAML_MAPPING)
        reader_fields(reader, value, "placements", &placements_object_shape, into);
    else if (value->kind != YAML_STRING || !str_is(value->text, "none"))
        reader_error_hint(reader, value,
            STR("none: do not count pods; or a mapping of resource, unit, settle and by"),
            "placements must be none or a mapping");
}

/* The load that can be inferred from the source. */
static PromqlLoad infer_load(const Gauge *gauge) {
    if (gauge->source == GAUGE_RESOURCES)
        return (PromqlLoad){
            .is_load = true, .resource = gauge->resource, .unit = GAUGE_AMOUNT, .range_nsec = 0};
    if (gauge->source == GAUGE_PROMETHEUS)
        return promql_infer_load(gauge->query);
    return (PromqlLoad){0};
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

/* Runs after all other fields are read. */
static void complete_placements(YamlReader *reader, const YamlNode *metric, Gauge *gauge) {
    const YamlNode *section = yaml_find(metric, STR("placements"));
    GaugePlacements *placements = &gauge->placements;
    PromqlLoad known = infer_load(gauge);
    int64_t range;

    if (section && section->kind == YAML_MAPPING)
        complete_section(reader, section, gauge, &known);
    else if (!section && known.is_load && /* one more pod changes a maximum in an unknown way */
             (!gauge->is_of_pods || (gauge->aggregate == GAUGE_SUM && known.unit == GAUGE_AMOUNT)))
        *placements = (GaugePlacements){
            .is_counted = true, .resource = known.resource, .unit = known.unit, .is_guessed = true};
    placements->by_gauge = GAUGE_NONE;
    if (!placements->is_counted || yaml_find(section, STR("settle")))
        return;
    range = known.is_load ? known.range_nsec : promql_longest_range(gauge->query);
    if (range < METRIC_SETTLE_DEFAULT)
        range = METRIC_SETTLE_DEFAULT;
    placements->settle_nsec = range < METRIC_SETTLE_DEFAULT_MAX ? range : METRIC_SETTLE_DEFAULT_MAX;
}

/* --- one entry -------------------------------------------------------------------------------- */

static const Shape name_shape = {.kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"};
static const Shape interval_shape = {
    .kind = SHAPE_DURATION, .min = METRIC_INTERVAL_MIN, .max = METRIC_INTERVAL_MAX};
static const Shape max_age_shape = {
    .kind = SHAPE_DURATION, .min = NSEC_PER_SEC, .max = READER_DURATION_MAX};

static const Field metric_fields[] = {
    {REQUIRED("name"), INTO(Gauge, name, name_shape), "metrics.NAME in expressions"},
    {OPTIONAL("prometheus"), .shape = &prometheus_shape,
        .about = "from Prometheus, or a server with its API; one of four sources"},
    {OPTIONAL("resourceMetrics"), INTO(Gauge, resource, resource_shape),
        "from metrics.k8s.io, in cores or bytes, as `kubectl top` shows it"},
    {OPTIONAL("annotation"), .shape = &annotation_shape,
        .about = "from an annotation of the node: `0.25,2026-01-02T03:04:05Z`"},
    {OPTIONAL("customMetrics"), INTO(Gauge, query, custom_shape),
        "from custom.metrics.k8s.io: the name of a metric of nodes"},
    {OPTIONAL("pods"), .shape = &pods_shape,
        .about = "the numbers are those of pods, combined for nodes and workloads",
        .read = read_pods},
    {OPTIONAL("interval"), INTO(Gauge, interval_nsec, interval_shape),
        "how often it is queried, from 1s to 1d; default `15s`"},
    {OPTIONAL("maxAge"), INTO(Gauge, max_age_nsec, max_age_shape),
        "an older value counts as absent; default: three intervals, at most 5m; at least "
        "3m for resourceMetrics and customMetrics"},
    {OPTIONAL("placements"), .shape = &placements_shape,
        .about = "how pods count that the value does not include yet; on for known load queries",
        .read = read_placements},
};

static const char *const sources[] = {
    "prometheus", "resourceMetrics", "annotation", "customMetrics", NULL}; /* GaugeSource */
const Shape metric_shape = {SHAPE_OF(metric_fields), .one_of = sources, .choice = "source"};

#define OF_NODES                                                                                   \
    STR("namespaceLabel and podLabel of pods name the pod"),                                       \
        "with pods the series are those of pods, and this is for series of nodes"

/* Fields that must not be given together; @other is in the mapping @in, if that is set. */
static const struct Conflict {
    Str one, in, other, hint;
    const char *text;
} conflicts[] = {
    {STR("annotation"), STR_NULL, STR("pods"), STR("leave out pods"),
        "an annotation belongs to the node, not to pods"},
    {STR("customMetrics"), STR_NULL, STR("pods"), STR("leave out pods"),
        "customMetrics reads metrics of nodes, not of pods"},
    {STR("annotation"), STR_NULL, STR("interval"), STR("maxAge limits its age"),
        "an annotation is not queried, so interval has no effect"},
    {STR("pods"), STR("prometheus"), STR("nodeLabel"), OF_NODES},
    {STR("pods"), STR("prometheus"), STR("nodePattern"), OF_NODES},
    {STR("pods"), STR("prometheus"), STR("nodeIs"), OF_NODES},
    {STR("pods"), STR("prometheus"), STR("nodes"), OF_NODES},
    {STR("resourceMetrics"), STR("pods"), STR("podLabel"), STR_NULL,
        "resourceMetrics has no labels"},
    {STR("resourceMetrics"), STR("pods"), STR("namespaceLabel"), STR_NULL,
        "resourceMetrics has no labels"},
};

static void check_together(YamlReader *reader, const YamlNode *metric) {
    for (size_t i = 0; i < ELEMENTS_OF(conflicts); i++) {
        const struct Conflict *conflict = &conflicts[i];
        const YamlNode *in = conflict->in.ptr ? yaml_find(metric, conflict->in) : metric;
        const YamlNode *other = yaml_find(in, conflict->other);

        if (other && yaml_find(metric, conflict->one))
            reader_error_hint(reader, other, conflict->hint, "%s", conflict->text);
    }
}

void metric_read(YamlReader *reader, const YamlNode *value, Gauge *ret) {
    size_t n_errors = reader->diags->n_errors, source;

    *ret = (Gauge){.placements.by_gauge = GAUGE_NONE};
    reader_fields(reader, value, "a metric", &metric_shape, ret);
    if (str_is(ret->from, "default")) /* the server of --prometheus */
        ret->from = STR_NULL;
    if (value->kind != YAML_MAPPING)
        return;
    if (reader_choice(reader, value, "a metric", &metric_shape, &source))
        ret->source = (GaugeSource)source;
    check_together(reader, value);
    if (reader->diags->n_errors > n_errors)
        return;
    complete_times(reader, value, ret);
    complete_placements(reader, value, ret);
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
    size_t n_names = 0;

    for (size_t i = 0; i < n && n_names < SCHEMA_METRICS_MAX; i++)
        if (gauges[i].is_of_pods)
            names[n_names++] = gauges[i].name;
    meant = str_nearest(at->text, names, n_names);
    reader_error_hint(reader, at,
        str_is_empty(meant) ? STR("a metric with pods, of the same policy")
                            : arena_printf(reader->arena, "did you mean \"%.*s\"?", STR_FMT(meant)),
        "the policy has no metric \"%.*s\"", STR_FMT(at->text));
}

/* Checks that @gauge can count pods by @other. */
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

void metric_describe_placements(const Gauge *gauge, Buf *out) {
    const GaugePlacements *placements = &gauge->placements;
    bool is_cpu = str_is(placements->resource, "cpu");
    int64_t seconds = placements->settle_nsec / NSEC_PER_SEC;
    bool is_minutes = seconds >= 60 && seconds % 60 == 0;

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
    buf_printf(out, ", settled in %lld%s", (long long)(is_minutes ? seconds / 60 : seconds),
        is_minutes ? "m" : "s");
}
