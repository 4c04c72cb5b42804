#pragma once

/*
 * Tokens of a JsonReader, for json/read.c, tests and fuzzers.
 *
 * A failed step stops the reader for good and returns JSON_BAD.
 */

#include "json/read.h"

/* Reads the next token. After JSON_BAD or JSON_DONE, returns the same again. */
JsonToken json_next(JsonReader *reader);

/* The same if the reader is at a value. Of an array or object, only the opening bracket is read. */
JsonToken json_next_value(JsonReader *reader);

/* Moves over the next value, of any kind. Returns false for JSON_BAD. */
bool json_pass_value(JsonReader *reader);

/* Reads the next token in an object, or after a member: JSON_KEY, JSON_OBJECT_END or JSON_BAD. */
JsonToken json_next_in_object(JsonReader *reader);

/* Called in an array or after an element. Returns true if an element starts at or after *ret_at.
 * Otherwise *ret_token is the token that was read instead. */
bool json_find_element(JsonReader *reader, size_t *ret_at, JsonToken *ret_token);

/* Both stop the reader and return JSON_BAD; @text is static. The second is for input that ends too
 * early. */
JsonToken json_stop(JsonReader *reader, JsonError error, size_t at, const char *text);
JsonToken json_stop_short(JsonReader *reader, const char *text);

/* Sets the text of a token, from @start to @end. */
static inline void json_set_text(JsonReader *reader, size_t start, size_t end, bool escaped) {
    reader->text = str_of(reader->data + start, end - start);
    reader->escaped = escaped;
}

size_t json_skip_space_run(const JsonReader *reader, size_t at);

/* Programs usually write JSON without white space, so one comparison is the common case. */
static inline size_t json_skip_space(const JsonReader *reader, size_t at) {
    if (at < reader->len && (unsigned char)reader->data[at] > ' ')
        return at;
    return json_skip_space_run(reader, at);
}

/* Returns the state of a reader after a value. */
static inline JsonState json_state_behind(const JsonReader *reader) {
    if (reader->depth == 0)
        return JSON_BEHIND_TOP;
    return reader->objects >> (reader->depth - 1) & 1 ? JSON_BEHIND_MEMBER : JSON_BEHIND_ELEMENT;
}

/* Finishes the value from @start to @end, or the container whose closing bracket this is. Returns
 * @token. */
static inline JsonToken json_finish_value(
    JsonReader *reader, JsonToken token, size_t start, size_t end) {
    reader->token_at = start;
    reader->at = end;
    reader->state = (unsigned char)json_state_behind(reader);
    return token;
}

/* Enters the container whose opening bracket is at @at. Returns @token, or JSON_BAD. */
static inline JsonToken json_open_container(JsonReader *reader, size_t at, JsonToken token) {
    bool is_object = token == JSON_OBJECT_BEGIN;
    unsigned level = reader->depth;

    if (level == JSON_DEPTH_MAX)
        return json_stop(reader, JSON_E_DEPTH, at, "nested deeper than 64 levels");
    reader->objects = (reader->objects & ~(UINT64_C(1) << level)) | (uint64_t)is_object << level;
    reader->depth++;
    reader->token_at = at;
    reader->at = at + 1;
    reader->state = is_object ? JSON_IN_OBJECT : JSON_IN_ARRAY;
    return token;
}

/* Leaves the container whose closing bracket is at @at. Returns @token. */
static inline JsonToken json_close_container(JsonReader *reader, size_t at, JsonToken token) {
    reader->depth--;
    return json_finish_value(reader, token, at, at + 1);
}
