/*
 * JsonWriter: two flags and a depth decide whether a comma or a new line comes next. Nothing is
 * checked: a missing key is a bug of the caller, and its tests parse the output.
 */

#include "json/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/scan.h"

static void new_line(JsonWriter *writer) {
    if (writer->indent == 0)
        return;
    buf_append_char(writer->out, '\n');
    buf_append_repeat(writer->out, ' ', (size_t)writer->indent * writer->depth);
}

/* Before a key, or a value that has none. */
static void separate(JsonWriter *writer) {
    if (writer->needs_comma)
        buf_append_char(writer->out, ',');
    if (writer->depth > 0)
        new_line(writer);
    writer->needs_comma = true;
}

static void begin_value(JsonWriter *writer) {
    if (writer->after_key)
        writer->after_key = false;
    else
        separate(writer);
}

static void open_container(JsonWriter *writer, char bracket) {
    begin_value(writer);
    buf_append_char(writer->out, bracket);
    writer->depth++;
    writer->needs_comma = false;
}

static void close_container(JsonWriter *writer, char bracket) {
    bool empty = !writer->needs_comma;

    writer->depth--;
    if (!empty)
        new_line(writer);
    buf_append_char(writer->out, bracket);
    writer->needs_comma = true;
}

void json_write_object(JsonWriter *writer) {
    open_container(writer, '{');
}

void json_write_end_object(JsonWriter *writer) {
    close_container(writer, '}');
}

void json_write_array(JsonWriter *writer) {
    open_container(writer, '[');
}

void json_write_end_array(JsonWriter *writer) {
    close_container(writer, ']');
}

void json_write_key(JsonWriter *writer, Str key) {
    separate(writer);
    json_quote(writer->out, key);
    buf_append(writer->out, writer->indent > 0 ? STR(": ") : STR(":"));
    writer->after_key = true;
}

void json_write_raw_key(JsonWriter *writer, Str raw) {
    separate(writer);
    buf_append_char(writer->out, '"');
    buf_append(writer->out, raw);
    buf_append(writer->out, writer->indent > 0 ? STR("\": ") : STR("\":"));
    writer->after_key = true;
}

void json_write_string(JsonWriter *writer, Str text) {
    begin_value(writer);
    json_quote(writer->out, text);
}

void json_write_member(JsonWriter *writer, Str key, Str text) {
    json_write_key(writer, key);
    json_write_string(writer, text);
}

void json_write_int(JsonWriter *writer, int64_t value) {
    begin_value(writer);
    buf_append_int(writer->out, value);
}

/* 15 digits are enough for every number a person writes, and 17 for every number
 * there is. %g drops zeros at the end, so the first that reads back is short. */
void json_write_double(JsonWriter *writer, double value) {
    char text[32];

    begin_value(writer);
    if (!isfinite(value)) {
        buf_append(writer->out, STR("null"));
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, /* endptr= */ NULL) == value)
            break;
    }
    buf_append(writer->out, str_from_c(text));
}

void json_write_bool(JsonWriter *writer, bool value) {
    begin_value(writer);
    buf_append(writer->out, value ? STR("true") : STR("false"));
}

void json_write_null(JsonWriter *writer) {
    begin_value(writer);
    buf_append(writer->out, STR("null"));
}

void json_write_raw(JsonWriter *writer, Str raw) {
    begin_value(writer);
    buf_append(writer->out, raw);
}

static void quote_ascii(Buf *out, unsigned char c) {
    static const char bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = memchr(bytes, c, sizeof(bytes) - 1);

    if (!found) {
        buf_printf(out, "\\u%04x", c);
        return;
    }
    buf_append_char(out, '\\');
    buf_append_char(out, letters[found - bytes]);
}

/* The character at the front of @text, which is not plain; returns its length. */
static size_t quote_special(Buf *out, Str text) {
    unsigned char lead = (unsigned char)text.ptr[0];
    uint32_t c;
    size_t n;

    if (lead < 0x80) {
        quote_ascii(out, lead);
        return 1;
    }
    n = utf8_decode(text, &c);
    if (n == 0) {
        buf_append(out, STR("\\ufffd"));
        return 1;
    }
    if (c == 0x2028 || c == 0x2029) /* ends a line in JavaScript */
        buf_append(out, c == 0x2028 ? STR("\\u2028") : STR("\\u2029"));
    else
        buf_append(out, str_take(text, n));
    return n;
}

/* The usual case: nothing to escape. */
static bool quote_plain(Buf *out, Str text) {
    char *at;

    if (scan_plain(text) < text.len)
        return false;
    at = buf_reserve(out, text.len + 2);
    if (!at)
        return true;
    at[0] = '"';
    if (text.len > 0)
        memcpy(at + 1, text.ptr, text.len);
    at[text.len + 1] = '"';
    buf_advance(out, text.len + 2);
    return true;
}

void json_quote(Buf *out, Str text) {
    if (quote_plain(out, text))
        return;
    buf_append_char(out, '"');
    while (text.len > 0) {
        size_t plain = scan_plain(text);

        buf_append(out, str_take(text, plain));
        text = str_skip(text, plain);
        if (text.len > 0)
            text = str_skip(text, quote_special(out, text));
    }
    buf_append_char(out, '"');
}

void json_member_int(JsonWriter *writer, const char *key, int64_t value) {
    json_write_key(writer, str_from_c(key));
    json_write_int(writer, value);
}

void json_member_double(JsonWriter *writer, const char *key, double value) {
    json_write_key(writer, str_from_c(key));
    json_write_double(writer, value);
}

void json_member_bool(JsonWriter *writer, const char *key, bool value) {
    json_write_key(writer, str_from_c(key));
    json_write_bool(writer, value);
}

void json_member_null(JsonWriter *writer, const char *key) {
    json_write_key(writer, str_from_c(key));
    json_write_null(writer);
}

void json_member_object(JsonWriter *writer, const char *key) {
    json_write_key(writer, str_from_c(key));
    json_write_object(writer);
}

void json_member_array(JsonWriter *writer, const char *key) {
    json_write_key(writer, str_from_c(key));
    json_write_array(writer);
}

void json_member_texts(JsonWriter *writer, const char *key, const Str *texts, size_t n) {
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_string(writer, texts[i]);
    json_write_end_array(writer);
}
