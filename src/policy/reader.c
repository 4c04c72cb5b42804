#include "policy/reader.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"

__attribute__((format(printf, 5, 0))) static void report(PolicyReader *reader, DiagLevel level,
    const YamlNode *at, Str hint, const char *format, va_list arguments) {
    char text[512];
    int len = vsnprintf(text, sizeof(text), format, arguments);
    Str message = str_of(text,
        len < 0                      ? 0
        : (size_t)len < sizeof(text) ? (size_t)len
                                     : sizeof(text) - 1);

    diag_add(reader->diags, level, at->place, reader->source, message, hint);
}

void reader_error(PolicyReader *reader, const YamlNode *at, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_ERROR, at, STR_NULL, format, arguments);
    va_end(arguments);
}

void reader_error_hint(
    PolicyReader *reader, const YamlNode *at, Str hint, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_ERROR, at, hint, format, arguments);
    va_end(arguments);
}

void reader_warning(PolicyReader *reader, const YamlNode *at, Str hint, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_WARNING, at, hint, format, arguments);
    va_end(arguments);
}

/* --- fields ---------------------------------------------------------------- */

#define KNOWN_MAX 64u /* names a mapping may have: a rule's fields and all kinds */

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

static void unknown_field(
    PolicyReader *reader, const YamlNode *key, const char *what, const Known *known) {
    Str meant = nearest(known, key->text);
    char hint[1024];

    if (!str_is_empty(meant)) {
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(meant));
    } else {
        size_t used = (size_t)snprintf(hint, sizeof(hint), "%s has the fields", what);

        for (size_t i = 0; i < known->n && used < sizeof(hint); i++)
            used += (size_t)snprintf(hint + used,
                sizeof(hint) - used,
                "%s %.*s",
                i ? "," : "",
                STR_FMT(known->names[i]));
    }
    reader_error_hint(
        reader, key, str_from_c(hint), "unknown field \"%.*s\" in %s", STR_FMT(key->text), what);
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
            unknown_field(reader, key, what, &known);
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

/* What stands there instead: a number as it is written, a string as one. */
static void wrong_kind_hint(
    PolicyReader *reader, const YamlNode *value, const char *what, const char *wanted, Str hint) {
    switch (value->kind) {
    case YAML_NULL:
        reader_error_hint(reader, value, hint, "%s must be %s, not empty", what, wanted);
        return;
    case YAML_SEQUENCE:
    case YAML_MAPPING:
        reader_error_hint(reader,
            value,
            hint,
            "%s must be %s, not %s",
            what,
            wanted,
            value->kind == YAML_SEQUENCE ? "a list" : "a mapping");
        return;
    default:
        reader_error_hint(reader,
            value,
            hint,
            value->kind == YAML_STRING ? "%s must be %s, not the string \"%.*s\""
                                       : "%s must be %s, not %.*s",
            what,
            wanted,
            STR_FMT(value->text));
    }
}

static bool wrong_kind(
    PolicyReader *reader, const YamlNode *value, const char *what, const char *wanted) {
    wrong_kind_hint(reader, value, what, wanted, STR_NULL);
    return false;
}

bool reader_string(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    if (value->kind == YAML_STRING) {
        *ret = value->text;
        return true;
    }
    if (value->kind == YAML_INT || value->kind == YAML_FLOAT || value->kind == YAML_BOOL)
        wrong_kind_hint(reader, value, what, "a string", STR("put it in quotes"));
    else
        (void)wrong_kind(reader, value, what, "a string");
    return false;
}

bool reader_bool(PolicyReader *reader, const YamlNode *value, const char *what, bool *ret) {
    if (value->kind != YAML_BOOL)
        return wrong_kind(reader, value, what, "true or false");
    *ret = value->boolean;
    return true;
}

/* A whole number too large for an integer, which YAML leaves a string. */
static bool is_huge(const YamlNode *value) {
    size_t i = str_has_prefix(value->text, STR("-")) ? 1 : 0;

    if (value->kind != YAML_STRING || value->text.len < 19)
        return false;
    while (i < value->text.len && value->text.ptr[i] >= '0' && value->text.ptr[i] <= '9')
        i++;
    return i == value->text.len;
}

