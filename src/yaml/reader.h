#pragma once

/*
 * YamlReader: converts values of a tree to C values, and reports every mistake at its place.
 *
 * Reading continues after a mistake, so that one run reports them all.
 */

#include "yaml/document.h"

typedef struct YamlReader {
    Arena *arena; /* for lists */
    DiagList *diags;
    Str source; /* the file's text, for source lines */
} YamlReader;

/* Reports something at @at. @hint may be empty. Always returns false, so that callers can return
 * that. */
bool reader_report(YamlReader *reader, DiagLevel level, const YamlNode *at, Str hint,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
#define reader_error_hint(reader, at, hint, ...)                                                   \
    reader_report((reader), DIAG_ERROR, (at), (hint), __VA_ARGS__)
#define reader_error(reader, at, ...) reader_error_hint(reader, at, STR_NULL, __VA_ARGS__)
#define reader_warning(reader, at, hint, ...)                                                      \
    reader_report((reader), DIAG_WARNING, (at), (hint), __VA_ARGS__)

/* Reports a field that is not in @known, and suggests the nearest name or lists all. @what names
 * the mapping in messages ("a filter"). */
void reader_unknown_field(YamlReader *reader, DiagLevel level, const YamlNode *key,
    const char *what, const Str *known, size_t n_known);

/* Reports that @value is not @wanted ("a list"). @hint may be empty. Returns false. */
bool reader_wrong_kind(
    YamlReader *reader, const YamlNode *value, const char *what, const char *wanted, Str hint);

/* Each of these returns false and reports an error if the value is something else. @what names the
 * value in messages ("reason"). Strings are slices of the tree. @ret is set only if true is
 * returned. */
bool reader_string(YamlReader *reader, const YamlNode *value, const char *what, Str *ret);
bool reader_bool(YamlReader *reader, const YamlNode *value, const char *what, bool *ret);
bool reader_int(YamlReader *reader, const YamlNode *value, const char *what, int64_t min,
    int64_t max, int64_t *ret);
bool reader_number(YamlReader *reader, const YamlNode *value, const char *what, double min,
    double max, double *ret);
bool reader_mapping(YamlReader *reader, const YamlNode *value, const char *what);
bool reader_sequence(YamlReader *reader, const YamlNode *value, const char *what);
