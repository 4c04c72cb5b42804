/*
 * Splits JSON into tokens, with a state and one bit for each open bracket, without recursion.
 *
 * Each step starts at reader->at, after the last complete token, and uses a local offset. The
 * offset and the new state are stored only when the token is complete. Commas and colons are not
 * tokens: a comma is read with what follows it, a colon with its key.
 */

#include "json/token.h"

#include <assert.h>

#include "base/ascii.h"
#include "base/utf8.h"

#define WINDOW_SIZE 64u

_Static_assert(JSON_DEPTH_MAX <= 64, "JsonReader.objects has a bit for each level");

/* --- state --------------------------------------------------------------- */

void json_reader_init(JsonReader *reader, Str input) {
    *reader = (JsonReader){
        .data = input.ptr,
        .len = input.len,
        .window_at = (size_t)0 - WINDOW_SIZE, /* empty; the next window starts at 0 */
    };
}

void json_reader_init_value(JsonReader *reader, const JsonReader *outer, Str copy) {
    json_reader_init(reader, copy);
    reader->depth = outer->depth;
    reader->objects = outer->objects;
    reader->state = outer->state;
}

JsonToken json_stop(JsonReader *reader, JsonError error, size_t at, const char *text) {
    reader->error = error;
    reader->error_at = at;
    reader->error_text = text;
    reader->state = JSON_STOPPED;
    return JSON_BAD;
}

JsonToken json_stop_short(JsonReader *reader, const char *text) {
    return json_stop(reader, JSON_E_END, reader->len, text);
}

/* --- strings ------------------------------------------------------------- */

/* Moves the window until it contains a stop: by its own size while strings follow each other, else
 * to @at. The last bytes of the input, fewer than 64, are scanned without it. @next is the end of a
 * window or @at, and never beyond the end of the input. */
size_t json_find_stop_slow(JsonReader *reader, size_t at) {
    for (;;) {
        size_t offset = at - reader->window_at, next = reader->window_at + WINDOW_SIZE;

        if (offset < WINDOW_SIZE) {
            if (reader->window >> offset != 0)
                return at + (size_t)__builtin_ctzll(reader->window >> offset);
            at = next;
        } else if (at - next >= WINDOW_SIZE) {
            next = at;
        }
        if (reader->len - next < WINDOW_SIZE)
            return at + scan_plain(str_of(reader->data + at, reader->len - at));
        reader->window = scan_stops(reader->data + next);
        reader->window_at = next;
    }
}

/* Reads the four digits of the \u escape whose backslash is at @at. Returns JSON_STRING if they are
 * valid. */
static JsonToken read_hex(JsonReader *reader, size_t at, unsigned *ret) {
    unsigned value = 0;

    for (size_t i = at + 2; i < at + 6; i++) {
        int digit;

        if (i >= reader->len)
            return json_stop_short(reader, "the input ends inside an escape");
        digit = ascii_hex_value(reader->data[i]);
        if (digit < 0)
            return json_stop(reader, JSON_E_SYNTAX, i, "expected four hex digits behind \\u");
        value = value << 4 | (unsigned)digit;
    }
    *ret = value;
    return JSON_STRING;
}

/* Moves over a \u escape, or two if the first is half of a surrogate pair. */
static JsonToken pass_unicode(JsonReader *reader, size_t *at) {
    static const char half[] = "half a surrogate pair";
    size_t second = *at + 6;
    unsigned unit;
    JsonToken token = read_hex(reader, *at, &unit);

    if (token != JSON_STRING)
        return token;
    if (unit < 0xd800 || unit > 0xdfff) {
        *at += 6;
        return JSON_STRING;
    }
    if (unit > 0xdbff)
        return json_stop(reader, JSON_E_UTF8, *at, half);

    for (size_t i = 0; i < 2; i++) {
        if (second + i >= reader->len)
            return json_stop_short(reader, "the input ends inside a surrogate pair");
        if (reader->data[second + i] != "\\u"[i])
            return json_stop(reader, JSON_E_UTF8, *at, half);
    }
    token = read_hex(reader, second, &unit);
    if (token != JSON_STRING)
        return token;
    if (unit < 0xdc00 || unit > 0xdfff)
        return json_stop(reader, JSON_E_UTF8, *at, half);
    *at += 12;
    return JSON_STRING;
}

