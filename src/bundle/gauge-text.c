/* Gauges as JSON, and back: fields and words by table. */

#include "bundle/gauge-text.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

/* --- fields as data ---------------------------------------------------------------------- */

typedef struct TextField {
    Str key;
    size_t at;
} TextField;

static const TextField texts[] = {
    {STR("name"), offsetof(Gauge, name)},
    {STR("from"), offsetof(Gauge, from)},
    {STR("query"), offsetof(Gauge, query)},
    {STR("resource"), offsetof(Gauge, resource)},
    {STR("annotation"), offsetof(Gauge, annotation)},
    {STR("zone"), offsetof(Gauge, zone)},
    {STR("nodeLabel"), offsetof(Gauge, node_label)},
    {STR("nodePattern"), offsetof(Gauge, node_pattern)},
    {STR("namespaceLabel"), offsetof(Gauge, namespace_label)},
    {STR("podLabel"), offsetof(Gauge, pod_label)},
};

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

static const Str *text_at(const Gauge *gauge, const TextField *field) {
    return (const Str *)(const void *)((const char *)gauge + field->at);
}

/* --- writing ----------------------------------------------------------------------------- */

static void write_strs(JsonWriter *writer, Str key, const Str *strs, size_t n) {
    if (n == 0)
        return;
    json_write_key(writer, key);
    json_write_array(writer);
    for (size_t i = 0; i < n; i++)
        json_write_string(writer, strs[i]);
    json_write_end_array(writer);
}

static void write_selector(JsonWriter *writer, const Selector *selector) {
    if (selector->n == 0)
        return;
    json_member_array(writer, "selector");
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *requirement = &selector->items[i];

        json_write_object(writer);
        json_write_member(writer, STR("key"), requirement->key);
        json_write_member(writer, STR("operator"), selector_op_words[requirement->op]);
        write_strs(writer, STR("values"), requirement->values, requirement->n_values);
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
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        if (text_at(gauge, &texts[i])->len > 0)
            json_write_member(writer, texts[i].key, *text_at(gauge, &texts[i]));
    json_write_member(writer, STR("source"), source_words[gauge->source]);
    json_write_member(writer, STR("identity"), identity_words[gauge->identity]);
    write_mapping(writer, &gauge->mapping);
    if (gauge->is_of_pods) {
        json_member_bool(writer, "ofPods", true);
    }
    write_selector(writer, &gauge->selector);
    write_strs(writer, STR("namespaces"), gauge->namespaces, gauge->n_namespaces);
    json_write_member(writer, STR("aggregate"), aggregate_words[gauge->aggregate]);
    json_write_member(writer, STR("workloadAggregate"), aggregate_words[gauge->workload_aggregate]);
    json_member_int(writer, "intervalNsec", gauge->interval_nsec);
    json_member_int(writer, "maxAgeNsec", gauge->max_age_nsec);
    json_write_end_object(writer);
}

/* --- reading ----------------------------------------------------------------------------- */

static unsigned read_word(JsonReader *reader, Arena *arena, const Words *words) {
    Str word = STR_NULL;

    json_string(reader, arena, &word);
    for (size_t i = 0; i < words->n; i++)
        if (str_eq(word, words->words[i]))
            return (unsigned)i;
    json_fail(reader, JSON_E_TYPE, "a word that is not known here");
    return 0;
}

static void read_strs(JsonReader *reader, Arena *arena, const Str **ret, size_t *ret_n) {
    VEC(Str) strs = {0};

    json_array(reader);
    while (json_element(reader)) {
        Str *str = VEC_PUSH(&strs, arena);

        if (str)
            json_string(reader, arena, str);
        else
            json_fail(reader, JSON_E_MEMORY, "too many texts");
    }
    *ret = strs.items;
    *ret_n = strs.n;
}

static void read_requirement(JsonReader *reader, Arena *arena, Requirement *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("key")))
            json_string(reader, arena, &ret->key);
        else if (json_key_is(reader, key, STR("operator")))
            ret->op = (SelectorOp)read_word(reader, arena, &ops);
        else if (json_key_is(reader, key, STR("values")))
            read_strs(reader, arena, &ret->values, &ret->n_values);
        else if (json_key_is(reader, key, STR("bound")))
            json_int64(reader, &ret->bound);
        else
            json_skip(reader, NULL);
    }
}

static void read_selector(JsonReader *reader, Arena *arena, Selector *ret) {
    VEC(Requirement) requirements = {0};

    json_array(reader);
    while (json_element(reader)) {
        Requirement *requirement = VEC_PUSH(&requirements, arena);

        if (requirement)
            read_requirement(reader, arena, requirement);
        else
            json_fail(reader, JSON_E_MEMORY, "too many requirements");
    }
    *ret = (Selector){.items = requirements.items, .n = requirements.n};
}

static bool read_text(JsonReader *reader, Arena *arena, Str key, Gauge *gauge) {
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        if (json_key_is(reader, key, texts[i].key)) {
            json_string(reader, arena, (Str *)(void *)((char *)gauge + texts[i].at));
            return true;
        }
    }
    return false;
}

void gauge_text_read(JsonReader *reader, Arena *arena, Gauge *ret) {
    Str key;

    *ret = (Gauge){.placements.by_gauge = GAUGE_NONE};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (read_text(reader, arena, key, ret))
            continue;
        if (json_key_is(reader, key, STR("source")))
            ret->source = (GaugeSource)read_word(reader, arena, &sources);
        else if (json_key_is(reader, key, STR("identity")))
            ret->identity = (GaugeIdentity)read_word(reader, arena, &identities);
        else if (json_key_is(reader, key, STR("mapping")))
            labels_decode(reader, arena, &ret->mapping);
        else if (json_key_is(reader, key, STR("ofPods")))
            json_bool(reader, &ret->is_of_pods);
        else if (json_key_is(reader, key, STR("selector")))
            read_selector(reader, arena, &ret->selector);
        else if (json_key_is(reader, key, STR("namespaces")))
            read_strs(reader, arena, &ret->namespaces, &ret->n_namespaces);
        else if (json_key_is(reader, key, STR("aggregate")))
            ret->aggregate = (GaugeAggregate)read_word(reader, arena, &aggregates);
        else if (json_key_is(reader, key, STR("workloadAggregate")))
            ret->workload_aggregate = (GaugeAggregate)read_word(reader, arena, &aggregates);
        else if (json_key_is(reader, key, STR("intervalNsec")))
            json_int64(reader, &ret->interval_nsec);
        else if (json_key_is(reader, key, STR("maxAgeNsec")))
            json_int64(reader, &ret->max_age_nsec);
        else
            json_skip(reader, NULL);
    }
}
