#pragma once

/*
 * JsonReader: one reader for everything berth reads.
 *
 * Pull style: the caller reads the next thing it expects and gets slices of the
 * input, never copies; numbers stay text until their value is read.
 * Values that are read are validated: RFC 8259, UTF-8, depth. The one exception is
 * json_skip_fast(), which finds the end of a value by its brackets alone
 * (json/scan.h).
 *
 * The first error is kept and nothing is done after it, so that a decoder reads as
 * a list of steps and checks json_error() once, at its end:
 *
 *     json_object(r);
 *     while (json_key(r, &key)) {
 *         if (json_key_is(r, key, STR("name")))
 *             json_string(r, arena, &name);
 *         else
 *             json_skip(r, NULL);
 *     }
 *
 * Calls in an order that no input can make right (json_key() inside an array, a
 * value left unread) are mistakes of the program, not of its input, and end in an
 * assertion.
 *
 * A reader allocates nothing of its own and never recurses. The input is there as a
 * whole: what comes in pieces is put together before (kube/document-splitter.h).
 */

#include "base/arena.h"
#include "json/scan.h"

/* A Pod needs fewer than 20; 64 leaves room for CRDs in cluster dumps, and are as many
 * as one word has bits. */
#define JSON_DEPTH_MAX 64u

/* The longest number that json_double() takes; a double needs 17 digits, people write
 * fewer. */
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

/* Where a reader stands; private to the reader. Reading a value moves from AT to
 * BEHIND, which is the same step of JSON_VALUE_READ in all three places. */
typedef enum JsonState {
    JSON_AT_TOP, /* a value comes next */
    JSON_AT_ELEMENT,
    JSON_AT_MEMBER, /* ... after a key and its colon */
    JSON_BEHIND_TOP,
    JSON_BEHIND_ELEMENT,
    JSON_BEHIND_MEMBER,
    JSON_IN_ARRAY,  /* just entered: an element or the end */
    JSON_IN_OBJECT, /* just entered: a key or the end */
    JSON_IN_NULL,   /* entered a null as if it were one of these */
    JSON_FINISHED,  /* JSON_DONE was given */
    JSON_STOPPED,   /* at an error */
} JsonState;

#define JSON_VALUE_READ (JSON_BEHIND_TOP - JSON_AT_TOP)

typedef struct JsonReader {
    const char *data;
    size_t len;
    size_t at; /* next byte to read */

    JsonError error;
    size_t error_at;        /* byte offset in the input */
    const char *error_text; /* static; what was expected or found */

    /* Which of 64 bytes end a run of plain text (scan_stops()). Looking strings up
     * here beats scanning each: where the next 64 bytes are does not depend on where
     * this string ends, so the processor need not wait for the one to start on the
     * other. */
    size_t window_at;
    uint64_t window;

    size_t token_at; /* where the last token starts */
    Str text;        /* of the last key, string or number token */
    bool escaped;    /* that text holds backslash escapes */

    unsigned depth;
    unsigned char state; /* a JsonState: what may come next */
    uint64_t objects;    /* a bit for each level, lowest first: an object, not an array */
} JsonReader;

/* Starts reading @input, which must outlive the reader and every slice it gives. */
void json_reader_init(JsonReader *reader, Str input);

/* Starts reading @copy, a copy of the value that @outer is at, as deep as it is there. */
void json_reader_init_value(JsonReader *reader, const JsonReader *outer, Str copy);

/* What the next value is, without consuming it: JSON_OBJECT_BEGIN,
 * JSON_ARRAY_BEGIN, JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE or
 * JSON_NULL; JSON_BAD at an error or where no value can be. Judged by the first
 * byte, which reader->at is at afterwards; one that starts no value is an error
 * and sticks. */
JsonToken json_peek(JsonReader *reader);

/* Enters an object; a null counts as an empty one (Go writes nil maps so).
 * Follow with json_key() until it returns false, also after an error. */
