#pragma once

/*
 * JsonWriter: writes JSON text to a Buf, with commas and escapes.
 *
 *     JsonWriter w = JSON_WRITER(out);
 *     json_write(&w, "{Error: %.*s}", STR_FMT(reason));
 *
 * Compact by default; .indent = 2 for users. Errors are stored in the Buf. Strings are escaped like
 * in Go's encoder (quote, backslash, control characters, U+2028/2029), except <, > and &. Invalid
 * UTF-8 becomes U+FFFD.
 */

#include "base/buf.h"

typedef struct JsonWriter {
    Buf *out;
    unsigned indent; /* spaces per level; 0: compact */
    unsigned depth;
    bool needs_comma;
    bool after_key;
} JsonWriter;

#define JSON_WRITER(buf) ((JsonWriter){.out = (buf)})

/*
 * Writes the members, objects and arrays of a template, which may stay open at its end:
 *
 *     json_write(&w, "{kind: 'Node', name: %.*s, pods: {running: %zu}}", STR_FMT(name), n);
 *
 * Keys have no quotes. true, false, null and numbers are written as they are. Texts are in single
 * quotes and may contain %s, %.*s and whole numbers. Other values are conversions like in printf(),
 * which the compiler checks:
 *
 *   %s, %.*s           a text (NULL: empty); a key, if a colon follows
 *   %zu, %u, %d, %jd   a whole number
 *   %i                 a boolean
 *   %g                 a number; null: NaN
 *   %td                a time in nanoseconds since 1970: RFC 3339 with milliseconds; null: 0
 *   %.6td              the same with microseconds, and never null; %.0td: with seconds
 *
 * "key?: %s" is left out if the value is empty, false or 0. A line feed at the end is written too.
 */
void json_write(JsonWriter *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

void json_write_object(JsonWriter *writer);
void json_write_end_object(JsonWriter *writer);
void json_write_array(JsonWriter *writer);
void json_write_end_array(JsonWriter *writer);
void json_write_key(JsonWriter *writer, Str key);
void json_write_string(JsonWriter *writer, Str text);
void json_write_int(JsonWriter *writer, int64_t value);
void json_write_bool(JsonWriter *writer, bool value);
void json_write_null(JsonWriter *writer);
void json_write_int_or_null(
    JsonWriter *writer, int64_t value, int64_t none); /* @none is written as null */

/* Uses the fewest digits, from 15 to 17, that read back as @value; null for NaN and infinities. */
void json_write_double(JsonWriter *writer, double value);

/* Writes a string member of an object. */
void json_write_member(JsonWriter *writer, Str key, Str text);

/* The same for other types; objects and arrays are only begun. */
void json_member_int(JsonWriter *writer, const char *key, int64_t value);
void json_member_bool(JsonWriter *writer, const char *key, bool value);
void json_member_object(JsonWriter *writer, const char *key);
void json_member_array(JsonWriter *writer, const char *key);
void json_member_texts(JsonWriter *writer, const char *key, const Str *texts, size_t n); /* whole */

/* @raw is already JSON; a key has no quotes, as json_key() returns it. */
void json_write_raw(JsonWriter *writer, Str raw);
void json_write_raw_key(JsonWriter *writer, Str raw);

/* Appends @text to @out as a JSON string with quotes. */
void json_quote(Buf *out, Str text);
