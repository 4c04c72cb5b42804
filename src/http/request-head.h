#pragma once

/*
 * RequestHead: the request line and the header lines of one request.
 *
 * Strict where two readers could differ: lines end in CR LF, nothing is folded, a name ends at its
 * colon, Content-Length and Host are given once, and there is no Transfer-Encoding at all
 * (kube-scheduler, browsers and our own client send Content-Length).
 *
 * No memory is allocated: strings point into the bytes that were read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct RequestHead {
    unsigned status;     /* 0: good; else 400, 415, 501 or 505 */
    const char *problem; /* one line for the client, static; NULL when good */

    Str method, target;
    bool is_http_1_1; /* else 1.0 */
    bool is_last;     /* the client wants the connection closed after the reply */
    Str host, origin, authorization, if_none_match, content_type; /* header values, or empty */
    uint64_t content_length;                                      /* 0 when there is none */
    bool expects_continue;
    bool has_origin;     /* Origin is there: a browser, on behalf of some page */
    bool has_named_host; /* Host is a name; addresses, localhost and names under it are none */
    bool accepts_html;   /* Accept names text/html */
    bool accepts_gzip;   /* Accept-Encoding names gzip */
    unsigned n_hosts, n_lengths, n_authorizations;
} RequestHead;

#define REQUEST_HEAD_MALFORMED SIZE_MAX

/* The length of the head that @bytes begin with, its empty line included. 0: more bytes are needed;
 * *scanned, 0 at first, says where to go on then. REQUEST_HEAD_MALFORMED: it will never be one. */
size_t request_head_length(Str bytes, size_t *scanned);

/* Reads a whole head, of request_head_length(). The first problem is kept, but 400 wins. */
void request_head_parse(Str bytes, RequestHead *ret);
