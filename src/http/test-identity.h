#pragma once

/* Identity: a certificate and its key, created for a test. */

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/test-assert.h"

typedef struct Identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
} Identity;

typedef struct IdentitySpec {
    const char *common_name, *second_common_name;
    const char *dns, *uri, *email;
    bool is_ca, is_for_servers, has_any_purpose, has_expired, is_not_yet_valid;
    bool may_not_sign_crls; /* of a CA */
    time_t lasts_sec;       /* 0: a day or so */
    const Identity *issuer; /* NULL: self-signed */
} IdentitySpec;

#define CHECK(call) assert_true((call) >= 0)

static inline void identity_set_names(gnutls_x509_crt_t crt, const IdentitySpec *spec) {
    const char *cn[] = {spec->common_name, spec->second_common_name};

    for (size_t i = 0; i < 2; i++)
        if (cn[i])
            CHECK(gnutls_x509_crt_set_dn_by_oid(
                crt, GNUTLS_OID_X520_COMMON_NAME, 0, cn[i], (unsigned)strlen(cn[i])));
    if (spec->dns)
        CHECK(gnutls_x509_crt_set_subject_alt_name(
            crt, GNUTLS_SAN_DNSNAME, spec->dns, (unsigned)strlen(spec->dns), GNUTLS_FSAN_APPEND));
    if (spec->uri)
        CHECK(gnutls_x509_crt_set_subject_alt_name(
            crt, GNUTLS_SAN_URI, spec->uri, (unsigned)strlen(spec->uri), GNUTLS_FSAN_APPEND));
    if (spec->email)
        CHECK(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_RFC822NAME, spec->email,
            (unsigned)strlen(spec->email), GNUTLS_FSAN_APPEND));
}

static inline Identity identity_new(const IdentitySpec *spec) {
    Identity it;
    time_t now = time(NULL);
    unsigned char serial[8];

    CHECK(gnutls_x509_privkey_init(&it.key));
    CHECK(gnutls_x509_privkey_generate(
        it.key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    CHECK(gnutls_x509_crt_init(&it.certificate));
    CHECK(gnutls_x509_crt_set_version(it.certificate, 3));
    CHECK(gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial)));
    serial[0] &= 0x7f;
    CHECK(gnutls_x509_crt_set_serial(it.certificate, serial, sizeof(serial)));
    CHECK(gnutls_x509_crt_set_activation_time(
        it.certificate, now + (spec->is_not_yet_valid ? 1000 : -2000)));
    CHECK(gnutls_x509_crt_set_expiration_time(
        it.certificate, now + (spec->has_expired    ? -1000
                                  : spec->lasts_sec ? spec->lasts_sec
                                                    : 100000)));
    CHECK(gnutls_x509_crt_set_key(it.certificate, it.key));
    identity_set_names(it.certificate, spec);
    CHECK(gnutls_x509_crt_set_basic_constraints(it.certificate, spec->is_ca, -1));
    if (spec->is_ca)
        CHECK(gnutls_x509_crt_set_key_usage(it.certificate,
            GNUTLS_KEY_KEY_CERT_SIGN | (spec->may_not_sign_crls ? 0 : GNUTLS_KEY_CRL_SIGN)));
    else if (!spec->has_any_purpose)
        CHECK(gnutls_x509_crt_set_key_purpose_oid(it.certificate,
            spec->is_for_servers ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0));
    CHECK(gnutls_x509_crt_sign2(it.certificate,
        spec->issuer ? spec->issuer->certificate : it.certificate,
        spec->issuer ? spec->issuer->key : it.key, GNUTLS_DIG_SHA256, 0));
    return it;
}

static inline void identity_done(Identity *it) {
    gnutls_x509_crt_deinit(it->certificate);
    gnutls_x509_privkey_deinit(it->key);
}

/* --- as files, truncated by @cut bytes --- */

static inline void identity_write(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void identity_write_certificate(const char *path, const Identity *it, size_t cut) {
    gnutls_datum_t pem = {0};

    CHECK(gnutls_x509_crt_export2(it->certificate, GNUTLS_X509_FMT_PEM, &pem));
    identity_write(path, pem.data, pem.size - cut);
    gnutls_free(pem.data);
}

static inline void identity_write_key(const char *path, const Identity *it, size_t cut) {
    gnutls_datum_t pem = {0};

    CHECK(gnutls_x509_privkey_export2(it->key, GNUTLS_X509_FMT_PEM, &pem));
    identity_write(path, pem.data, pem.size - cut);
    gnutls_free(pem.data);
}

/* Appends a CRL of @issuer that revokes @revoked; NULL: none. */
static inline void identity_append_crl(const char *path, const Identity *issuer,
    const Identity *revoked, bool is_overdue, size_t cut) {
    time_t now = time(NULL);
    gnutls_datum_t pem = {0};
    gnutls_x509_crl_t crl;
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    CHECK(gnutls_x509_crl_init(&crl));
    CHECK(gnutls_x509_crl_set_version(crl, 2));
    CHECK(gnutls_x509_crl_set_this_update(crl, now - 2000));
    CHECK(gnutls_x509_crl_set_next_update(crl, now + (is_overdue ? -1000 : 100000)));
    CHECK(gnutls_x509_crl_set_number(crl, "\1", 1));
    if (revoked)
        CHECK(gnutls_x509_crl_set_crt(crl, revoked->certificate, now - 1500));
    CHECK(gnutls_x509_crl_sign2(crl, issuer->certificate, issuer->key, GNUTLS_DIG_SHA256, 0));
    CHECK(gnutls_x509_crl_export2(crl, GNUTLS_X509_FMT_PEM, &pem));
    assert_int_equal(fwrite(pem.data, 1, pem.size - cut, file), pem.size - cut);
    assert_int_equal(fclose(file), 0);
    gnutls_free(pem.data);
    gnutls_x509_crl_deinit(crl);
}
