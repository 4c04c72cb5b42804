/* Checks certificates: names, purpose, times, revocation. */

#include "http/certificates.h"

#include <gnutls/abstract.h>

#define NAME_MAX_LEN 1024

void certificates_done(Certificates *list) {
    for (unsigned i = 0; i < list->n; i++)
        gnutls_x509_crt_deinit(list->items[i]);
    gnutls_free(list->items);
    *list = (Certificates){0};
}

/* Counts BEGIN lines: GnuTLS skips a block without an END line, as in a half-written bundle. */
static unsigned count_blocks(const gnutls_datum_t *pem) {
    const char *at = (const char *)pem->data, *end = at + pem->size;
    unsigned n = 0;

    while (at < end && (at = memmem(at, (size_t)(end - at), "-----BEGIN ", 11)) != NULL) {
        at += 11;
        n++;
    }
    return n;
}

int certificates_parse(const gnutls_datum_t *pem, Certificates *ret) {
    int r;

    if (pem->size == 0)
        return GNUTLS_E_NO_CERTIFICATE_FOUND;
    r = gnutls_x509_crt_list_import2(&ret->items, &ret->n, pem, GNUTLS_X509_FMT_PEM, 0);
    if (r < 0) {
        *ret = (Certificates){0};
        return r;
    }
    return ret->n == count_blocks(pem) ? 0 : GNUTLS_E_BASE64_DECODING_ERROR;
}

