#pragma once

/*
 * Certificates: a list from a file or from a peer, what one is good for, and revocation lists.
 *
 * Functions that return an int return 0 or one of GnuTLS's errors, which are negative.
 */

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/cleanup.h"
#include "base/str.h"

#define CERTIFICATES_CHAIN_MAX 16u /* of a server, or of a peer */

typedef struct Certificates {
    gnutls_x509_crt_t *items;
    unsigned n;
} Certificates;

void certificates_done(Certificates *certificates); /* takes a zeroed one, or half of a list */

/* All certificates in @pem, or an error: a truncated file is not a shorter list. @ret must be
 * zeroed before, and freed in every case. 0, or an error of GnuTLS; the same below. */
int certificates_parse(const gnutls_datum_t *pem, Certificates *ret) MUST_CHECK;

/* The chain that the peer of @session sent, leaf first. */
int certificates_of_peer(gnutls_session_t session, Certificates *ret) MUST_CHECK;

/* What verifying a signature of a peer's key may cost. GnuTLS verifies one before it knows whether
 * the certificate is any good: 16,384 bits with an exponent of that size take half a second, and
 * the peer needs no private key for it. */
#define CERTIFICATES_RSA_BITS_MAX 8192u
#define CERTIFICATES_RSA_EXPONENT_MAX 8u /* bytes; 65537 is usual */

/* Whether the key of the first certificate in a peer's Certificate message, of TLS 1.2 or
 * @is_tls_1_3, is within these limits. True also if there is none, or no message: GnuTLS refuses
 * that. */
bool certificates_key_is_cheap(const gnutls_datum_t *message, bool is_tls_1_3);

/* Whether its subject's CN, or a DNS or URI SAN, is one of @names. */
bool certificate_has_name(gnutls_x509_crt_t certificate, const Str *names, size_t n_names);

/* Whether its extended key usage, if it has one, allows TLS servers. */
bool certificate_is_for_servers(gnutls_x509_crt_t certificate);

/* When all of the first @n are valid, seconds since 1970. */
typedef struct CertificateTimes {
    int64_t from_sec, until_sec;
} CertificateTimes;

CertificateTimes certificates_times(const Certificates *list, unsigned n);

/* Revocation lists. */

typedef struct Crls {
    gnutls_x509_crl_t *items;
    unsigned n;
} Crls;

void crls_done(Crls *crls); /* takes a zeroed one */

/* All CRLs in @pem, or an error, as certificates_parse(). */
int crls_parse(const gnutls_datum_t *pem, Crls *ret) MUST_CHECK;

/* Why @crl is not a CRL of one of @cas; NULL: it is, in time or past its next update. Static. */
const char *crl_problem(gnutls_x509_crl_t crl, const Certificates *cas);
