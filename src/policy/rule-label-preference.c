/*
 * nodeLabelPreference: points by the value of one label.
 *
 *     nodeLabelPreference:
 *       key: node.kubernetes.io/instance-type
 *       values: {m7g.large: 100, m6g.large: 60}
 *       otherwise: 10                            # any other value, or no label; default 0
 */

#include "policy/rule.h"

typedef struct Preference {
    Str value;
    double points;
} Preference;

typedef struct Config {
    Str key;
    const Preference *items;
    size_t n;
    double otherwise;
} Config;

static void read_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "key", &((Config *)into)->key))
        (void)reader_label_key(reader, value);
}

static void read_values(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;
    Preference *items;

    if (!reader_mapping(reader, value, "values"))
        return;
    if (value->n == 0)
        reader_error(reader, value, "values must name at least one value");
    items = ARENA_ARRAY(reader->arena, Preference, value->n);
    for (size_t i = 0; items && i < value->n; i++) {
        items[i].value = value->pairs[i].key->text;
        (void)reader_number(
            reader, value->pairs[i].value, "a value's points", 0, 100, &items[i].points);
    }
    config->items = items;
    config->n = items ? value->n : 0;
}

static void read_otherwise(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_number(reader, value, "otherwise", 0, 100, &((Config *)into)->otherwise);
}

static const void *read(PolicyReader *reader, const YamlNode *value) {
    static const Field fields[] = {
        {.name = STR("key"), .is_required = true, .read = read_key},
        {.name = STR("values"), .is_required = true, .read = read_values},
        {.name = STR("otherwise"), .read = read_otherwise},
    };
    Config *config = ARENA_NEW(reader->arena, Config);

    if (config)
        reader_fields(reader, value, "nodeLabelPreference", fields, ELEMENTS_OF(fields), config);
    return config;
}

static double points(const Config *config, const Str *value) {
    for (size_t i = 0; value && i < config->n; i++)
        if (str_eq(config->items[i].value, *value))
            return config->items[i].points;
    return config->otherwise;
}

static void needs(const void *config, NodeNeeds *ret) {
    needs_label(ret, ((const Config *)config)->key);
}

static int score(const void *config, const Batch *batch, double *ret_scores) {
    const Config *preference = config;

    for (size_t i = 0; i < batch->n; i++)
        ret_scores[i] = points(
            preference, labels_find(table_labels(batch->table, batch->rows[i]), preference->key));
    return 0;
}

const ScoreKind score_node_label_preference = {
    .field = STR("nodeLabelPreference"),
    .class = RULE_NODE,
    .summary = "points by the value of a label",
    .needs = needs,
    .read = read,
    .score = score,
};