int certificates_of_peer(gnutls_session_t session, Certificates *ret) {
    unsigned n = 0;
    const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &n);

    if (!raw || n == 0)
        return GNUTLS_E_NO_CERTIFICATE_FOUND;
    if (n > CERTIFICATES_CHAIN_MAX)
        return GNUTLS_E_CERTIFICATE_LIST_UNSORTED;
    ret->items = gnutls_calloc(n, sizeof(gnutls_x509_crt_t));
    if (!ret->items)
        return GNUTLS_E_MEMORY_ERROR;
    for (unsigned i = 0; i < n; i++) {
        int r = gnutls_x509_crt_init(&ret->items[i]);

        if (r < 0)
            return r;
        ret->n++;
        r = gnutls_x509_crt_import(ret->items[i], &raw[i], GNUTLS_X509_FMT_DER);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Takes a vector from the front of @bytes: @size bytes of length, then that many bytes. Returns
 * false if there are fewer. */
static bool take_vector(gnutls_datum_t *bytes, unsigned size, gnutls_datum_t *ret) {
    unsigned len = 0;

    if (bytes->size < size)
        return false;
    for (unsigned i = 0; i < size; i++)
        len = len << 8 | bytes->data[i];
    if (bytes->size - size < len)
        return false;
    *ret = (gnutls_datum_t){.data = bytes->data + size, .size = len};
    bytes->data += size + len;
    bytes->size -= size + len;
    return true;
}

static bool rsa_is_cheap(gnutls_pubkey_t key) {
    gnutls_datum_t modulus = {0}, exponent = {0};
    bool is_cheap =
        gnutls_pubkey_export_rsa_raw2(key, &modulus, &exponent, GNUTLS_EXPORT_FLAG_NO_LZ) >= 0 &&
        modulus.size <= CERTIFICATES_RSA_BITS_MAX / 8 &&
        exponent.size <= CERTIFICATES_RSA_EXPONENT_MAX;

    gnutls_free(modulus.data);
    gnutls_free(exponent.data);
    return is_cheap;
}

bool certificates_key_is_cheap(const gnutls_datum_t *message, bool is_tls_1_3) {
    gnutls_datum_t rest = *message, context, list, leaf;
    gnutls_pcert_st certificate;
    bool is_cheap;
    int kind;

    if ((is_tls_1_3 && !take_vector(&rest, 1, &context)) || !take_vector(&rest, 3, &list) ||
        !take_vector(&list, 3, &leaf) ||
        gnutls_pcert_import_x509_raw(&certificate, &leaf, GNUTLS_X509_FMT_DER, 0) < 0)
        return true;
    kind = gnutls_pubkey_get_pk_algorithm(certificate.pubkey, NULL);
    is_cheap =
        (kind != GNUTLS_PK_RSA && kind != GNUTLS_PK_RSA_PSS) || rsa_is_cheap(certificate.pubkey);
    gnutls_pcert_deinit(&certificate);
    return is_cheap;
}

/* Parsers disagree on a subject with two common names (Go takes the last, others the first), so
 * neither counts. */
static bool common_name_is_listed(gnutls_x509_crt_t leaf, const Str *names, size_t n_names) {
    char name[NAME_MAX_LEN];
    size_t size = sizeof(name), none = 0;

    return gnutls_x509_crt_get_dn_by_oid(leaf, GNUTLS_OID_X520_COMMON_NAME, 1, 0, NULL, &none) ==
               GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE &&
           gnutls_x509_crt_get_dn_by_oid(leaf, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) >=
               0 &&
           str_is_one_of(str_of(name, size), names, n_names);
}

static bool alternative_name_is_listed(gnutls_x509_crt_t leaf, const Str *names, size_t n_names) {
    for (unsigned i = 0;; i++) {
        char name[NAME_MAX_LEN];
        size_t size = sizeof(name);
        int kind = gnutls_x509_crt_get_subject_alt_name(leaf, i, name, &size, NULL);

        if (kind == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue;
        if (kind < 0)
            return false;
        if ((kind == GNUTLS_SAN_DNSNAME || kind == GNUTLS_SAN_URI) &&
            str_is_one_of(str_of(name, size), names, n_names))
            return true;
    }
}

bool certificate_has_name(gnutls_x509_crt_t certificate, const Str *names, size_t n_names) {
    return common_name_is_listed(certificate, names, n_names) ||
           alternative_name_is_listed(certificate, names, n_names);
}

bool certificate_is_for_servers(gnutls_x509_crt_t certificate) {
    for (unsigned i = 0;; i++) {
        char oid[NAME_MAX_LEN];
        size_t size = sizeof(oid);
        int r = gnutls_x509_crt_get_key_purpose_oid(certificate, i, oid, &size, NULL);

        if (r == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue;
        if (r < 0)
            return i == 0 && r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
        if (strcmp(oid, GNUTLS_KP_TLS_WWW_SERVER) == 0 || strcmp(oid, GNUTLS_KP_ANY) == 0)
            return true;
    }
}

CertificateTimes certificates_times(const Certificates *list, unsigned n) {
    CertificateTimes times = {.from_sec = INT64_MIN, .until_sec = INT64_MAX};

    for (unsigned i = 0; i < n; i++) {
        int64_t from = (int64_t)gnutls_x509_crt_get_activation_time(list->items[i]);
        int64_t until = (int64_t)gnutls_x509_crt_get_expiration_time(list->items[i]);

        times.from_sec = from > times.from_sec ? from : times.from_sec;
        times.until_sec = until < times.until_sec ? until : times.until_sec;
    }
    return times;
}

void crls_done(Crls *crls) {
    for (unsigned i = 0; i < crls->n; i++)
        gnutls_x509_crl_deinit(crls->items[i]);
    gnutls_free(crls->items);
    *crls = (Crls){0};
}

int crls_parse(const gnutls_datum_t *pem, Crls *ret) {
    int r;

    if (pem->size == 0)
        return GNUTLS_E_NO_CERTIFICATE_FOUND;
    r = gnutls_x509_crl_list_import2(&ret->items, &ret->n, pem, GNUTLS_X509_FMT_PEM, 0);
    if (r < 0) {
        *ret = (Crls){0};
        return r;
    }
    return ret->n == count_blocks(pem) ? 0 : GNUTLS_E_BASE64_DECODING_ERROR;
}

const char *crl_problem(gnutls_x509_crl_t crl, const Certificates *cas) {
    unsigned status = 0;

    if (gnutls_x509_crl_verify(crl, cas->items, cas->n, 0, &status) < 0)
        return "cannot be verified";
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
        return "is of an unknown CA";
    if (status & (GNUTLS_CERT_SIGNER_NOT_CA | GNUTLS_CERT_SIGNER_CONSTRAINTS_FAILURE))
        return "is of a CA that may not sign CRLs";
    if (status & GNUTLS_CERT_REVOCATION_DATA_ISSUED_IN_FUTURE)
        return "was issued in the future";
    return status & ~(unsigned)(GNUTLS_CERT_INVALID | GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED)
               ? "has a signature that is wrong or too weak"
               : NULL;
}
