#pragma once

/*
 * Proxy: chooses the proxy for the API server, if any.
 *
 * As in Go programs: a kubeconfig's proxy-url, else HTTPS_PROXY (HTTP_PROXY for http://), unless
 * the host is this machine or NO_PROXY lists it: by name (with all names below it), by ".name"
 * (only names below it), by address or range (10.0.0.0/8), with or without a port, or "*".
 * Variables in lower case are used if those in upper case are not set.
 */

#include "base/origin.h"

#define ADDRESS_BYTES 16u

/* Parses an address to network order; IPv4 is mapped to IPv6. False: it is no address. */
bool address_parse(Str text, unsigned char ret[ADDRESS_BYTES]);

/* Whether the first @bits are equal. */
bool address_starts_alike(const unsigned char *a, const unsigned char *b, unsigned bits);

/* The proxy's URL, borrowed from @configured (the kubeconfig's; may be NULL) or from the
 * environment; NULL: no proxy. */
const char *proxy_choose(const Origin *origin, const char *configured);
