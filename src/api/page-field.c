/* Members of JSON pages: times and digests; and the page of an error. */

#include "api/page-field.h"

#include <stdio.h>

#include "base/calendar.h"
#include "base/message.h"
#include "base/nsec.h"

#define PAGE_ERROR_MAX 1024u

void field_seconds(JsonWriter *writer, const char *key, int64_t nsec, bool is_known) {
    json_write_key(writer, str_from_c(key));
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

void field_time(JsonWriter *writer, const char *key, int64_t at_nsec) {
    json_write_key(writer, str_from_c(key));
    if (at_nsec == 0)
        json_write_null(writer);
    else
        write_time(
            writer, at_nsec / NSEC_PER_SEC, at_nsec % NSEC_PER_SEC / NSEC_PER_MSEC * NSEC_PER_MSEC);
}

void field_second(JsonWriter *writer, const char *key, int64_t at_sec) {
    json_write_key(writer, str_from_c(key));
    write_time(writer, at_sec, /* nanos= */ 0);
}

void field_digest(JsonWriter *writer, const char *key, Digest digest) {
    char text[DIGEST_TEXT_MAX];
    bool is_none = digest_equal(digest, DIGEST_NONE);

    json_write_member(
        writer, str_from_c(key), is_none ? STR_NULL : str_from_c(digest_print(digest, text)));
}

void field_health(JsonWriter *writer, const char *key, const HealthSummary *health) {
    json_member_object(writer, key);
    json_write_member(writer, STR("health"), str_from_c(health_name(health->health)));
    json_write_member(writer, STR("text"), health->text);
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
    json_write_object(&writer);
    json_write_member(&writer, STR("Error"), str_from_c(line));
    (void)page_write_end(&writer);
    return status;
}

unsigned page_write_no_memory(Buf *out, const char *what, const Arena *arena) {
    char text[PAGE_ERROR_MAX];

    (void)message_no_memory(text, sizeof(text), what, arena);
    return page_write_error(out, 500, text);
}
