#pragma once

/* A TlsStore for a test, with its own certificate and no client certificates. */

#include <stdlib.h>
#include <unistd.h>

#include "http/test-identity.h"
#include "http/tls.h"

static inline TlsStore *store_open(void) {
    char folder[] = "/tmp/berth-test-tls-XXXXXX", certificate[64], key[64], error[256] = "";
    Identity identity =
        identity_new(&(IdentitySpec){.common_name = "berth", .is_for_servers = true});
    TlsStore *store = NULL;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(certificate, sizeof(certificate), "%s/crt", folder);
    (void)snprintf(key, sizeof(key), "%s/key", folder);
    identity_write_certificate(certificate, &identity, /* cut= */ 0);
    identity_write_key(key, &identity, /* cut= */ 0);
    identity_done(&identity);
    if (tls_store_new(
            &(TlsFiles){.certificate = certificate, .key = key}, &store, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
    return store;
}
