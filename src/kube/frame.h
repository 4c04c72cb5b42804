#pragma once

/*
 * Frame: a stream of bytes to whole documents, one per line.
 *
 * A watch sends one JSON object per line and cuts them wherever the network does.
 * Lines that come whole are given as slices of what came; only a half line is kept,
 * until its end comes.
 *
 *     while ((r = frame_next(&frame, &bytes, &document)) == FRAME_DOCUMENT)
 *         ...
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

#define FRAME_KEEP_MAX ((size_t)64 * 1024) /* memory that stays after a document was given */

typedef struct Frame {
    Buf half;
    bool is_given; /* what is in half was a document, and is over */
} Frame;

#define FRAME_INIT(document_max) ((Frame){.half = BUF_INIT(document_max)})

void frame_done(Frame *frame); /* empty, and usable again */

enum {
    _FRAME_MORE,     /* all of it is taken */
    FRAME_DOCUMENT,  /* one is in @ret, until the next call */
    FRAME_TOO_LARGE, /* over document_max; stays so until frame_done() */
};

/* Takes a line off the front of @bytes. Empty lines are passed over. Negative: -ENOMEM. */
int frame_next(Frame *frame, Str *bytes, Str *ret) MUST_CHECK;
