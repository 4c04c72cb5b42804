#pragma once

/*
 * Reply: an HttpReply on its way out.
 *
 * Two ways. The usual one hands it to libmicrohttpd: in one piece without a copy,
 * small ones of several slices joined before, large ones read slice by slice.
 * The raw one writes the answer to the socket or TLS session directly: libmicrohttpd
 * cannot answer in the middle of an upload, but that is when it is known that a
 * body is too large, and a client should hear why.
 *
 * Gathered writes (MHD_create_response_from_iovec) would save the copy of large
 * ones, 6 of 60 ms for 82 MB. But libmicrohttpd 0.9 breaks off after IOV_MAX
 * slices, and aborts the whole process when the list of slices does not fit into
 * what a client's headers and pipelined requests have left of its memory.
 *
 * Every reply has Content-Length and, unless it says otherwise, "Cache-Control: no-store"; none is
 * chunked.
 */

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

#define REPLY_RAW_MAX 16384u

/* Where a reply of many slices has been read to. */
typedef struct SliceReader {
    const Str *slices;
    size_t n_slices;
    size_t at, offset;
} SliceReader;

/* The body's length. */
uint64_t reply_size(const HttpReply *reply);

/* Makes one slice of several, if they are small: then header and body leave in one
 * system call. Without room in @arena (NULL: none) they stay as they are. */
void reply_join(HttpReply *reply, Arena *arena);

/* A response over @reply's slices, which must live until it has been sent, as
 * must @reader (written here). NULL when out of memory. */
struct MHD_Response *reply_response(const HttpReply *reply, bool close, SliceReader *reader);

/* Writes the whole reply, with "Connection: close", without waiting, and ends our
 * half of the connection. @session is NULL for plain HTTP. False when it could not
 * be written at once. */
bool reply_send_raw(const HttpReply *reply, int fd, gnutls_session_t session);
