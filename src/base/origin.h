#pragma once

/* Origin: the parts of a server's URL. */

#include "base/str.h"

/* All strings are slices of the URL that was read. */
typedef struct Origin {
    bool is_tls;
    bool is_v6; /* the host is an IPv6 address, which a URL has in brackets */
    Str host;   /* without brackets */
    uint16_t port;
    Str path; /* "" or "/…" */
} Origin;

/* Reads http:// or https:// (in any case), a host, perhaps a port, perhaps a path. False for
 * anything else, and for a URL with an '@' anywhere. */
bool origin_parse(Str url, Origin *ret);

/* Cuts http:// or https:// (in any case) off the front. False: @url begins otherwise. */
bool origin_cut_scheme(Str *url, bool *ret_is_tls);

/* The error in the URL of a server ("has no host"), stricter than origin_parse(): a URL must not
 * lead to another host than it shows, nor put a password into a log. NULL: valid. */
const char *origin_complaint(Str url);

/* Whether @text has only characters of host names and addresses, as in certificates. */
bool origin_is_host_name(Str text);

/* Whether @location, the target of a redirect of @url, is on the same server: a path ("/…"),
 * "//host/…", or a URL, with the same scheme, host and port. If so, *ret_path is its path with the
 * query, without the fragment, borrowed from @location; "/" if it has none. False for users, for
 * characters that a URL cannot have, and for relative paths, which no server of ours sends. */
bool origin_is_same(Str url, Str location, Str *ret_path);

/* Whether the host is this machine: localhost, 127.0.0.0/8 or ::1. */
bool origin_is_loopback(const Origin *origin);
