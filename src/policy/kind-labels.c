/* Built-in rules by labels and annotations of the node: nodeLabels, nodeAnnotations, dedicated,
 * nodeLabelPreference, labelOrder, labelNumber. See examples/every-rule.yaml. */

#include <math.h>

#include "policy/cel-text.h"

#define LABELS "node.metadata.labels"

/* The map of the node that a kind reads. */
typedef struct LabelSource {
    const char *map;
    const char *word; /* names an entry */
    const char *value, *condition;
    bool (*check_key)(YamlReader *reader, const YamlNode *key);
} LabelSource;

static const LabelSource labels = {
    LABELS, "label", "a label's value", "a label condition", reader_label_key};
static const LabelSource annotations = {"node.metadata.annotations", "annotation",
    "an annotation's value", "an annotation condition", reader_annotation_key};

/* One condition. */
typedef struct LabelCondition {
    const LabelSource *source;
    Requirement requirement;
} LabelCondition;

/* The state of reading conditions: of the current key, and all. */
typedef struct LabelReading {
    const LabelSource *source;
    Str key;
    StrList in, not_in;
    bool exists, is_absent;
    int64_t gt, lt;
    VEC(LabelCondition) conditions;
} LabelReading;

static void add_condition(YamlReader *reader, LabelReading *reading, Requirement requirement) {
    requirement.key = reading->key;
    (void)VEC_ADD(&reading->conditions, reader->arena,
        (LabelCondition){.source = reading->source, .requirement = requirement});
}

static void add_equal(YamlReader *reader, const YamlNode *value, LabelReading *reading) {
    Str text;

    if (reader_label_value(reader, value, reading->source->value, &text))
        add_condition(reader, reading,
            (Requirement){.op = SELECTOR_IN, .values = &value->text, .n_values = 1});
}

static void add_values(
    YamlReader *reader, const StrList *values, SelectorOp op, LabelReading *reading) {
    add_condition(
        reader, reading, (Requirement){.op = op, .values = values->items, .n_values = values->n});
}

/* add_given() reads it, because its messages depend on the source. */
static void skip_equal(YamlReader *reader, const YamlNode *value, void *into) {
}

static const Shape int_shape = {.kind = SHAPE_INT, .min = -0x1p63, .max = 0x1p63};

static const Field condition_fields[] = {
    {OPTIONAL("equal"), .shape = &shape_scalar, .about = "equal to", .read = skip_equal},
    {OPTIONAL("in"), INTO(LabelReading, in, shape_scalars), "one of"},
    {OPTIONAL("notIn"), INTO(LabelReading, not_in, shape_scalars), "none of, or absent"},
    {OPTIONAL("exists"), INTO(LabelReading, exists, shape_bool), "present"},
    {OPTIONAL("absent"), INTO(LabelReading, is_absent, shape_bool), "absent"},
    {OPTIONAL("gt"), INTO(LabelReading, gt, int_shape), "an integer greater than"},
    {OPTIONAL("lt"), INTO(LabelReading, lt, int_shape), "an integer less than"},
};
static const Shape object_shape = {SHAPE_OF(condition_fields), .min = 1};

/* Adds the condition of one field. */
static void add_given(YamlReader *reader, const YamlPair *pair, LabelReading *reading) {
    Str field = pair->key->text;

    if (str_is(field, "equal"))
        add_equal(reader, pair->value, reading);
    else if (str_is(field, "in"))
        add_values(reader, &reading->in, SELECTOR_IN, reading);
    else if (str_is(field, "notIn"))
        add_values(reader, &reading->not_in, SELECTOR_NOT_IN, reading);
    else if (str_is(field, "exists") || str_is(field, "absent"))
        add_condition(reader, reading,
            (Requirement){.op = str_is(field, "exists") == pair->value->boolean ? SELECTOR_EXISTS
                                                                                : SELECTOR_ABSENT});
    else if (str_is(field, "gt"))
        add_condition(reader, reading, (Requirement){.op = SELECTOR_GT, .bound = reading->gt});
    else
        add_condition(reader, reading, (Requirement){.op = SELECTOR_LT, .bound = reading->lt});
}

