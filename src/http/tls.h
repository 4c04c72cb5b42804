#pragma once

/*
 * TlsStore: certificate, key, client CA and its CRLs, always as a consistent set.
 *
 * A set of files replaces the one in use only after all checks. Refused, while the old set stays: a
 * certificate that does not match the key, is not valid now or not for servers, a key that every
 * user can replace, a half-written file, an empty CA, a CRL of another CA. A handshake references
 * the current set, so a reload needs no restart and breaks no connection. Contents are compared,
 * not file times: a mounted Secret changes by an atomic symlink swap.
 *
 * With a client CA, a client needs a certificate that chains to it for client authentication, is
 * not revoked, and has a subject CN or a DNS or URI SAN in a list of names: that of TlsFiles, or a
 * listener's own. The chain alone is not enough: every kubelet has a certificate of the cluster's
 * CA. Sessions are never resumed, so each handshake has a certificate.
 *
 * Threads: any; only one may reload.
 */

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/buf.h"

#define TLS_FILE_MAX ((size_t)1024 * 1024)
#define TLS_CLIENT_NAME "system:kube-scheduler"

typedef struct TlsStore TlsStore;

typedef struct TlsFiles {
    const char *certificate; /* PEM chain, leaf first */
    const char *key;         /* PEM */
    const char *client_ca;   /* PEM bundle; NULL: no client certificates */
    const char *client_crl;  /* PEM, CRLs of CAs in client_ca; NULL: none is revoked */
    const Str *client_names; /* allowed names; none with a CA: TLS_CLIENT_NAME */
    size_t n_client_names;
} TlsFiles;

/* Reads and checks the files. Paths and names are borrowed. 0; or a negative errno, with file and
 * reason in @error. */
int tls_store_new(const TlsFiles *files, TlsStore **ret, char *error, size_t error_size);
TlsStore *tls_store_free(TlsStore *store); /* takes NULL */
DEFINE_CLEANUP(TlsStore *, tls_store_free)

typedef enum TlsReload {
    TLS_UNCHANGED,
    TLS_RELOADED,
    TLS_REFUSED, /* the old set stays; @error has the reason */
} TlsReload;

/* Reads the files again. */
TlsReload tls_store_reload(TlsStore *store, char *error, size_t error_size);

/* When the certificate in use expires, seconds since 1970. */
int64_t tls_store_expiry(const TlsStore *store);

/* Appends the chain in use, leaf first, as PEM. */
void tls_store_print_chain(const TlsStore *store, Buf *out);

/* The earliest nextUpdate of the CRLs in use, seconds since 1970; 0: no CRL, or no such time. */
int64_t tls_store_crl_expiry(const TlsStore *store);

/* Whether other users can read the key, or its group replace it. @text: the file and the fix. */
bool tls_store_key_warning(const TlsStore *store, char *text, size_t size);

/* Whether a CRL is past its next update; it still applies. @text as above. */
bool tls_store_crl_warning(const TlsStore *store, int64_t now_sec, char *text, size_t size);

/* The allowed client names: of TlsFiles, or TLS_CLIENT_NAME. Borrowed; none without a client CA. */
const Str *tls_store_client_names(const TlsStore *store, size_t *ret_n);

/* Requests a certificate of the peer of @session; call it before the handshake. A certificate whose
 * key is expensive to verify ends the handshake. */
void tls_request_certificate(gnutls_session_t session);

/* Whether the peer of @session has a certificate that is valid now by the rules above, with one of
 * @names. *ret_until_sec: when its chain expires, since 1970; 0 and a reason for the log in @error
 * if it is not allowed. */
bool tls_store_peer_is_allowed(TlsStore *store, gnutls_session_t session, const Str *names,
    size_t n_names, int64_t *ret_until_sec, char *error, size_t size);

/* Changes with each new set. A cached result of tls_store_peer_is_allowed() is valid only while
 * this stays the same. */
uint64_t tls_store_generation(const TlsStore *store);

/* The set of a handshake; it lives while it is referenced. */
typedef struct TlsSet TlsSet;

TlsSet *tls_store_ref_set(const TlsStore *store); /* the current one; never NULL */
TlsSet *tls_set_unref(TlsSet *set);               /* takes NULL, returns NULL */

/* Chain and key of @set, borrowed, for GnuTLS's callback. */
void tls_set_credentials(
    TlsSet *set, gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_privkey_t *ret_key);

/* For the server: TLS 1.3 and 1.2, only AEAD and forward secrecy, in the server's order. No
 * finite-field groups: an invented ffdhe8192 key share costs the server half a second, and its
 * sender nothing. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-"  \
    "POLY1305:-RSA:-DHE-RSA:-SHA1:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:-GROUP-ALL:+GROUP-X25519:"       \
    "+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"
