#pragma once

/*
 * Stream: a reply that goes on, written by another thread.
 *
 *   server_stream() → handle() returns → stream_write() … asleep ┐
 *                           stream_send(), stream_close(): awake ┴→ stream_write() … → end
 *
 * Bytes wait in a ring as they go out, in chunks; a worker writes them when the client can take
 * more, and the connection is asleep while the ring is empty.
 *
 * An HttpStream belongs to its request and to the sender, and may outlive the server.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/connections.h"
#include "http/server.h"

/* On @connection, until stream_end(); HTTP/1.0 has no chunks. NULL when out of memory. */
HttpStream *stream_new(Connections *connections, Connection *connection, bool is_chunked);

/* Before the first stream_write(), on the worker: makes the head. @content_type may be NULL:
 * text/event-stream. @has_body: false in the reply to HEAD. False when out of memory. */
bool stream_start(HttpStream *stream, const char *content_type, bool has_body);

typedef enum StreamState {
    STREAM_FULL,   /* the client takes no more now */
    STREAM_ASLEEP, /* all is out: the connection is asleep, and the caller holds it no more */
    STREAM_OVER,   /* all is out, and no more will come */
    STREAM_BROKEN,
} StreamState;

/* On the worker that holds the connection. @is_ending: no more is taken, what was sent goes out. */
StreamState stream_write(HttpStream *stream, bool is_ending);

/* The request ends, and with it its half of @stream. Returns how many bytes of the body were
 * sent. */
uint64_t stream_end(HttpStream *stream);
