/* Reads a series by comparing its text with the series before. */

#include "base/bytes.h"
#include "load/vector-internal.h"

/* A value with escapes was unescaped into the arena: it is not a slice of the text. */
static bool is_within(Str part, const char *from, const char *to) {
    return part.ptr >= from && part.ptr <= to && part.len <= (size_t)(to - part.ptr);
}

void shape_learn(
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

bool shape_match(const SeriesShape *shape, JsonReader *json, SeriesLabel *labels, Str *ret_number,
    size_t *ret_end) {
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
