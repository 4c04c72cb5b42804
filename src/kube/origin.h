#pragma once

/* Origin: where a URL leads, taken apart. */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* All slices of the URL it was read from. */
typedef struct Origin {
    bool is_tls;
    bool is_v6; /* the host is an IPv6 address, which a URL has in brackets */
    Str host;   /* without brackets */
    uint16_t port;
    Str path; /* "" or "/…" */
} Origin;

/* http:// or https://, a host, perhaps a port, perhaps a path; false for anything else. */
bool origin_parse(Str url, Origin *ret);
