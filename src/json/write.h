#pragma once

/*
 * JsonWriter: JSON text into a Buf, commas and escapes done right.
 *
 *     JsonWriter w = JSON_WRITER(out);
 *     json_write_object(&w);
 *     json_write_key(&w, STR("Error"));
 *     json_write_string(&w, reason);
 *     json_write_end_object(&w);
 *
 * Compact by default; .indent = 2 for people. Failure is the Buf's (sticky).
 * Strings are escaped as Go's encoder does (quote, backslash, control
 * characters, U+2028/2029), less <, > and &; invalid UTF-8 becomes U+FFFD.
 */

#include "base/buf.h"

typedef struct JsonWriter {
    Buf *out;
    unsigned indent; /* spaces a level; 0: compact */
    unsigned depth;
    bool needs_comma;
    bool after_key;
} JsonWriter;

#define JSON_WRITER(buf) ((JsonWriter){.out = (buf)})

void json_write_object(JsonWriter *writer);
void json_write_end_object(JsonWriter *writer);
void json_write_array(JsonWriter *writer);
void json_write_end_array(JsonWriter *writer);
void json_write_key(JsonWriter *writer, Str key);
void json_write_string(JsonWriter *writer, Str text);
void json_write_int(JsonWriter *writer, int64_t value);
void json_write_bool(JsonWriter *writer, bool value);
void json_write_null(JsonWriter *writer);

/* With as few of 15 to 17 digits as read back; null for NaN and infinities. */
void json_write_double(JsonWriter *writer, double value);

/* A member of an object that is a string. */
void json_write_member(JsonWriter *writer, Str key, Str text);

/* The same of other types; an object or array is only begun. */
void json_member_int(JsonWriter *writer, const char *key, int64_t value);
void json_member_double(JsonWriter *writer, const char *key, double value);
void json_member_bool(JsonWriter *writer, const char *key, bool value);
void json_member_null(JsonWriter *writer, const char *key);
void json_member_object(JsonWriter *writer, const char *key);
void json_member_array(JsonWriter *writer, const char *key);
void json_member_texts(JsonWriter *writer, const char *key, const Str *texts, size_t n); /* whole */

/* @raw is JSON already; a key is without its quotes, as json_key() returns it. */
void json_write_raw(JsonWriter *writer, Str raw);
void json_write_raw_key(JsonWriter *writer, Str raw);

/* @text as a JSON string with its quotes, appended to @out. */
void json_quote(Buf *out, Str text);
