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
#include <math.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/double.h"
#include "base/message.h"
#include "base/quantity.h"
#include "model/time.h"
#include "json/fields.h"

#define SERVER_TEXT_MAX 200u /* of the text of a server: queries are quoted in it */
#define LABELS_FIRST 256u
#define LABELS_BLOCK 4096u
#define SERIES_FIRST 16u
#define TIME_SEC_MAX 253402300799.0 /* the last second of the year 9999 */
#define NANO INT64_C(1000000000)
#define EXACT_MAX ((__int128)1 << 53)
#define VECTOR_LABEL_MAX 8192u           /* bytes of a label's name, or value */
#define VECTOR_LABELS_TOTAL_MAX 2000000u /* of all series: they take more room than their text */

/*
 * SeriesShape: the text of a series less what differs in the next one.
 *
 *     ,{"metric":{"node":"  a  "},"value":[1700000000.123,"  0.42  "]}
 *
 * A server writes thousands of series that differ in the values of labels and in the number only.
 * The text between was read once; where it follows again, comparing is enough.
 * Anything else is read the long way, and becomes the next shape.
 */
#define SHAPE_LABELS_MAX 16u

typedef struct SeriesShape {
    Str pieces[SHAPE_LABELS_MAX + 2]; /* before each label's value, before the number, after it */
    Str names[SHAPE_LABELS_MAX];
    size_t n_labels;
    bool is_known;
    int64_t at_msec;
} SeriesShape;

typedef struct VectorReader {
    JsonReader json;
    Arena *arena;
    Vector *vector;
    size_t size; /* series there is room for */

    SeriesLabel *labels; /* where the next ones go */
    size_t n_labels_left;
    size_t n_labels; /* so far, of all series */
    size_t block;    /* labels of the last block */

    Str time; /* the last, as text: mostly all are the same */
    int64_t time_msec;
    Str number;        /* the last, as text */
    SeriesShape shape; /* of the last series */
    bool is_over;      /* a ceiling */
} VectorReader;

/* --- bodies that are something else ---------------------------------------- */

typedef struct BodyKind {
    Str start; /* any case */
    const char *what;
} BodyKind;

/* What servers and proxies send instead of JSON. */
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

static const char *find_body_kind(Str body) {
    for (size_t i = 0; i < ELEMENTS_OF(body_kinds); i++)
        if (str_eq_nocase(str_take(body, body_kinds[i].start.len), body_kinds[i].start))
            return body_kinds[i].what;
    return NULL;
}

static int complain_of_body(Str body, Message *message) {
    const char *what = find_body_kind(body);

    if (body.len > 0 && (body.ptr[0] == '{' || body.ptr[0] == '['))
        return 0;
    if (body.len == 0) {
        message_add(message, "an empty answer, not JSON");
        return -EPROTO;
    }
    message_add(message, "%s, not JSON: ", what ? what : "text");
    message_quote(message, "", body, "");
    return -EPROTO;
}

/* 0; or, with a message, -EFBIG, or -EPROTO for a body that is no JSON at first sight. */
static int vector_reader_begin(
    VectorReader *reader, Str body, Arena *arena, Vector *vector, Message *message) {
    *reader = (VectorReader){.arena = arena, .vector = vector, .block = LABELS_FIRST / 2};
    if (body.len > VECTOR_BYTES_MAX) {
        message_add(message, "an answer of %zu bytes: more than %zu are not read", body.len,
            VECTOR_BYTES_MAX);
        return -EFBIG;
    }
    json_reader_init(&reader->json, body);
    return complain_of_body(str_trim(body), message);
}

/* Where the reader stopped, with what stands there. */
static void describe_place(const VectorReader *reader, Message *message) {
    const JsonReader *json = &reader->json;
    Str rest = str_of(json->data + json->error_at, json->len - json->error_at);

    message_add(message, "byte %zu: %s", json->error_at, json->error_text);
    if (rest.len == 0)
        return;
    message_quote(message, ", at ", rest, "");
}

/* Says what the JSON reader stopped at. -EPROTO, -EFBIG or -ENOMEM. */
static int vector_reader_complain(const VectorReader *reader, Message *message) {
    const JsonReader *json = &reader->json;

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
    describe_place(reader, message);
    return -EPROTO;
}

