#pragma once

/* The server's side of a handshake on a socket, with the options of a listener that requests client
 * certificates. */

#include <gnutls/gnutls.h>

#include "http/test-identity.h"
#include "http/tls.h"

typedef struct Handshake {
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
} Handshake;

static inline int handshake_finish(gnutls_session_t session) {
    int r;

    do
        r = gnutls_handshake(session);
    while (r < 0 && !gnutls_error_is_fatal(r));
    return r;
}

/* Returns GnuTLS's result. Call handshake_done() in any case. */
static inline int handshake_accept(Handshake *it, const Identity *server, int fd) {
    gnutls_x509_crt_t chain[] = {server->certificate};

    CHECK(gnutls_certificate_allocate_credentials(&it->credentials));
    CHECK(gnutls_certificate_set_x509_key(it->credentials, chain, 1, server->key));
    CHECK(gnutls_init(&it->session, GNUTLS_SERVER));
    CHECK(gnutls_priority_set_direct(it->session, TLS_PRIORITIES, NULL));
    CHECK(gnutls_credentials_set(it->session, GNUTLS_CRD_CERTIFICATE, it->credentials));
    tls_request_certificate(it->session);
    gnutls_transport_set_int(it->session, fd);
    return handshake_finish(it->session);
}

static inline void handshake_done(Handshake *it) {
    gnutls_deinit(it->session);
    gnutls_certificate_free_credentials(it->credentials);
}
