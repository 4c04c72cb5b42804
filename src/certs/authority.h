#pragma once

/*
 * Authority: a certificate authority, and the pairs (certificate and key) that it issues.
 *
 * Each authority has a name of its own, because verifiers look for issuers by name: a file with two
 * of them makes both trusted. Keys are ECDSA on P-256, which GnuTLS, OpenSSL and Go all take.
 * Everything is PEM.
 */

#include "base/buf.h"
#include "kube/access.h"

#define AUTHORITY_TEXT_MAX ((size_t)256 * 1024) /* of one PEM text */

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

/* A new authority with a new key: appended to @certificate and @key. */
void authority_new(int64_t from_sec, int64_t until_sec, Buf *certificate, Buf *key);

/* A new certificate with a new key, signed by the first certificate of @authority with
 * @authority_key. It expires with the authority at the latest. @folder is for messages. */
void authority_issue(Str authority, Str authority_key, const char *folder,
    const CertificateRequest *request, Buf *certificate, Buf *key);

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

/* The first certificate of @pem; all of *ret lives in @arena, which ends the process where it
 * refuses an allocation. 0, or -EINVAL with a message for users in @error (ACCESS_ERROR_MAX). */
int certificate_read(Str pem, Arena *arena, CertificateFacts *ret, char *error);
