#pragma once

/*
 * Certificates: lists of certificates from files or peers, checks of them, and revocation lists.
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

/* Parses all certificates in @pem, or fails: a truncated file must not pass as a shorter list. Zero
 * @ret before; free it in every case. 0 or an error of GnuTLS. */
int certificates_parse(const gnutls_datum_t *pem, Certificates *ret) MUST_CHECK;

/* Reads the chain that the peer of @session sent, leaf first. As above. */
int certificates_of_peer(gnutls_session_t session, Certificates *ret) MUST_CHECK;

/* Limits for a peer's key. GnuTLS verifies a signature before it checks the certificate: with
 * 16,384 bits and an exponent of that size this takes half a second, and the peer needs no private
 * key to cause it. */
#define CERTIFICATES_RSA_BITS_MAX 8192u
#define CERTIFICATES_RSA_EXPONENT_MAX 8u /* bytes; 65537 is usual */

/* Whether the key of the first certificate in a peer's Certificate message, of TLS 1.2 or
 * @is_tls_1_3, is within these limits. True also if the message has none or is malformed: GnuTLS
 * refuses it. */
bool certificates_key_is_cheap(const gnutls_datum_t *message, bool is_tls_1_3);

/* Whether the subject's CN, or a DNS or URI SAN, is one of @names. */
bool certificate_has_name(gnutls_x509_crt_t certificate, const Str *names, size_t n_names);

/* Whether the extended key usage, if there is one, allows TLS servers. */
bool certificate_is_for_servers(gnutls_x509_crt_t certificate);

/* The time in which all of the first @n are valid, in seconds since 1970. */
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

/* Static: why @crl is not a CRL of one of @cas; NULL: it is, even if past its next update. */
const char *crl_problem(gnutls_x509_crl_t crl, const Certificates *cas);
