#pragma once

/*
 * Source: a server that answers PromQL, as the operator has configured it.
 *
 * Policies name sources, never addresses: where berth connects to is the operator's to say. What
 * a policy can make happen is a query to a server of this list.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

#define SOURCES_MAX 16u
#define SOURCE_HEADERS_MAX 16u

typedef struct SourceHeader {
    Str name, value; /* X-Scope-OrgID: of Mimir and Cortex */
} SourceHeader;

typedef struct Source {
    Str name; /* "default" is meant where a policy names none */
    const char
        *url; /* http:// or https://, with a path in front of /api/v1/query if there is one */
    const char *token_file; /* Authorization: Bearer, read again when it changes; or NULL */
    const char *user, *password_file; /* basic; or NULL */
    const char *ca_file;              /* NULL: the system's */
    const char *cert_file, *key_file; /* of ours; or NULL */
    const char *server_name; /* for the certificate, if it is not the URL's host; or NULL */
    bool is_insecure;        /* the certificate is not verified: said loudly */
    bool may_be_link_local;  /* 169.254.0.0/16, fe80::/10: where clouds keep credentials */
    const SourceHeader *headers;
    size_t n_headers;
} Source;

typedef struct Sources {
    const Source *items;
    size_t n;
} Sources;

#define SOURCE_DEFAULT_NAME "default"

/* The source of that name; empty is the default one. NULL: there is none. */
const Source *sources_find(const Sources *sources, Str name);

/* Whether connecting to @address (a struct sockaddr of @len bytes) is refused unless
 * may_be_link_local: link-local addresses of both families, also IPv4 ones inside IPv6, and the
 * addresses that clouds serve credentials from. */
bool source_address_is_refused(const void *address, size_t len);
