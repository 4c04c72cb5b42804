#pragma once

/*
 * AskStream: an answer of a berth that does not end, line by line: /api/v1/events.
 *
 * One thread, which waits for the next line and for one more descriptor (the keyboard) together.
 */

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/ask.h"

#define ASK_STREAM_LINE_MAX ((size_t)1024 * 1024)

typedef struct AskStream AskStream;

/* Begins to ask for @path. @line is called by ask_stream_step() with each whole line, without its
 * end. Everything is borrowed. NULL when out of memory. */
AskStream *ask_stream_new(const AskAccess *access, const char *path,
    void (*line)(void *context, Str line), void *context);
AskStream *ask_stream_free(AskStream *stream); /* takes NULL, returns NULL */
DEFINE_CLEANUP(AskStream *, ask_stream_free)

typedef enum AskStreamState {
    ASK_STREAM_GOES_ON,
    ASK_STREAM_ENDED, /* the other side has closed it, or it could not be had: ask_stream_error() */
} AskStreamState;

/* Waits up to @timeout_msec for lines, until @fd (-1: none) can be read, or for a signal. */
AskStreamState ask_stream_step(AskStream *stream, int fd, int timeout_msec);

/* Why it ended, for a person. Lives as long as the stream. */
const char *ask_stream_error(const AskStream *stream);
