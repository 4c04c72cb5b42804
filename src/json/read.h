#pragma once

/*
 * JsonReader: one reader for everything berth reads.
 *
 * Pull style: the caller asks for the next thing it expects and gets slices of
 * the input, never copies; numbers stay text until somebody asks for a value.
 * What is read is validated: RFC 8259, UTF-8, depth. The one exception is
 * json_skip_fast(), which finds the end of a value by its brackets alone, and is
 * for unread fields of Node objects only (json/scan.h).
 *
 * Two levels:
 *
 *   tokens    json_next() gives one token after another and can say JSON_MORE
 *             when the input so far ends inside a token; any split of the input
 *             gives the same tokens. Nothing is consumed until a token is whole.
 *   helpers   json_object() and the rest, for input that is complete. They keep
 *             the first error and do nothing after it, so that a decoder reads
 *             as a list of steps and checks json_error() once, at its end:
 *
 *                 json_object(r);
 *                 while (json_key(r, &key)) {
 *                     if (json_key_is(r, key, STR("name")))
 *                         json_string(r, arena, &name);
 *                     else
 *                         json_skip(r, NULL);
 *                 }
 *
 * A reader allocates nothing of its own and never recurses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* A Pod needs fewer than 20; 64 leaves room for CRDs in cluster dumps. */
#define JSON_DEPTH_MAX 64u

typedef enum JsonError {
    JSON_OK,
    JSON_E_SYNTAX,   /* not JSON */
    JSON_E_UTF8,     /* a string is not UTF-8, or escapes half a surrogate pair */
    JSON_E_DEPTH,    /* deeper than JSON_DEPTH_MAX */
    JSON_E_TYPE,     /* JSON, but not what the decoder wanted */
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
    JSON_KEY, /* text: raw, without quotes */
    JSON_STRING,
    JSON_NUMBER, /* text: as written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_DONE, /* the outermost value is complete and only white space follows */
    JSON_MORE, /* incomplete input only: nothing consumed, give more */
    JSON_BAD,  /* see error, error_at */
} JsonToken;

typedef struct JsonReader {
    const char *data;
    size_t len;
    size_t at;     /* next byte to read */
    bool complete; /* no more input will come */

    JsonError error;
    size_t error_at;        /* byte offset in the input */
    const char *error_text; /* static; what was expected or found */

    Str text;     /* of the last key, string or number token */
    bool escaped; /* that text holds backslash escapes */

    unsigned depth;
    unsigned char state;                     /* what may come next; private to read.c */
    uint64_t is_object[JSON_DEPTH_MAX / 64]; /* a bit per level: object or array */
} JsonReader;

/* Starts reading @input, which must outlive the reader and every slice it gives. */
void json_reader_init(JsonReader *reader, Str input);

/* The same for input of which more will come. json_reader_extend() then says
 * that @input, which begins with the bytes given before (they may have moved),
 * is what there is now, and whether that is all. */
void json_reader_init_partial(JsonReader *reader, Str input);
void json_reader_extend(JsonReader *reader, Str input, bool complete);

/* The next token. After JSON_BAD and JSON_DONE it stays there. */
JsonToken json_next(JsonReader *reader);

/* --- helpers: complete input only, first error sticks -------------------- */

/* What the next value is, without consuming it: JSON_OBJECT_BEGIN,
 * JSON_ARRAY_BEGIN, JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE or
 * JSON_NULL; JSON_BAD at an error or where no value can be. */
JsonToken json_peek(JsonReader *reader);

/* Enters an object; a null counts as an empty one (Go writes nil maps so).
 * Follow with json_key() until it returns false, whatever this returned. */
void json_object(JsonReader *reader);

/* The next key of the object, raw, or false at its end or at an error. After a
 * true the value must be consumed (json_skip() at least). @ret_key is escaped
 * text when reader->escaped is set; see json_key_is(). */
bool json_key(JsonReader *reader, Str *ret_key);

/* Same for arrays; null counts as empty. True: an element is to be consumed. */
void json_array(JsonReader *reader);
bool json_element(JsonReader *reader);

/* True, and consumed, when the next value is null. */
bool json_null(JsonReader *reader);

/* A string. Without escapes it is a slice of the input; with them it is decoded
 * into @arena. null leaves @ret untouched. */
void json_string(JsonReader *reader, Arena *arena, Str *ret);

/* A string as it stands in the input, quotes not included, escapes not decoded
 * (but validated); *ret_escaped says whether there are any. */
void json_string_raw(JsonReader *reader, Str *ret, bool *ret_escaped);

/* Consumes the next value if it is exactly the bytes of @literal, a valid JSON
 * string with its quotes, and says whether it did. The fast way to recognise a
 * string one expects: one memcmp, no parsing. */
bool json_take_literal(JsonReader *reader, Str literal);

/* null leaves @ret untouched. Whole numbers only: 1e3 and 1.0 are JSON_E_TYPE. */
void json_int64(JsonReader *reader, int64_t *ret);
void json_bool(JsonReader *reader, bool *ret);
void json_double(JsonReader *reader, double *ret);

/* A number as text. */
void json_number(JsonReader *reader, Str *ret);

/* Consumes one value of any kind, validating every byte; @ret_raw (may be NULL)
 * is where it stood. */
void json_skip(JsonReader *reader, Str *ret_raw);

/* As json_skip(), but by brackets and quotes alone; what is inside is not
 * validated. For unread fields of Node objects. */
void json_skip_fast(JsonReader *reader, Str *ret_raw);

/* The value must be followed by nothing but white space. */
void json_end(JsonReader *reader);

/* Stops with an error of the decoder's own, at the last token. */
void json_fail(JsonReader *reader, JsonError error, const char *static_text);

static inline JsonError json_error(const JsonReader *reader) {
    return reader->error;
}

/* "byte 1234: expected a string" into @text, cut to fit. */
void json_describe(const JsonReader *reader, char *text, size_t size);

/* --- text ---------------------------------------------------------------- */

/* Decodes the escapes of @raw, which has been validated. On failure (budget) ptr
 * is NULL. */
Str json_unescape(Str raw, Arena *arena);

/* Whether @key (as json_key() gave it, with reader->escaped clear or set) is
 * @name. Keys with escapes are compared decoded. */
bool json_key_is(const JsonReader *reader, Str key, Str name);
