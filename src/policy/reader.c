#include "policy/reader.h"

#include <assert.h>
#include <stdio.h>

#include "base/label.h"
#include "base/vec.h"

/* --- fields ---------------------------------------------------------------- */

#define KNOWN_MAX 64u /* names a mapping may have: a rule's fields and all kinds */
#define WORDS_MAX 8u  /* of a field that takes one of some */

typedef struct Known {
    Str names[KNOWN_MAX];
    size_t n;
} Known;

/* Our own tables' names: one too many is a mistake in them. */
static void know(Known *known, Str name) {
    assert(known->n < KNOWN_MAX);
    known->names[known->n++] = name;
}

static bool is_known(const Known *known, Str name) {
    for (size_t i = 0; i < known->n; i++)
        if (str_eq(known->names[i], name))
            return true;
    return false;
}

static Str nearest(const Known *known, Str word) {
    return str_nearest(word, known->names, known->n);
}

static const Field *find_field(const Field *fields, size_t n_fields, Str name) {
    for (size_t i = 0; i < n_fields; i++)
        if (str_eq(fields[i].name, name))
            return &fields[i];
    return NULL;
}

/* Whether a field that nobody knows was meant to be @name: that it is missing has
 * been said then. */
static bool is_misspelt(const YamlNode *mapping, Str name, const Known *known) {
    for (size_t i = 0; i < mapping->n; i++) {
        Str key = mapping->pairs[i].key->text;

        if (!is_known(known, key) && str_eq(nearest(known, key), name))
            return true;
    }
    return false;
}

void reader_fields_besides(PolicyReader *reader, const YamlNode *mapping, const char *what,
    const Field *fields, size_t n_fields, const Str *others, size_t n_others, void *into) {
    Known known = {0};

    if (!reader_mapping(reader, mapping, what))
        return;
    for (size_t i = 0; i < n_fields; i++)
        know(&known, fields[i].name);
    for (size_t i = 0; i < n_others; i++)
        know(&known, others[i]);

    for (size_t i = 0; i < mapping->n; i++) {
        const YamlNode *key = mapping->pairs[i].key;
        const Field *field = find_field(fields, n_fields, key->text);

        if (field)
            field->read(reader, mapping->pairs[i].value, into);
        else if (!is_known(&known, key->text))
            reader_unknown_field(reader, DIAG_ERROR, key, what, known.names, known.n);
    }
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].is_required && !yaml_find(mapping, fields[i].name) &&
            !is_misspelt(mapping, fields[i].name, &known))
            reader_error(
                reader, mapping, "%s needs the field \"%.*s\"", what, STR_FMT(fields[i].name));
}

void reader_fields(PolicyReader *reader, const YamlNode *mapping, const char *what,
    const Field *fields, size_t n_fields, void *into) {
    reader_fields_besides(reader, mapping, what, fields, n_fields, /* others= */ NULL, 0, into);
}

/* --- values ---------------------------------------------------------------- */

bool reader_label_value(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    switch (value->kind) {
    case YAML_STRING:
    case YAML_INT:
    case YAML_FLOAT:
    case YAML_BOOL:
        *ret = value->text;
        return true;
    default:
        reader_wrong_kind(reader, value, what, "a string", STR_NULL);
        return false;
    }
}

bool reader_word(PolicyReader *reader, const YamlNode *value, const char *what,
    const char *const *words, unsigned *ret) {
    Str known[WORDS_MAX], word, meant;
    char hint[256] = "one of";
    size_t n = 0, used = strlen(hint);

    if (!reader_string(reader, value, what, &word))
        return false;
    for (; words[n]; n++) {
        assert(n < WORDS_MAX);
        known[n] = str_from_c(words[n]);
        if (str_eq(word, known[n])) {
            *ret = (unsigned)n;
            return true;
        }
    }
    meant = str_nearest(word, known, n);
    if (!str_is_empty(meant))
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(meant));
    else
        for (size_t i = 0; i < n && used < sizeof(hint); i++)
            used +=
                (size_t)snprintf(hint + used, sizeof(hint) - used, "%s %s", i ? "," : "", words[i]);
    reader_error_hint(reader, value, str_from_c(hint), "unknown %s \"%.*s\"", what, STR_FMT(word));
    return false;
}

bool reader_string_list(
    PolicyReader *reader, const YamlNode *value, const char *what, const Str **ret, size_t *ret_n) {
    Str *list;

    if (!reader_sequence(reader, value, what))
        return false;
    if (value->n == 0) {
        reader_error(reader, value, "%s must not be empty", what);
        return false;
    }
    list = ARENA_ARRAY(reader->arena, Str, value->n);
    if (!list)
        return false;
    for (size_t i = 0; i < value->n; i++) {
        char each[64];

        (void)snprintf(each, sizeof(each), "each of %s", what);
        if (!reader_label_value(reader, value->items[i], each, &list[i]))
            return false;
    }
    *ret = list;
    *ret_n = value->n;
    return true;
}

/* --- labels -------------------------------------------------------------- */

static bool check_key(PolicyReader *reader, const YamlNode *key, const char *what) {
    if (label_is_key(key->text))
        return true;
    reader_error_hint(reader,
        key,
        STR("name or prefix/name: letters, digits, '-', '_' and '.', a letter or digit at both "
            "ends, at most 63 characters"),
        "\"%.*s\" is not %s",
        STR_FMT(key->text),
        what);
    return false;
}

bool reader_label_key(PolicyReader *reader, const YamlNode *key) {
    return check_key(reader, key, "a label key");
}

