/*
 * One entry of `metrics:`. Its fields are read in any order; then fields that do not go together
 * are reported, and defaults follow from the others: the maximum age from the interval, how
 * placements count from the query (promql.h).
 */

#include <stdlib.h>

#include "base/ascii.h"
#include "base/nsec.h"
#include "policy/metric-internal.h"
#include "regex/regex.h"

#define METRIC_TEXT_MAX 128u /* bytes of names of labels and zones */
#define PATTERN_SCRATCH ((size_t)4 * 1024 * 1024)

/* --- values that several fields have --------------------------------------------------------- */

static const char *const resource_words[] = {"cpu", "memory", NULL};
const Shape metric_resource_shape = {.kind = SHAPE_WORD, .words = resource_words};

void metric_read_resource(YamlReader *reader, const YamlNode *value, const char *what, Str *ret) {
    unsigned number;

    if (reader_value(reader, value, what, &metric_resource_shape, &number))
        *ret = str_from_c(resource_words[number]);
}

static bool is_text(Str text, const char *others) {
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.ptr[i]) && !strchr(others, text.ptr[i]))
            return false;
    return text.len > 0 && text.len <= METRIC_TEXT_MAX;
}

static bool check_label(YamlReader *reader, const YamlNode *value) {
    if (is_text(value->text, "_") && !ascii_is_digit(value->text.ptr[0]))
        return true;
    reader_error_hint(reader, value,
        STR("a label of the series: letters, digits and '_', no digit at the beginning"),
        "\"%.*s\" is not a label of Prometheus", STR_FMT(value->text));
    return false;
}

static const Shape label_shape = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]*$", .check = check_label};
static const char *const aggregate_words[] = {"sum", "max", "avg", NULL}; /* GaugeAggregate */
static const Shape aggregate_shape = {.kind = SHAPE_WORD, .words = aggregate_words};

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

/* The source of --prometheus is called default, and needs no name. */
static void read_source(YamlReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = into;

    if (reader_value(reader, value, "source", &shape_name, &gauge->from) &&
        str_is(gauge->from, "default"))
        gauge->from = STR_NULL;
}

/* Compiled to check it; it is compiled again where series are joined to nodes. */
static bool check_pattern(YamlReader *reader, const YamlNode *value) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(PATTERN_SCRATCH);
    RegexError error = {.text = STR("out of memory")};
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

static const char *const identity_words[] = {"name", "hostname", "ip", NULL};
static const Shape identity_shape = {.kind = SHAPE_WORD, .words = identity_words};

static void read_node_is(YamlReader *reader, const YamlNode *value, void *into) {
    unsigned number;

    if (reader_value(reader, value, "nodeIs", &identity_shape, &number))
        ((Gauge *)into)->identity = (GaugeIdentity)(GAUGE_BY_NAME + number);
}

static int compare_labels(const void *a, const void *b) {
    return str_cmp(((const Label *)a)->key, ((const Label *)b)->key);
}

static void read_nodes(YamlReader *reader, const YamlNode *value, void *into) {
    Labels *mapping = &((Gauge *)into)->mapping;
    Label *items;

    if (!reader_mapping(reader, value, "nodes"))
        return;
    if (value->n == 0 || value->n > METRIC_NODES_MAX) {
        reader_error_hint(reader, value, STR("label value: node name"),
            "nodes has %zu entries; it must have 1 to %u", value->n, METRIC_NODES_MAX);
        return;
    }
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
        .about = "PromQL that returns a number for each node, or with `pods` for each pod"},
    {OPTIONAL("source"), .shape = &shape_name,
        .about = "name of the server; default: that of `--prometheus`", .read = read_source},
    {OPTIONAL("nodeLabel"), INTO(Gauge, node_label, label_shape),
        .about = "label of the series that names the node; default: detected"},
    {OPTIONAL("nodePattern"), INTO(Gauge, node_pattern, pattern_shape),
        .about = "regular expression (RE2): its group, or the whole match, names the node"},
    {OPTIONAL("nodeIs"), .shape = &identity_shape,
        .about = "how the label names the node; default: detected", .read = read_node_is},
    {OPTIONAL("nodes"), .shape = &nodes_shape,
        .about = "label values and the names of the nodes they stand for", .read = read_nodes},
};
static const Shape prometheus_shape = {SHAPE_OF(prometheus_fields)};