static void read_conditions(YamlReader *reader, const YamlNode *value, LabelReading *reading) {
    if (value->kind == YAML_SEQUENCE) {
        if (reader_string_list(reader, value, "in", &reading->in))
            add_values(reader, &reading->in, SELECTOR_IN, reading);
    } else if (value->kind != YAML_MAPPING) {
        add_equal(reader, value, reading);
    } else if (value->n == 0) {
        reader_error(reader, value, "%s must not be empty", reading->source->condition);
    } else {
        reader_fields(reader, value, reading->source->condition, &object_shape, reading);
        for (size_t i = 0; i < value->n; i++)
            add_given(reader, &value->pairs[i], reading);
    }
}

static void append_required(Buf *out, const Requirement *requirement) {
    static const char *const texts[] = {
        [SELECTOR_IN] = ", must be ",
        [SELECTOR_NOT_IN] = ", must not be ",
        [SELECTOR_EXISTS] = ", must exist",
        [SELECTOR_ABSENT] = ", must be absent",
        [SELECTOR_GT] = ", must be over $1",
        [SELECTOR_LT] = ", must be under $1",
    };

    cel_text(out, texts[requirement->op], TEXT_INT(requirement->bound));
    if (requirement->n_values > 1)
        buf_append(out, STR("one of "));
    for (size_t i = 0; i < requirement->n_values; i++)
        cel_text(
            out, "$1\"$2\"", TEXT_RAW(i > 0 ? ", " : ""), TEXT_ESCAPED(requirement->values[i]));
}

/* 'label pool is ' + ('pool' in MAP ? '"' + VALUE + '"' : 'absent') + ', must be "x"' */
static void write_message(Buf *out, const void *item) {
    const LabelCondition *condition = item;
    Str key = condition->requirement.key;

    cel_text(out, "'$1 $2 is ' + ($3 in $4 ? '\"' + $4$5 + '\"' : 'absent') + '",
        TEXT_RAW(condition->source->word), TEXT_ESCAPED(key), TEXT_QUOTED(key),
        TEXT_RAW(condition->source->map), TEXT_LABEL(key));
    append_required(out, &condition->requirement);
    buf_append_char(out, '\'');
}

static void write_condition(Buf *out, const void *item) {
    const LabelCondition *condition = item;

    cel_text_requirement(out, &condition->requirement, condition->source->map);
}

static void write_labels(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    static const TextPart part = {sizeof(LabelCondition), write_condition, write_message, NULL};
    const LabelSource *source = kind == &kind_node_labels ? &labels : &annotations;
    LabelSource named = *source;
    LabelReading reading = {.source = source};

    if (!reader_entries(reader, value, kind->field.ptr, kind->shape))
        return;
    for (size_t i = 0; i < value->n; i++) {
        reading.key = value->pairs[i].key->text;
        if (source->check_key(reader, value->pairs[i].key))
            read_conditions(reader, value->pairs[i].value, &reading);
    }
    cel_text_all(ret, &part, reading.conditions.items, reading.conditions.n);
    if (reading.conditions.n == 1)
        return;
    buf_reset(&ret->message);
    named.map = "l"; /* several conditions: a short name for the map */
    for (size_t i = 0; i < reading.conditions.n; i++)
        reading.conditions.items[i].source = &named;
    cel_text(&ret->message, "cel.bind(l, $1, ", TEXT_RAW(source->map));
    cel_text_messages(&ret->message, &part, reading.conditions.items, reading.conditions.n);
    buf_append_char(&ret->message, ')');
}

static const Shape plain_shape = {
    .kind = SHAPE_EITHER, .of = &shape_scalar, .other = &shape_scalars};
static const Shape condition_shape = {
    .kind = SHAPE_EITHER, .of = &plain_shape, .other = &object_shape};
const Shape kind_label_conditions_shape = {
    .kind = SHAPE_MAP, .of = &condition_shape, .min = 1, .is_kept = true};

const RuleKind kind_node_labels = {STR("nodeLabels"),
    "the node's labels meet these conditions: a value, several, or an object",
    &kind_label_conditions_shape, write_labels};

