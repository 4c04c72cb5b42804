/*
 * labelNumber: points by a number that stands in a label, like what the node costs.
 *
 *     labelNumber: {key: example.com/cents-per-hour, prefer: low, min: 5, max: 250}
 *
 * With prefer: high the points go from 0 at min to 100 at max, evenly, with low from 100 to 0; what
 * is beyond counts as there. A label that is absent or no decimal number ("12", "-3", "0.35")
 * gets what otherwise says, 0 unless given.
 */

#include "policy/cel-text.h"
#include "policy/kind.h"

#define BOUND_MAX 1e15 /* as many digits as the pattern takes */

/* At most 15 digits on either side: double() cannot fail on what it lets through. */
#define NUMBER_PATTERN "^-?[0-9]{1,15}(\\\\.[0-9]{1,15})?$"

typedef struct Config {
    Str key;
    bool is_low;
    double min, max, otherwise;
} Config;

static void read_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "key", &((Config *)into)->key))
        (void)reader_label_key(reader, value);
}

static void read_prefer(PolicyReader *reader, const YamlNode *value, void *into) {
    kind_read_prefer(reader, value, &((Config *)into)->is_low);
}

static void read_min(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_number(reader, value, "min", -BOUND_MAX, BOUND_MAX, &((Config *)into)->min);
}

static void read_max(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_number(reader, value, "max", -BOUND_MAX, BOUND_MAX, &((Config *)into)->max);
}

static void read_otherwise(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_number(reader, value, "otherwise", 0, 100, &((Config *)into)->otherwise);
}

static const Shape bound_shape = {.kind = SHAPE_NUMBER, .min = -BOUND_MAX, .max = BOUND_MAX};

static const Field fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the label's key",
        .read = read_key},
    {.name = STR("prefer"),
        .is_required = true,
        .shape = &kind_prefer_shape,
        .about = "which get more points",
        .read = read_prefer},
    {.name = STR("min"),
        .is_required = true,
        .shape = &bound_shape,
        .about = "the least number that makes a difference",
        .read = read_min},
    {.name = STR("max"),
        .is_required = true,
        .shape = &bound_shape,
        .about = "the greatest number that makes a difference",
        .read = read_max},
    {.name = STR("otherwise"),
        .shape = &shape_points,
        .about = "points when the label is absent or no number; 0 unless given",
        .read = read_otherwise},
};

static void check_bounds(PolicyReader *reader, const YamlNode *value, const Config *config) {
    const YamlNode *max = yaml_find(value, STR("max"));

    if (yaml_find(value, STR("min")) && max && config->min >= config->max)
        reader_error(reader, max, "max must be greater than min");
}

static void write_points(Buf *out, const Config *config) {
    buf_append(out, STR("math.greatest(0.0, math.least(100.0, ("));
    if (config->is_low) {
        cel_text_double(out, config->max);
        buf_append(out, STR(" - double(v)"));
    } else {
        buf_append(out, STR("double(v) - "));
        cel_text_double(out, config->min);
    }
    buf_append(out, STR(") * 100.0 / "));
    cel_text_double(out, config->max - config->min);
    buf_append(out, STR("))"));
}

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};
    Buf *out = &ret->expression;

    reader_fields(reader, value, "labelNumber", fields, ELEMENTS_OF(fields), &config);
    check_bounds(reader, value, &config);
    buf_append(out, STR("cel.bind(v, "));
    cel_text_look_up(out, "node.metadata.labels", config.key);
    buf_append(out, STR(", v.matches('" NUMBER_PATTERN "') ? "));
    write_points(out, &config);
    buf_append(out, STR(" : "));
    cel_text_double(out, config.otherwise);
    buf_append_char(out, ')');
}

static const Shape shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};

const RuleKind kind_label_number = {
    .field = STR("labelNumber"),
    .summary = "the lower, or the higher, the number in a label, the better",
    .shape = &shape,
    .write = write,
};
