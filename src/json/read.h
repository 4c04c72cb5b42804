#pragma once

/*
 * JsonReader: reads all JSON that berth reads.
 *
 * The caller asks for the next thing it expects and gets slices of the input without copying.
 * Numbers stay text until their value is read. Values that are read are validated: RFC 8259, UTF-8,
 * depth. The only exception is json_skip_fast(), which finds the end of a value just by its
 * brackets (json/scan.h).
 *
 * The first error is kept, and all later calls do nothing. So a decoder is a list of steps that
 * checks json_error() once at the end:
 *
 *     json_object(r);
 *     while (json_key(r, &key)) {
 *         if (json_key_is(r, key, STR("name")))
 *             json_string(r, arena, &name);
 *         else
 *             json_skip(r, NULL);
 *     }
 *
 * Calls in an order that is wrong for any input (json_key() inside an array, a value left unread)
 * are bugs of the caller and fail an assertion.
 *
 * A reader allocates nothing for itself and never recurses. It needs the whole input: data that
 * arrives in pieces is joined before (kube/document-splitter.h).
 */

#include "base/arena.h"
#include "json/scan.h"

/* A Pod needs fewer than 20. 64 is enough for CRDs in cluster dumps, and one word has 64 bits. */
#define JSON_DEPTH_MAX 64u

/* The longest number that json_double() accepts. A double needs only 17 digits. */
#define JSON_DOUBLE_TEXT_MAX 256u

typedef enum JsonError {
    JSON_OK,
    JSON_E_SYNTAX,   /* not JSON */
    JSON_E_UTF8,     /* a string is not UTF-8, or escapes half a surrogate pair */
    JSON_E_DEPTH,    /* deeper than JSON_DEPTH_MAX */
    JSON_E_TYPE,     /* JSON, but not of the expected type */
    JSON_E_RANGE,    /* a number that does not fit */
    JSON_E_END,      /* the input ends too early */
    JSON_E_TRAILING, /* something follows the value */
    JSON_E_MEMORY,   /* the arena's budget is used up */
} JsonError;

typedef enum JsonToken {
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_KEY, /* text: raw, without quotes; the colon is consumed with it */
    JSON_STRING,
    JSON_NUMBER, /* text: as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_DONE, /* the outermost value is complete and only white space follows */
    JSON_BAD,  /* see error, error_at */
} JsonToken;

/* The reader's position; private. Reading a value changes JSON_AT_… to JSON_BEHIND_…, by the same
 * difference JSON_VALUE_READ in all three cases. */
typedef enum JsonState {
    JSON_AT_TOP, /* a value comes next */
    JSON_AT_ELEMENT,
    JSON_AT_MEMBER, /* a value comes next, after a key and its colon */
    JSON_BEHIND_TOP,
    JSON_BEHIND_ELEMENT,
    JSON_BEHIND_MEMBER,
    JSON_IN_ARRAY,  /* just entered: an element or the end comes next */
    JSON_IN_OBJECT, /* just entered: a key or the end comes next */
    JSON_IN_NULL,   /* a null, entered as if it were an array or object */
    JSON_FINISHED,  /* JSON_DONE was returned */
    JSON_STOPPED,   /* at an error */
} JsonState;

#define JSON_VALUE_READ (JSON_BEHIND_TOP - JSON_AT_TOP)

typedef struct JsonReader {
    const char *data;
    size_t len;
    size_t at; /* next byte to read */

    JsonError error;
    size_t error_at;        /* byte offset in the input */
    const char *error_text; /* static: what was expected or found */

    /* Which of 64 bytes end a run of plain text (scan_stops()). Looking strings up here is faster
     * than scanning each: the next 64 bytes do not depend on where this string ends, so the
     * processor can start on them early. */
    size_t window_at;
    uint64_t window;

    size_t token_at; /* where the last token starts */
    Str text;        /* of the last key, string or number token */
    bool escaped;    /* @text has backslash escapes */

    unsigned depth;
    unsigned char state; /* a JsonState */
    uint64_t objects;    /* one bit for each level, lowest first: 1 for an object, 0 for an array */
} JsonReader;

/* Starts reading @input, which must outlive the reader and all slices it returns. */
void json_reader_init(JsonReader *reader, Str input);

/* Starts reading @copy, a copy of the value that @outer is at, as if it were at that depth. */
void json_reader_init_value(JsonReader *reader, const JsonReader *outer, Str copy);

/* Returns the kind of the next value without consuming it: JSON_OBJECT_BEGIN, JSON_ARRAY_BEGIN,
 * JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE or JSON_NULL; JSON_BAD after an error or where no
 * value can be. It is determined by the first byte, where reader->at is afterwards. A byte that
 * starts no value is an error, which is kept. */
JsonToken json_peek(JsonReader *reader);

/* Enters an object; a null counts as an empty one, because Go writes nil maps as null. Call
 * json_key() then until it returns false, also after an error. */
void json_object(JsonReader *reader);

/* Reads the next raw key of the object; false at the end or after an error. After true, the value
 * must be consumed (at least json_skip()). If reader->escaped is set, @ret_key has escapes; see
 * json_key_is(). */
bool json_key(JsonReader *reader, Str *ret_key);

/* The same for arrays; a null counts as empty. json_element() returns true if an element
 * follows. */
void json_array(JsonReader *reader);
static inline bool json_element(JsonReader *reader);

/* If the next value is null, consumes it and returns true. */
bool json_null(JsonReader *reader);

/* Reads a string. Without escapes it is a slice of the input; with escapes it is decoded into
 * @arena. A null leaves @ret unchanged. */
void json_string(JsonReader *reader, Arena *arena, Str *ret);

