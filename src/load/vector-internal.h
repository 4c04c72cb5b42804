#pragma once

/*
 * VectorReader: what the readers of vectors share. For the files of vector.h only.
 *
 * A reader of JSON, room for series and labels, and the complaints about a body that is not what it
 * should be.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/message.h"
#include "base/str.h"
#include "load/vector.h"
#include "json/read.h"

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

/* 0; or, with a message, -EFBIG, or -EPROTO for a body that is no JSON at first sight. */
int vector_reader_begin(
    VectorReader *reader, Str body, Arena *arena, Vector *vector, Message *message) MUST_CHECK;

/* Room for VECTOR_LABELS_MAX; of which the first @n are then taken. NULL when out of memory, or
 * over VECTOR_LABELS_TOTAL_MAX: the error is the JSON reader's. */
SeriesLabel *vector_reader_labels(VectorReader *reader);
void vector_reader_take_labels(VectorReader *reader, size_t n);

/* Errors are the JSON reader's. */
void vector_reader_add(VectorReader *reader, const Series *series);

/* The last one added; NULL: none. */
static inline const Series *vector_reader_last(const VectorReader *reader) {
    return reader->vector->n > 0 ? &reader->vector->items[reader->vector->n - 1] : NULL;
}

/* A value as Prometheus writes it: decimal, or "NaN", "+Inf", "-Inf" ("Inf"). Too large is
 * infinite. False: it is none of these. */
bool vector_number(Str text, double *ret);

/* Seconds since 1970, to the nearest millisecond. False: it is no time of the years up to 9999. */
bool vector_reader_time(VectorReader *reader, Str text, int64_t *ret_msec);

/* Stops: over a ceiling, which @static_text names. */
void vector_reader_overflow(VectorReader *reader, const char *static_text);

/* Says what the JSON reader stopped at. -EPROTO, -EFBIG or -ENOMEM. */
int vector_reader_complain(const VectorReader *reader, Message *message);