bool reader_annotation_key(PolicyReader *reader, const YamlNode *key) {
    return check_key(reader, key, "an annotation key");
}

bool reader_resource_name(PolicyReader *reader, const YamlNode *name) {
    return check_key(reader, name, "the name of a resource");
}

bool reader_namespace(PolicyReader *reader, const YamlNode *name) {
    if (label_is_namespace(name->text))
        return true;
    reader_error_hint(reader,
        name,
        STR("small letters, digits and '-', at most 63 characters; without namespaces it is all"),
        "\"%.*s\" is not a namespace",
        STR_FMT(name->text));
    return false;
}

/* --- selectors ------------------------------------------------------------ */

typedef struct SelectorReading {
    VEC(Requirement) requirements;
} SelectorReading;

typedef struct ExpressionReading {
    Requirement requirement;
    bool has_operator; /* and a known one */
} ExpressionReading;

static void read_match_labels(PolicyReader *reader, const YamlNode *value, void *into) {
    SelectorReading *reading = into;

    if (!reader_mapping(reader, value, "matchLabels"))
        return;
    for (size_t i = 0; i < value->n; i++) {
        const YamlPair *pair = &value->pairs[i];
        Str *values = ARENA_ARRAY(reader->arena, Str, 1);
        Requirement *requirement;

        if (!values || !reader_label_key(reader, pair->key) ||
            !reader_label_value(reader, pair->value, "a label's value", &values[0]))
            continue;
        requirement = VEC_PUSH(&reading->requirements, reader->arena);
        if (requirement)
            *requirement = (Requirement){
                .key = pair->key->text, .op = SELECTOR_IN, .values = values, .n_values = 1};
    }
}

static void read_expression_key(PolicyReader *reader, const YamlNode *value, void *into) {
    ExpressionReading *reading = into;

    if (reader_string(reader, value, "key", &reading->requirement.key))
        (void)reader_label_key(reader, value);
}

/* SelectorOp begins with these four. */
static const char *const operator_words[] = {"In", "NotIn", "Exists", "DoesNotExist", NULL};

static void read_expression_operator(PolicyReader *reader, const YamlNode *value, void *into) {
    ExpressionReading *reading = into;
    unsigned number;

    reading->has_operator = reader_word(reader, value, "operator", operator_words, &number);
    if (reading->has_operator)
        reading->requirement.op = (SelectorOp)number;
}

static void read_expression_values(PolicyReader *reader, const YamlNode *value, void *into) {
    Requirement *requirement = &((ExpressionReading *)into)->requirement;

    (void)reader_string_list(reader, value, "values", &requirement->values, &requirement->n_values);
}

static void check_values(
    PolicyReader *reader, const YamlNode *expression, const ExpressionReading *reading) {
    const YamlNode *values = yaml_find(expression, STR("values"));
    bool wants_values =
        reading->requirement.op == SELECTOR_IN || reading->requirement.op == SELECTOR_NOT_IN;

    if (!reading->has_operator)
        return;
    if (wants_values && !values)
        reader_error(reader, expression, "In and NotIn need the field \"values\"");
    if (!wants_values && values)
        reader_error(reader, values, "Exists and DoesNotExist take no \"values\"");
}

static const Shape operator_shape = {.kind = SHAPE_WORD, .words = operator_words};

static const Field expression_fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the label's key",
        .read = read_expression_key},
    {.name = STR("operator"),
        .is_required = true,
        .shape = &operator_shape,
        .about = "how the label's value and values compare",
        .read = read_expression_operator},
    {.name = STR("values"),
        .shape = &shape_scalars,
        .about = "for In and NotIn",
        .read = read_expression_values},
};

static void read_match_expressions(PolicyReader *reader, const YamlNode *value, void *into) {
    SelectorReading *reading = into;

    if (!reader_sequence(reader, value, "matchExpressions"))
        return;
    for (size_t i = 0; i < value->n; i++) {
        ExpressionReading expression = {0};
        Requirement *requirement = VEC_PUSH(&reading->requirements, reader->arena);

        if (!requirement)
            return;
        reader_fields(reader,
            value->items[i],
            "a matchExpressions entry",
            expression_fields,
            ELEMENTS_OF(expression_fields),
            &expression);
        check_values(reader, value->items[i], &expression);
        *requirement = expression.requirement;
    }
}

static const Shape match_labels_shape = {.kind = SHAPE_MAP, .of = &shape_scalar};
static const Shape expression_shape = {
    .kind = SHAPE_OBJECT, .fields = expression_fields, .n_fields = ELEMENTS_OF(expression_fields)};
static const Shape match_expressions_shape = {.kind = SHAPE_LIST, .of = &expression_shape};

static const Field selector_fields[] = {
    {.name = STR("matchLabels"),
        .shape = &match_labels_shape,
        .about = "labels and the values they must have",
        .read = read_match_labels},
    {.name = STR("matchExpressions"),
        .shape = &match_expressions_shape,
        .about = "conditions that must all hold",
        .read = read_match_expressions},
};

const Shape shape_selector = {
    .kind = SHAPE_OBJECT, .fields = selector_fields, .n_fields = ELEMENTS_OF(selector_fields)};

void reader_selector(PolicyReader *reader, const YamlNode *value, Selector *ret) {
    SelectorReading reading = {0};

    reader_fields(
        reader, value, "a selector", selector_fields, ELEMENTS_OF(selector_fields), &reading);
    *ret = (Selector){.items = reading.requirements.items, .n = reading.requirements.n};
}
