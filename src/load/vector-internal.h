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
    size_t size;     /* series there is room for */
    size_t n_labels; /* so far, of all series */
    bool is_over;    /* over a limit */
} VectorReader;

/* 0; or, with a message, -EFBIG, or -EPROTO for a body that does not start like JSON. */
int vector_reader_begin(
    VectorReader *reader, Str body, Arena *arena, Vector *vector, Message *message) MUST_CHECK;

/* Describes why the JSON reader stopped. -EPROTO, -EFBIG or -ENOMEM. */
int vector_reader_complain(const VectorReader *reader, Message *message);

/* Stops the reader at a limit that @static_text names. */
void vector_reader_overflow(VectorReader *reader, const char *static_text);

/* Adds @series, with a copy of its labels. */
void vector_reader_add(VectorReader *reader, const Series *series);
