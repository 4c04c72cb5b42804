#pragma once

/*
 * Head: the request line and the headers, from libmicrohttpd's hands into ours.
 *
 * Of the worker that owns the connection.
 */

#include <microhttpd.h>
#include <stddef.h>

#include "http/headers.h"
#include "http/server.h"

/* As libmicrohttpd gives it, and @target: path and query as they were sent. */
typedef struct HeadLine {
    const char *url, *method, *version, *target;
} HeadLine;

/* Reads the lines into @headers (zeroed); what is wrong is in its status. *ret_size: the bytes of
 * it all. */
void head_read(
    struct MHD_Connection *mhd, const HeadLine *line, Headers *headers, size_t *ret_size);

/* What handlers see of it. Strings are of @mhd and @line; who asks, and the arena, is for the
 * caller to fill in. */
void head_fill(struct MHD_Connection *mhd, const HeadLine *line, const Headers *headers,
    const ServerOptions *options, HttpRequest *ret);
