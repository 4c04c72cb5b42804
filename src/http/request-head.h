#pragma once

/*
 * RequestHead: the request line and the header lines of one request.
 *
 * Strict where two parsers could differ: lines end in CR LF, header lines are not folded, a name
 * ends at its colon, Content-Length and Host are given once, and Transfer-Encoding is refused
 * (kube-scheduler, browsers and berth's own client send Content-Length).
 *
 * No memory is allocated: strings point into the bytes that were read.
 */

#include "http/server.h"

typedef struct RequestHead {
    unsigned status;     /* 0: good; else 400, 405, 415, 417, 501 or 505 */
    const char *problem; /* one line for the client, static; NULL when good */

    HttpRequest http; /* what handlers see of it: not yet path, query and who sends it */
    Str target;       /* path and query; the path may be empty */
    bool is_http_1_1; /* else 1.0 */
    bool is_last;     /* the client wants the connection closed after the reply */
    Str host, origin; /* header values, or empty */
    bool expects_continue;
    bool has_named_host; /* Host is a name, not an address, localhost or a name under it */
    unsigned n_hosts, n_lengths, n_authorizations, n_tokens;
} RequestHead;

#define REQUEST_HEAD_MALFORMED SIZE_MAX

/* The length of the head at the start of @bytes, with its empty line. 0: more bytes are needed, and
 * *scanned, 0 at first, is where the next call continues. REQUEST_HEAD_MALFORMED: not a head, which
 * is known as soon as its first line is complete. */
size_t request_head_length(Str bytes, size_t *scanned);

/* Reads a head of request_head_length() bytes. Keeps the first problem, but 400 wins. */
void request_head_parse(Str bytes, RequestHead *ret);
