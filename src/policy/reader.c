#include "policy/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"

static void report(PolicyReader *reader, DiagLevel level, const YamlNode *at, Str hint,
    const char *format, va_list arguments) {
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

void reader_unknown_field(
    PolicyReader *reader, const YamlNode *key, const char *what, const Str *known, size_t n_known) {
    Str nearest = str_nearest(key->text, known, n_known);
    char hint[256];

    if (!str_is_empty(nearest)) {
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(nearest));
    } else {
        size_t used = (size_t)snprintf(hint, sizeof(hint), "%s has the fields", what);

        for (size_t i = 0; i < n_known && used < sizeof(hint); i++)
            used += (size_t)snprintf(
                hint + used, sizeof(hint) - used, "%s %.*s", i ? "," : "", STR_FMT(known[i]));
    }
    reader_error_hint(
        reader, key, str_from_c(hint), "unknown field \"%.*s\" in %s", STR_FMT(key->text), what);
}

static const Field *find_field(const Field *fields, size_t n_fields, Str name) {
    for (size_t i = 0; i < n_fields; i++)
        if (str_eq(fields[i].name, name))
            return &fields[i];
    return NULL;
}

static void unknown_field(PolicyReader *reader, const YamlNode *key, const char *what,
    const Field *fields, size_t n_fields) {
    Str known[32];
    size_t n_known = 0;

    for (size_t i = 0; i < n_fields && n_known < ELEMENTS_OF(known); i++)
        if (!fields[i].is_later)
            known[n_known++] = fields[i].name;
    reader_unknown_field(reader, key, what, known, n_known);
}

void reader_fields(PolicyReader *reader, const YamlNode *mapping, const char *what,
    const Field *fields, size_t n_fields, void *into) {
    if (!reader_mapping(reader, mapping, what))
        return;
    for (size_t i = 0; i < mapping->n; i++) {
        const YamlNode *key = mapping->pairs[i].key;
        const Field *field = find_field(fields, n_fields, key->text);

        if (!field)
            unknown_field(reader, key, what, fields, n_fields);
        else if (field->is_later)
            reader_error_hint(reader,
                key,
                STR("this version has the built-in rules only; see docs/policy.md"),
                "\"%.*s\" is not available in this version of berth",
                STR_FMT(key->text));
        else
            field->read(reader, mapping->pairs[i].value, into);
    }
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].is_required && !yaml_find(mapping, fields[i].name))
            reader_error(
                reader, mapping, "%s needs the field \"%.*s\"", what, STR_FMT(fields[i].name));
}

static bool wrong_kind(
    PolicyReader *reader, const YamlNode *value, const char *what, const char *wanted) {
    reader_error(reader, value, "%s must be %s, not %s", what, wanted, yaml_kind_name(value->kind));
    return false;
}

bool reader_string(PolicyReader *reader, const YamlNode *value, const char *what, Str *ret) {
    if (value->kind != YAML_STRING)
        return wrong_kind(reader, value, what, "a string");
    *ret = value->text;
    return true;
}

bool reader_bool(PolicyReader *reader, const YamlNode *value, const char *what, bool *ret) {
    if (value->kind != YAML_BOOL)
        return wrong_kind(reader, value, what, "true or false");
    *ret = value->boolean;
    return true;
}

bool reader_int(PolicyReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret) {
    if (value->kind != YAML_INT)
        return wrong_kind(reader, value, what, "a whole number");
    if (value->integer < min || value->integer > max) {
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
        reader_error(reader, value, "%s must be between %g and %g", what, min, max);
        return false;
    }
    *ret = value->real;
    return true;
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
    for (size_t i = 0; i < value->n; i++)
        if (!reader_label_value(reader, value->items[i], what, &list[i]))
            return false;
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

bool reader_label_key(PolicyReader *reader, const YamlNode *key) {
    if (is_label_key(key->text))
        return true;
    reader_error_hint(reader,
        key,
        STR("a key is name or prefix/name: letters, digits, '-', '_' and '.', at most 63 "
            "characters"),
        "\"%.*s\" is not a label key",
        STR_FMT(key->text));
    return false;
}

/* --- selectors ------------------------------------------------------------ */

typedef struct SelectorReading {
    VEC(Requirement) requirements;
} SelectorReading;

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
    Requirement *requirement = into;

    if (reader_string(reader, value, "key", &requirement->key))
        (void)reader_label_key(reader, value);
}

static void read_expression_operator(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Str words[] = {STR("In"), STR("NotIn"), STR("Exists"), STR("DoesNotExist")};
    Requirement *requirement = into;
    Str word;

    if (!reader_string(reader, value, "operator", &word))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(words); i++) {
        if (str_eq(words[i], word)) {
            requirement->op = (SelectorOp)i; /* SelectorOp begins with these four */
            return;
        }
    }
    reader_error_hint(reader,
        value,
        STR("one of In, NotIn, Exists, DoesNotExist"),
        "unknown operator \"%.*s\"",
        STR_FMT(word));
}

static void read_expression_values(PolicyReader *reader, const YamlNode *value, void *into) {
    Requirement *requirement = into;

    (void)reader_string_list(reader, value, "values", &requirement->values, &requirement->n_values);
}

static void read_match_expressions(PolicyReader *reader, const YamlNode *value, void *into) {
    static const Field fields[] = {
        {.name = STR("key"), .is_required = true, .read = read_expression_key},
        {.name = STR("operator"), .is_required = true, .read = read_expression_operator},
        {.name = STR("values"), .read = read_expression_values},
    };
    SelectorReading *reading = into;

    if (!reader_sequence(reader, value, "matchExpressions"))
        return;
    for (size_t i = 0; i < value->n; i++) {
        Requirement *requirement = VEC_PUSH(&reading->requirements, reader->arena);
        bool wants_values;

        if (!requirement)
            return;
        reader_fields(reader,
            value->items[i],
            "a matchExpressions entry",
            fields,
            ELEMENTS_OF(fields),
            requirement);
        wants_values = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN;
        if (wants_values != (requirement->n_values > 0) && yaml_find(value->items[i], STR("key")))
            reader_error(reader,
                value->items[i],
                wants_values ? "In and NotIn need \"values\""
                             : "Exists and DoesNotExist take no \"values\"");
    }
}

void reader_selector(PolicyReader *reader, const YamlNode *value, Selector *ret) {
    static const Field fields[] = {
        {.name = STR("matchLabels"), .read = read_match_labels},
        {.name = STR("matchExpressions"), .read = read_match_expressions},
    };
    SelectorReading reading = {0};

    reader_fields(reader, value, "a selector", fields, ELEMENTS_OF(fields), &reading);
    *ret = (Selector){.items = reading.requirements.items, .n = reading.requirements.n};
}