const RuleKind kind_node_annotations = {STR("nodeAnnotations"),
    "the node's annotations meet these conditions: a value, several, or an object",
    &kind_label_conditions_shape, write_labels};

typedef struct Dedicated {
    Str key, pod_key;
} Dedicated;

static const Field dedicated_fields[] = {
    {REQUIRED("key"), INTO(Dedicated, key, shape_label_key),
        "node label that names the node's pool"},
    {OPTIONAL("podKey"), INTO(Dedicated, pod_key, shape_label_key),
        "pod label that names the pool the pod needs; default: the same key"},
};
static const Shape dedicated_shape = {SHAPE_OF(dedicated_fields)};

/* An empty label counts as absent. */
static void write_dedicated(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    Dedicated dedicated = {0};

    reader_fields(reader, value, kind->field.ptr, kind->shape, &dedicated);
    if (str_is_empty(dedicated.pod_key))
        dedicated.pod_key = dedicated.key;
    cel_text(&ret->expression, LABELS "$1 == pod.metadata.labels$2", TEXT_LABEL(dedicated.key),
        TEXT_LABEL(dedicated.pod_key));
    cel_text(&ret->message,
        "'label $1 is ' + (" LABELS "$2 == '' ? 'absent' : '\"' + " LABELS "$2 + '\"') + "
        "', the pod\\'s $3 is ' + (pod.metadata.labels$4 == '' ? 'absent' : '\"' + "
        "pod.metadata.labels$4 + '\"')",
        TEXT_ESCAPED(dedicated.key), TEXT_LABEL(dedicated.key), TEXT_ESCAPED(dedicated.pod_key),
        TEXT_LABEL(dedicated.pod_key));
}

const RuleKind kind_dedicated = {STR("dedicated"),
    "nodes of a pool take only pods of that pool, which go to no other node", &dedicated_shape,
    write_dedicated};

typedef struct LabelPoints {
    Str value;
    double points;
} LabelPoints;

typedef struct LabelPreference {
    Str key;
    const LabelPoints *items;
    size_t n;
    double otherwise;
} LabelPreference;

static void read_points(YamlReader *reader, const YamlNode *value, void *into) {
    LabelPreference *preference = into;
    LabelPoints *items;

    items = ARENA_ARRAY(reader->arena, LabelPoints, value->n);
    for (size_t i = 0; items && i < value->n; i++) {
        items[i].value = value->pairs[i].key->text;
        (void)reader_value(
            reader, value->pairs[i].value, "a value's points", &shape_points, &items[i].points);
    }
    preference->items = items;
    preference->n = items ? value->n : 0;
}

/* Points fall evenly from 100; the last value still gets more than values that are not listed. */
static void read_order(YamlReader *reader, const YamlNode *value, void *into) {
    LabelPreference *preference = into;
    LabelPoints *items;
    StrList values;

    if (!reader_string_list(reader, value, "values", &values))
        return;
    items = ARENA_ARRAY(reader->arena, LabelPoints, values.n);
    for (size_t i = 0; items && i < values.n; i++) {
        items[i] = (LabelPoints){
            .value = values.items[i], .points = 100 * (double)(values.n - i) / (double)values.n};
        if (str_is_one_of(values.items[i], values.items, i))
            reader_error(
                reader, value->items[i], "\"%.*s\" is named twice", STR_FMT(values.items[i]));
    }
    preference->items = items;
    preference->n = items ? values.n : 0;
}

static const Shape values_shape = {.kind = SHAPE_MAP, .of = &shape_points, .min = 1};

static const Field preference_fields[] = {
    {REQUIRED("key"), INTO(LabelPreference, key, shape_label_key), "label key"},
    {REQUIRED("values"), .shape = &values_shape,
        .about = "values of the label and the points for each", .read = read_points},
    {OPTIONAL("otherwise"), INTO(LabelPreference, otherwise, shape_points),
        "points for any other value, or none; default 0"},
};
static const Shape preference_shape = {SHAPE_OF(preference_fields)};

