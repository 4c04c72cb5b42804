/* Members of JSON pages: times, digests, health; and error pages. */

#include "api/page-field.h"

#include <math.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/message.h"
#include "base/nsec.h"

#define PAGE_ERROR_MAX 1024u

double page_seconds(int64_t nsec, bool is_known) {
    return is_known ? (double)nsec / (double)NSEC_PER_SEC : (double)NAN;
}

void field_second(JsonWriter *writer, const char *key, int64_t at_sec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    calendar_print(at_sec, /* nanos= */ 0, &text);
    json_write(writer, "%s: %.*s", key, STR_FMT(buf_str(&text)));
}

void field_digest(JsonWriter *writer, const char *key, Digest digest) {
    char text[DIGEST_TEXT_MAX];
    bool is_none = digest_equal(digest, DIGEST_NONE);

    json_write_member(
        writer, str_from_c(key), is_none ? STR_NULL : str_from_c(digest_print(digest, text)));
}

void field_health(JsonWriter *writer, const char *key, const HealthSummary *health) {
    json_write(writer, "%s: {health: %s, text: %.*s", key, health_names[health->health],
        STR_FMT(health->text));
    json_member_texts(writer, "reasons", health->reasons, health->n_reasons);
    json_write_end_object(writer);
}

unsigned page_write_error(Buf *out, unsigned status, const char *text) {
    JsonWriter writer = JSON_WRITER(out);
    char line[PAGE_ERROR_MAX];

    (void)snprintf(line, sizeof(line), "berth: %s", text);
    buf_reset(out);
    json_write(&writer, "{Error: %s}\n", line);
    return status;
}

unsigned page_write_no_memory(Buf *out, const char *what, const Arena *arena) {
    char text[PAGE_ERROR_MAX];

    (void)message_no_memory(text, sizeof(text), what, arena);
    return page_write_error(out, 500, text);
}
