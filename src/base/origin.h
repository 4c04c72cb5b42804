#pragma once

/* Origin: where a URL leads, taken apart. */

#include "base/str.h"

/* All slices of the URL it was read from. */
typedef struct Origin {
    bool is_tls;
    bool is_v6; /* the host is an IPv6 address, which a URL has in brackets */
    Str host;   /* without brackets */
    uint16_t port;
    Str path; /* "" or "/…" */
} Origin;

/* http:// or https://, in capitals or not, a host, perhaps a port, perhaps a path; false for
 * anything else, a URL with an '@' anywhere in it among them. */
bool origin_parse(Str url, Origin *ret);

/* The error in the URL of a server ("has no host"), beyond what origin_parse() checks: nothing may
 * lead to another host than it names, or show a password in a log. NULL: valid. */
const char *origin_complaint(Str url);

/* Whether @text has only characters of names and addresses that a certificate can be for. */
bool origin_is_host_name(Str text);

/* Whether @location, as a redirect of @url names it, is on the same server: a path ("/…"),
 * "//host/…", or a URL, with the same scheme, host and port. If so, *ret_path is its path with the
 * query, without the fragment, borrowed from @location, or "/" for none. Not taken: users,
 * characters that a URL cannot have, and paths that begin otherwise, which servers that answer
 * queries do not send. */
bool origin_is_same(Str url, Str location, Str *ret_path);

/* Whether it is this machine: localhost, 127.0.0.0/8 or ::1. */
bool origin_is_loopback(const Origin *origin);
