#pragma once

/*
 * RequestHead: the request line and the header lines of one request.
 *
 * It is strict where two parsers could differ: lines end in CR LF, header lines are not folded, a
 * name ends at its colon, Content-Length and Host occur once, and Transfer-Encoding is refused
 * (kube-scheduler, browsers and berth's own client send Content-Length).
 *
 * Allocates no memory: strings point into the bytes that were read.
 */

#include "http/server.h"

typedef struct RequestHead {
    unsigned status;     /* 0: good; else 400, 405, 415, 417, 501 or 505 */
    const char *problem; /* one line for the client, static; NULL when good */

    HttpRequest http; /* for handlers; request_describe() adds path, query and sender */
    Str target;       /* path and query; the path may be empty */
    bool is_http_1_1; /* else HTTP/1.0 */
    bool is_last;     /* the client wants the connection closed after the reply */
    Str host, origin; /* header values, or empty */
    bool expects_continue;
    bool has_named_host; /* Host is a name, not an address or localhost (or below it) */
    unsigned n_hosts, n_lengths, n_authorizations, n_tokens;
} RequestHead;

#define REQUEST_HEAD_MALFORMED SIZE_MAX

/* The length of the head at the start of @bytes, with its empty line. 0: more bytes are needed;
 * *scanned, 0 at first, is where the next call continues. REQUEST_HEAD_MALFORMED: not a head, known
 * at the latest when the first line is complete. */
size_t request_head_length(Str bytes, size_t *scanned);

/* Parses a head of request_head_length() bytes. Reports the first problem, but 400 wins. */
void request_head_parse(Str bytes, RequestHead *ret);
