#pragma once

/*
 * Reply: sends an HttpReply: a head made here, then the reply's slices, gathered by the kernel
 * where possible and never copied here.
 *
 * Every reply has Content-Length, Date and, unless it sets another, "Cache-Control: no-store".
 */

#include "base/buf.h"
#include "http/server.h"
#include "http/transport.h"

#define REPLY_HEAD_MAX 16384u

/* The bytes to send, and the position in them. */
typedef struct ReplyWriter {
    Buf head; /* status line and header lines */
    const Str *slices;
    size_t n_slices;
    size_t at, offset; /* the next byte: of the head (at is 0), or of slice at - 1 */
} ReplyWriter;

/* The body's length. */
uint64_t reply_size(const HttpReply *reply);

/* Takes @reply, whose slices must live until all is written. @is_last: the connection is closed
 * after it. @has_body: false in the reply to HEAD. False when out of memory. */
bool reply_start(ReplyWriter *writer, const HttpReply *reply, bool is_last, bool has_body);

/* 0 when all is written; -EAGAIN; or another negative errno when the connection is broken. */
int reply_write(ReplyWriter *writer, Transport *transport);

void reply_done(ReplyWriter *writer); /* takes a zeroed one */

/* The head of a stream, chunked where @is_chunked, of @content_type; NULL: text/event-stream. */
void reply_stream_head(Buf *head, const char *content_type, bool is_chunked);
