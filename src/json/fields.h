#pragma once

/*
 * JsonField: reads an object of a known shape into a struct, by a table of paths.
 *
 *     static const JsonField fields[] = {
 *         JSON_MEMBER("name", TEXT, Item, name),
 *         JSON_MEMBER("status.ready", BOOL, Item, is_ready),
 *     };
 *
 * Other fields are skipped.
 */

#include "base/vec.h"
#include "json/read.h"

typedef enum JsonFieldKind {
    JSON_FIELD_TEXT,   /* Str */
    JSON_FIELD_BOOL,   /* bool */
    JSON_FIELD_INT,    /* int64_t */
    JSON_FIELD_COUNT,  /* uint64_t or size_t; a negative number is 0 */
    JSON_FIELD_DOUBLE, /* double; null is NaN */
    JSON_FIELD_RAW,    /* Str: the JSON text of a value; null leaves it as it is */
    JSON_FIELD_ARRAY,  /* read() is called for each element */
    JSON_FIELD_LIST,   /* an array whose items are stored: see JSON_LIST() */
    JSON_FIELD_CUSTOM, /* read() is called for the value */
} JsonFieldKind;

typedef void JsonRead(JsonReader *reader, Arena *arena, void *target);

typedef struct JsonField {
    /* "bind.lease.holder" is a field of nested objects, at most 4 deep. A key may contain dots. */
    const char *path;
    JsonFieldKind kind;
    size_t offset;
    JsonRead *read;                 /* @target is at @offset; for a list, it is a zeroed item */
    const struct JsonField *fields; /* without read(): of the object or item */
    size_t n_fields;
    size_t n_offset, size, max; /* list: offset of its length, size of an item, most items */
    size_t cut_offset; /* list: offset of a bool that is set if items were left out; 0: none */
    size_t len;        /* of the path; set by JSON_NAME() */
    unsigned part;     /* for json_read_parts() */
} JsonField;

/* Sets a path and its length, for tables of keys: {JSON_NAME("name"), JSON_FIELD_TEXT, ...}. */
#define JSON_NAME(path_) .len = sizeof(path_) - 1, .path = (path_)

/* Rows for a member of @type, the second for one that @read_ reads. More initializers may
 * follow. */
#define JSON_MEMBER(path_, its_kind, type, member, ...)                                            \
    {                                                                                              \
        JSON_NAME(path_), .kind = JSON_FIELD_##its_kind, .offset = offsetof(type, member),         \
                          __VA_ARGS__                                                              \
    }
#define JSON_CUSTOM(path_, type, member, read_, ...)                                               \
    JSON_MEMBER(path_, CUSTOM, type, member, .read = (read_), __VA_ARGS__)

/* A row for a list, which @type stores as a pointer to its items, @member, and their number,
 * @n_member. Items after the first @max_ are skipped. More initializers may follow. */
#define JSON_LIST(path_, type, member, n_member, max_, read_, ...)                                 \
    {                                                                                              \
        JSON_NAME(path_), .kind = JSON_FIELD_LIST, .offset = offsetof(type, member),               \
                          .read = (read_), .n_offset = offsetof(type, n_member),                   \
                          .size = sizeof(*((type *)0)->member), .max = (max_), __VA_ARGS__         \
    }

/* Like JSON_LIST(), and sets the bool @cut_member, which must not be the first member, if items
 * were skipped. */
#define JSON_LIST_CUT(path_, type, member, n_member, cut_member, max_, read_, ...)                 \
    JSON_LIST(path_, type, member, n_member, max_, read_,                                          \
        .cut_offset = offsetof(type, cut_member), __VA_ARGS__)

/* For a row without read(): the fields of the object. */
#define JSON_FIELDS(fields_) .fields = (fields_), .n_fields = ELEMENTS_OF(fields_)

/* Like JSON_LIST(), for items that are objects, with a table of their fields. */
#define JSON_LIST_OF(path_, type, member, n_member, max_, fields_)                                 \
    JSON_LIST(path_, type, member, n_member, max_, NULL, JSON_FIELDS(fields_))

/* Reads the next value, an object, into @target. Strings are in @arena or slices of the input.
 * Errors are stored in the reader. */
void json_read_fields(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target);

#define JSON_READ_FIELDS(reader, arena, fields, target)                                            \
    json_read_fields((reader), (arena), (fields), ELEMENTS_OF(fields), (target))

/* Reads a whole text. Returns false if it is invalid; then @target is only partly set. */
bool json_read_document(Str text, Arena *arena, const JsonField *fields, size_t n, void *target)
    MUST_CHECK;

#define JSON_READ_DOCUMENT(text, arena, fields, target)                                            \
    json_read_document((text), (arena), (fields), ELEMENTS_OF(fields), (target))

/* Like json_read_fields(), but by a table of keys with their lengths: faster, especially if the
 * object has its keys in the order of the table. */
void json_read_keys(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target);

#define JSON_READ_KEYS(reader, arena, fields, target)                                              \
    json_read_keys((reader), (arena), (fields), ELEMENTS_OF(fields), (target))

/* Like json_read_keys(), but only rows whose part is 0 or in @parts. Other values are skipped by
 * json_skip_fast(). */
void json_read_parts(JsonReader *reader, Arena *arena, const JsonField *fields, size_t n,
    unsigned parts, void *target);

/* Reads the value of @key, which json_key() has just returned, if the table of keys has it. If not,
 * returns false and consumes nothing. */
bool json_read_key(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, Str key, void *target);

/* Adds a value to a VEC in @arena. If there is no memory, the reader gets the error @what. */
#define JSON_ADD(reader, arena, vec, what, ...)                                                    \
    (VEC_ADD((vec), (arena), __VA_ARGS__) ? (void)0 : json_fail((reader), JSON_E_MEMORY, (what)))

/* Calls @read for each element of an array. */
void json_read_array(JsonReader *reader, Arena *arena, JsonRead *read, void *target);

/* Reads an array as items of @size bytes in @arena, at most @max. Sets @ret_is_cut (may be NULL) if
 * there are more. */
void *json_read_items(JsonReader *reader, Arena *arena, size_t max, size_t size, JsonRead *read,
    size_t *ret_n, bool *ret_is_cut);

#define JSON_READ_ITEMS(reader, arena, max, read, items, n)                                        \
    ((items) = json_read_items((reader), (arena), (max), sizeof(*(items)), (read), (n), NULL))

JsonRead json_read_text;     /* @target: Str */
JsonRead json_read_value;    /* @target: Str, the JSON text, found by json_skip_fast() */
JsonRead json_read_presence; /* @target: bool, which becomes true */
JsonRead json_read_name_of;  /* @target: Str, of the member "name" of an object */