/* Stops: over a ceiling, which @static_text names. */
static void vector_reader_overflow(VectorReader *reader, const char *static_text) {
    if (json_error(&reader->json) == JSON_OK)
        reader->is_over = true;
    json_fail(&reader->json, JSON_E_RANGE, static_text);
}

/* --- room ------------------------------------------------------------------ */

static bool add_labels(VectorReader *reader) {
    reader->block = reader->block < LABELS_BLOCK ? reader->block * 2 : LABELS_BLOCK;
    reader->labels = ARENA_RAW(reader->arena, SeriesLabel, reader->block);
    reader->n_labels_left = reader->labels ? reader->block : 0;
    return reader->labels;
}

/* Room for VECTOR_LABELS_MAX; of which the first @n are then taken. NULL when out of memory, or
 * over VECTOR_LABELS_TOTAL_MAX: the error is the JSON reader's. */
static SeriesLabel *vector_reader_labels(VectorReader *reader) {
    if (reader->n_labels > VECTOR_LABELS_TOTAL_MAX - VECTOR_LABELS_MAX)
        vector_reader_overflow(reader, "more than 2000000 labels in all");
    else if (reader->n_labels_left < VECTOR_LABELS_MAX && !add_labels(reader))
        json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
    return json_error(&reader->json) == JSON_OK ? reader->labels : NULL;
}

static void vector_reader_take_labels(VectorReader *reader, size_t n) {
    if (n == 0)
        return;
    reader->labels += n;
    reader->n_labels_left -= n;
    reader->n_labels += n;
}

/* As many as follow if they are as long as those so far; and then some. */
static size_t estimate(const VectorReader *reader) {
    size_t n = reader->vector->n, size;

    if (n == 0)
        return SERIES_FIRST;
    size = n + (n * (reader->json.len - reader->json.at) / (reader->json.at + 1)) * 9 / 8 + n;
    return size < VECTOR_SERIES_MAX ? size : VECTOR_SERIES_MAX;
}

static bool grow(VectorReader *reader) {
    Vector *vector = reader->vector;
    size_t size = estimate(reader);
    Series *items = ARENA_RAW(reader->arena, Series, size);

    if (!items)
        return false;
    if (vector->n > 0)
        memcpy(items, vector->items, vector->n * sizeof(Series));
    vector->items = items;
    reader->size = size;
    return true;
}

static void vector_reader_add(VectorReader *reader, const Series *series) {
    Vector *vector = reader->vector;

    if (vector->n == VECTOR_SERIES_MAX)
        vector_reader_overflow(reader, "more than 250000 series: aggregate in the query");
    else if (vector->n == reader->size && !grow(reader))
        json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
    else
        vector->items[vector->n++] = *series;
}

/* --- numbers --------------------------------------------------------------- */

/* A value as Prometheus writes it: decimal, or "NaN", "+Inf", "-Inf" ("Inf"). Too large is
 * infinite. False: it is none of these. */