static JsonToken pass_escape(JsonReader *reader, size_t *at) {
    if (*at + 1 >= reader->len)
        return json_stop_short(reader, "the input ends inside an escape");
    if (reader->data[*at + 1] == 'u')
        return pass_unicode(reader, at);
    if (!memchr("\"\\/bfnrt", reader->data[*at + 1], 8))
        return json_stop(reader, JSON_E_SYNTAX, *at, "no such escape");
    *at += 2;
    return JSON_STRING;
}

/* Moves over one code point outside ASCII. */
static JsonToken pass_code_point(JsonReader *reader, size_t *at) {
    uint32_t c;
    size_t n = utf8_decode(str_of(reader->data + *at, reader->len - *at), &c);

    if (n == 0)
        return json_stop(reader, JSON_E_UTF8, *at, "not UTF-8");
    *at += n;
    return JSON_STRING;
}

/* Moves over the rest of a string, from its first byte that is not plain. */
static JsonToken pass_special(JsonReader *reader, size_t *at, bool *ret_escaped) {
    for (; *at < reader->len; *at = json_find_stop(reader, *at)) {
        unsigned char c = (unsigned char)reader->data[*at];
        JsonToken token;

        if (c == '"')
            return JSON_STRING;
        if (c < ' ')
            return json_stop(reader, JSON_E_SYNTAX, *at, "a control character inside a string");
        if (c == '\\')
            *ret_escaped = true;
        token = c == '\\' ? pass_escape(reader, at) : pass_code_point(reader, at);
        if (token != JSON_STRING)
            return token;
    }
    return json_stop_short(reader, "the input ends inside a string");
}

/* Moves over the string whose opening quote is at @at. Returns JSON_STRING and sets *ret_end to its
 * closing quote. */
static inline JsonToken scan_text(
    JsonReader *reader, size_t at, size_t *ret_end, bool *ret_escaped) {
    *ret_end = json_find_stop(reader, at + 1);
    *ret_escaped = false;
    if (*ret_end < reader->len && reader->data[*ret_end] == '"')
        return JSON_STRING;
    return pass_special(reader, ret_end, ret_escaped);
}

static JsonToken read_string(JsonReader *reader, size_t at) {
    size_t end;
    bool escaped;
    JsonToken token = scan_text(reader, at, &end, &escaped);

    if (token != JSON_STRING)
        return token;
    json_set_text(reader, at + 1, end, escaped);
    return json_finish_value(reader, JSON_STRING, at, end + 1);
}

/* --- numbers and words --------------------------------------------------- */

static size_t skip_digits(const JsonReader *reader, size_t at) {
    while (at < reader->len && ascii_is_digit(reader->data[at]))
        at++;
    return at;
}

/* Moves over at least one digit. Returns JSON_NUMBER if there is one. */
static JsonToken pass_digits(JsonReader *reader, size_t *at) {
    size_t end = skip_digits(reader, *at);

    if (end == *at)
        return end == reader->len ? json_stop_short(reader, "the input ends inside a number")
                                  : json_stop(reader, JSON_E_SYNTAX, end, "expected a digit");
    *at = end;
    return JSON_NUMBER;
}

/* Moves over the next byte if it is @a or @b, and returns whether it is. */
static bool pass_either(const JsonReader *reader, size_t *at, char a, char b) {
    if (*at == reader->len || (reader->data[*at] != a && reader->data[*at] != b))
        return false;
    ++*at;
    return true;
}

/* Moves over a number. */
static JsonToken scan_number(JsonReader *reader, size_t *at) {
    size_t first;
    JsonToken token;

    (void)pass_either(reader, at, '-', '-');
    first = *at;
    token = pass_digits(reader, at);
    if (token != JSON_NUMBER)
        return token;
    if (reader->data[first] == '0' && *at - first > 1)
        return json_stop(reader, JSON_E_SYNTAX, first, "a number may not have a leading 0");
    if (pass_either(reader, at, '.', '.')) {
        token = pass_digits(reader, at);
        if (token != JSON_NUMBER)
            return token;
    }
    if (pass_either(reader, at, 'e', 'E')) {
        (void)pass_either(reader, at, '+', '-');
        token = pass_digits(reader, at);
    }
    return token;
}

