#pragma once

/* Fields of the pages under /api/v1: a key and one value, into an object that is open. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"
#include "json/write.h"

/* Opens the value: json_write_end_object() or json_write_end_array() follows. */
void field_object(JsonWriter *writer, Str key);
void field_array(JsonWriter *writer, Str key);

void field_count(JsonWriter *writer, Str key, uint64_t n);
void field_double(JsonWriter *writer, Str key, double value);
void field_bool(JsonWriter *writer, Str key, bool value);

/* Seconds; null: not known. */
void field_seconds(JsonWriter *writer, Str key, int64_t nsec, bool is_known);

/* RFC 3339 with milliseconds; null when @at_nsec, since 1970, is 0. */
void field_time(JsonWriter *writer, Str key, int64_t at_nsec);

/* RFC 3339 of a whole second since 1970: also one that is too far for nanoseconds. */
void field_second(JsonWriter *writer, Str key, int64_t at_sec);

/* Hexadecimal; empty when there was nothing to make one of. */
void field_digest(JsonWriter *writer, Str key, Digest digest);

void field_texts(JsonWriter *writer, Str key, const Str *texts, size_t n);

/* A page that is none: {"Error": "berth: TEXT"} in the place of what @out has. Returns @status. */
unsigned page_write_error(Buf *out, unsigned status, const char *text);
