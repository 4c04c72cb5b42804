/* JsonReader: reads expected values, using the tokens of token.h. */

#include "json/read.h"

#include <assert.h>
#include <stdio.h>

#include "base/double.h"
#include "json/token.h"

static bool is_at_value(const JsonReader *reader) {
    return reader->state <= JSON_AT_MEMBER;
}

/* Whether the reader is at a value whose first byte is @first, with no white space before it. If
 * so, json_peek() is not needed. */
static bool is_at(const JsonReader *reader, char first) {
    return is_at_value(reader) && reader->at < reader->len && reader->data[reader->at] == first;
}

JsonToken json_peek(JsonReader *reader) {
    if (!is_at_value(reader))
        return JSON_BAD;
    reader->at = json_skip_space(reader, reader->at);
    if (reader->at == reader->len)
        return json_stop_short(reader, "the input ends where a value should be");
    switch (reader->data[reader->at]) {
    case '"':
        return JSON_STRING;
    case '{':
        return JSON_OBJECT_BEGIN;
    case '[':
        return JSON_ARRAY_BEGIN;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    case '-':
    case '0' ... '9':
        return JSON_NUMBER;
    default:
        return json_stop(reader, JSON_E_SYNTAX, reader->at, "expected a value");
    }
}

/* Consumes the next value, or enters it, if it is a @wanted. Otherwise returns false with the error
 * @expected, or with a syntax error if it is not JSON. */
static bool take(JsonReader *reader, JsonToken wanted, const char *expected) {
    JsonToken found = json_peek(reader);

    assert(is_at_value(reader) || reader->state == JSON_STOPPED);
    if (found == wanted)
        return json_next_value(reader) == wanted;
    if (found != JSON_BAD)
        (void)json_stop(reader, JSON_E_TYPE, reader->at, expected);
    return false;
}

bool json_null(JsonReader *reader) {
    return json_peek(reader) == JSON_NULL && json_next_value(reader) == JSON_NULL;
}

/* Like take(), but also consumes a null, and then returns false without an error. */
static bool take_or_null(JsonReader *reader, JsonToken wanted, const char *expected) {
    return !json_null(reader) && take(reader, wanted, expected);
}

static inline void enter(JsonReader *reader, char bracket, JsonToken begin, const char *expected) {
    if (is_at(reader, bracket))
        (void)json_open_container(reader, reader->at, begin);
    else if (json_null(reader))
        reader->state = JSON_IN_NULL;
    else
        (void)take(reader, begin, expected);
}

void json_object(JsonReader *reader) {
    enter(reader, '{', JSON_OBJECT_BEGIN, "expected an object");
}

void json_array(JsonReader *reader) {
    enter(reader, '[', JSON_ARRAY_BEGIN, "expected an array");
}

/* Whether there is nothing to iterate over: after an error, or in a null, which is left here. */
static bool has_no_content(JsonReader *reader) {
    if (reader->state == JSON_IN_NULL) {
        reader->state = (unsigned char)json_state_behind(reader);
        return true;
    }
    return reader->state == JSON_STOPPED;
}

/* Reads the most common case in one step: `,"key":` without white space or escapes and not at the
 * end of the input. The first key has no comma. */
static bool next_plain_key(JsonReader *reader) {
    size_t at = reader->at, end;

    if (reader->len - at < 2)
        return false;
    if (reader->state == JSON_IN_OBJECT)
        at--;
    else if (reader->state != JSON_BEHIND_MEMBER || reader->data[at] != ',')
        return false;
    if (reader->data[at + 1] != '"')
        return false;
    end = json_find_stop(reader, at + 2);
    if (reader->len - end < 3 || reader->data[end] != '"' || reader->data[end + 1] != ':' ||
        (unsigned char)reader->data[end + 2] <= ' ')
        return false;
    json_set_text(reader, at + 2, end, /* escaped= */ false);
    reader->token_at = at + 1;
    reader->at = end + 2;
    reader->state = JSON_AT_MEMBER;
    return true;
}

bool json_key(JsonReader *reader, Str *ret_key) {
    if (next_plain_key(reader)) {
        *ret_key = reader->text;
        return true;
    }
    if (has_no_content(reader))
        return false;
    assert(reader->state == JSON_IN_OBJECT || reader->state == JSON_BEHIND_MEMBER);
    if (reader->at < reader->len && reader->data[reader->at] == '}') {
        (void)json_close_container(reader, reader->at, JSON_OBJECT_END);
        return false;
    }
    if (json_next_in_object(reader) != JSON_KEY)
        return false;
    reader->at = json_skip_space(reader, reader->at); /* the fast paths expect the value at once */
    *ret_key = reader->text;
    return true;
}

bool json_element_slow(JsonReader *reader) {
    JsonToken token;
    size_t at;

    if (has_no_content(reader))
        return false;
    assert(reader->state == JSON_IN_ARRAY || reader->state == JSON_BEHIND_ELEMENT);
    if (!json_find_element(reader, &at, &token))
        return false;
    reader->at = json_skip_space(reader, at);
    reader->state = JSON_AT_ELEMENT;
    return true;
}