static JsonToken read_number(JsonReader *reader, size_t start) {
    size_t end = start;
    JsonToken token = scan_number(reader, &end);

    if (token != JSON_NUMBER)
        return token;
    json_set_text(reader, start, end, /* escaped= */ false);
    return json_finish_value(reader, JSON_NUMBER, start, end);
}

/* Reads true, false or null. */
static JsonToken read_word(JsonReader *reader, size_t at, Str word, JsonToken token) {
    size_t there = reader->len - at < word.len ? reader->len - at : word.len;

    if (memcmp(reader->data + at, word.ptr, there) != 0)
        return json_stop(reader, JSON_E_SYNTAX, at, "expected a value");
    if (there < word.len)
        return json_stop_short(reader, "the input ends inside a word");
    return json_finish_value(reader, token, at, at + word.len);
}

/* --- tokens -------------------------------------------------------------- */

size_t json_skip_space_run(const JsonReader *reader, size_t at) {
    while (at < reader->len && ascii_is_blank(reader->data[at]))
        at++;
    return at;
}

static JsonToken read_value(JsonReader *reader, size_t at) {
    at = json_skip_space(reader, at);
    if (at == reader->len)
        return json_stop_short(reader, "the input ends where a value should be");
    switch (reader->data[at]) {
    case '"':
        return read_string(reader, at);
    case '{':
        return json_open_container(reader, at, JSON_OBJECT_BEGIN);
    case '[':
        return json_open_container(reader, at, JSON_ARRAY_BEGIN);
    case 't':
        return read_word(reader, at, STR("true"), JSON_TRUE);
    case 'f':
        return read_word(reader, at, STR("false"), JSON_FALSE);
    case 'n':
        return read_word(reader, at, STR("null"), JSON_NULL);
    case '-':
    case '0' ... '9':
        return read_number(reader, at);
    default:
        return json_stop(reader, JSON_E_SYNTAX, at, "expected a value");
    }
}

/* Reads a key with its colon. */
static JsonToken read_key(JsonReader *reader, size_t at) {
    size_t end, colon;
    bool escaped;
    JsonToken token;

    at = json_skip_space(reader, at);
    if (at == reader->len)
        return json_stop_short(reader, "the input ends where a key should be");
    if (reader->data[at] != '"')
        return json_stop(reader, JSON_E_SYNTAX, at, "expected a key");
    token = scan_text(reader, at, &end, &escaped);
    if (token != JSON_STRING)
        return token;
    colon = json_skip_space(reader, end + 1);
    if (colon == reader->len)
        return json_stop_short(reader, "the input ends behind a key");
    if (reader->data[colon] != ':')
        return json_stop(reader, JSON_E_SYNTAX, colon, "expected ':'");

    json_set_text(reader, at + 1, end, escaped);
    reader->token_at = at;
    reader->at = colon + 1;
    reader->state = JSON_AT_MEMBER;
    return JSON_KEY;
}

static inline bool find_element(JsonReader *reader, size_t *ret_at, JsonToken *ret_token) {
    size_t at = json_skip_space(reader, reader->at);

    if (at == reader->len) {
        *ret_token = json_stop_short(reader, "the input ends inside an array");
        return false;
    }
    if (reader->data[at] == ']') {
        *ret_token = json_close_container(reader, at, JSON_ARRAY_END);
        return false;
    }
    if (reader->state == JSON_BEHIND_ELEMENT) {
        if (reader->data[at] != ',') {
            *ret_token = json_stop(reader, JSON_E_SYNTAX, at, "expected ',' or ']'");
            return false;
        }
        at++;
    }
    *ret_at = at;
    return true;
}

JsonToken json_next_in_object(JsonReader *reader) {
    size_t at = json_skip_space(reader, reader->at);

    if (at == reader->len)
        return json_stop_short(reader, "the input ends inside an object");
    if (reader->data[at] == '}')
        return json_close_container(reader, at, JSON_OBJECT_END);
    if (reader->state == JSON_BEHIND_MEMBER) {
        if (reader->data[at] != ',')
            return json_stop(reader, JSON_E_SYNTAX, at, "expected ',' or '}'");
        at++;
    }
    return read_key(reader, at);
}

