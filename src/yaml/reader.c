/* Reads values of a tree. Mistakes are reported as "WHAT must be WANTED, not FOUND". */

#include "yaml/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"

__attribute__((format(printf, 5, 0))) static void report(YamlReader *reader, DiagLevel level,
    const YamlNode *at, Str hint, const char *format, va_list arguments) {
    char text[512];
    int len = vsnprintf(text, sizeof(text), format, arguments);
    Str message = str_of(text, len < 0                      ? 0
                               : (size_t)len < sizeof(text) ? (size_t)len
                                                            : sizeof(text) - 1);

    diag_add(reader->diags, level, at->place, reader->source, message, hint);
}

void reader_error(YamlReader *reader, const YamlNode *at, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_ERROR, at, STR_NULL, format, arguments);
    va_end(arguments);
}

void reader_error_hint(YamlReader *reader, const YamlNode *at, Str hint, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_ERROR, at, hint, format, arguments);
    va_end(arguments);
}

void reader_warning(YamlReader *reader, const YamlNode *at, Str hint, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    report(reader, DIAG_WARNING, at, hint, format, arguments);
    va_end(arguments);
}

/* "did you mean …?", or all known names. */
static void suggest(
    Str word, const char *what, const Str *known, size_t n_known, char *hint, size_t size) {
    Str meant = str_nearest(word, known, n_known);
    size_t used;

    if (!str_is_empty(meant)) {
        (void)snprintf(hint, size, "did you mean \"%.*s\"?", STR_FMT(meant));
        return;
    }
    used = (size_t)snprintf(hint, size, "%s has the fields", what);
    for (size_t i = 0; i < n_known && used < size; i++)
        used +=
            (size_t)snprintf(hint + used, size - used, "%s %.*s", i ? "," : "", STR_FMT(known[i]));
}

void reader_unknown_field(YamlReader *reader, DiagLevel level, const YamlNode *key,
    const char *what, const Str *known, size_t n_known) {
    char text[512], hint[1024];

    (void)snprintf(text, sizeof(text), "unknown field \"%.*s\" in %s", STR_FMT(key->text), what);
    suggest(key->text, what, known, n_known, hint, sizeof(hint));
    diag_add(reader->diags, level, key->place, reader->source, str_from_c(text), str_from_c(hint));
}

/* --- values ---------------------------------------------------------------- */

/* FOUND: a number as written, a string in quotes. */
void reader_wrong_kind(
    YamlReader *reader, const YamlNode *value, const char *what, const char *wanted, Str hint) {
    switch (value->kind) {
    case YAML_NULL:
        reader_error_hint(reader, value, hint, "%s must be %s, not empty", what, wanted);
        return;
    case YAML_SEQUENCE:
    case YAML_MAPPING:
        reader_error_hint(reader, value, hint, "%s must be %s, not %s", what, wanted,
            value->kind == YAML_SEQUENCE ? "a list" : "a mapping");
        return;
    default:
        reader_error_hint(reader, value, hint,
            value->kind == YAML_STRING ? "%s must be %s, not the string \"%.*s\""
                                       : "%s must be %s, not %.*s",
            what, wanted, STR_FMT(value->text));
    }
}

static bool wrong_kind(
    YamlReader *reader, const YamlNode *value, const char *what, const char *wanted) {
    reader_wrong_kind(reader, value, what, wanted, STR_NULL);
    return false;
}

bool reader_string(YamlReader *reader, const YamlNode *value, const char *what, Str *ret) {
    if (value->kind == YAML_STRING) {
        *ret = value->text;
        return true;
    }
    if (value->kind == YAML_INT || value->kind == YAML_FLOAT || value->kind == YAML_BOOL)
        reader_wrong_kind(reader, value, what, "a string", STR("put it in quotes"));
    else
        (void)wrong_kind(reader, value, what, "a string");
    return false;
}

bool reader_bool(YamlReader *reader, const YamlNode *value, const char *what, bool *ret) {
    if (value->kind != YAML_BOOL)
        return wrong_kind(reader, value, what, "true or false");
    *ret = value->boolean;
    return true;
}

/* Whether it is a whole number too large for an integer, which YAML reads as a string. */
static bool is_huge(const YamlNode *value) {
    size_t i = str_has_prefix(value->text, STR("-")) ? 1 : 0;

    if (value->kind != YAML_STRING || value->text.len < 19)
        return false;
    while (i < value->text.len && ascii_is_digit(value->text.ptr[i]))
        i++;
    return i == value->text.len;
}

bool reader_int(YamlReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret) {
    if (value->kind != YAML_INT && !is_huge(value))
        return wrong_kind(reader, value, what, "a whole number");
    if (value->kind != YAML_INT || value->integer < min || value->integer > max) {
        reader_error(reader, value, "%s must be between %lld and %lld", what, (long long)min,
            (long long)max);
        return false;
    }
    *ret = value->integer;
    return true;
}

bool reader_number(YamlReader *reader, const YamlNode *value, const char *what, double min,
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

bool reader_mapping(YamlReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_MAPPING || wrong_kind(reader, value, what, "a mapping");
}

bool reader_sequence(YamlReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_SEQUENCE || wrong_kind(reader, value, what, "a list");
}
