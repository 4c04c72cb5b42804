/* Members of JSON pages: times and digests; and the page of an error. */

#include "api/page-field.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/message.h"
#include "base/nsec.h"

#define PAGE_ERROR_MAX 1024u

double page_seconds(int64_t nsec, bool is_known) {
    return is_known ? (double)nsec / (double)NSEC_PER_SEC : (double)NAN;
}

static void write_time(JsonWriter *writer, int64_t sec, int64_t nanos) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    calendar_print(sec, (uint32_t)nanos, &text);
    json_write_string(writer, buf_str(&text));
}

static void write_time_nsec(JsonWriter *writer, int64_t at_nsec) {
    if (at_nsec == 0)
        json_write_null(writer);
    else
        write_time(
            writer, at_nsec / NSEC_PER_SEC, at_nsec % NSEC_PER_SEC / NSEC_PER_MSEC * NSEC_PER_MSEC);
}

void field_time(JsonWriter *writer, const char *key, int64_t at_nsec) {
    json_write_key(writer, str_from_c(key));
    write_time_nsec(writer, at_nsec);
}

void field_second(JsonWriter *writer, const char *key, int64_t at_sec) {
    json_write_key(writer, str_from_c(key));
    write_time(writer, at_sec, /* nanos= */ 0);
}

/* Writes the argument of the conversion at the front of @format. Returns the length of the
 * conversion. */
static size_t write_value(JsonWriter *writer, Str format, va_list *args) {
    if (str_has_prefix(format, STR("%.*s"))) {
        size_t len = (size_t)va_arg(*args, int);

        json_write_string(writer, str_of(va_arg(*args, const char *), len));
        return 4;
    }
    switch (format.ptr[1]) {
    case 's':
        json_write_string(writer, str_from_c(va_arg(*args, const char *)));
        return 2;
    case 'u':
        json_write_int(writer, va_arg(*args, unsigned));
        return 2;
    case 'i':
        json_write_bool(writer, va_arg(*args, int));
        return 2;
    case 'g':
        json_write_double(writer, va_arg(*args, double));
        return 2;
    case 't':
        write_time_nsec(writer, va_arg(*args, ptrdiff_t));
        return 3;
    default: /* %zu, %jd */
        json_write_int(writer, va_arg(*args, intmax_t));
        return 3;
    }
}

/* Writes the first bracket, key or value of @format. Returns the number of characters read. */
static size_t write_part(JsonWriter *writer, Str format, va_list *args) {
    size_t n_key;

    switch (format.ptr[0]) {
    case '{':
        json_write_object(writer);
        return 1;
    case '}':
        json_write_end_object(writer);
        return 1;
    case '[':
        json_write_array(writer);
        return 1;
    case ']':
        json_write_end_array(writer);
        return 1;
    case '%':
        return write_value(writer, format, args);
    case ' ':
    case ',':
        return 1;
    default:
        n_key = str_find(format, ':');
        json_write_key(writer, str_take(format, n_key));
        return n_key + 1;
    }
}

void page_write(JsonWriter *writer, const char *format, ...) {
    Str rest = str_from_c(format);
    va_list args;

    va_start(args, format);
    while (rest.len > 0)
        rest = str_skip(rest, write_part(writer, rest, &args));
    va_end(args);
}

void field_digest(JsonWriter *writer, const char *key, Digest digest) {
    char text[DIGEST_TEXT_MAX];
    bool is_none = digest_equal(digest, DIGEST_NONE);

    json_write_member(
        writer, str_from_c(key), is_none ? STR_NULL : str_from_c(digest_print(digest, text)));
}

void field_health(JsonWriter *writer, const char *key, const HealthSummary *health) {
    json_write_key(writer, str_from_c(key));
    page_write(
        writer, "{health: %s, text: %.*s", health_name(health->health), STR_FMT(health->text));
    json_member_texts(writer, "reasons", health->reasons, health->n_reasons);
    json_write_end_object(writer);
}

unsigned page_write_end(JsonWriter *writer) {
    json_write_end_object(writer);
    buf_append_char(writer->out, '\n');
    return 200;
}

unsigned page_write_error(Buf *out, unsigned status, const char *text) {
    JsonWriter writer = JSON_WRITER(out);
    char line[PAGE_ERROR_MAX];

    (void)snprintf(line, sizeof(line), "berth: %s", text);
    buf_reset(out);
    page_write(&writer, "{Error: %s", line);
    (void)page_write_end(&writer);
    return status;
}

unsigned page_write_no_memory(Buf *out, const char *what, const Arena *arena) {
    char text[PAGE_ERROR_MAX];

    (void)message_no_memory(text, sizeof(text), what, arena);
    return page_write_error(out, 500, text);
}