static JsonToken next_at_end(JsonReader *reader) {
    size_t at = json_skip_space(reader, reader->at);

    if (at < reader->len)
        return json_stop(reader, JSON_E_TRAILING, at, "something follows the value");
    reader->at = reader->token_at = at;
    reader->state = JSON_FINISHED;
    return JSON_DONE;
}

static inline JsonToken next_token(JsonReader *reader) {
    JsonToken token;
    size_t at;

    switch ((JsonState)reader->state) {
    case JSON_AT_TOP:
    case JSON_AT_ELEMENT:
    case JSON_AT_MEMBER:
        return read_value(reader, reader->at);
    case JSON_IN_ARRAY:
    case JSON_BEHIND_ELEMENT:
        return find_element(reader, &at, &token) ? read_value(reader, at) : token;
    case JSON_IN_OBJECT:
    case JSON_BEHIND_MEMBER:
        return json_next_in_object(reader);
    case JSON_BEHIND_TOP:
        return next_at_end(reader);
    case JSON_FINISHED:
        return JSON_DONE;
    case JSON_STOPPED:
        return JSON_BAD;
    case JSON_IN_NULL:
        break;
    }
    assert(!"json_next() inside a null that was entered");
    return JSON_BAD;
}

/* --- for read.c; thin, so that the compiler inlines the steps into json_pass_value() --- */

JsonToken json_next(JsonReader *reader) {
    return next_token(reader);
}

JsonToken json_next_value(JsonReader *reader) {
    return read_value(reader, reader->at);
}

/* Returns the end of the value at @at (before the end of the input) if it is a plain string, a
 * number of only digits, or a word, and more input follows; else 0. */
static inline size_t plain_end(JsonReader *reader, size_t at) {
    const char *text = reader->data + at;
    size_t left = reader->len - at, end;

    switch (*text) {
    case '"':
        end = json_find_stop(reader, at + 1);
        return end < reader->len && reader->data[end] == '"' ? end + 1 : 0;
    case '1' ... '9':
        end = skip_digits(reader, at + 1);
        return end < reader->len && (reader->data[end] == ',' || reader->data[end] == '}') ? end
                                                                                           : 0;
    case 't':
        return left > 4 && memcmp(text, "true", 4) == 0 ? at + 4 : 0;
    case 'f':
        return left > 5 && memcmp(text, "false", 5) == 0 ? at + 5 : 0;
    default:
        return 0;
    }
}

/* Moves over members of an object as long as they are plain and without white space. Leaves a state
 * from which next_token() continues. */
static void pass_plain_members(JsonReader *reader) {
    while (reader->state == JSON_IN_OBJECT || reader->state == JSON_BEHIND_MEMBER) {
        size_t at = reader->at + (reader->state == JSON_BEHIND_MEMBER), end;

        if (at + 1 >= reader->len || (at > reader->at && reader->data[reader->at] != ',') ||
            reader->data[at] != '"')
            return;
        end = json_find_stop(reader, at + 1);
        if (reader->len - end < 3 || reader->data[end] != '"' || reader->data[end + 1] != ':')
            return;
        reader->token_at = at;
        reader->at = end + 2;
        reader->state = JSON_AT_MEMBER;
        end = plain_end(reader, reader->at);
        if (end == 0)
            return;
        reader->token_at = reader->at;
        reader->at = end;
        reader->state = JSON_BEHIND_MEMBER;
    }
}

bool json_pass_value(JsonReader *reader) {
    unsigned depth = reader->depth;
    size_t end = reader->at < reader->len ? plain_end(reader, reader->at) : 0;

    assert(reader->state <= JSON_AT_MEMBER);
    if (end > 0) {
        reader->token_at = reader->at;
        reader->at = end;
        reader->state += JSON_VALUE_READ;
        return true;
    }
    while (next_token(reader) != JSON_BAD) {
        if (reader->depth <= depth)
            return true;
        pass_plain_members(reader);
    }
    return false;
}

bool json_find_element(JsonReader *reader, size_t *ret_at, JsonToken *ret_token) {
    return find_element(reader, ret_at, ret_token);
}
