/*
 * One walk over the body. Labels and values are slices; series lie in one array, whose size is
 * estimated from the first, and labels in blocks. Nearly always a series has the labels and the
 * time of the one before: then neither is looked at twice.
 *
 * Errors are in terms of what an operator can fix: a page of a proxy, a query that does not give a
 * vector, an error of the server.
 */

#include "load/vector.h"

#include <errno.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/message.h"
#include "load/vector-internal.h"
#include "json/read.h"

/* --- the text of a series, less what differs in the next one ----------------------------- */

/* Values that had escapes are not where the text is. */
static bool is_within(Str part, const char *from, const char *to) {
    return part.ptr >= from && part.ptr <= to && part.len <= (size_t)(to - part.ptr);
}

/* @series stands at @from in the reader's text, up to where the reader is, its number at @number. A
 * shape that cannot be learnt is not known. */
static void shape_learn(
    SeriesShape *shape, const JsonReader *json, size_t from, const Series *series, Str number) {
    const char *at = json->data + from - 1, *end = json->data + json->at;

    shape->is_known = false;
    if (series->n_labels > SHAPE_LABELS_MAX || from == 0 || *at != ',')
        return;
    for (size_t i = 0; i < series->n_labels; i++) {
        Str value = series->labels[i].value;

        if (!is_within(value, at, end))
            return;
        shape->pieces[i] = str_of(at, (size_t)(value.ptr - at));
        shape->names[i] = series->labels[i].name;
        at = value.ptr + value.len;
    }
    if (!is_within(number, at, end))
        return;
    shape->pieces[series->n_labels] = str_of(at, (size_t)(number.ptr - at));
    at = number.ptr + number.len;
    shape->pieces[series->n_labels + 1] = str_of(at, (size_t)(end - at));
    shape->n_labels = series->n_labels;
    shape->at_msec = series->at_msec;
    shape->is_known = true;
}

static bool take_piece(const JsonReader *json, Str piece, size_t *at) {
    if (json->len - *at < piece.len || !bytes_equal(json->data + *at, piece.ptr, piece.len))
        return false;
    *at += piece.len;
    return true;
}

/* Up to the quote, which is the next piece's first byte. */
static Str take_text(JsonReader *json, size_t *at) {
    size_t start = *at;

    *at = json_find_stop(json, start);
    return str_of(json->data + start, *at - start);
}

/* Whether a series of this shape follows, with no label's value over @value_max bytes. If so, its
 * labels are in @labels (as many as the shape has; otherwise some may have been written over),
 * @ret_number is the text of its number, and it ends at @ret_end. Nothing is consumed. */
static bool shape_match(const SeriesShape *shape, JsonReader *json, size_t value_max,
    SeriesLabel *labels, Str *ret_number, size_t *ret_end) {
    size_t at = json->at;

    if (!shape->is_known || json->state != JSON_BEHIND_ELEMENT)
        return false;
    for (size_t i = 0; i < shape->n_labels; i++) {
        if (!take_piece(json, shape->pieces[i], &at))
            return false;
        labels[i] = (SeriesLabel){shape->names[i], take_text(json, &at)};
        if (labels[i].value.len > value_max)
            return false;
    }
    if (!take_piece(json, shape->pieces[shape->n_labels], &at))
        return false;
    *ret_number = take_text(json, &at);
    if (!take_piece(json, shape->pieces[shape->n_labels + 1], &at))
        return false;
    *ret_end = at;
    return true;
}

/* Consumes what shape_match() found up to @end. */
static void shape_take(JsonReader *json, size_t end) {
    json_take_elements(json, end - json->at, json->at + 1);
}

#define SERVER_TEXT_MAX 200u /* of the text of a server: queries are quoted in it */

typedef struct Answer {
    bool has_status, has_data;
    Str status, error_type, error;
    Str warning, info; /* the first of each */
    Str type;          /* of the result */
    Str result;        /* put off: it came before its type */
} Answer;

/* --- series ---------------------------------------------------------------- */

static bool names_repeat(const Series *series, const Series *before) {
    if (series->n_labels != before->n_labels)
        return false;
    for (size_t i = 0; i < series->n_labels; i++)
        if (!str_eq(series->labels[i].name, before->labels[i].name))
            return false;
    return true;
}

static bool names_differ(const Series *series) {
    for (size_t i = 1; i < series->n_labels; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(series->labels[i].name, series->labels[k].name))
                return false;
    return true;
}

static void read_text(VectorReader *reader, Str *ret) {
    bool escaped = false;

    json_string_raw(&reader->json, ret, &escaped);
    if (escaped) {
        *ret = json_unescape(*ret, reader->arena);
        if (!ret->ptr)
            json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
    }
    if (ret->len > VECTOR_LABEL_MAX)
        vector_reader_overflow(reader, "a label of more than 8192 bytes");
}

