/* Gauges as JSON, and back: fields and words by table. */

#include "bundle/bundle-internal.h"

#include "json/fields.h"

/* --- words ---------------------------------------------------------------------- */

/* Words for the values of an enumeration, by value. */
typedef struct Words {
    const Str *words;
    size_t n;
} Words;

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

static const Words sources = {source_words, ELEMENTS_OF(source_words)};
static const Words identities = {identity_words, ELEMENTS_OF(identity_words)};
static const Words aggregates = {aggregate_words, ELEMENTS_OF(aggregate_words)};
static const Words ops = {selector_op_words, SELECTOR_OPS};

/* --- reading ----------------------------------------------------------------------------- */

static unsigned read_word(JsonReader *reader, Arena *arena, const Words *words) {
    Str word = STR_NULL;
    size_t i;

    json_string(reader, arena, &word);
    i = str_index(word, words->words, words->n);
    if (i < words->n)
        return (unsigned)i;
    json_fail(reader, JSON_E_TYPE, "a word that is not known here");
    return 0;
}

static void read_source(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeSource *)target = (GaugeSource)read_word(reader, arena, &sources);
}

static void read_identity(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeIdentity *)target = (GaugeIdentity)read_word(reader, arena, &identities);
}

static void read_aggregate(JsonReader *reader, Arena *arena, void *target) {
    *(GaugeAggregate *)target = (GaugeAggregate)read_word(reader, arena, &aggregates);
}

static void read_op(JsonReader *reader, Arena *arena, void *target) {
    *(SelectorOp *)target = (SelectorOp)read_word(reader, arena, &ops);
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

/* --- writing ----------------------------------------------------------------------------- */

static void write_selector(JsonWriter *writer, const Selector *selector) {
    if (selector->n == 0)
        return;
    json_member_array(writer, "selector");
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *requirement = &selector->items[i];

        json_write_object(writer);
        json_write_member(writer, STR("key"), requirement->key);
        json_write_member(writer, STR("operator"), selector_op_words[requirement->op]);
        if (requirement->n_values > 0)
            json_member_texts(writer, "values", requirement->values, requirement->n_values);
        if (requirement->bound != 0)
            json_member_int(writer, "bound", requirement->bound);
        json_write_end_object(writer);
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
    json_write_member(writer, STR("source"), source_words[gauge->source]);
    json_write_member(writer, STR("identity"), identity_words[gauge->identity]);
    write_mapping(writer, &gauge->mapping);
    if (gauge->is_of_pods)
        json_member_bool(writer, "ofPods", true);
    write_selector(writer, &gauge->selector);
    if (gauge->n_namespaces > 0)
        json_member_texts(writer, "namespaces", gauge->namespaces, gauge->n_namespaces);
    json_write_member(writer, STR("aggregate"), aggregate_words[gauge->aggregate]);
    json_write_member(writer, STR("workloadAggregate"), aggregate_words[gauge->workload_aggregate]);
    json_member_int(writer, "intervalNsec", gauge->interval_nsec);
    json_member_int(writer, "maxAgeNsec", gauge->max_age_nsec);
    json_write_end_object(writer);
}
