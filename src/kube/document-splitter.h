#pragma once

/*
 * DocumentSplitter: splits a stream of bytes into documents, one per line.
 *
 * A line that is whole in the input is returned as a slice of it; a partial line is kept until the
 * rest arrives.
 *
 *     while ((r = splitter_next(&splitter, &bytes, &document)) == SPLITTER_DOCUMENT)
 *         ...
 */

#include "base/buf.h"

#define SPLITTER_KEEP_MAX ((size_t)64 * 1024) /* memory kept after a document */

typedef struct DocumentSplitter {
    Buf half;
    bool is_given; /* @half has the last returned document */
} DocumentSplitter;

#define SPLITTER_INIT(document_max) ((DocumentSplitter){.half = BUF_INIT(document_max)})

void splitter_done(DocumentSplitter *splitter); /* leaves it empty, and usable */

enum {
    _SPLITTER_MORE,     /* all bytes are consumed */
    SPLITTER_DOCUMENT,  /* *ret is valid until the next call */
    SPLITTER_TOO_LARGE, /* over document_max; until splitter_done() */
};

/* Takes the next line from the front of @bytes; skips empty lines. Negative: -ENOMEM. */
int splitter_next(DocumentSplitter *splitter, Str *bytes, Str *ret) MUST_CHECK;
