/* Gauges as JSON, and back: fields and words by table. */

#include "bundle/bundle-internal.h"

#include "json/fields.h"

/* Words for the values of enumerations, by value. */
static const Str source_words[] = {
    [GAUGE_PROMETHEUS] = STR("prometheus"),
    [GAUGE_RESOURCES] = STR("resources"),
    [GAUGE_ANNOTATION] = STR("annotation"),
    [GAUGE_CUSTOM] = STR("custom"),
};
static const Str identity_words[] = {
    [GAUGE_BY_ANY] = STR("any"),
    [GAUGE_BY_NAME] = STR("name"),
    [GAUGE_BY_HOSTNAME] = STR("hostname"),
    [GAUGE_BY_IP] = STR("ip"),
};
static const Str aggregate_words[] = {
    [GAUGE_SUM] = STR("sum"),
    [GAUGE_MAX] = STR("max"),
    [GAUGE_AVG] = STR("avg"),
};

static unsigned read_word(JsonReader *reader, Arena *arena, const Str *words, size_t n) {
    Str word = STR_NULL;
    size_t i;

    json_string(reader, arena, &word);
    i = str_index(word, words, n);
    if (i < n)
        return (unsigned)i;
    json_fail(reader, JSON_E_TYPE, "a word that is not known here");
    return 0;
}

#define READ_WORD(words) read_word(reader, arena, (words), ELEMENTS_OF(words))

static void read_source(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeSource *)target = (GaugeSource)READ_WORD(source_words);
}

static void read_identity(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeIdentity *)target = (GaugeIdentity)READ_WORD(identity_words);
}

static void read_aggregate(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeAggregate *)target = (GaugeAggregate)READ_WORD(aggregate_words);
}

static void read_op(JsonReader *reader, Arena *arena, void *target) {
    *(SelectorOp *)target = (SelectorOp)read_word(reader, arena, selector_op_words, SELECTOR_OPS);
}

static void read_mapping(JsonReader *reader, Arena *arena, void *target) {
    labels_decode(reader, arena, target);
}

static void read_requirement(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField requirement_fields[] = {
        {"key", JSON_FIELD_TEXT, offsetof(Requirement, key)},
        {"operator", JSON_FIELD_CUSTOM, offsetof(Requirement, op), read_op},
        JSON_LIST("values", Requirement, values, n_values, SIZE_MAX, json_read_text),
        {"bound", JSON_FIELD_INT, offsetof(Requirement, bound)},
    };

    JSON_READ_FIELDS(reader, arena, requirement_fields, target);
}

static const JsonField fields[] = {
    {"name", JSON_FIELD_TEXT, offsetof(Gauge, name)},
    {"from", JSON_FIELD_TEXT, offsetof(Gauge, from)},
    {"query", JSON_FIELD_TEXT, offsetof(Gauge, query)},
    {"resource", JSON_FIELD_TEXT, offsetof(Gauge, resource)},
    {"annotation", JSON_FIELD_TEXT, offsetof(Gauge, annotation)},
    {"zone", JSON_FIELD_TEXT, offsetof(Gauge, zone)},
    {"nodeLabel", JSON_FIELD_TEXT, offsetof(Gauge, node_label)},
    {"nodePattern", JSON_FIELD_TEXT, offsetof(Gauge, node_pattern)},
    {"namespaceLabel", JSON_FIELD_TEXT, offsetof(Gauge, namespace_label)},
    {"podLabel", JSON_FIELD_TEXT, offsetof(Gauge, pod_label)},
    {"source", JSON_FIELD_CUSTOM, offsetof(Gauge, source), read_source},
    {"identity", JSON_FIELD_CUSTOM, offsetof(Gauge, identity), read_identity},
    {"mapping", JSON_FIELD_CUSTOM, offsetof(Gauge, mapping), read_mapping},
    {"ofPods", JSON_FIELD_BOOL, offsetof(Gauge, is_of_pods)},
    JSON_LIST("selector", Gauge, selector.items, selector.n, SIZE_MAX, read_requirement),
    JSON_LIST("namespaces", Gauge, namespaces, n_namespaces, SIZE_MAX, json_read_text),
    {"aggregate", JSON_FIELD_CUSTOM, offsetof(Gauge, aggregate), read_aggregate},
    {"workloadAggregate", JSON_FIELD_CUSTOM, offsetof(Gauge, workload_aggregate), read_aggregate},
    {"intervalNsec", JSON_FIELD_INT, offsetof(Gauge, interval_nsec)},
    {"maxAgeNsec", JSON_FIELD_INT, offsetof(Gauge, max_age_nsec)},
};

void gauge_text_read(JsonReader *reader, Arena *arena, Gauge *ret) {
    *ret = (Gauge){.placements.by_gauge = GAUGE_NONE};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}

static void write_selector(JsonWriter *writer, const Selector *selector) {
    if (selector->n == 0)
        return;
    json_member_array(writer, "selector");
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *requirement = &selector->items[i];

        json_write(writer, "{key: %.*s, operator: %.*s", STR_FMT(requirement->key),
            STR_FMT(selector_op_words[requirement->op]));
        if (requirement->n_values > 0)
            json_member_texts(writer, "values", requirement->values, requirement->n_values);
        json_write(writer, "bound?: %jd}", requirement->bound);
    }
    json_write_end_array(writer);
}

static void write_mapping(JsonWriter *writer, const Labels *mapping) {
    if (mapping->n == 0)
        return;
    json_member_object(writer, "mapping");
    for (size_t i = 0; i < mapping->n; i++)
        json_write_member(writer, mapping->items[i].key, mapping->items[i].value);
    json_write_end_object(writer);
}

void gauge_text_write(JsonWriter *writer, const Gauge *gauge) {
    json_write_object(writer);
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        const Str *text = (const Str *)(const void *)((const char *)gauge + fields[i].offset);

        if (fields[i].kind == JSON_FIELD_TEXT && text->len > 0)
            json_write_member(writer, str_from_c(fields[i].path), *text);
    }
    json_write(writer, "source: %.*s, identity: %.*s", STR_FMT(source_words[gauge->source]),
        STR_FMT(identity_words[gauge->identity]));
    write_mapping(writer, &gauge->mapping);
    json_write(writer, "ofPods?: %i", gauge->is_of_pods);
    write_selector(writer, &gauge->selector);
    if (gauge->n_namespaces > 0)
        json_member_texts(writer, "namespaces", gauge->namespaces, gauge->n_namespaces);
    json_write(writer,
        "aggregate: %.*s, workloadAggregate: %.*s, intervalNsec: %jd, maxAgeNsec: %jd}",
        STR_FMT(aggregate_words[gauge->aggregate]),
        STR_FMT(aggregate_words[gauge->workload_aggregate]), gauge->interval_nsec,
        gauge->max_age_nsec);
}
