#pragma once

/*
 * SeriesShape: the text of a series less what differs in the next one.
 *
 *     ,{"metric":{"node":"  a  "},"value":[1700000000.123,"  0.42  "]}
 *
 * A server writes thousands of series that differ in the values of labels and in the number only.
 * What stands between was read once; where it follows again, comparing is enough.
 * Anything else is read the long way, and becomes the next shape.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "load/vector.h"
#include "json/read.h"

#define SHAPE_LABELS_MAX 16u

typedef struct SeriesShape {
    Str pieces[SHAPE_LABELS_MAX + 2]; /* before each label's value, before the number, after it */
    Str names[SHAPE_LABELS_MAX];
    size_t n_labels;
    bool is_known;
    int64_t at_msec;
} SeriesShape;

/* @series stands at @from in the reader's text, up to where the reader is, its number at @number. A
 * shape that cannot be told is not known. */
void shape_learn(
    SeriesShape *shape, const JsonReader *json, size_t from, const Series *series, Str number);

/* Whether a series of this shape follows, with no label's value over @value_max bytes. If so, its
 * labels are in @labels (as many as the shape has; otherwise some may have been written over),
 * @ret_number is the text of its number, and it ends at @ret_end. Nothing is consumed. */
bool shape_match(const SeriesShape *shape, JsonReader *json, size_t value_max, SeriesLabel *labels,
    Str *ret_number, size_t *ret_end);

/* Consumes what shape_match() found up to @end. */
void shape_take(JsonReader *json, size_t end);