bool reader_int(PolicyReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret) {
    if (value->kind != YAML_INT && !is_huge(value))
        return wrong_kind(reader, value, what, "a whole number");
    if (value->kind != YAML_INT || value->integer < min || value->integer > max) {
        reader_error(reader,
            value,
            "%s must be between %lld and %lld",
            what,
            (long long)min,
            (long long)max);
        return false;
    }
    *ret = value->integer;
    return true;
}

bool reader_number(PolicyReader *reader, const YamlNode *value, const char *what, double min,
    double max, double *ret) {
    if (value->kind != YAML_INT && value->kind != YAML_FLOAT)
        return wrong_kind(reader, value, what, "a number");
    if (!isfinite(value->real) || value->real < min || value->real > max) {
        reader_error(reader, value, "%s must be between %.15g and %.15g", what, min, max);
        return false;
    }
    *ret = value->real;
    return true;
}

void reader_constant(
    PolicyReader *reader, const YamlNode *value, const char *what, const char *wanted) {
    Str text;

    if (reader_string(reader, value, what, &text) && !str_is(text, wanted))
        reader_error(reader, value, "%s must be %s, not \"%.*s\"", what, wanted, STR_FMT(text));
}

bool reader_mapping(PolicyReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_MAPPING || wrong_kind(reader, value, what, "a mapping");
}

bool reader_sequence(PolicyReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_SEQUENCE || wrong_kind(reader, value, what, "a list");
}

bool reader_label_value(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    switch (value->kind) {
    case YAML_STRING:
    case YAML_INT:
    case YAML_FLOAT:
    case YAML_BOOL:
        *ret = value->text;
        return true;
    default:
        return wrong_kind(reader, value, what, "a string");
    }
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

#define LABEL_PREFIX_MAX 253u
#define LABEL_NAME_MAX 63u

static bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_label_name(Str name) {
    if (name.len == 0 || name.len > LABEL_NAME_MAX || !is_alnum(name.ptr[0]) ||
        !is_alnum(name.ptr[name.len - 1]))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!is_alnum(name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '_' &&
            name.ptr[i] != '.')
            return false;
    return true;
}

static bool is_label_key(Str key) {
    size_t slash = str_find(key, '/');
    Str prefix;

    if (slash == SIZE_MAX)
        return is_label_name(key);
    prefix = str_take(key, slash);
    if (prefix.len == 0 || prefix.len > LABEL_PREFIX_MAX)
        return false;
    for (size_t i = 0; i < prefix.len; i++)
        if (!is_alnum(prefix.ptr[i]) && prefix.ptr[i] != '-' && prefix.ptr[i] != '.')
            return false;
    return is_label_name(str_skip(key, slash + 1));
}

static bool check_key(PolicyReader *reader, const YamlNode *key, const char *what) {
    if (is_label_key(key->text))
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

/* A label's name without capitals, '_' and '.'. */
static bool is_namespace(Str name) {
    for (size_t i = 0; i < name.len; i++)
        if ((name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') || name.ptr[i] == '_' || name.ptr[i] == '.')
            return false;
    return is_label_name(name);
}

bool reader_namespace(PolicyReader *reader, const YamlNode *name) {
    if (is_namespace(name->text))
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

static void read_expression_operator(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Str words[] = {STR("In"), STR("NotIn"), STR("Exists"), STR("DoesNotExist")};
    ExpressionReading *reading = into;
    Str word, meant;
    char hint[64] = "one of In, NotIn, Exists, DoesNotExist";

    if (!reader_string(reader, value, "operator", &word))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(words); i++) {
        if (str_eq(words[i], word)) {
            reading->requirement.op = (SelectorOp)i; /* SelectorOp begins with these four */
            reading->has_operator = true;
            return;
        }
    }
    meant = str_nearest(word, words, ELEMENTS_OF(words));
    if (!str_is_empty(meant))
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(meant));
    reader_error_hint(reader, value, str_from_c(hint), "unknown operator \"%.*s\"", STR_FMT(word));
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

static const char *const operator_words[] = {"In", "NotIn", "Exists", "DoesNotExist", NULL};
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
