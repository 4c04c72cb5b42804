/* Reads and uses a CA bundle with GnuTLS. */

#include "certs/ca-bundle.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>

#include "base/message.h"

#define HOST_MAX 256u

typedef struct CertificateList {
    gnutls_x509_crt_t *items;
    unsigned n;
} CertificateList;

static void list_done(CertificateList *list) {
    for (unsigned i = 0; i < list->n; i++)
        gnutls_x509_crt_deinit(list->items[i]);
    gnutls_free(list->items);
}

static int list_read(Str pem, CertificateList *ret, char *error) {
    const gnutls_datum_t text = {
        .data = (unsigned char *)(uintptr_t)pem.ptr, .size = (unsigned)pem.len};
    int r = gnutls_x509_crt_list_import2(&ret->items, &ret->n, &text, GNUTLS_X509_FMT_PEM, 0);

    return r < 0 ? message_fail(-EINVAL, error, "no certificates in PEM: %s", gnutls_strerror(r))
                 : 0;
}

int ca_bundle_read(Str pem, int64_t *ret_until_sec, char *error) {
    _cleanup_(list_done) CertificateList list = {0};
    int r = list_read(pem, &list, error);

    *ret_until_sec = 0;
    for (unsigned i = 0; i < list.n; i++) {
        int64_t until = (int64_t)gnutls_x509_crt_get_expiration_time(list.items[i]);

        *ret_until_sec = until > *ret_until_sec ? until : *ret_until_sec;
    }
    return r;
}

static int explain(unsigned status, const char *host, char *error) {
    if (status & GNUTLS_CERT_EXPIRED)
        return message_fail(-EINVAL, error, "it, or its CA, has expired");
    if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNATURE_FAILURE))
        return message_fail(-EINVAL, error, "no CA of the bundle has signed it");
    if (status & GNUTLS_CERT_UNEXPECTED_OWNER)
        return message_fail(-EINVAL, error, "it is not for the name %s", host);
    if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
        return message_fail(-EINVAL, error, "it is not for servers");
    return message_fail(-EINVAL, error, "it cannot be verified (GnuTLS status 0x%x)", status);
}

static void cleanup_trust(gnutls_x509_trust_list_t *trust) {
    if (*trust)
        gnutls_x509_trust_list_deinit(*trust, /* all= */ 0);
}

int ca_bundle_verify(Str bundle, Str chain, Str host, char *error) {
    _cleanup_(list_done) CertificateList roots = {0}, certificates = {0};
    _cleanup_(cleanup_trust) gnutls_x509_trust_list_t trust = NULL;
    char name[HOST_MAX];
    gnutls_typed_vdata_st wanted[] = {
        {.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)name},
        {.type = GNUTLS_DT_KEY_PURPOSE_OID,
            .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_SERVER},
    };
    unsigned status = 0;
    int r = list_read(bundle, &roots, error);

    (void)snprintf(name, sizeof(name), "%.*s", STR_FMT(host));
    if (r == 0)
        r = list_read(chain, &certificates, error);
    if (r < 0)
        return r;
    r = gnutls_x509_trust_list_init(&trust, 0);
    if (r >= 0)
        r = gnutls_x509_trust_list_add_cas(trust, roots.items, roots.n, 0);
    if (r >= 0)
        r = gnutls_x509_trust_list_verify_crt2(trust, certificates.items, certificates.n, wanted,
            ELEMENTS_OF(wanted), 0, &status, NULL);
    if (r < 0)
        return message_fail(-EINVAL, error, "it cannot be verified: %s", gnutls_strerror(r));
    return status == 0 ? 0 : explain(status, name, error);
}