static const Field order_fields[] = {
    {REQUIRED("key"), INTO(LabelPreference, key, shape_label_key), "label key"},
    {REQUIRED("values"), .shape = &shape_scalars,
        .about = "values of the label, the best first; any other gets 0 points",
        .read = read_order},
};
static const Shape order_shape = {SHAPE_OF(order_fields)};

/* {'a': 100.0, 'b': 60.0}[?label].orValue(10.0). An absent label reads as ''; if '' has its own
 * points, the presence of the label is checked first. */
static void write_preference(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    LabelPreference preference = {0};
    Buf *out = &ret->expression;
    bool has_empty = false;

    reader_fields(reader, value, kind->field.ptr, kind->shape, &preference);
    for (size_t i = 0; i < preference.n; i++)
        has_empty |= str_is_empty(preference.items[i].value);
    if (has_empty)
        cel_text(out, "$1 in " LABELS " ? ", TEXT_QUOTED(preference.key));
    for (size_t i = 0; i < preference.n; i++)
        cel_text(out, "$1$2: $3", TEXT_RAW(i > 0 ? ", " : "{"),
            TEXT_QUOTED(preference.items[i].value), TEXT_NUMBER(preference.items[i].points));
    cel_text(out, "}[?" LABELS "$1].orValue($2)", TEXT_LABEL(preference.key),
        TEXT_NUMBER(preference.otherwise));
    if (has_empty)
        cel_text(out, " : $1", TEXT_NUMBER(preference.otherwise));
}

const RuleKind kind_node_label_preference = {STR("nodeLabelPreference"),
    "points by the value of a label", &preference_shape, write_preference};

const RuleKind kind_label_order = {STR("labelOrder"),
    "label values that come first in a list get more points", &order_shape, write_preference};

#define BOUND_MAX 1e15 /* the digits of NUMBER_PATTERN */

/* At most 15 digits on either side, so that double() cannot fail. */
#define NUMBER_PATTERN "^-?[0-9]{1,15}(\\\\.[0-9]{1,15})?$"

typedef struct LabelNumber {
    Str key;
    Preferred prefer;
    double min, max; /* NaN: not given */
    double otherwise;
} LabelNumber;

static const Shape bound_shape = {.kind = SHAPE_NUMBER, .min = -BOUND_MAX, .max = BOUND_MAX};

static const Field number_fields[] = {
    {REQUIRED("key"), INTO(LabelNumber, key, shape_label_key), "label key"},
    {REQUIRED("prefer"), INTO(LabelNumber, prefer, kind_prefer_shape),
        "which nodes get more points"},
    {REQUIRED("min"), INTO(LabelNumber, min, bound_shape), "lower numbers get the same points"},
    {REQUIRED("max"), INTO(LabelNumber, max, bound_shape), "higher numbers get the same points"},
    {OPTIONAL("otherwise"), INTO(LabelNumber, otherwise, shape_points),
        "points when the label is absent or not a number; default 0"},
};
static const Shape number_shape = {SHAPE_OF(number_fields)};

#define BIND_NUMBER(distance)                                                                      \
    "cel.bind(v, " LABELS "$1, v.matches('" NUMBER_PATTERN "') ? "                                 \
    "math.greatest(0.0, math.least(100.0, (" distance ") * 100.0 / $4)) : $5)"

static void write_number(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    LabelNumber number = {.min = NAN, .max = NAN};

    reader_fields(reader, value, kind->field.ptr, kind->shape, &number);
    if (number.min >= number.max)
        reader_error(reader, yaml_find(value, STR("max")), "max must be greater than min");
    cel_text(&ret->expression,
        number.prefer == PREFER_LOW ? BIND_NUMBER("$2 - double(v)") : BIND_NUMBER("double(v) - $3"),
        TEXT_LABEL(number.key), TEXT_NUMBER(number.max), TEXT_NUMBER(number.min),
        TEXT_NUMBER(number.max - number.min), TEXT_NUMBER(number.otherwise));
}

const RuleKind kind_label_number = {STR("labelNumber"),
    "lower, or higher, numbers in a label get more points", &number_shape, write_number};
