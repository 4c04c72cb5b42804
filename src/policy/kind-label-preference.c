/*
 * Scores by one label of the node.
 *
 *     nodeLabelPreference:
 *       key: node.kubernetes.io/instance-type
 *       values: {m7g.large: 100, m6g.large: 60}
 *       otherwise: 10                            # any other value, or no label; default 0
 *
 *     labelOrder:
 *       key: example.com/tier
 *       values: [spot, reserved, on-demand]      # 100, 66.7, 33.3; everything else 0
 */

#include "policy/cel-text.h"
#include "policy/kind.h"

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

/* --- reading ------------------------------------------------------------------ */

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

static void refuse_twice(
    PolicyReader *reader, const YamlNode *list, const Preference *items, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (str_eq(items[j].value, items[i].value)) {
            reader_error(
                reader, list->items[i], "\"%.*s\" is named twice", STR_FMT(items[i].value));
            return;
        }
}

/* Evenly from 100 down; the last is still better than nothing. */
static void read_order(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;
    Preference *items;
    const Str *values;
    size_t n;

    if (!reader_string_list(reader, value, "values", &values, &n))
        return;
    items = ARENA_ARRAY(reader->arena, Preference, n);
    for (size_t i = 0; items && i < n; i++) {
        items[i] = (Preference){.value = values[i], .points = 100 * (double)(n - i) / (double)n};
        refuse_twice(reader, value, items, i);
    }
    config->items = items;
    config->n = items ? n : 0;
}

static const Shape values_shape = {.kind = SHAPE_MAP, .of = &shape_points, .min = 1};

static const Field preference_fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the label's key",
        .read = read_key},
    {.name = STR("values"),
        .is_required = true,
        .shape = &values_shape,
        .about = "values of the label and the points for each",
        .read = read_values},
    {.name = STR("otherwise"),
        .shape = &shape_points,
        .about = "points for any other value, or none; 0 unless given",
        .read = read_otherwise},
};

static const Field order_fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the label's key",
        .read = read_key},
    {.name = STR("values"),
        .is_required = true,
        .shape = &shape_scalars,
        .about = "values of the label, the best first",
        .read = read_order},
};

/* --- writing ------------------------------------------------------------------ */

static bool has_empty(const Config *config) {
    for (size_t i = 0; i < config->n; i++)
        if (str_is_empty(config->items[i].value))
            return true;
    return false;
}

/* {'a': 100.0, 'b': 60.0}[?label].orValue(10.0); a label that is absent reads as '', and is told
 * from it where '' has points of its own. */
static void write_points(Buf *out, const Config *config) {
    bool asks = has_empty(config);

    if (asks) {
        cel_text_string(out, config->key);
        buf_append(out, STR(" in node.metadata.labels ? "));
    }
    for (size_t i = 0; i < config->n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR("{"));
        cel_text_string(out, config->items[i].value);
        buf_append(out, STR(": "));
        cel_text_double(out, config->items[i].points);
    }
    buf_append(out, STR("}[?"));
    cel_text_look_up(out, "node.metadata.labels", config->key);
    buf_append(out, STR("].orValue("));
    cel_text_double(out, config->otherwise);
    buf_append_char(out, ')');
    if (asks) {
        buf_append(out, STR(" : "));
        cel_text_double(out, config->otherwise);
    }
}

static void write_preference(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    reader_fields(reader,
        value,
        "nodeLabelPreference",
        preference_fields,
        ELEMENTS_OF(preference_fields),
        &config);
    write_points(&ret->expression, &config);
}

static void write_order(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    reader_fields(reader, value, "labelOrder", order_fields, ELEMENTS_OF(order_fields), &config);
    write_points(&ret->expression, &config);
}

static const Shape preference_shape = {
    .kind = SHAPE_OBJECT, .fields = preference_fields, .n_fields = ELEMENTS_OF(preference_fields)};
static const Shape order_shape = {
    .kind = SHAPE_OBJECT, .fields = order_fields, .n_fields = ELEMENTS_OF(order_fields)};

const RuleKind kind_node_label_preference = {
    .field = STR("nodeLabelPreference"),
    .summary = "points by the value of a label",
    .shape = &preference_shape,
    .write = write_preference,
};

const RuleKind kind_label_order = {
    .field = STR("labelOrder"),
    .summary = "the earlier a label's value stands in a list, the better",
    .shape = &order_shape,
    .write = write_order,
};
