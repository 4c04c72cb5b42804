#pragma once

/*
 * Proxy: which proxy leads to the API server, if any.
 *
 * As Go programs have it: a kubeconfig's proxy-url always counts; without one HTTPS_PROXY
 * (HTTP_PROXY for http://) does, unless the host is this machine or NO_PROXY lists it: by name (and
 * every name below it), by ".name" (only those below), by address or range (10.0.0.0/8), with or
 * without a port, or "*". Names in lower case count where those in upper case are not set.
 */

#include "base/origin.h"

#define ADDRESS_BYTES 16u

/* @text as an address in network order; an IPv4 one is mapped to IPv6. False: it is none. */
bool address_parse(Str text, unsigned char ret[ADDRESS_BYTES]);

/* Whether the first @bits are the same. */
bool address_starts_alike(const unsigned char *a, const unsigned char *b, unsigned bits);

/* The proxy's URL, borrowed, also from the process's environment; NULL: none. @configured is the
 * kubeconfig's, or NULL. */
const char *proxy_choose(const Origin *origin, const char *configured);