static bool vector_number(Str text, double *ret) {
    bool overflow;

    if (double_parse(text, ret, &overflow))
        return true;
    if (str_eq(text, STR("NaN")))
        *ret = NAN;
    else if (str_eq(text, STR("+Inf")) || str_eq(text, STR("Inf")))
        *ret = INFINITY;
    else if (str_eq(text, STR("-Inf")))
        *ret = -INFINITY;
    else if (overflow)
        *ret = text.ptr[0] == '-' ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

/* Seconds since 1970, to the nearest millisecond. False: it is no time of the years up to 9999. */
static bool vector_reader_time(VectorReader *reader, Str text, int64_t *ret_msec) {
    double sec;

    if (!str_eq(text, reader->time)) {
        if (!double_parse(text, &sec, NULL) || sec < 0 || sec > TIME_SEC_MAX)
            return false;
        reader->time_msec = llround(sec * 1000);
        reader->time = text;
    }
    *ret_msec = reader->time_msec;
    return true;
}

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

/* A label's name or value, as json_key() or json_string_raw() gave it. */
static Str label_text(VectorReader *reader, Str raw, bool escaped) {
    Str text = escaped ? json_unescape(raw, reader->arena) : raw;

    if (escaped && !text.ptr)
        json_fail(&reader->json, JSON_E_MEMORY, "over the memory budget");
    if (text.len > VECTOR_LABEL_MAX)
        vector_reader_overflow(reader, "a label of more than 8192 bytes");
    return text;
}

static void read_labels(VectorReader *reader, Series *series) {
    JsonReader *json = &reader->json;
    SeriesLabel *labels = vector_reader_labels(reader);
    Str key;

    series->labels = labels;
    json_object(json);
    while (json_key(json, &key)) {
        Str name = label_text(reader, key, json->escaped), value = STR_NULL;
        bool escaped = false;

        json_string_raw(json, &value, &escaped);
        value = label_text(reader, value, escaped);
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

static void read_series(VectorReader *reader) {
    JsonReader *json = &reader->json;
    const Vector *vector = reader->vector;
    const Series *before = vector->n > 0 ? &vector->items[vector->n - 1] : NULL;
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
    else if (!has_value && has_histogram)
        reader->vector->n_histograms++;
    else if (!has_value)
        json_fail(json, JSON_E_TYPE, "a series without a value");
    if (!has_value || json_error(json) != JSON_OK)
        return;
    shape_learn(&reader->shape, json, from, &series, reader->number);
    vector_reader_add(reader, &series);
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
    json_take_elements(&reader->json, end - reader->json.at, reader->json.at + 1);
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
    else
        message_quote(message, "the query gives a result of type ", type, ", not a vector");
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
    if (answer.result.ptr) { /* it came before its type */
        json_reader_init(&reader.json, answer.result);
        read_result(&reader);
        json_end(&reader.json);
    }
    if (json_error(&reader.json) != JSON_OK)
        return vector_reader_complain(&reader, &message);
    return keep_warning(&answer, &reader);
}

/* --- the lists of metrics.k8s.io ---------------------------------------------------------- */

/*
 * What `kubectl top` shows. Amounts are kept as they are written, in billionths, until the last
 * container is added: rounding up to thousandths, as is right for what pods ask for, would make an
 * idle pod busy.
 */
/* The list, as far as it is asked for. */
typedef struct List {
    VectorReader reader;
    Str resource;
    bool is_of_pods;
    bool has_items;
    Str kind, message; /* of a Status, which comes instead when something is wrong */
} List;

typedef struct Item {
    List *list;
    Str namespace, name;
    int64_t at_sec;
    Quantity amount;
    size_t n_amounts, n_containers;
} Item;

/* Whole numbers, and billionths that are doubles without loss, round once at most. */
static double quantity_double(Quantity quantity) {
    __int128 whole = quantity.nano / NANO, rest = quantity.nano % NANO;

    if (rest == 0)
        return (double)whole;
    if (quantity.nano < EXACT_MAX && quantity.nano > -EXACT_MAX)
        return (double)quantity.nano / (double)NANO;
    return (double)whole + (double)rest / (double)NANO;
}

/* A quantity may be written as a number too. */
static void read_amount(List *list, Item *item) {
    JsonReader *json = &list->reader.json;
    Str text = STR_NULL;
    Quantity amount;

    if (json_peek(json) == JSON_NUMBER)
        json_number(json, &text);
    else
        json_string(json, list->reader.arena, &text);
    if (json_error(json) != JSON_OK)
        return;
    if (!quantity_parse(text, &amount)) {
        json_fail(json, JSON_E_TYPE, "expected a quantity");
        return;
    }
    item->amount = quantity_add(item->amount, amount);
    item->n_amounts++;
}

static void read_usage(JsonReader *json, Arena *arena, void *target) {
    Item *item = target;
    bool has_amount = false;
    Str key;

    (void)arena;
    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, item->list->resource) && !has_amount) {
            has_amount = true;
            read_amount(item->list, item);
        } else {
            json_skip(json, NULL);
        }
    }
}

static void read_container(JsonReader *json, Arena *arena, void *target) {
    static const JsonField fields[] = {{"usage", JSON_FIELD_CUSTOM, .read = read_usage}};
    Item *item = target;

    item->n_containers++;
    JSON_READ_FIELDS(json, arena, fields, item);
}

