/*
 * nodeLabels, nodeAnnotations: what the node's labels, or its annotations, must say.
 *
 *     nodeLabels:
 *       example.com/pool: workspace                 # equal
 *       topology.kubernetes.io/zone: [a, b]         # one of
 *       example.com/state: {notIn: [draining]}      # none of, or absent
 *       example.com/gpu: {exists: true}
 *       example.com/retired: {absent: true}
 *       example.com/generation: {gt: 3, lt: 9}      # whole numbers
 */

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

typedef VEC(Requirement) Requirements;

/* What is told apart: the map, and how people call it. */
typedef struct Subject {
    const char *map;
    const char *word; /* of one entry */
    const char *field;
    const char *value, *condition;
    bool (*check_key)(PolicyReader *reader, const YamlNode *key);
} Subject;

static const Subject labels = {
    .map = "node.metadata.labels",
    .word = "label",
    .field = "nodeLabels",
    .value = "a label's value",
    .condition = "a label condition",
    .check_key = reader_label_key,
};

static const Subject annotations = {
    .map = "node.metadata.annotations",
    .word = "annotation",
    .field = "nodeAnnotations",
    .value = "an annotation's value",
    .condition = "an annotation condition",
    .check_key = reader_annotation_key,
};

/* --- reading ------------------------------------------------------------------ */

typedef struct Reading {
    const Subject *subject;
    Str key;
    Requirements *requirements;
} Reading;

static void require(PolicyReader *reader, Reading *reading, SelectorOp op, const Str *values,
    size_t n_values, int64_t bound) {
    Requirement *requirement = VEC_PUSH(reading->requirements, reader->arena);

    if (requirement)
        *requirement = (Requirement){
            .key = reading->key,
            .op = op,
            .values = values,
            .n_values = n_values,
            .bound = bound,
        };
}

static void require_equal(PolicyReader *reader, const YamlNode *value, void *into) {
    const Reading *reading = into;
    Str *values = ARENA_ARRAY(reader->arena, Str, 1);

    if (values && reader_label_value(reader, value, reading->subject->value, &values[0]))
        require(reader, into, SELECTOR_IN, values, 1, 0);
}

static void require_list(PolicyReader *reader, const YamlNode *value, const char *what,
    SelectorOp op, Reading *reading) {
    const Str *values;
    size_t n_values;

    if (reader_string_list(reader, value, what, &values, &n_values))
        require(reader, reading, op, values, n_values, 0);
}

static void require_in(PolicyReader *reader, const YamlNode *value, void *into) {
    require_list(reader, value, "in", SELECTOR_IN, into);
}

static void require_not_in(PolicyReader *reader, const YamlNode *value, void *into) {
    require_list(reader, value, "notIn", SELECTOR_NOT_IN, into);
}

static void require_exists(PolicyReader *reader, const YamlNode *value, void *into) {
    bool wanted;

    if (reader_bool(reader, value, "exists", &wanted))
        require(reader, into, wanted ? SELECTOR_EXISTS : SELECTOR_ABSENT, NULL, 0, 0);
}

static void require_absent(PolicyReader *reader, const YamlNode *value, void *into) {
    bool wanted;

    if (reader_bool(reader, value, "absent", &wanted))
        require(reader, into, wanted ? SELECTOR_ABSENT : SELECTOR_EXISTS, NULL, 0, 0);
}

static void require_gt(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t bound;

    if (reader_int(reader, value, "gt", INT64_MIN, INT64_MAX, &bound))
        require(reader, into, SELECTOR_GT, NULL, 0, bound);
}

static void require_lt(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t bound;

    if (reader_int(reader, value, "lt", INT64_MIN, INT64_MAX, &bound))
        require(reader, into, SELECTOR_LT, NULL, 0, bound);
}

static const Shape bound_shape = {.kind = SHAPE_INT, .min = -0x1p63, .max = 0x1p63};

static const Field condition_fields[] = {
    {.name = STR("equal"),
        .shape = &shape_scalar,
        .about = "it has this value",
        .read = require_equal},
    {.name = STR("in"),
        .shape = &shape_scalars,
        .about = "it has one of these values",
        .read = require_in},
    {.name = STR("notIn"),
        .shape = &shape_scalars,
        .about = "it has none of these values, or is absent",
        .read = require_not_in},
    {.name = STR("exists"),
        .shape = &shape_bool,
        .about = "it is there, with whatever value",
        .read = require_exists},
    {.name = STR("absent"),
        .shape = &shape_bool,
        .about = "it is not there",
        .read = require_absent},
    {.name = STR("gt"),
        .shape = &bound_shape,
        .about = "it is a whole number greater than this",
        .read = require_gt},
    {.name = STR("lt"),
        .shape = &bound_shape,
        .about = "it is a whole number less than this",
        .read = require_lt},
};

