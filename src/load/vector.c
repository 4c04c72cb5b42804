/*
 * Messages name a cause that an operator can fix: a proxy's page, a query that does not give a
 * vector, an error of the server.
 */

#include <errno.h>

#include "base/vec.h"
#include "load/vector-internal.h"

#define VECTOR_LABELS_TOTAL_MAX 2000000u /* they take more memory than their text */

typedef struct BodyKind {
    Str start; /* any case */
    const char *what;
} BodyKind;

/* Bodies that servers and proxies send instead of JSON. */
static const BodyKind body_kinds[] = {
    {STR("<!doctype html"), "an HTML page"},
    {STR("<html"), "an HTML page"},
    {STR("<head"), "an HTML page"},
    {STR("<?xml"), "XML"},
    {STR("<"), "a page of markup"},
    {STR("\x1f\x8b"), "compressed data"},
    {STR("# HELP"), "an exporter's own metrics (ask a Prometheus server, not a target)"},
    {STR("# TYPE"), "an exporter's own metrics (ask a Prometheus server, not a target)"},
};

static int complain_of_body(Str body, Message *message) {
    const char *what = NULL;

    if (body.len > 0 && (body.ptr[0] == '{' || body.ptr[0] == '['))
        return 0;
    for (size_t i = 0; i < ELEMENTS_OF(body_kinds) && !what; i++)
        if (str_eq_nocase(str_take(body, body_kinds[i].start.len), body_kinds[i].start))
            what = body_kinds[i].what;
    message_add(message, "%s, not JSON", body.len == 0 ? "an empty answer" : what ? what : "text");
    if (body.len > 0)
        message_quote(message, ": ", body, "");
    return -EPROTO;
}

int vector_reader_begin(
    VectorReader *reader, Str body, Arena *arena, Vector *vector, Message *message) {
    *reader = (VectorReader){.arena = arena, .vector = vector};
    if (body.len > VECTOR_BYTES_MAX) {
        message_add(message, "an answer of %zu bytes: more than %zu are not read", body.len,
            VECTOR_BYTES_MAX);
        return -EFBIG;
    }
    json_reader_init(&reader->json, body);
    return complain_of_body(str_trim(body), message);
}

int vector_reader_complain(const VectorReader *reader, Message *message) {
    const JsonReader *json = &reader->json;
    Str rest = str_of(json->data + json->error_at, json->len - json->error_at);

    if (json->error == JSON_E_MEMORY) {
        message_add(message, "out of memory for the answer");
        return -ENOMEM;
    }
    if (reader->is_over) {
        message_add(message, "too large: %s", json->error_text);
        return -EFBIG;
    }
    if (json->error == JSON_E_TYPE || json->error == JSON_E_RANGE)
        message_add(message, "JSON, but not what was asked for: ");
    else if (json->error == JSON_E_END)
        message_add(message, "cut off after %zu bytes: ", json->len);
    else
        message_add(message, "not JSON: ");
    message_add(message, "byte %zu: %s", json->error_at, json->error_text);
    if (rest.len > 0)
        message_quote(message, ", at ", rest, "");
    return -EPROTO;
}

void vector_reader_overflow(VectorReader *reader, const char *static_text) {
    if (json_error(&reader->json) == JSON_OK)
        reader->is_over = true;
    json_fail(&reader->json, JSON_E_RANGE, static_text);
}

void vector_reader_add(VectorReader *reader, const Series *series) {
    Vector *vector = reader->vector;
    SeriesLabel *labels;
    Series *place;

    reader->n_labels += series->n_labels;
    if (vector->n == VECTOR_SERIES_MAX) {
        vector_reader_overflow(reader, "more than 250000 series: aggregate in the query");
        return;
    }
    if (reader->n_labels > VECTOR_LABELS_TOTAL_MAX) {
        vector_reader_overflow(reader, "more than 2000000 labels in all");
        return;
    }
    labels = ARENA_RAW(reader->arena, SeriesLabel, series->n_labels);
    place =
        vec_push((void **)&vector->items, &vector->n, &reader->size, sizeof(*place), reader->arena);
    if (!labels || !place) {
        json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
        return;
    }
    memcpy(labels, series->labels, series->n_labels * sizeof(*labels));
    *place = *series;
    place->labels = labels;
}

Str series_label(const Series *series, Str name) {
    for (size_t i = 0; i < series->n_labels; i++)
        if (str_eq(series->labels[i].name, name))
            return series->labels[i].value;
    return STR_NULL;
}
