/*
 * The answer to an instant query. A series nearly always has the labels and the time of the one
 * before it: both are then compared instead of parsed.
 */

#include <errno.h>
#include <math.h>

#include "base/bytes.h"
#include "base/double.h"
#include "load/vector-internal.h"
#include "json/fields.h"

#define TIME_SEC_MAX 253402300799.0 /* the last second of the year 9999 */

/*
 * SeriesShape: the text of a series without the parts that differ in the next one.
 *
 *     ,{"metric":{"node":"  a  "},"value":[1700000000.123,"  0.42  "]}
 *
 * A server writes thousands of series that differ only in label values and in the number. Where the
 * text between them repeats, comparing bytes replaces parsing. A series of another shape is parsed,
 * and its shape replaces this one.
 */
#define SHAPE_LABELS_MAX 16u

typedef struct SeriesShape {
    Str pieces[SHAPE_LABELS_MAX + 2]; /* before each label's value, before the number, after it */
    Str names[SHAPE_LABELS_MAX];
    size_t n_labels;
    bool is_known;
    int64_t at_msec;
} SeriesShape;

/* A value with escapes was unescaped into the arena: it is not a slice of the text. */
static bool is_within(Str part, const char *from, const char *to) {
    return part.ptr >= from && part.ptr <= to && part.len <= (size_t)(to - part.ptr);
}

/* @series is the text from @from to the reader's position, and @number is its number. A series with
 * escapes or many labels leaves the shape unknown. */
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

/* Whether a series of this shape follows, with no label's value over VECTOR_LABEL_MAX bytes. If so,
 * fills the shape's number of @labels, the text of the number and the end of the series. If not,
 * @labels may be partly overwritten. Consumes nothing. */