static void read_condition(PolicyReader *reader, const YamlNode *value, Reading *reading) {
    if (value->kind == YAML_SEQUENCE)
        require_in(reader, value, reading);
    else if (value->kind != YAML_MAPPING)
        require_equal(reader, value, reading);
    else if (value->n == 0)
        reader_error(reader, value, "%s must not be empty", reading->subject->condition);
    else
        reader_fields(reader,
            value,
            reading->subject->condition,
            condition_fields,
            ELEMENTS_OF(condition_fields),
            reading);
}

static void read_conditions(PolicyReader *reader, const YamlNode *value, const Subject *subject,
    Requirements *requirements) {
    if (!reader_mapping(reader, value, subject->field))
        return;
    if (value->n == 0)
        reader_error(reader, value, "%s must name at least one %s", subject->field, subject->word);
    for (size_t i = 0; i < value->n; i++) {
        Reading reading = {
            .subject = subject,
            .key = value->pairs[i].key->text,
            .requirements = requirements,
        };

        if (subject->check_key(reader, value->pairs[i].key))
            read_condition(reader, value->pairs[i].value, &reading);
    }
}

/* --- writing ------------------------------------------------------------------ */

static void describe_values(Buf *out, const Requirement *requirement) {
    if (requirement->n_values > 1)
        buf_append(out, STR("one of "));
    for (size_t i = 0; i < requirement->n_values; i++) {
        buf_append(out, i > 0 ? STR(", \"") : STR("\""));
        buf_append(out, requirement->values[i]);
        buf_append_char(out, '"');
    }
}

static void describe_wanted(Buf *out, const Requirement *requirement) {
    switch (requirement->op) {
    case SELECTOR_IN:
        buf_append(out, STR(", must be "));
        describe_values(out, requirement);
        return;
    case SELECTOR_NOT_IN:
        buf_append(out, STR(", must not be "));
        describe_values(out, requirement);
        return;
    case SELECTOR_EXISTS:
        buf_append(out, STR(", must exist"));
        return;
    case SELECTOR_ABSENT:
        buf_append(out, STR(", must be absent"));
        return;
    case SELECTOR_GT:
        buf_printf(out, ", must be over %" PRId64, requirement->bound);
        return;
    case SELECTOR_LT:
        buf_printf(out, ", must be under %" PRId64, requirement->bound);
        return;
    }
}

/* 'label pool is ' + (… ? '"' + value + '"' : 'absent') + ', must be "x"' */
static void write_finding(
    Buf *out, const Subject *subject, const Requirement *requirement, const char *map) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_printf(&words, "%s %.*s is ", subject->word, STR_FMT(requirement->key));
    cel_text_words(out, &words);
    buf_append(out, STR(" + ("));
    cel_text_string(out, requirement->key);
    buf_printf(out, " in %s ? '\"' + ", map);
    cel_text_look_up(out, map, requirement->key);
    buf_append(out, STR(" + '\"' : 'absent') + "));
    buf_reset(&words);
    describe_wanted(&words, requirement);
    cel_text_words(out, &words);
}

/* The map has a short name where it is named often. */
static void write_message(Buf *out, const Subject *subject, const Requirement *items, size_t n) {
    if (n == 1) {
        write_finding(out, subject, items, subject->map);
        return;
    }
    buf_printf(out, "cel.bind(l, %s, ", subject->map);
    cel_text_findings_begin(out);
    for (size_t i = 0; i < n; i++) {
        cel_text_findings_next(out);
        cel_text_requirement(out, &items[i], "l");
        buf_append(out, STR(" ? '' : "));
        write_finding(out, subject, &items[i], "l");
    }
    cel_text_findings_end(out);
    buf_append_char(out, ')');
}

static void write_conditions(
    PolicyReader *reader, const YamlNode *value, const Subject *subject, RuleText *ret) {
    Requirements requirements = {0};
    Selector selector;

    read_conditions(reader, value, subject, &requirements);
    selector = (Selector){.items = requirements.items, .n = requirements.n};
    cel_text_selector(&ret->expression, &selector, subject->map);
    write_message(&ret->message, subject, requirements.items, requirements.n);
}

static void write_labels(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    write_conditions(reader, value, &labels, ret);
}

static void write_annotations(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    write_conditions(reader, value, &annotations, ret);
}

static const Shape object_shape = {.kind = SHAPE_OBJECT,
    .fields = condition_fields,
    .n_fields = ELEMENTS_OF(condition_fields),
    .min = 1};
static const Shape plain_shape = {
    .kind = SHAPE_EITHER, .of = &shape_scalar, .other = &shape_scalars};
static const Shape condition_shape = {
    .kind = SHAPE_EITHER, .of = &plain_shape, .other = &object_shape};
static const Shape shape = {.kind = SHAPE_MAP, .of = &condition_shape, .min = 1};

const RuleKind kind_node_labels = {
    .field = STR("nodeLabels"),
    .summary = "the node's labels are as required",
    .shape = &shape,
    .write = write_labels,
};

const RuleKind kind_node_annotations = {
    .field = STR("nodeAnnotations"),
    .summary = "the node's annotations are as required",
    .shape = &shape,
    .write = write_annotations,
};
