/* Reads values of a tree. Mistakes are reported as "WHAT must be WANTED, not FOUND". */

#include "yaml/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"

#define HINT_MAX ((size_t)4 * 1024)

bool reader_report(
    YamlReader *reader, DiagLevel level, const YamlNode *at, Str hint, const char *format, ...) {
    char text[512];
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    diag_add(
        reader->diags, level, at->place, reader->source, str_from_c(len < 0 ? "" : text), hint);
    return false;
}

void reader_unknown_field(YamlReader *reader, DiagLevel level, const YamlNode *key,
    const char *what, const Str *known, size_t n_known) {
    _cleanup_(buf_done) Buf hint = BUF_INIT(HINT_MAX);
    Str meant = str_nearest(key->text, known, n_known);

    if (!str_is_empty(meant))
        buf_printf(&hint, "did you mean \"%.*s\"?", STR_FMT(meant));
    else
        buf_printf(&hint, "%s has the fields", what);
    for (size_t i = 0; str_is_empty(meant) && i < n_known; i++)
        buf_printf(&hint, "%s %.*s", i > 0 ? "," : "", STR_FMT(known[i]));
    reader_report(reader, level, key, buf_str(&hint), "unknown field \"%.*s\" in %s",
        STR_FMT(key->text), what);
}

/* FOUND is a number as written, or a string in quotes. */
bool reader_wrong_kind(
    YamlReader *reader, const YamlNode *value, const char *what, const char *wanted, Str hint) {
    Str found = value->kind == YAML_NULL       ? STR("empty")
                : value->kind == YAML_SEQUENCE ? STR("a list")
                : value->kind == YAML_MAPPING  ? STR("a mapping")
                                               : value->text;

    return reader_error_hint(reader, value, hint,
        value->kind == YAML_STRING ? "%s must be %s, not the string \"%.*s\""
                                   : "%s must be %s, not %.*s",
        what, wanted, STR_FMT(found));
}

bool reader_string(YamlReader *reader, const YamlNode *value, const char *what, Str *ret) {
    if (value->kind == YAML_STRING) {
        *ret = value->text;
        return true;
    }
    return reader_wrong_kind(reader, value, what, "a string",
        value->kind == YAML_INT || value->kind == YAML_FLOAT || value->kind == YAML_BOOL
            ? STR("put it in quotes")
            : STR_NULL);
}

bool reader_bool(YamlReader *reader, const YamlNode *value, const char *what, bool *ret) {
    if (value->kind != YAML_BOOL)
        return reader_wrong_kind(reader, value, what, "true or false", STR_NULL);
    *ret = value->boolean;
    return true;
}

/* Whether @value is a whole number too large for an integer: YAML reads it as a string. */
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
        return reader_wrong_kind(reader, value, what, "a whole number", STR_NULL);
    if (value->kind != YAML_INT || value->integer < min || value->integer > max)
        return reader_error(reader, value, "%s must be between %lld and %lld", what, (long long)min,
            (long long)max);
    *ret = value->integer;
    return true;
}

bool reader_number(YamlReader *reader, const YamlNode *value, const char *what, double min,
    double max, double *ret) {
    if (value->kind != YAML_INT && value->kind != YAML_FLOAT)
        return reader_wrong_kind(reader, value, what, "a number", STR_NULL);
    if (!isfinite(value->real) || value->real < min || value->real > max)
        return reader_error(reader, value, "%s must be between %.15g and %.15g", what, min, max);
    *ret = value->real;
    return true;
}

bool reader_mapping(YamlReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_MAPPING ||
           reader_wrong_kind(reader, value, what, "a mapping", STR_NULL);
}

bool reader_sequence(YamlReader *reader, const YamlNode *value, const char *what) {
    return value->kind == YAML_SEQUENCE ||
           reader_wrong_kind(reader, value, what, "a list", STR_NULL);
}
