/* Reads objects by tables of fields: enters a nested object only if some field's path begins with
 * the path of that object. */

#include "json/fields.h"

#include <limits.h>
#include <math.h>

#include "base/bytes.h"

#define DEPTH_MAX 4u
#define PATH_SIZE 128u

/* Items are collected on the stack first, so that the arena holds only the final array and not the
 * smaller ones that a vector has outgrown. */
#define NEAR_SIZE 256u

void json_read_array(JsonReader *reader, Arena *arena, JsonRead *read, void *target) {
    json_array(reader);
    while (json_element(reader))
        read(reader, arena, target);
}

static void read_object(JsonReader *reader, Arena *arena, const JsonField *field, void *target) {
    if (field->read)
        field->read(reader, arena, target);
    else
        json_read_fields(reader, arena, field->fields, field->n_fields, target);
}

static void *read_items(
    JsonReader *reader, Arena *arena, const JsonField *field, size_t *ret_n, bool *ret_is_cut) {
    _Alignas(max_align_t) char near[NEAR_SIZE] = {0};
    size_t n = 0, room = NEAR_SIZE / field->size;
    void *items = near, *kept = NULL;

    json_array(reader);
    while (json_element(reader)) {
        void *item = n < field->max ? vec_push(&items, &n, &room, field->size, arena) : NULL;

        if (item) {
            read_object(reader, arena, field, item);
            continue;
        }
        if (n < field->max)
            json_fail(reader, JSON_E_MEMORY, "a list with too much in it");
        else if (ret_is_cut)
            *ret_is_cut = true;
        json_skip(reader, NULL);
    }
    *ret_n = n;
    if (n == 0 || items != near)
        return n > 0 ? items : NULL;
    kept = arena_alloc(arena, n * field->size);
    if (kept)
        return memcpy(kept, near, n * field->size);
    json_fail(reader, JSON_E_MEMORY, "a list with too much in it");
    *ret_n = 0;
    return NULL;
}

void *json_read_items(JsonReader *reader, Arena *arena, size_t max, size_t size, JsonRead *read,
    size_t *ret_n, bool *ret_is_cut) {
    const JsonField field = {.read = read, .size = size, .max = max};

    return read_items(reader, arena, &field, ret_n, ret_is_cut);
}

void json_read_text(JsonReader *reader, Arena *arena, void *target) {
    json_string(reader, arena, target);
}

void json_read_value(JsonReader *reader, Arena *arena, void *target) {
    json_skip_fast(reader, target);
}

void json_read_presence(JsonReader *reader, Arena *arena, void *target) {
    *(bool *)target = true;
    json_skip(reader, NULL);
}

void json_read_name_of(JsonReader *reader, Arena *arena, void *target) {
    json_string_member(reader, arena, STR("name"), target);
}

static inline void read_value(
    JsonReader *reader, Arena *arena, const JsonField *field, void *target) {
    void *at = (char *)target + field->offset;
    int64_t number = 0;

    switch (field->kind) {
    case JSON_FIELD_TEXT:
        json_string(reader, arena, at);
        break;
    case JSON_FIELD_BOOL:
        json_bool(reader, at);
        break;
    case JSON_FIELD_INT:
        json_int64(reader, at);
        break;
    case JSON_FIELD_COUNT:
        json_int64(reader, &number);
        *(uint64_t *)at = number > 0 ? (uint64_t)number : 0;
        break;
    case JSON_FIELD_DOUBLE:
        if (json_null(reader))
            *(double *)at = NAN;
        else
            json_double(reader, at);
        break;
    case JSON_FIELD_RAW:
        if (!json_null(reader))
            json_skip(reader, at);
        break;
    case JSON_FIELD_ARRAY:
        json_read_array(reader, arena, field->read, at);
        break;
    case JSON_FIELD_LIST:
        *(void **)at =
            read_items(reader, arena, field, (size_t *)(void *)((char *)target + field->n_offset),
                field->cut_offset ? (bool *)target + field->cut_offset : NULL);
        break;
    case JSON_FIELD_CUSTOM:
        read_object(reader, arena, field, at);
    }
}

