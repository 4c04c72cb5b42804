#pragma once

/*
 * Headers: a request's header lines, refused where two readers could differ.
 *
 * libmicrohttpd 0.9 forgives: it takes a length twice or beside chunked, a space
 * before the colon, folded lines (and glues the second line to the *name*), NUL
 * in a value (which then ends there), bare LF, and a line with an empty name,
 * which it takes for the end of the headers. Most of that cannot be seen through
 * its functions, so the lines are read here once more, from the bytes it parsed,
 * and a request is refused unless both readings agree.
 *
 * No memory is allocated; nothing is kept but numbers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct Headers {
    size_t n_lines; /* to be compared with the other reader's */
    unsigned n_hosts, n_lengths, n_codings, n_authorizations;
    uint64_t content_length; /* 0 when there is none */
    bool is_chunked;
    bool expects_continue;
    bool has_origin;     /* Origin is there: a browser, on behalf of some page */
    bool has_named_host; /* Host is a name; addresses, localhost and names under it are none */
    bool accepts_html;   /* Accept names text/html */
    bool accepts_gzip;   /* Accept-Encoding names gzip */
    unsigned status;     /* 0: good so far; else 400 or 415 */
    const char *problem; /* one line for the client, static */
} Headers;

/* Takes one line. The first problem stays, but 400 wins over 415. */
void headers_add(Headers *headers, Str name, Str value);

/* Takes a whole block as libmicrohttpd 0.9 leaves it behind: from the byte after
 * the HTTP version to the end of the empty line, with the colon after each name
 * and the CR and LF of each line overwritten by NUL. */
void headers_add_block(Headers *headers, Str block);

/* All lines are in: judges what is missing and what does not go together. */
void headers_finish(Headers *headers, bool is_http_1_1);

static inline bool headers_announce_body(const Headers *headers) {
    return headers->is_chunked || headers->content_length > 0;
}

/* Method and target of the request line hold no byte that could end or split it. */
bool headers_request_line_is_clean(Str method, Str target);