void json_object(JsonReader *reader);

/* The next key of the object, raw, or false at its end or at an error. After a
 * true the value must be consumed (json_skip() at least). @ret_key is escaped
 * text when reader->escaped is set; see json_key_is(). */
bool json_key(JsonReader *reader, Str *ret_key);

/* Same for arrays; null counts as empty. True: an element follows. */
void json_array(JsonReader *reader);
static inline bool json_element(JsonReader *reader);

/* True, and consumed, when the next value is null. */
bool json_null(JsonReader *reader);

/* A string. Without escapes it is a slice of the input; with them it is decoded
 * into @arena. null leaves @ret untouched. */
void json_string(JsonReader *reader, Arena *arena, Str *ret);

/* An object, of which the member @name, a string, is wanted and nothing else. */
void json_string_member(JsonReader *reader, Arena *arena, Str name, Str *ret);

/* A string as raw text of the input, without quotes, escapes not decoded (but validated);
 * *ret_escaped: whether there are any. null is not a string here. */
static inline void json_string_raw(JsonReader *reader, Str *ret, bool *ret_escaped);

/* If the next strings of an array are known, comparing is faster than
 * parsing. json_ahead() is what follows an element, from its comma to the end of the
 * input; elsewhere it is empty. When the first @n bytes of it are valid strings, each
 * behind its comma, json_take_elements() consumes them; @last is where the last one
 * starts in the input. Does not set reader->text. */
static inline Str json_ahead(const JsonReader *reader);
static inline void json_take_elements(JsonReader *reader, size_t n, size_t last);

/* null leaves @ret untouched. Whole numbers only: 1e3 and 1.0 are JSON_E_TYPE. */
void json_int64(JsonReader *reader, int64_t *ret);
void json_bool(JsonReader *reader, bool *ret);
void json_double(JsonReader *reader, double *ret); /* over DBL_MAX or long: JSON_E_RANGE */

/* A number as text; null is not a number here. */
void json_number(JsonReader *reader, Str *ret);

/* Consumes one value of any kind, validating every byte; @ret_raw (may be NULL)
 * is where it stood. */
void json_skip(JsonReader *reader, Str *ret_raw);

/* As json_skip(), but by brackets and quotes alone; the contents are not validated, any depth is
 * accepted. For unread fields from an API server (mostly of Nodes), and for an object that is read
 * later. */
void json_skip_fast(JsonReader *reader, Str *ret_raw);

/* If the next value is likely known, comparing is faster than parsing. json_is_at(): whether it
 * starts with the bytes of @text (not empty, at a value only); json_take_value() consumes it when
 * its @n bytes are a valid object, array or string. */
static inline bool json_is_at(const JsonReader *reader, Str text);
void json_take_value(JsonReader *reader, size_t n);

/* The value must be followed by nothing but white space. */
void json_end(JsonReader *reader);

/* Stops with an error of the decoder's own, at the last token. An error that is
 * there already stays. */
void json_fail(JsonReader *reader, JsonError error, const char *static_text);

static inline JsonError json_error(const JsonReader *reader) {
    return reader->error;
}

/* "byte 1234: expected a string" into @text, cut to fit. */
void json_describe(const JsonReader *reader, char *text, size_t size);

/* Decodes the escapes of @raw, which has been validated. On failure (budget) ptr
 * is NULL. */
Str json_unescape(Str raw, Arena *arena);

/* Whether @key (as json_key() gave it, with reader->escaped clear or set) is
 * @name. Keys with escapes are compared decoded. */
static inline bool json_key_is(const JsonReader *reader, Str key, Str name);

/* --- the short ways ------------------------------------------------------ *
 *
 * An array of 5,000 node names spends its time in these. Each does the common
 * case in place (no white space, no escapes, ASCII) and leaves everything else,
 * errors included, to a function elsewhere. */

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

/* The offset of the first byte from @at on that is not plain, or the end. */
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