/* Reads only the member @name, a string, of an object. */
void json_string_member(JsonReader *reader, Arena *arena, Str name, Str *ret);

/* Reads a string as raw text of the input, without quotes; escapes are validated but not decoded,
 * and *ret_escaped tells whether there are any. A null is an error here. */
static inline void json_string_raw(JsonReader *reader, Str *ret, bool *ret_escaped);

/* If the next strings of an array are known, comparing is faster than parsing. json_ahead() returns
 * the input from the comma after the current element on; elsewhere it is empty. If its first @n
 * bytes are valid strings, each after its comma, json_take_elements() consumes them; @last is the
 * offset in the input where the last one starts. Does not set reader->text. */
static inline Str json_ahead(const JsonReader *reader);
static inline void json_take_elements(JsonReader *reader, size_t n, size_t last);

/* Reads a whole number; 1e3 and 1.0 are JSON_E_TYPE. Here and below, a null leaves @ret
 * unchanged. */
void json_int64(JsonReader *reader, int64_t *ret);
void json_bool(JsonReader *reader, bool *ret);
void json_double(JsonReader *reader, double *ret); /* JSON_E_RANGE: over DBL_MAX, or too long */

/* Reads a number as text. A null is an error here. */
void json_number(JsonReader *reader, Str *ret);

/* Consumes one value of any kind and validates every byte. @ret_raw (may be NULL) is set to its
 * text. */
void json_skip(JsonReader *reader, Str *ret_raw);

/* Like json_skip(), but looks only at brackets and quotes: contents are not validated, and any
 * depth is accepted. For unread fields from an API server (mostly of Nodes), and for objects that
 * are read later. */
void json_skip_fast(JsonReader *reader, Str *ret_raw);

/* If the next value is probably known, comparing is faster than parsing. json_is_at() returns
 * whether the reader is at a value that starts with the bytes of @text (not empty).
 * json_take_value() consumes the value if its @n bytes are a valid object, array or string. */
static inline bool json_is_at(const JsonReader *reader, Str text);
void json_take_value(JsonReader *reader, size_t n);

/* Reports an error if anything but white space follows the value. */
void json_end(JsonReader *reader);

/* Stops with an error found by the caller, at the last token. An earlier error is kept. */
void json_fail(JsonReader *reader, JsonError error, const char *static_text);

static inline JsonError json_error(const JsonReader *reader) {
    return reader->error;
}

/* Writes "byte 1234: expected a string" to @text, shortened to fit. */
void json_describe(const JsonReader *reader, char *text, size_t size);

/* Decodes the escapes of @raw, which must be validated. If the arena is full, ptr is NULL. */
Str json_unescape(Str raw, Arena *arena);

/* Whether @key (as returned by json_key(), with reader->escaped unchanged) is @name. Keys with
 * escapes are decoded for the comparison. */
static inline bool json_key_is(const JsonReader *reader, Str key, Str name);

/* --- the fast paths ------------------------------------------------------ *
 *
 * Most time for an array of 5,000 node names is spent here. Each handles the common case inline (no
 * white space, no escapes, ASCII) and calls a function for everything else, including errors. */

size_t json_find_stop_slow(JsonReader *reader, size_t at);
bool json_element_slow(JsonReader *reader);
void json_string_raw_slow(JsonReader *reader, Str *ret, bool *ret_escaped);
bool json_key_is_escaped(Str key, Str name);

static inline bool json_element(JsonReader *reader) {
    const char *at = reader->data + reader->at;

    if (reader->state == JSON_BEHIND_ELEMENT && reader->len - reader->at > 1 && at[0] == ',' &&
        at[1] > ' ') {
        reader->at++;
        reader->state = JSON_AT_ELEMENT;
        return true;
    }
    return json_element_slow(reader);
}

/* Returns the offset of the first byte from @at on that is not plain, or the end. */
static inline size_t json_find_stop(JsonReader *reader, size_t at) {
    size_t offset = at - reader->window_at;

    if (offset < 64 && reader->window >> offset != 0)
        return at + (size_t)__builtin_ctzll(reader->window >> offset);
    return json_find_stop_slow(reader, at);
}

static inline void json_string_raw(JsonReader *reader, Str *ret, bool *ret_escaped) {
    size_t start = reader->at + 1, end;

    if (reader->state <= JSON_AT_MEMBER && start < reader->len && reader->data[start - 1] == '"') {
        end = json_find_stop(reader, start);
        if (end < reader->len && reader->data[end] == '"') {
            Str text = str_of(reader->data + start, end - start);

            *ret = text;
            *ret_escaped = false;
            reader->text = text;
            reader->escaped = false;
            reader->token_at = reader->at;
            reader->at = end + 1;
            reader->state += JSON_VALUE_READ;
            return;
        }
    }
    json_string_raw_slow(reader, ret, ret_escaped);
}

static inline Str json_ahead(const JsonReader *reader) {
    bool is_behind = reader->state == JSON_BEHIND_ELEMENT;

    return str_of(reader->data + reader->at, is_behind ? reader->len - reader->at : 0);
}

static inline void json_take_elements(JsonReader *reader, size_t n, size_t last) {
    reader->token_at = last;
    reader->at += n;
}

static inline bool json_is_at(const JsonReader *reader, Str text) {
    return reader->state <= JSON_AT_MEMBER && text.len > 0 &&
           text.len <= reader->len - reader->at &&
           memcmp(reader->data + reader->at, text.ptr, text.len) == 0;
}

static inline bool json_key_is(const JsonReader *reader, Str key, Str name) {
    return reader->escaped ? json_key_is_escaped(key, name) : str_eq(key, name);
}
