#pragma once

/*
 * Reply: an HttpReply on its way out.
 *
 * Two ways. The usual one hands the slices to libmicrohttpd without copying. The
 * raw one writes the answer to the socket or TLS session directly: libmicrohttpd
 * cannot answer in the middle of an upload, but that is when it is known that a
 * body is too large, and a client should hear why.
 *
 * Every reply has Content-Length and "Cache-Control: no-store"; none is chunked.
 */

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "serve/server.h"

#define REPLY_RAW_MAX 16384u

/* Where a reply of many slices has been read to. */
typedef struct SliceReader {
    const Str *slices;
    size_t n_slices;
    size_t at, offset;
} SliceReader;

/* The body's length. */
uint64_t reply_size(const HttpReply *reply);

/* A response over @reply's slices, which must live until it has been sent, as
 * must @reader (written here). @gather: up to this many slices go out by gathered
 * writes; more are read through @reader. NULL when out of memory. */
struct MHD_Response *reply_response(
    const HttpReply *reply, bool close, size_t gather, SliceReader *reader);

/* Writes the whole reply, with "Connection: close", without waiting. @session is
 * NULL for plain HTTP. False when it could not be written at once. */
bool reply_send_raw(const HttpReply *reply, int fd, gnutls_session_t session);
