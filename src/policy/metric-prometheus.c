/* The section `prometheus`: what is asked, whom, and how its series are joined to nodes. */

#include <stdlib.h>

#include "policy/metric-part.h"
#include "policy/rule-fields.h"
#include "regex/regex.h"

#define PATTERN_SCRATCH ((size_t)4 * 1024 * 1024)

static const char *const identity_words[] = {"name", "hostname", "ip", NULL};
static const Shape identity_shape = {.kind = SHAPE_WORD, .words = identity_words};

static void note_of_nodes(MetricReading *reading, const YamlNode *value, const char *name) {
    if (reading->of_nodes)
        return;
    reading->of_nodes = value;
    reading->of_nodes_name = name;
}

static void read_query(PolicyReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = ((MetricReading *)into)->gauge;
    Str query;

    if (!reader_string(reader, value, "query", &query))
        return;
    if (str_is_empty(str_trim(query)))
        reader_error_hint(reader,
            value,
            STR("PromQL that gives one number for each node, or for each pod"),
            "query is empty");
    else if (query.len > METRIC_QUERY_MAX)
        reader_error_hint(reader,
            value,
            STR("a recording rule gives it a short name"),
            "query has %zu bytes, and the limit is %u",
            query.len,
            METRIC_QUERY_MAX);
    else
        gauge->query = query;
}

/* That of --prometheus is called default, and needs no name. */
static void read_source(PolicyReader *reader, const YamlNode *value, void *into) {
    Gauge *gauge = ((MetricReading *)into)->gauge;

    if (reader_name(reader, value, &gauge->from) && str_is(gauge->from, "default"))
        gauge->from = STR_NULL;
}

static void read_node_label(PolicyReader *reader, const YamlNode *value, void *into) {
    note_of_nodes(into, value, "nodeLabel");
    metric_read_label(reader, value, "nodeLabel", &((MetricReading *)into)->gauge->node_label);
}

/* Compiled to see whether it is one; whoever joins compiles it again. */
static void check_pattern(PolicyReader *reader, const YamlNode *value, Str pattern) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(PATTERN_SCRATCH);
    RegexError error = {.text = STR("out of memory")};
    const Regex *regex =
        scratch ? regex_compile(pattern, GAUGE_PATTERN_MAX, scratch, &error) : NULL;

    if (!regex)
        reader_error_hint(reader,
            value,
            STR("RE2: https://github.com/google/re2/wiki/Syntax"),
            "nodePattern is no regular expression: %.*s: `%.*s`",
            STR_FMT(error.text),
            STR_FMT(error.part));
    else if (regex_n_groups(regex) > 1)
        reader_error_hint(reader,
            value,
            STR("(?:…) for those that are not the node"),
            "nodePattern has %zu groups, and one may say what the node is",
            regex_n_groups(regex));
}

static void read_node_pattern(PolicyReader *reader, const YamlNode *value, void *into) {
    Str *pattern = &((MetricReading *)into)->gauge->node_pattern;

    note_of_nodes(into, value, "nodePattern");
    if (!reader_string(reader, value, "nodePattern", pattern))
        return;
    if (str_is_empty(*pattern))
        reader_error(reader, value, "nodePattern is empty");
    else
        check_pattern(reader, value, *pattern);
}

static void read_node_is(PolicyReader *reader, const YamlNode *value, void *into) {
    unsigned number;

    note_of_nodes(into, value, "nodeIs");
    if (reader_word(reader, value, "nodeIs", identity_words, &number))
        ((MetricReading *)into)->gauge->identity = (GaugeIdentity)(GAUGE_BY_NAME + number);
}

static int compare_labels(const void *a, const void *b) {
    return str_cmp(((const Label *)a)->key, ((const Label *)b)->key);
}

static void read_nodes(PolicyReader *reader, const YamlNode *value, void *into) {
    Labels *mapping = &((MetricReading *)into)->gauge->mapping;
    Label *items;

    note_of_nodes(into, value, "nodes");
    if (!reader_mapping(reader, value, "nodes"))
        return;
    if (value->n == 0 || value->n > METRIC_NODES_MAX) {
        reader_error_hint(reader,
            value,
            STR("the label's value to the node's name"),
            "nodes has %zu entries; it must have 1 to %u",
            value->n,
            METRIC_NODES_MAX);
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

static const Shape query_shape = {.kind = SHAPE_STRING, .pattern = "\\S"};
static const Shape pattern_shape = {.kind = SHAPE_STRING, .pattern = "."};
static const Shape nodes_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .min = 1, .max = METRIC_NODES_MAX};

static const Field prometheus_fields[] = {
    {.name = STR("query"),
        .is_required = true,
        .shape = &query_shape,
        .about = "PromQL that gives a number for each node, or with `pods` for each pod",
        .read = read_query},
    {.name = STR("source"),
        .shape = &shape_name,
        .about = "the server, as the operator calls it; that of `--prometheus` unless given",
        .read = read_source},
    {.name = STR("nodeLabel"),
        .shape = &metric_label_shape,
        .about = "the label of a series that says the node; found out unless given",
        .read = read_node_label},
    {.name = STR("nodePattern"),
        .shape = &pattern_shape,
        .about = "a regular expression (RE2): its group, or all of it, is the node",
        .read = read_node_pattern},
    {.name = STR("nodeIs"),
        .shape = &identity_shape,
        .about = "what the label has of the node; found out unless given",
        .read = read_node_is},
    {.name = STR("nodes"),
        .shape = &nodes_shape,
        .about = "the label's values and the names of the nodes they stand for",
        .read = read_nodes},
};
const Shape metric_prometheus_shape = {
    .kind = SHAPE_OBJECT, .fields = prometheus_fields, .n_fields = ELEMENTS_OF(prometheus_fields)};

void metric_read_prometheus(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(
        reader, value, "prometheus", prometheus_fields, ELEMENTS_OF(prometheus_fields), into);
}