void json_string(JsonReader *reader, Arena *arena, Str *ret) {
    bool escaped = false;
    Str raw = STR_NULL;

    if (!is_at(reader, '"') && json_null(reader))
        return;
    json_string_raw(reader, &raw, &escaped);
    if (escaped) {
        raw = json_unescape(raw, arena);
        if (!raw.ptr)
            json_fail(reader, JSON_E_MEMORY, "over the memory budget");
    }
    if (json_error(reader) == JSON_OK)
        *ret = raw;
}

void json_string_member(JsonReader *reader, Arena *arena, Str name, Str *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, name))
            json_string(reader, arena, ret);
        else
            json_skip(reader, NULL);
    }
}

void json_string_raw_slow(JsonReader *reader, Str *ret, bool *ret_escaped) {
    if (!take(reader, JSON_STRING, "expected a string"))
        return;
    *ret = reader->text;
    *ret_escaped = reader->escaped;
}

/* Whether a number has neither a fraction nor an exponent. */
static bool is_whole(Str number) {
    for (size_t i = 0; i < number.len; i++)
        if (number.ptr[i] == '.' || number.ptr[i] == 'e' || number.ptr[i] == 'E')
            return false;
    return true;
}

void json_int64(JsonReader *reader, int64_t *ret) {
    if (!take_or_null(reader, JSON_NUMBER, "expected a whole number"))
        return;
    if (str_to_int64(reader->text, ret))
        return;
    if (is_whole(reader->text))
        json_fail(reader, JSON_E_RANGE, "a number that does not fit 64 bits");
    else
        json_fail(reader, JSON_E_TYPE, "expected a whole number");
}

void json_bool(JsonReader *reader, bool *ret) {
    JsonToken found = json_peek(reader);
    bool value = found == JSON_TRUE;

    if (take_or_null(reader, value ? JSON_TRUE : JSON_FALSE, "expected true or false"))
        *ret = value;
}

void json_double(JsonReader *reader, double *ret) {
    if (!take_or_null(reader, JSON_NUMBER, "expected a number"))
        return;
    if (reader->text.len > JSON_DOUBLE_TEXT_MAX)
        json_fail(reader, JSON_E_RANGE, "a number of over 256 characters");
    else if (!double_parse(reader->text, ret, /* ret_overflow= */ NULL))
        json_fail(reader, JSON_E_RANGE, "a number that does not fit a double");
}

void json_number(JsonReader *reader, Str *ret) {
    if (take(reader, JSON_NUMBER, "expected a number"))
        *ret = reader->text;
}

void json_take_value(JsonReader *reader, size_t n) {
    reader->token_at = reader->at;
    reader->at += n;
    reader->state += JSON_VALUE_READ;
}

/* Returns the text of the value that was just consumed. */
static void give_raw(const JsonReader *reader, size_t start, Str *ret_raw) {
    if (ret_raw)
        *ret_raw = str_of(reader->data + start, reader->at - start);
}

void json_skip(JsonReader *reader, Str *ret_raw) {
    size_t start;

    if (json_peek(reader) == JSON_BAD) {
        assert(reader->state == JSON_STOPPED);
        return;
    }
    start = reader->at;
    if (!json_pass_value(reader))
        return;
    reader->token_at = start;
    give_raw(reader, start, ret_raw);
}

/* Returns the offset after the string or container at reader->at, or 0. */
static size_t scan_value(const JsonReader *reader) {
    Str rest = str_of(reader->data + reader->at, reader->len - reader->at);
    size_t n;

    if (rest.ptr[0] != '"') {
        n = scan_container(rest);
        return n > 0 ? reader->at + n : 0;
    }
    n = scan_string(str_skip(rest, 1));
    return n != SIZE_MAX ? reader->at + n + 2 : 0;
}

void json_skip_fast(JsonReader *reader, Str *ret_raw) {
    JsonToken found = json_peek(reader);
    size_t start = reader->at, end;

    if (found != JSON_STRING && found != JSON_OBJECT_BEGIN && found != JSON_ARRAY_BEGIN) {
        json_skip(reader, ret_raw);
        return;
    }
    end = scan_value(reader);
    if (end == 0) {
        (void)json_stop_short(reader, "the input ends inside a value");
        return;
    }
    (void)json_finish_value(reader, found, start, end);
    give_raw(reader, start, ret_raw);
}

void json_end(JsonReader *reader) {
    assert(reader->state == JSON_BEHIND_TOP || reader->state >= JSON_FINISHED);
    (void)json_next(reader);
}

void json_fail(JsonReader *reader, JsonError error, const char *static_text) {
    assert(error != JSON_OK);
    if (reader->error == JSON_OK)
        (void)json_stop(reader, error, reader->token_at, static_text);
}

void json_describe(const JsonReader *reader, char *text, size_t size) {
    if (reader->error == JSON_OK)
        (void)snprintf(text, size, "no error");
    else
        (void)snprintf(text, size, "byte %zu: %s", reader->error_at, reader->error_text);
}
