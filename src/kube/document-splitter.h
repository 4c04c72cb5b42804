#pragma once

/*
 * DocumentSplitter: a stream of bytes to whole documents, one per line.
 *
 * A line that arrives whole is returned as a slice of the input; a part of a line is kept until the
 * rest arrives.
 *
 *     while ((r = splitter_next(&splitter, &bytes, &document)) == SPLITTER_DOCUMENT)
 *         ...
 */

#include "base/buf.h"

#define SPLITTER_KEEP_MAX ((size_t)64 * 1024) /* memory that stays after a document was given */

typedef struct DocumentSplitter {
    Buf half;
    bool is_given; /* the contents of half were a document, and it has ended */
} DocumentSplitter;

#define SPLITTER_INIT(document_max) ((DocumentSplitter){.half = BUF_INIT(document_max)})

void splitter_done(DocumentSplitter *splitter); /* empty, and usable again */

enum {
    _SPLITTER_MORE,     /* all of it is taken */
    SPLITTER_DOCUMENT,  /* one is in @ret, until the next call */
    SPLITTER_TOO_LARGE, /* over document_max; stays so until splitter_done() */
};

/* Takes a line off the front of @bytes. Empty lines are skipped. Negative: -ENOMEM. */
int splitter_next(DocumentSplitter *splitter, Str *bytes, Str *ret) MUST_CHECK;