static const JsonField *find_field(const JsonField *fields, size_t n, const char *path) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].path, path) == 0)
            return &fields[i];
    return NULL;
}

/* Whether some field's path begins with the @len bytes of @path. */
static bool is_prefix(const JsonField *fields, size_t n, const char *path, size_t len) {
    for (size_t i = 0; i < n; i++)
        if (strncmp(fields[i].path, path, len) == 0)
            return true;
    return false;
}

static Str plain_key(JsonReader *reader, Str key, Arena *arena) {
    Str plain = reader->escaped ? json_unescape(key, arena) : key;

    if (!plain.ptr)
        json_fail(reader, JSON_E_MEMORY, "over the memory budget");
    return plain;
}

void json_read_fields(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target) {
    size_t prefixes[DEPTH_MAX] = {0}, depth = 1;
    char path[PATH_SIZE];
    Str key;

    json_object(reader);
    while (depth > 0) {
        size_t prefix = prefixes[depth - 1], len;
        const JsonField *field;

        if (!json_key(reader, &key)) {
            depth--;
            continue;
        }
        key = plain_key(reader, key, arena);
        len = prefix + key.len;
        if (!key.ptr || len + 2 > sizeof(path) || memchr(key.ptr, '\0', key.len)) {
            json_skip(reader, NULL);
            continue;
        }
        memcpy(path + prefix, key.ptr, key.len);
        path[len] = '\0';
        field = find_field(fields, n, path);
        path[len] = '.';
        if (field)
            read_value(reader, arena, field, target);
        else if (depth < DEPTH_MAX && json_peek(reader) == JSON_OBJECT_BEGIN &&
                 is_prefix(fields, n, path, len + 1)) {
            prefixes[depth++] = len + 1;
            json_object(reader);
        } else
            json_skip(reader, NULL);
    }
}

bool json_read_document(Str text, Arena *arena, const JsonField *fields, size_t n, void *target) {
    JsonReader reader;

    json_reader_init(&reader, text);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        return false;
    json_read_fields(&reader, arena, fields, n, target);
    json_end(&reader);
    return json_error(&reader) == JSON_OK;
}

static bool is_key(const JsonField *field, Str key) {
    return field->len == key.len && bytes_equal(field->path, key.ptr, key.len);
}

/* Most objects have their keys in the order of the table, so the row @next is tried first. */
static const JsonField *find_key(
    const JsonField *fields, size_t n, const JsonField *next, Str key) {
    const JsonField *end = fields + n;

    if (next < end && is_key(next, key))
        return next;
    for (const JsonField *field = fields; field < end; field++)
        if (is_key(field, key))
            return field;
    return NULL;
}

static inline __attribute__((always_inline)) void read_keys(JsonReader *reader, Arena *arena,
    const JsonField *fields, size_t n, unsigned parts, bool skips_fast, void *target) {
    const JsonField *next = fields;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        const JsonField *field = find_key(fields, n, next, plain_key(reader, key, arena));

        if (field && (field->part == 0 || field->part & parts)) {
            next = field + 1;
            read_value(reader, arena, field, target);
        } else if (skips_fast) {
            json_skip_fast(reader, NULL);
        } else {
            json_skip(reader, NULL);
        }
    }
}

void json_read_keys(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, void *target) {
    read_keys(reader, arena, fields, n, /* parts= */ UINT_MAX, /* skips_fast= */ false, target);
}

void json_read_parts(JsonReader *reader, Arena *arena, const JsonField *fields, size_t n,
    unsigned parts, void *target) {
    read_keys(reader, arena, fields, n, parts, /* skips_fast= */ true, target);
}

bool json_read_key(
    JsonReader *reader, Arena *arena, const JsonField *fields, size_t n, Str key, void *target) {
    const JsonField *field = find_key(fields, n, fields, plain_key(reader, key, arena));

    if (field)
        read_value(reader, arena, field, target);
    return field;
}
