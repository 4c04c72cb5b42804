#pragma once

/*
 * VectorReader: the JSON reader of an answer, and room for its series and labels. The readers of
 * Prometheus' answers and of metrics.k8s.io's lists are built on it. Errors are the JSON reader's.
 */

#include "base/message.h"
#include "load/vector.h"
#include "json/read.h"

#define VECTOR_SERVER_TEXT_MAX 200u /* bytes of a server's error that a message shows */
#define VECTOR_LABEL_MAX 8192u      /* bytes of a label's name or value */

typedef struct VectorReader {
    JsonReader json;
    Arena *arena;
    Vector *vector;
    size_t size; /* series there is room for */

    SeriesLabel *labels; /* where the next ones go */
    size_t n_labels_left;
    size_t n_labels; /* so far, of all series */
    size_t block;    /* labels of the last block */
    bool is_over;    /* over a limit */
} VectorReader;

/* 0; or, with a message, -EFBIG, or -EPROTO for a body that does not start like JSON. */
int vector_reader_begin(
    VectorReader *reader, Str body, Arena *arena, Vector *vector, Message *message) MUST_CHECK;

/* Describes why the JSON reader stopped. -EPROTO, -EFBIG or -ENOMEM. */
int vector_reader_complain(const VectorReader *reader, Message *message);

/* Stops the reader at a limit that @static_text names. */
void vector_reader_overflow(VectorReader *reader, const char *static_text);

/* Room for VECTOR_LABELS_MAX labels; vector_reader_take_labels() keeps the first @n of them. NULL
 * when out of memory or over the limit of labels in all. */
SeriesLabel *vector_reader_labels(VectorReader *reader);
void vector_reader_take_labels(VectorReader *reader, size_t n);

void vector_reader_add(VectorReader *reader, const Series *series);