/* The key that json_key() just gave. */
static Str label_name(VectorReader *reader, Str key) {
    Str name = key;

    if (reader->json.escaped) {
        name = json_unescape(key, reader->arena);
        if (!name.ptr)
            json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
    }
    if (name.len > VECTOR_LABEL_MAX)
        vector_reader_overflow(reader, "a label of more than 8192 bytes");
    return name;
}

static void read_labels(VectorReader *reader, Series *series) {
    JsonReader *json = &reader->json;
    SeriesLabel *labels = vector_reader_labels(reader);
    Str key;

    series->labels = labels;
    json_object(json);
    while (json_key(json, &key)) {
        Str name = label_name(reader, key), value = STR_NULL;

        read_text(reader, &value);
        if (json_error(json) != JSON_OK)
            continue;
        if (series->n_labels == VECTOR_LABELS_MAX) {
            vector_reader_overflow(reader, "a series of more than 64 labels");
            continue;
        }
        labels[series->n_labels++] = (SeriesLabel){name, value};
    }
    vector_reader_take_labels(reader, series->n_labels);
}

/* [1700000000.123,"0.42"] */
static void read_value(VectorReader *reader, Series *series) {
    JsonReader *json = &reader->json;
    Str time = STR_NULL, text = STR_NULL;
    bool escaped = false;
    size_t n = 0;

    json_array(json);
    for (; json_element(json); n++) {
        if (n == 0)
            json_number(json, &time);
        else if (n == 1)
            json_string_raw(json, &text, &escaped);
        else
            json_skip(json, NULL);
    }
    if (json_error(json) != JSON_OK)
        return;
    reader->number = text;
    if (n != 2)
        json_fail(json, JSON_E_TYPE, "expected a time and a value");
    else if (!vector_reader_time(reader, time, &series->at_msec))
        json_fail(json, JSON_E_RANGE, "expected a time in seconds since 1970");
    else if (escaped || !vector_number(text, &series->value))
        json_fail(json, JSON_E_TYPE, "expected a number in a string");
}

static void add_series(VectorReader *reader, size_t from, const Series *series) {
    shape_learn(&reader->shape, &reader->json, from, series, reader->number);
    vector_reader_add(reader, series);
}

static void read_series(VectorReader *reader) {
    JsonReader *json = &reader->json;
    const Series *before = vector_reader_last(reader);
    Series series = {0};
    size_t from = reader->json.at;
    bool has_labels = false, has_value = false, has_histogram = false;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("metric")) && !has_labels) {
            has_labels = true;
            read_labels(reader, &series);
        } else if (json_key_is(json, key, STR("value")) && !has_value) {
            has_value = true;
            read_value(reader, &series);
        } else {
            has_histogram |= json_key_is(json, key, STR("histogram"));
            json_skip(json, NULL);
        }
    }
    if (json_error(json) != JSON_OK)
        return;
    if (!(before && names_repeat(&series, before)) && !names_differ(&series))
        json_fail(json, JSON_E_TYPE, "a label twice in one series");
    else if (has_value)
        add_series(reader, from, &series);
    else if (has_histogram)
        reader->vector->n_histograms++;
    else
        json_fail(json, JSON_E_TYPE, "a series without a value");
}

/* The short way: whether the next series looks like the one before, and has been read. */
static bool repeat_series(VectorReader *reader) {
    const SeriesShape *shape = &reader->shape;
    SeriesLabel *labels = reader->labels;
    Series series;
    Str number;
    size_t end;

    if (reader->n_labels_left < VECTOR_LABELS_MAX ||
        !shape_match(shape, &reader->json, VECTOR_LABEL_MAX, labels, &number, &end) ||
        !vector_number(number, &series.value))
        return false;
    series.labels = labels;
    series.n_labels = (uint32_t)shape->n_labels;
    series.at_msec = shape->at_msec;
    shape_take(&reader->json, end);
    vector_reader_take_labels(reader, series.n_labels);
    vector_reader_add(reader, &series);
    return true;
}

static void read_result(VectorReader *reader) {
    json_array(&reader->json);
    while (json_element(&reader->json)) {
        read_series(reader);
        while (repeat_series(reader))
            ;
    }
}

/* --- the answer ------------------------------------------------------------ */

