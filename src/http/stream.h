#pragma once

/*
 * Stream: a reply of unknown length, sent by another thread.
 *
 *   server_stream() → handle() returns → stream_write() … asleep ┐
 *                           stream_send(), stream_close(): awake ┴→ stream_write() … → end
 *
 * Chunked bytes are buffered in a ring; a worker writes them when the socket is writable, and the
 * connection is asleep while the ring is empty.
 *
 * An HttpStream belongs to its request and to the sender, and may outlive the server.
 */

#include "http/connections.h"
#include "http/server.h"

/* On @connection, until stream_end(); HTTP/1.0 has no chunks. NULL when out of memory. */
HttpStream *stream_new(Connections *connections, Connection *connection, bool is_chunked);

/* Before the first stream_write(), on the worker: makes the head. @content_type may be NULL:
 * text/event-stream. @has_body: false in the reply to HEAD. False when out of memory. */
bool stream_start(HttpStream *stream, const char *content_type, bool has_body);

typedef enum StreamState {
    STREAM_FULL,   /* the socket is full */
    STREAM_ASLEEP, /* all is sent: the connection is asleep, and the caller no longer holds it */
    STREAM_OVER,   /* all is sent, and the stream has ended */
    STREAM_BROKEN,
} StreamState;

/* On the worker that holds the connection. @is_ending: accepts no more bytes and sends the rest. */
StreamState stream_write(HttpStream *stream, bool is_ending);

/* Ends the request and drops its reference to @stream. Returns the number of body bytes sent. */
uint64_t stream_end(HttpStream *stream);