static void read_time(JsonReader *json, Arena *arena, void *target) {
    Item *item = target;

    time_decode(json, arena, &item->at_sec);
}

/* All but the last are of a node, all but the first of a pod. */
static const JsonField item_fields[] = {
    {"usage", JSON_FIELD_CUSTOM, .read = read_usage},
    {"metadata.name", JSON_FIELD_TEXT, offsetof(Item, name)},
    {"metadata.namespace", JSON_FIELD_TEXT, offsetof(Item, namespace)},
    {"timestamp", JSON_FIELD_CUSTOM, .read = read_time},
    {"containers", JSON_FIELD_ARRAY, .read = read_container},
};

static void add_item(List *list, const Item *item) {
    VectorReader *reader = &list->reader;
    SeriesLabel *labels = vector_reader_labels(reader);
    Series series = {
        .labels = labels,
        .value = quantity_double(item->amount),
        .at_msec = item->at_sec > 0 ? item->at_sec * 1000 : 0,
    };

    if (!labels)
        return;
    if (list->is_of_pods)
        labels[series.n_labels++] = (SeriesLabel){STR("namespace"), item->namespace};
    labels[series.n_labels++] =
        (SeriesLabel){list->is_of_pods ? STR("pod") : STR("node"), item->name};
    vector_reader_take_labels(reader, series.n_labels);
    vector_reader_add(reader, &series);
}

/* A pod of which some container's amount is missing has no number: a part of it would be a wrong
 * one. */
static void read_item(JsonReader *json, Arena *arena, void *target) {
    List *list = target;
    Item item = {.list = list};

    json_read_fields(
        json, arena, item_fields + list->is_of_pods, ELEMENTS_OF(item_fields) - 1, &item);
    if (json_error(json) != JSON_OK)
        return;
    if (item.n_amounts == (list->is_of_pods ? item.n_containers : 1) && item.n_amounts > 0)
        add_item(list, &item);
    else
        list->reader.vector->n_histograms++;
}

static void read_items(JsonReader *json, Arena *arena, void *target) {
    List *list = target;

    if (list->has_items) {
        json_skip(json, NULL);
        return;
    }
    list->has_items = true;
    json_read_array(json, arena, read_item, list);
}

static const JsonField metrics_fields[] = {
    {"items", JSON_FIELD_CUSTOM, .read = read_items},
    {"kind", JSON_FIELD_TEXT, offsetof(List, kind)},
    {"message", JSON_FIELD_TEXT, offsetof(List, message)},
};

static int complain_of_kind(const List *list, Message *message) {
    if (str_eq(list->kind, STR("Status"))) {
        message_add(message, "the server answered: ");
        message_show(message, list->message, SERVER_TEXT_MAX);
    } else if (str_is_empty(list->kind)) {
        message_add(message, "JSON, but no list of metrics.k8s.io");
    } else {
        message_quote(message, "an object of kind ", list->kind, "");
        message_add(message, ", not a %s", list->is_of_pods ? "PodMetricsList" : "NodeMetricsList");
    }
    return -EPROTO;
}

int vector_read_resources(
    Str body, Str resource, bool is_of_pods, Arena *arena, Vector *ret, char *error) {
    Message message = message_begin(error, VECTOR_ERROR_MAX);
    List list = {.resource = resource, .is_of_pods = is_of_pods};
    int r;

    *ret = (Vector){0};
    r = vector_reader_begin(&list.reader, body, arena, ret, &message);
    if (r < 0)
        return r;
    JSON_READ_FIELDS(&list.reader.json, arena, metrics_fields, &list);
    json_end(&list.reader.json);
    if (json_error(&list.reader.json) != JSON_OK)
        return vector_reader_complain(&list.reader, &message);
    if (!list.has_items ||
        !str_eq(list.kind, is_of_pods ? STR("PodMetricsList") : STR("NodeMetricsList")))
        return complain_of_kind(&list, &message);
    return 0;
}

Str series_label(const Series *series, Str name) {
    for (size_t i = 0; i < series->n_labels; i++)
        if (str_eq(series->labels[i].name, name))
            return series->labels[i].value;
    return STR_NULL;
}
