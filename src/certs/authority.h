#pragma once

/*
 * Authority: a certificate authority, and the pairs (certificate and key) that it issues.
 *
 * Its certificates are a bundle: the first is the one that signs, the others are predecessors that
 * are still trusted, so that a new authority can take over without a gap. Each has a name of its
 * own, because verifiers look for issuers by name.
 *
 * Keys are ECDSA on P-256, which GnuTLS, OpenSSL and Go all take. Everything is PEM.
 */

#include "base/buf.h"
#include "kube/access.h"

#define AUTHORITY_TEXT_MAX ((size_t)256 * 1024) /* of one PEM text */
#define AUTHORITY_BUNDLE_MAX 8u                 /* certificates of it */

typedef struct Authority Authority;

/* A certificate with its key. */
typedef struct PemPair {
    Buf certificate;
    Buf key;
    int64_t until_sec; /* since 1970 */
} PemPair;

#define PEM_PAIR_INIT                                                                              \
    ((PemPair){.certificate = BUF_INIT(AUTHORITY_TEXT_MAX), .key = BUF_INIT(AUTHORITY_TEXT_MAX)})

void pem_pair_done(PemPair *pair); /* the key is wiped */

typedef enum CertificateUse { CERTIFICATE_SERVER, CERTIFICATE_CLIENT } CertificateUse;

/* A certificate to issue. */
typedef struct CertificateRequest {
    CertificateUse use;
    Str common_name;
    const Str *names; /* DNS names and addresses of a server */
    size_t n_names;
    int64_t from_sec, until_sec; /* since 1970 */
} CertificateRequest;

/* If one of these fails, the process ends (cli/terminal.h). */

/* A new one, with a new key. @previous, or NULL: its certificates stay in the bundle, except those
 * that expired before @from_sec; its key is not needed. */
Authority *authority_new(const Authority *previous, int64_t from_sec, int64_t until_sec);

/* Reads a bundle and the key of its first certificate. @key may be empty: then nothing can be
 * issued. @folder is for messages. */
Authority *authority_read(Str certificates, Str key, const char *folder);

/* A new pair with a new key; needs the authority's key. It expires with the authority at the
 * latest: see ret->until_sec. */
void authority_issue(const Authority *authority, const CertificateRequest *request, PemPair *ret);

/* The bundle, and the key, which must be known, as PEM. */
void authority_print(const Authority *authority, Buf *certificates);
void authority_print_key(const Authority *authority, Buf *key);

Authority *authority_free(Authority *authority); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Authority *, authority_free)

/* Only the newest is left in the bundle. Returns how many were dropped. */
unsigned authority_retire(Authority *authority);

unsigned authority_n_certificates(const Authority *authority);

/* Which certificate of the bundle has signed @certificate, the first of a PEM text; -1: none. */
int authority_signer_of(const Authority *authority, Str certificate);

/* Certificate: the fields of a certificate in PEM. */

#define CERTIFICATE_NAMES_MAX 128u

typedef struct CertificateFacts {
    Str common_name; /* empty: none */
    Str *names;      /* DNS names and addresses, as users write them */
    size_t n_names;
    /* The names that `berth serve --client-name` compares: the common name, unless there are two;
     * DNS names, URIs and mail addresses. */
    Str *identities;
    size_t n_identities;
    int64_t until_sec; /* since 1970 */
} CertificateFacts;

/* The first certificate of @pem; all of *ret lives in @arena. 0, or a negative errno with a
 * message for users in @error (ACCESS_ERROR_MAX). */
int certificate_read(Str pem, Arena *arena, CertificateFacts *ret, char *error);
