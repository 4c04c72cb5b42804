#pragma once

/*
 * JsonField: reads an object of a known shape into a struct, by a table of paths.
 *
 *     static const JsonField fields[] = {
 *         {"name", JSON_FIELD_TEXT, offsetof(Item, name)},
 *         {"status.ready", JSON_FIELD_BOOL, offsetof(Item, is_ready)},
 *     };
 *
 * Other fields are skipped.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "json/read.h"

typedef enum JsonFieldKind {
    JSON_FIELD_TEXT,   /* Str */
    JSON_FIELD_BOOL,   /* bool */
    JSON_FIELD_INT,    /* int64_t */
    JSON_FIELD_COUNT,  /* uint64_t or size_t; a negative number is 0 */
    JSON_FIELD_DOUBLE, /* double; null is NaN */
    JSON_FIELD_ARRAY,  /* read() is called for each element */
    JSON_FIELD_CUSTOM, /* read() is called for the value */
} JsonFieldKind;

typedef struct JsonField {
    const char *path; /* "bind.lease.holder": objects in objects, at most 4 deep */
    JsonFieldKind kind;
    size_t offset;
    void (*read)(JsonReader *reader, Arena *arena, void *target); /* @target: at offset */
} JsonField;

/* The next value of @reader, an object. Strings are in @arena or slices of the input; errors are
 * the reader's. */
void json_read_fields(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target);

#define JSON_READ_FIELDS(reader, arena, fields, target)                                            \
    json_read_fields((reader), (arena), (fields), ELEMENTS_OF(fields), (target))

/* Calls @read for each element of an array. */
void json_read_array(JsonReader *reader, Arena *arena,
    void (*read)(JsonReader *reader, Arena *arena, void *target), void *target);