static bool shape_match(const SeriesShape *shape, JsonReader *json, SeriesLabel *labels,
    Str *ret_number, size_t *ret_end) {
    size_t at = json->at;

    if (!shape->is_known || json->state != JSON_BEHIND_ELEMENT)
        return false;
    for (size_t i = 0; i < shape->n_labels; i++) {
        if (!take_piece(json, shape->pieces[i], &at))
            return false;
        labels[i] = (SeriesLabel){shape->names[i], take_text(json, &at)};
        if (labels[i].value.len > VECTOR_LABEL_MAX)
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
    VectorReader reader;
    Str number; /* of the last series, as text */
    SeriesShape shape;

    bool has_data, has_result;
    Str status, error_type, error;
    Str warning, info; /* the first of each */
    Str type;          /* of the result */
    Str result;        /* read later: it came before its type */
} Answer;

/* A value as Prometheus writes it: decimal, or "NaN", "+Inf", "-Inf" ("Inf"). Overflow is infinite.
 * Returns false if it is not a value. */
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

/* Seconds since 1970, to the nearest millisecond. False: not a time of the years 1970 to 9999. */
static bool read_time(Str text, int64_t *ret_msec) {
    double sec;

    if (!double_parse(text, &sec, NULL) || sec < 0 || sec > TIME_SEC_MAX)
        return false;
    *ret_msec = llround(sec * 1000);
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

static void read_labels(VectorReader *reader, SeriesLabel *labels, Series *series) {
    JsonReader *json = &reader->json;
    Str key;

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
}

/* [1700000000.123,"0.42"] */
static void read_value(Answer *answer, Series *series) {
    JsonReader *json = &answer->reader.json;
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
    answer->number = text;
    if (n != 2)
        json_fail(json, JSON_E_TYPE, "expected a time and a value");
    else if (!read_time(time, &series->at_msec))
        json_fail(json, JSON_E_RANGE, "expected a time in seconds since 1970");
    else if (escaped || !vector_number(text, &series->value))
        json_fail(json, JSON_E_TYPE, "expected a number in a string");
}

static void read_series(Answer *answer) {
    VectorReader *reader = &answer->reader;
    JsonReader *json = &reader->json;
    SCRATCH SeriesLabel labels[VECTOR_LABELS_MAX];
    Series series = {.labels = labels};
    size_t from = reader->json.at;
    bool has_labels = false, has_value = false, has_histogram = false;
    Str key;

    json_object(json);
    while (json_key(json, &key)) {
        if (json_key_is(json, key, STR("metric")) && !has_labels) {
            has_labels = true;
            read_labels(reader, labels, &series);
        } else if (json_key_is(json, key, STR("value")) && !has_value) {
            has_value = true;
            read_value(answer, &series);
        } else {
            has_histogram |= json_key_is(json, key, STR("histogram"));
            json_skip(json, NULL);
        }
    }
    if (json_error(json) != JSON_OK)
        return;
    if (!names_differ(&series))
        json_fail(json, JSON_E_TYPE, "a label twice in one series");
    else if (!has_value && has_histogram)
        reader->vector->n_histograms++;
    else if (!has_value)
        json_fail(json, JSON_E_TYPE, "a series without a value");
    if (!has_value || json_error(json) != JSON_OK)
        return;
    shape_learn(&answer->shape, json, from, &series, answer->number);
    vector_reader_add(reader, &series);
}

/* Reads the next series if it has the shape of the one before. */
static bool repeat_series(Answer *answer) {
    VectorReader *reader = &answer->reader;
    const SeriesShape *shape = &answer->shape;
    SCRATCH SeriesLabel labels[VECTOR_LABELS_MAX];
    Series series;
    Str number;
    size_t end;

    if (!shape_match(shape, &reader->json, labels, &number, &end) ||
        !vector_number(number, &series.value))
        return false;
    series.labels = labels;
    series.n_labels = (uint32_t)shape->n_labels;
    series.at_msec = shape->at_msec;
    json_take_elements(&reader->json, end - reader->json.at, reader->json.at + 1);
    vector_reader_add(reader, &series);
    return true;
}

static void read_result(Answer *answer) {
    json_array(&answer->reader.json);
    while (json_element(&answer->reader.json)) {
        read_series(answer);
        while (repeat_series(answer))
            ;
    }
}

/* The type mostly comes before the result. If not, the result is read later. */
static void read_first_result(JsonReader *json, Arena *arena, void *target) {
    Answer *answer = target;

    if (answer->has_result || !str_eq(answer->type, STR("vector")))
        json_skip(json, answer->has_result ? NULL : &answer->result);
    else
        read_result(answer);
    answer->has_result = true;
}

static void read_first_data(JsonReader *json, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("resultType", TEXT, Answer, type),
        {JSON_NAME("result"), JSON_FIELD_CUSTOM, .read = read_first_result},
    };
    Answer *answer = target;

    if (answer->has_data)
        json_skip(json, NULL);
    else
        JSON_READ_KEYS(json, arena, fields, answer);
    answer->has_data = true;
}

static void read_first_text(JsonReader *json, Arena *arena, void *target) {
    json_array(json);
    for (size_t n = 0; json_element(json); n++) {
        if (n == 0)
            json_string(json, arena, target);
        else
            json_skip(json, NULL);
    }
}

static const JsonField answer_fields[] = {
    JSON_MEMBER("status", TEXT, Answer, status),
    {JSON_NAME("data"), JSON_FIELD_CUSTOM, .read = read_first_data},
    JSON_MEMBER("errorType", TEXT, Answer, error_type),
    JSON_MEMBER("error", TEXT, Answer, error),
    JSON_CUSTOM("warnings", Answer, warning, read_first_text),
    JSON_CUSTOM("infos", Answer, info, read_first_text),
};

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
    message_show(message, answer->error, VECTOR_SERVER_TEXT_MAX);
    return -EPROTO;
}

int vector_read_prometheus(Str body, Arena *arena, Vector *ret, char *error) {
    Message message = message_begin(error, VECTOR_ERROR_MAX);
    Answer answer = {0};
    VectorReader *reader = &answer.reader;
    char text[VECTOR_ERROR_MAX];
    int r;

    *ret = (Vector){0};
    r = vector_reader_begin(reader, body, arena, ret, &message);
    if (r < 0)
        return r;
    JSON_READ_KEYS(&reader->json, arena, answer_fields, &answer);
    json_end(&reader->json);
    if (json_error(&reader->json) != JSON_OK)
        return vector_reader_complain(reader, &message);
    if (!str_eq(answer.status, STR("success")))
        return complain_of_status(&answer, &message);
    if (!str_eq(answer.type, STR("vector")))
        return complain_of_type(answer.type, &message);
    if (answer.result.ptr) {
        json_reader_init(&reader->json, answer.result);
        read_result(&answer);
        json_end(&reader->json);
    }
    if (json_error(&reader->json) != JSON_OK)
        return vector_reader_complain(reader, &message);
    /* Cut and escaped once, for every place that shows it. */
    message = message_begin(text, sizeof(text));
    message_show(&message, str_is_empty(answer.warning) ? answer.info : answer.warning,
        VECTOR_SERVER_TEXT_MAX);
    ret->warning = arena_copy(arena, str_of(text, message.len));
    return ret->warning.ptr ? 0 : -ENOMEM;
}