/* --- the other sources ------------------------------------------------------------------------ */

static void read_resource(YamlReader *reader, const YamlNode *value, void *into) {
    metric_read_resource(reader, value, "resourceMetrics", &((Gauge *)into)->resource);
}

/* Whether the zone exists is checked where zones are loaded. */
static bool check_zone(YamlReader *reader, const YamlNode *value) {
    if (is_text(value->text, "_-+/") && value->text.ptr[0] != '/')
        return true;
    reader_error_hint(reader, value,
        STR("like Asia/Shanghai; by default the times name their own zone"),
        "\"%.*s\" is not a time zone", STR_FMT(value->text));
    return false;
}

static const Shape annotation_key_shape = {.kind = SHAPE_STRING, .check = reader_annotation_key};
static const Shape zone_shape = {
    .kind = SHAPE_STRING, .pattern = "^[A-Za-z0-9_+-][A-Za-z0-9_+/-]*$", .check = check_zone};
static const Field annotation_fields[] = {
    {REQUIRED("key"), INTO(Gauge, annotation, annotation_key_shape),
        .about = "annotation of the node: a number, a comma, a time"},
    {OPTIONAL("timeZone"), INTO(Gauge, zone, zone_shape),
        .about = "its times are local times of this zone, whatever letter follows them"},
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
        .about = "how the numbers of a node's pods are combined; default `sum`"},
    {OPTIONAL("podSelector"), INTO(Gauge, selector, shape_selector),
        .about = "only pods with these labels"},
    {OPTIONAL("namespaces"), .shape = &shape_namespaces, .about = "only pods of these namespaces",
        .read = read_namespaces},
    {OPTIONAL("workload"), INTO(Gauge, workload_aggregate, aggregate_shape),
        .about = "how the numbers of a workload's pods are combined; default `avg`"},
    {OPTIONAL("namespaceLabel"), INTO(Gauge, namespace_label, label_shape),
        .about = "label of the series that names the namespace; default `namespace`"},
    {OPTIONAL("podLabel"), INTO(Gauge, pod_label, label_shape),
        .about = "label of the series that names the pod; default `pod`"},
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

/* Three intervals; at most 5 minutes, but at least two intervals. */
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

/* --- one entry -------------------------------------------------------------------------------- */

static const Shape name_shape = {.kind = SHAPE_STRING, .pattern = "^[A-Za-z_][A-Za-z0-9_]{0,62}$"};
static const Shape interval_shape = {
    .kind = SHAPE_DURATION, .min = METRIC_INTERVAL_MIN, .max = METRIC_INTERVAL_MAX};
static const Shape max_age_shape = {
    .kind = SHAPE_DURATION, .min = NSEC_PER_SEC, .max = READER_DURATION_MAX};

static const Field metric_fields[] = {
    {REQUIRED("name"), INTO(Gauge, name, name_shape), .about = "metrics.NAME in expressions"},
    {OPTIONAL("prometheus"), .shape = &prometheus_shape,
        .about = "from Prometheus, or a server with its API; one of three sources"},
    {OPTIONAL("resourceMetrics"), .shape = &metric_resource_shape,
        .about = "from metrics.k8s.io, in cores or bytes, as `kubectl top` shows it",
        .read = read_resource},
    {OPTIONAL("annotation"), .shape = &annotation_shape,
        .about = "from an annotation of the node: `0.25,2026-01-02T03:04:05Z`"},
    {OPTIONAL("pods"), .shape = &pods_shape,
        .about = "the numbers are those of pods, combined for nodes and workloads",
        .read = read_pods},
    {OPTIONAL("interval"), INTO(Gauge, interval_nsec, interval_shape),
        .about = "how often it is queried, from 1s to 1d; default `15s`"},
    {OPTIONAL("maxAge"), INTO(Gauge, max_age_nsec, max_age_shape),
        .about = "an older value counts as absent; default: three intervals, at most 5m; at least "
                 "3m for resourceMetrics"},
    {OPTIONAL("placements"), .shape = &metric_placements_shape,
        .about = "how pods count that the value does not include yet; on for known load queries",
        .read = metric_read_placements},
};

