/* Fields of JSON pages: a key and one value. */

#include "api/page-field.h"

#include <stdio.h>

#include "base/calendar.h"
#include "base/nsec.h"

#define PAGE_ERROR_MAX 1024u

void field_object(JsonWriter *writer, Str key) {
    json_write_key(writer, key);
    json_write_object(writer);
}

void field_array(JsonWriter *writer, Str key) {
    json_write_key(writer, key);
    json_write_array(writer);
}

void field_double(JsonWriter *writer, Str key, double value) {
    json_write_key(writer, key);
    json_write_double(writer, value);
}

void field_count(JsonWriter *writer, Str key, uint64_t n) {
    json_write_key(writer, key);
    json_write_int(writer, (int64_t)n);
}

void field_bool(JsonWriter *writer, Str key, bool value) {
    json_write_key(writer, key);
    json_write_bool(writer, value);
}

void field_seconds(JsonWriter *writer, Str key, int64_t nsec, bool is_known) {
    json_write_key(writer, key);
    if (is_known)
        json_write_double(writer, (double)nsec / (double)NSEC_PER_SEC);
    else
        json_write_null(writer);
}

static void write_time(JsonWriter *writer, int64_t sec, int64_t nanos) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    calendar_print(sec, (uint32_t)nanos, &text);
    json_write_string(writer, buf_str(&text));
}

void field_time(JsonWriter *writer, Str key, int64_t at_nsec) {
    json_write_key(writer, key);
    if (at_nsec == 0)
        json_write_null(writer);
    else
        write_time(
            writer, at_nsec / NSEC_PER_SEC, at_nsec % NSEC_PER_SEC / NSEC_PER_MSEC * NSEC_PER_MSEC);
}

void field_second(JsonWriter *writer, Str key, int64_t at_sec) {
    json_write_key(writer, key);
    write_time(writer, at_sec, /* nanos= */ 0);
}

void field_digest(JsonWriter *writer, Str key, Digest digest) {
    char text[DIGEST_TEXT_MAX];
    bool is_none = digest_equal(digest, DIGEST_NONE);

    json_write_member(writer, key, is_none ? STR_NULL : str_from_c(digest_print(digest, text)));
}

void field_texts(JsonWriter *writer, Str key, const Str *texts, size_t n) {
    field_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_string(writer, texts[i]);
    json_write_end_array(writer);
}

unsigned page_write_error(Buf *out, unsigned status, const char *text) {
    JsonWriter writer = JSON_WRITER(out);
    char line[PAGE_ERROR_MAX];

    (void)snprintf(line, sizeof(line), "berth: %s", text);
    buf_reset(out);
    json_write_object(&writer);
    json_write_member(&writer, STR("Error"), str_from_c(line));
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
    return status;
}
