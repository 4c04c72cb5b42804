#pragma once

/*
 * Certificates: a list from a file or from a peer, and the names in one.
 *
 * Functions that return an int return 0 or one of GnuTLS's errors, which are negative.
 */

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

#define CERTIFICATES_CHAIN_MAX 16u /* of a server, or of a peer */

typedef struct Certificates {
    gnutls_x509_crt_t *items;
    unsigned n;
} Certificates;

void certificates_done(Certificates *certificates); /* takes a zeroed one, or half of a list */

/* All certificates in @pem, or an error: a truncated file is not a shorter list. @ret is zeroed
 * before, and must be freed in every case; the same below. */
int certificates_parse(const gnutls_datum_t *pem, Certificates *ret) MUST_CHECK;

/* The chain that the peer of @session sent, leaf first. */
int certificates_of_peer(gnutls_session_t session, Certificates *ret) MUST_CHECK;

/* Whether its subject's CN, or a DNS, URI or e-mail SAN, is one of @names. */
bool certificate_has_name(gnutls_x509_crt_t certificate, const Str *names, size_t n_names);
