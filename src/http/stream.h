#pragma once

/*
 * Stream: a reply that goes on, written by another thread.
 *
 *   server_stream() → handle() returns → stream_response() is queued → read … suspended ┐
 *                                  stream_send(), stream_close(): resumed ┴→ read … → end
 *
 * Bytes wait in a ring; libmicrohttpd's worker reads it when the client can take more, and the
 * connection is suspended while it is empty. As in http/pending.h one lock guards it all, and no
 * connection is left suspended when the server ends.
 *
 * An HttpStream belongs to its request and to the sender, and may outlive the server.
 */

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "http/connections.h"
#include "http/server.h"

typedef struct Streams Streams;

/* At most @max at a time. @connections are borrowed: a client that is given up is cut there. NULL
 * when out of memory. */
Streams *streams_new(unsigned max, Connections *connections);

/* No new ones; those there are end when what was sent is out. Any thread. */
void streams_end(Streams *streams);

/* The same, but without waiting: no connection stays suspended. Before libmicrohttpd is stopped. */
void streams_close(Streams *streams);

Streams *streams_free(Streams *streams); /* closed, requests have ended. Takes NULL */
DEFINE_CLEANUP(Streams *, streams_free)

/* On @connection, until stream_end(). NULL: too many, ended, or no memory. */
HttpStream *stream_new(Streams *streams, Connection *connection);

/* What goes out, on @mhd, as @content_type; NULL: text/event-stream. NULL when out of memory. */
struct MHD_Response *stream_response(
    HttpStream *stream, struct MHD_Connection *mhd, const char *content_type);

/* The request ends, and with it its half of @stream. Returns how many bytes went out; 0 for NULL.
 */
uint64_t stream_end(HttpStream *stream);