/* "vector" mostly comes before what it is the type of. If not, that is read later. */
static void read_data(VectorReader *reader, Answer *answer) {
    JsonReader *json = &reader->json;
    bool has_result = false;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("resultType"))) {
            json_string(json, reader->arena, &answer->type);
        } else if (json_key_is(json, key, STR("result")) && !has_result) {
            has_result = true;
            if (str_eq(answer->type, STR("vector")))
                read_result(reader);
            else
                json_skip(json, &answer->result);
        } else {
            json_skip(json, NULL);
        }
    }
}

static void read_first_text(VectorReader *reader, Str *ret) {
    JsonReader *json = &reader->json;

    json_array(json);
    for (size_t n = 0; json_element(json); n++) {
        if (n == 0)
            json_string(json, reader->arena, ret);
        else
            json_skip(json, NULL);
    }
}

static void read_answer(VectorReader *reader, Answer *answer) {
    JsonReader *json = &reader->json;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("status")) && !answer->has_status) {
            answer->has_status = true;
            json_string(json, reader->arena, &answer->status);
        } else if (json_key_is(json, key, STR("data")) && !answer->has_data) {
            answer->has_data = true;
            read_data(reader, answer);
        } else if (json_key_is(json, key, STR("errorType"))) {
            json_string(json, reader->arena, &answer->error_type);
        } else if (json_key_is(json, key, STR("error"))) {
            json_string(json, reader->arena, &answer->error);
        } else if (json_key_is(json, key, STR("warnings"))) {
            read_first_text(reader, &answer->warning);
        } else if (json_key_is(json, key, STR("infos"))) {
            read_first_text(reader, &answer->info);
        } else {
            json_skip(json, NULL);
        }
    }
    json_end(json);
}

/* The result that came before its type. */
static void read_late_result(VectorReader *reader, const Answer *answer) {
    json_reader_init(&reader->json, answer->result);
    read_result(reader);
    json_end(&reader->json);
}

/* --- complaints ------------------------------------------------------------ */

static int complain_of_type(Str type, Message *message) {
    if (str_eq(type, STR("scalar")))
        message_add(message, "the query gives a scalar: wrap it in vector()");
    else if (str_eq(type, STR("matrix")))
        message_add(message,
            "the query gives a range of values (a matrix): ask for an instant, as rate() or "
            "avg_over_time() of the range give it");
    else if (str_eq(type, STR("string")))
        message_add(message, "the query gives a string: a metric is a number of each node");
    else if (str_is_empty(type))
        message_add(message, "not an answer of Prometheus' API: it has no \"resultType\"");
    else {
        message_quote(message, "the query gives a result of type ", type, ", not a vector");
    }
    return -EPROTO;
}

static int complain_of_status(const Answer *answer, Message *message) {
    if (!str_eq(answer->status, STR("error"))) {
        message_add(message, "not an answer of Prometheus' API: it has no \"status\"");
        return -EPROTO;
    }
    message_add(message, "the server answered: ");
    message_show(message, answer->error_type, MESSAGE_QUOTE_MAX);
    message_add(message, "%s", answer->error_type.len > 0 && answer->error.len > 0 ? ": " : "");
    message_show(message, answer->error, SERVER_TEXT_MAX);
    return -EPROTO;
}

/* A warning is shown to people, wherever: cut and escaped here, once. */
static int keep_warning(const Answer *answer, VectorReader *reader) {
    char text[VECTOR_ERROR_MAX];
    Message message = message_begin(text, sizeof(text));
    Str warning = str_is_empty(answer->warning) ? answer->info : answer->warning;

    message_show(&message, warning, SERVER_TEXT_MAX);
    reader->vector->warning = arena_copy(reader->arena, str_of(text, message.len));
    return reader->vector->warning.ptr ? 0 : -ENOMEM;
}

int vector_read_prometheus(Str body, Arena *arena, Vector *ret, char *error) {
    Message message = message_begin(error, VECTOR_ERROR_MAX);
    VectorReader reader;
    Answer answer = {0};
    int r;

    *ret = (Vector){0};
    r = vector_reader_begin(&reader, body, arena, ret, &message);
    if (r < 0)
        return r;
    read_answer(&reader, &answer);
    if (json_error(&reader.json) != JSON_OK)
        return vector_reader_complain(&reader, &message);
    if (!str_eq(answer.status, STR("success")))
        return complain_of_status(&answer, &message);
    if (!str_eq(answer.type, STR("vector")))
        return complain_of_type(answer.type, &message);
    if (answer.result.ptr)
        read_late_result(&reader, &answer);
    if (json_error(&reader.json) != JSON_OK)
        return vector_reader_complain(&reader, &message);
    return keep_warning(&answer, &reader);
}

Str series_label(const Series *series, Str name) {
    for (size_t i = 0; i < series->n_labels; i++)
        if (str_eq(series->labels[i].name, name))
            return series->labels[i].value;
    return STR_NULL;
}