static const char *const sources[] = {"prometheus", "resourceMetrics", "annotation", NULL};
const Shape metric_shape = {SHAPE_OF(metric_fields), .one_of = sources};

/* An unknown field may be the source that is missing; it has been reported. */
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

/* Of several sources the first one is used; the others are reported. */
static void check_sources(YamlReader *reader, const YamlNode *metric, Gauge *gauge) {
    const YamlNode *first = NULL;

    for (size_t i = 0; i < metric->n; i++) {
        const YamlNode *key = metric->pairs[i].key;

        for (unsigned source = 0; sources[source]; source++) {
            if (!str_is(key->text, sources[source]))
                continue;
            if (first) {
                reader_error_hint(reader, key, STR("declare two metrics"),
                    "a metric has one source, and \"%.*s\" is given already", STR_FMT(first->text));
            } else {
                first = key;
                gauge->source = (GaugeSource)source;
            }
        }
    }
    if (!first && !has_unknown_field(metric))
        reader_error_hint(reader, metric, STR("one of prometheus, resourceMetrics, annotation"),
            "a metric needs a source");
}

/* The first field of `prometheus` that joins series to nodes. */
static const YamlPair *find_node_field(const YamlNode *metric) {
    static const char *const names[] = {"nodeLabel", "nodePattern", "nodeIs", "nodes"};
    const YamlNode *prometheus = yaml_find(metric, STR("prometheus"));

    for (size_t i = 0; prometheus && prometheus->kind == YAML_MAPPING && i < prometheus->n; i++)
        for (size_t j = 0; j < ELEMENTS_OF(names); j++)
            if (str_is(prometheus->pairs[i].key->text, names[j]))
                return &prometheus->pairs[i];
    return NULL;
}

/* Reports fields that do not go together. */
static void check_together(YamlReader *reader, const YamlNode *metric) {
    const YamlNode *annotation = yaml_find(metric, STR("annotation"));
    const YamlNode *pods = yaml_find(metric, STR("pods"));
    const YamlNode *interval = yaml_find(metric, STR("interval"));
    const YamlNode *pod_label = yaml_find(pods, STR("podLabel"));
    const YamlPair *node_field = find_node_field(metric);

    if (!pod_label)
        pod_label = yaml_find(pods, STR("namespaceLabel"));
    if (annotation && pods)
        reader_error_hint(
            reader, pods, STR("leave out pods"), "an annotation belongs to the node, not to pods");
    if (annotation && interval)
        reader_error_hint(reader, interval, STR("maxAge limits its age"),
            "an annotation is not queried, so interval has no effect");
    if (pods && node_field)
        reader_error_hint(reader, node_field->value,
            STR("namespaceLabel and podLabel of pods name the pod"),
            "%.*s is for series of nodes, and with pods the series are those of pods",
            STR_FMT(node_field->key->text));
    if (yaml_find(metric, STR("resourceMetrics")) && pod_label)
        reader_error(reader, pod_label, "resourceMetrics has no labels");
}

void metric_read(YamlReader *reader, const YamlNode *value, Gauge *ret) {
    size_t n_errors = reader->diags->n_errors;

    *ret = (Gauge){.placements.by_gauge = GAUGE_NONE};
    reader_fields(reader, value, "a metric", &metric_shape, ret);
    if (value->kind != YAML_MAPPING)
        return;
    check_sources(reader, value, ret);
    check_together(reader, value);
    if (reader->diags->n_errors > n_errors)
        return;
    complete_times(reader, value, ret);
    metric_complete_placements(reader, value, ret);
}
