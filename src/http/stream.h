#pragma once

/*
 * Stream: a reply of unknown length, sent by another thread than the worker.
 *
 *   server_stream() → handle() returns → stream_write() … asleep ┐
 *                           stream_send(), stream_close(): awake ┴→ stream_write() … → end
 *
 * Chunked bytes are buffered in a ring. A worker writes them when the socket is writable; while the
 * ring is empty the connection is asleep.
 *
 * An HttpStream has two references: of its request and of the sender. It may outlive the server.
 */

#include "http/connections.h"
#include "http/server.h"

/* Makes a stream on @connection, which must live until stream_end(). NULL: out of memory. */
HttpStream *stream_new(Connections *connections, Connection *connection, bool is_chunked);

/* Makes the head. Call it on the worker, before the first stream_write(). @content_type may be
 * NULL: text/event-stream. @has_body: false for a reply to HEAD. False when out of memory. */
bool stream_start(HttpStream *stream, const char *content_type, bool has_body);

typedef enum StreamState {
    STREAM_FULL,   /* the socket is full */
    STREAM_ASLEEP, /* the connection is asleep, and the caller no longer holds it */
    STREAM_OVER,   /* everything is sent, and the stream has ended */
    STREAM_BROKEN,
} StreamState;

/* Writes unsent bytes, on the worker that holds the connection. @is_ending: accepts no more. */
StreamState stream_write(HttpStream *stream, bool is_ending);

/* Ends the request's use of @stream, a reference. Returns the number of body bytes sent. */
uint64_t stream_end(HttpStream *stream);
