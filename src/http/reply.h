#pragma once

/*
 * Reply: sends an HttpReply: a head made here, then the reply's slices, without copying them: the
 * kernel gathers them.
 *
 * Every reply has Content-Length, Date and Cache-Control ("no-store" by default).
 */

#include "base/buf.h"
#include "http/server.h"
#include "http/transport.h"

#define REPLY_HEAD_MAX 16384u

/* The bytes to send, and the current position. */
typedef struct ReplyWriter {
    Buf head; /* status line and header lines */
    const Str *slices;
    size_t n_slices;
    size_t at, offset; /* next byte: at 0 in the head, else in slice at - 1 */
} ReplyWriter;

/* The length of the body in bytes. */
uint64_t reply_size(const HttpReply *reply);

/* Takes @reply, whose slices must live until all is written. @is_last: the connection is closed
 * afterwards. @has_body: false for a reply to HEAD. False when out of memory. */
bool reply_start(ReplyWriter *writer, const HttpReply *reply, bool is_last, bool has_body);

/* 0: all is written. -EAGAIN: the socket is full. Other negative errno: the connection broke. */
int reply_write(ReplyWriter *writer, Transport *transport);

void reply_done(ReplyWriter *writer); /* takes a zeroed one */

/* Appends the head of a stream of @content_type (NULL: text/event-stream). */
void reply_stream_head(Buf *head, const char *content_type, bool is_chunked);
