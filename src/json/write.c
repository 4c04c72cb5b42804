/* JsonWriter: two flags and a depth decide whether a comma or line break comes next. Calls are not
 * checked: a missing key is a bug of the caller, whose tests parse the output. */

#include "json/write.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "base/utf8.h"
#include "json/scan.h"

static void new_line(JsonWriter *writer) {
    if (writer->indent == 0)
        return;
    buf_append_char(writer->out, '\n');
    buf_append_repeat(writer->out, ' ', (size_t)writer->indent * writer->depth);
}

/* Writes what separates a key, or a value without a key, from the text before it. */
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

/* 15 digits are enough for numbers that users write, and 17 for all doubles. %g drops trailing
 * zeros, so the first text that reads back as @value is short. */
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

void json_write_int_or_null(JsonWriter *writer, int64_t value, int64_t none) {
    if (value == none)
        json_write_null(writer);
    else
        json_write_int(writer, value);
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

/* Writes the character at the start of @text, which is not plain. Returns its length. */
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

/* Handles the common case: nothing to escape. */
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

/* Writes the escaped text without quotes. */
static void escape(Buf *out, Str text) {
    while (text.len > 0) {
        size_t plain = scan_plain(text);

        buf_append(out, str_take(text, plain));
        text = str_skip(text, plain);
        if (text.len > 0)
            text = str_skip(text, quote_special(out, text));
    }
}

void json_quote(Buf *out, Str text) {
    if (quote_plain(out, text))
        return;
    buf_append_char(out, '"');
    escape(out, text);
    buf_append_char(out, '"');
}

void json_member_int(JsonWriter *writer, const char *key, int64_t value) {
    json_write_key(writer, str_from_c(key));
    json_write_int(writer, value);
}

void json_member_bool(JsonWriter *writer, const char *key, bool value) {
    json_write_key(writer, str_from_c(key));
    json_write_bool(writer, value);
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

/* A conversion of a template, with its argument. */
typedef struct Argument {
    char type;      /* 's': text, 'd': number, 'i': boolean, 'g': real, 't': time */
    int n_digits;   /* digits of a time's fraction; -1: 3 digits, and 0 is null */
    size_t n_chars; /* of the conversion */
    Str text;
    int64_t number;
    double real;
} Argument;

/* Writes a time with as many digits of the fraction as are not 0, at most @n_digits. */
static void write_time(JsonWriter *writer, int64_t at_nsec, int n_digits) {
    uint32_t nanos, unit = 1;
    int64_t sec = nsec_split(at_nsec, &nanos);

    for (; n_digits < 9; n_digits++)
        unit *= 10;
    begin_value(writer);
    buf_append_char(writer->out, '"');
    calendar_print(sec, nanos / unit * unit, writer->out);
    buf_append_char(writer->out, '"');
}

static Argument read_argument(const char *format, va_list *args) {
    size_t len;

    switch (format[1]) {
    case 's':
        return (Argument){'s', .n_chars = 2, .text = str_from_c(va_arg(*args, const char *))};
    case 'i':
        return (Argument){'i', .n_chars = 2, .number = va_arg(*args, int)};
    case 'd':
        return (Argument){'d', .n_chars = 2, .number = va_arg(*args, int)};
    case 'u':
        return (Argument){'d', .n_chars = 2, .number = va_arg(*args, unsigned)};
    case 'g':
        return (Argument){'g', .n_chars = 2, .real = va_arg(*args, double)};
    case 't': /* %td */
        return (Argument){'t', -1, .n_chars = 3, .number = va_arg(*args, ptrdiff_t)};
    case '.':
        if (format[2] != '*') /* %.6td */
            return (Argument){'t', format[2] - '0', 5, .number = va_arg(*args, ptrdiff_t)};
        len = (size_t)va_arg(*args, int); /* %.*s */
        return (Argument){'s', .n_chars = 4, .text = str_of(va_arg(*args, const char *), len)};
    default: /* %zu, %jd */
        return (Argument){'d', .n_chars = 3, .number = va_arg(*args, intmax_t)};
    }
}

static void write_argument(JsonWriter *writer, const Argument *argument) {
    if (argument->type == 's')
        json_write_string(writer, argument->text);
    else if (argument->type == 'd')
        json_write_int(writer, argument->number);
    else if (argument->type == 'i')
        json_write_bool(writer, argument->number);
    else if (argument->type == 'g')
        json_write_double(writer, argument->real);
    else if (argument->n_digits < 0 && argument->number == 0)
        json_write_null(writer);
    else
        write_time(writer, argument->number, argument->n_digits < 0 ? 3 : argument->n_digits);
}

/* Writes @key and the argument of "?: %s" at @format, unless that is empty. */
static size_t write_optional(JsonWriter *writer, Str key, const char *format, va_list *args) {
    Argument argument = read_argument(format + strlen("?: "), args);

    if (argument.text.len > 0 || argument.number != 0 || argument.real != 0) {
        json_write_key(writer, key);
        write_argument(writer, &argument);
    }
    return strlen("?: ") + argument.n_chars;
}

/* Writes a text in single quotes, which may contain conversions of texts and whole numbers. */
static size_t write_quoted(JsonWriter *writer, const char *format, va_list *args) {
    size_t n = 1;

    begin_value(writer);
    buf_append_char(writer->out, '"');
    while (format[n] != '\'') {
        size_t plain = strcspn(format + n, "%'");

        escape(writer->out, str_of(format + n, plain));
        n += plain;
        if (format[n] == '%') {
            Argument argument = read_argument(format + n, args);

            if (argument.type == 'd')
                buf_append_int(writer->out, argument.number);
            else
                escape(writer->out, argument.text);
            n += argument.n_chars;
        }
    }
    buf_append_char(writer->out, '"');
    return n + 1;
}

/* Writes a key, number or word. */
static size_t write_word(JsonWriter *writer, const char *format, va_list *args) {
    size_t n = strcspn(format, ":?,]}");

    if (format[n] == ':')
        json_write_key(writer, str_of(format, n));
    else if (format[n] == '?')
        n += write_optional(writer, str_of(format, n), format + n, args);
    else
        json_write_raw(writer, str_of(format, n));
    return n;
}

/* Writes the first part of @format. Returns the number of characters read, like the functions
 * above. */
static size_t write_part(JsonWriter *writer, const char *format, va_list *args) {
    Argument argument;
    size_t n;

    switch (format[0]) {
    case '{':
    case '[':
        open_container(writer, format[0]);
        return 1;
    case '}':
    case ']':
        close_container(writer, format[0]);
        return 1;
    case '%':
        argument = read_argument(format, args);
        n = argument.n_chars;
        if (format[n] == '?')
            return n + write_optional(writer, argument.text, format + n, args);
        if (format[n] == ':')
            json_write_key(writer, argument.text);
        else
            write_argument(writer, &argument);
        return n;
    case '\n':
        buf_append_char(writer->out, '\n');
        return 1;
    case ' ':
    case ',':
    case ':':
        return 1;
    case '\'':
        return write_quoted(writer, format, args);
    default:
        return write_word(writer, format, args);
    }
}

void json_write(JsonWriter *writer, const char *format, ...) {
    va_list args;

    va_start(args, format);
    while (*format)
        format += write_part(writer, format, &args);
    va_end(args);
}
