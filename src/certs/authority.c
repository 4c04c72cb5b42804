/* Creates a CA, and issues certificates that every TLS stack accepts: a random serial of 128 bits,
 * key usage and purpose, names as subjectAltName, and key identifiers. Reads certificates. */

#include "certs/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <time.h>

#include "base/message.h"
#include "base/vec.h"
#include "cli/terminal.h"

#define SERIAL_SIZE 16u
#define KEY_ID_SIZE 20u /* RFC 7093: the first 160 bits of a SHA-256 */
#define COMMON_NAME_MAX 256u
#define NAME_SIZE 1024u

static void cleanup_certificate(gnutls_x509_crt_t *certificate) {
    if (*certificate)
        gnutls_x509_crt_deinit(*certificate);
}

static void cleanup_key(gnutls_x509_privkey_t *key) {
    if (*key)
        gnutls_x509_privkey_deinit(*key);
}

static void cleanup_datum(gnutls_datum_t *datum) {
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    gnutls_free(datum->data);
}

/* Ends the process for a negative @r. */
static void check(int r, const char *what) {
    if (r < 0)
        terminal_exit(r == GNUTLS_E_MEMORY_ERROR ? EXIT_UNREACHABLE : EXIT_FAILED, "%s: %s", what,
            gnutls_strerror(r));
}

static gnutls_datum_t datum_of(Str text) {
    return (gnutls_datum_t){
        .data = (unsigned char *)(uintptr_t)text.ptr, .size = (unsigned)text.len};
}

/* Functions of GnuTLS, and those below that call them, return 0 or a negative error of GnuTLS. */

static int make_key(gnutls_x509_privkey_t *ret) {
    return gnutls_x509_privkey_init(ret)
               ?: gnutls_x509_privkey_generate(
                      *ret, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

/* Sets a random serial: positive, and never shorter than 128 bits. */
static int set_serial(gnutls_x509_crt_t certificate) {
    unsigned char serial[SERIAL_SIZE];
    int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
    return r ?: gnutls_x509_crt_set_serial(certificate, serial, sizeof(serial));
}

static int key_id(gnutls_x509_crt_t certificate, unsigned char id[KEY_ID_SIZE]) {
    unsigned char whole[64];
    size_t size = sizeof(whole);
    int r = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, whole, &size);

    memcpy(id, whole, KEY_ID_SIZE);
    return r;
}

static int set_key_ids(gnutls_x509_crt_t certificate, gnutls_x509_crt_t issuer) {
    unsigned char own[KEY_ID_SIZE], issuers[KEY_ID_SIZE];

    return key_id(certificate, own)
               ?: gnutls_x509_crt_set_subject_key_id(certificate, own, sizeof(own))
               ?: key_id(issuer, issuers)
               ?: gnutls_x509_crt_set_authority_key_id(certificate, issuers, sizeof(issuers));
}

static int set_basics(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, Str common_name,
    int64_t from_sec, int64_t until_sec) {
    return gnutls_x509_crt_set_version(certificate, 3)
               ?: set_serial(certificate)
               ?: gnutls_x509_crt_set_key(certificate, key)
               ?: gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                      common_name.ptr, (unsigned)common_name.len)
               ?: gnutls_x509_crt_set_activation_time(certificate, (time_t)from_sec)
               ?: gnutls_x509_crt_set_expiration_time(certificate, (time_t)until_sec);
}

static int set_name(gnutls_x509_crt_t certificate, Str name) {
    unsigned char address[sizeof(struct in6_addr)];
    char text[COMMON_NAME_MAX];
    unsigned size = 0;

    if (name.len >= sizeof(text))
        return GNUTLS_E_INVALID_REQUEST;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    if (inet_pton(AF_INET, text, address) == 1)
        size = sizeof(struct in_addr);
    else if (inet_pton(AF_INET6, text, address) == 1)
        size = sizeof(struct in6_addr);
    return gnutls_x509_crt_set_subject_alt_name(certificate,
        size > 0 ? GNUTLS_SAN_IPADDRESS : GNUTLS_SAN_DNSNAME, size > 0 ? (void *)address : text,
        size > 0 ? size : (unsigned)name.len, GNUTLS_FSAN_APPEND);
}

static int set_uses(gnutls_x509_crt_t certificate, const CertificateRequest *request) {
    const char *purpose =
        request->use == CERTIFICATE_SERVER ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT;
    int r = gnutls_x509_crt_set_basic_constraints(certificate, 0, -1)
                ?: gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE)
                ?: gnutls_x509_crt_set_key_purpose_oid(certificate, purpose, 0);

    for (size_t i = 0; i < request->n_names && r == 0; i++)
        r = set_name(certificate, request->names[i]);
    return r;
}

/* Appends the certificate, or the key if @certificate is NULL, as PEM. */
static int export(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, Buf *out) {
    _cleanup_(cleanup_datum) gnutls_datum_t pem = {0};
    int r = certificate ? gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem)
                        : gnutls_x509_privkey_export2_pkcs8(
                              key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem);

    if (r == 0)
        buf_append(out, str_of((const char *)pem.data, pem.size));
    return r < 0 ? r : buf_error(out) < 0 ? GNUTLS_E_MEMORY_ERROR : 0;
}

static int make_authority(
    gnutls_x509_crt_t own, gnutls_x509_privkey_t key, int64_t from_sec, int64_t until_sec) {
    unsigned char random[4] = {0};
    char name[32];
    int r = gnutls_rnd(GNUTLS_RND_NONCE, random, sizeof(random));

    (void)snprintf(name, sizeof(name), "berth CA %02x%02x%02x%02x", random[0], random[1], random[2],
        random[3]);
    return r
               ?: set_basics(own, key, str_from_c(name), from_sec, until_sec)
               ?: gnutls_x509_crt_set_basic_constraints(own, 1, 0)
               ?: gnutls_x509_crt_set_key_usage(own, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN)
               ?: set_key_ids(own, own)
               ?: gnutls_x509_crt_sign2(own, own, key, GNUTLS_DIG_SHA256, 0);
}

void authority_new(int64_t from_sec, int64_t until_sec, Buf *certificate, Buf *key) {
    _cleanup_(cleanup_certificate) gnutls_x509_crt_t own = NULL;
    _cleanup_(cleanup_key) gnutls_x509_privkey_t own_key = NULL;

    check(make_key(&own_key)
              ?: gnutls_x509_crt_init(&own)
              ?: make_authority(own, own_key, from_sec, until_sec)
              ?: export(own, NULL, certificate)
              ?: export(NULL, own_key, key),
        "a new CA");
}

/* Reads the authority's certificate and key. If they do not belong together, the process ends. */
static void read_authority(Str authority, Str authority_key, const char *folder,
    gnutls_x509_crt_t *ret_certificate, gnutls_x509_privkey_t *ret_key) {
    gnutls_datum_t pem = datum_of(authority), key_pem = datum_of(authority_key);
    unsigned char of_key[64], of_certificate[64];
    size_t key_size = sizeof(of_key), certificate_size = sizeof(of_certificate);
    int r = gnutls_x509_crt_init(ret_certificate)
                ?: gnutls_x509_crt_import(*ret_certificate, &pem, GNUTLS_X509_FMT_PEM);

    if (r < 0)
        terminal_exit(
            EXIT_FAILED, "the CA in %s: no certificates in PEM: %s", folder, gnutls_strerror(r));
    if (gnutls_x509_crt_get_ca_status(*ret_certificate, NULL) != 1)
        terminal_exit(EXIT_FAILED, "the CA in %s: its certificate is not that of a CA", folder);
    r = gnutls_x509_privkey_init(ret_key)
            ?: gnutls_x509_privkey_import2(*ret_key, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0)
            ?: gnutls_x509_privkey_get_key_id(
                   *ret_key, GNUTLS_KEYID_USE_SHA256, of_key, &key_size)
            ?: gnutls_x509_crt_get_key_id(
                   *ret_certificate, GNUTLS_KEYID_USE_SHA256, of_certificate, &certificate_size);
    if (r < 0)
        terminal_exit(EXIT_FAILED, "the CA in %s: no key in PEM: %s", folder, gnutls_strerror(r));
    if (key_size != certificate_size || memcmp(of_key, of_certificate, key_size) != 0)
        terminal_exit(
            EXIT_FAILED, "the CA in %s: its key does not belong to the first certificate", folder);
}

static int sign(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
    const CertificateRequest *request, int64_t until_sec, gnutls_x509_crt_t issuer,
    gnutls_x509_privkey_t issuer_key) {
    return set_basics(certificate, key, request->common_name, request->from_sec, until_sec)
               ?: set_uses(certificate, request)
               ?: set_key_ids(certificate, issuer)
               ?: gnutls_x509_crt_sign2(certificate, issuer, issuer_key, GNUTLS_DIG_SHA256, 0);
}

void authority_issue(Str authority, Str authority_key, const char *folder,
    const CertificateRequest *request, Buf *certificate, Buf *key) {
    _cleanup_(cleanup_certificate) gnutls_x509_crt_t own = NULL, issuer = NULL;
    _cleanup_(cleanup_key) gnutls_x509_privkey_t own_key = NULL, issuer_key = NULL;
    int64_t last;

    read_authority(authority, authority_key, folder, &issuer, &issuer_key);
    last = (int64_t)gnutls_x509_crt_get_expiration_time(issuer);
    if (last <= request->from_sec)
        terminal_exit(EXIT_FAILED, "the CA has ended; --force makes everything new");
    last = request->until_sec < last ? request->until_sec : last;
    check(make_key(&own_key)
              ?: gnutls_x509_crt_init(&own)
              ?: sign(own, own_key, request, last, issuer, issuer_key)
              ?: export(own, NULL, certificate)
              ?: export(NULL, own_key, key),
        "a new pair");
}

typedef VEC(Str) NameList;

/* An address as text; a copy of other @bytes. */
static Str name_text(int kind, Str bytes, Arena *arena) {
    char text[INET6_ADDRSTRLEN] = "?";
    int family = bytes.len == sizeof(struct in_addr) ? AF_INET : AF_INET6;

    if (kind != GNUTLS_SAN_IPADDRESS)
        return arena_copy(arena, bytes);
    if (bytes.len == sizeof(struct in_addr) || bytes.len == sizeof(struct in6_addr))
        (void)inet_ntop(family, bytes.ptr, text, sizeof(text));
    return arena_copy(arena, str_from_c(text));
}

static void read_names(
    gnutls_x509_crt_t certificate, Arena *arena, NameList *names, NameList *identities) {
    for (unsigned i = 0; i < CERTIFICATE_NAMES_MAX; i++) {
        char bytes[NAME_SIZE];
        size_t size = sizeof(bytes);
        int kind = gnutls_x509_crt_get_subject_alt_name(certificate, i, bytes, &size, NULL);
        bool is_address = kind == GNUTLS_SAN_IPADDRESS, is_dns = kind == GNUTLS_SAN_DNSNAME;
        bool is_other = kind == GNUTLS_SAN_URI || kind == GNUTLS_SAN_RFC822NAME;

        if (kind < 0 && kind != GNUTLS_E_SHORT_MEMORY_BUFFER)
            break;
        if (is_dns || is_address)
            (void)VEC_ADD(names, arena, name_text(kind, str_of(bytes, size), arena));
        if (is_dns || is_other)
            (void)VEC_ADD(identities, arena, arena_copy(arena, str_of(bytes, size)));
    }
}

/* TLS stacks differ about which of two common names counts: then neither is an identity. */
static void read_common_name(
    gnutls_x509_crt_t certificate, Arena *arena, Str *ret, NameList *identities) {
    char name[NAME_SIZE];
    size_t size = sizeof(name), none = 0;

    if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) <
        0)
        return;
    *ret = arena_copy(arena, str_of(name, size));
    if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 1, 0, NULL,
            &none) == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
        (void)VEC_ADD(identities, arena, *ret);
}

int certificate_read(Str pem, Arena *arena, CertificateFacts *ret, char *error) {
    _cleanup_(cleanup_certificate) gnutls_x509_crt_t certificate = NULL;
    gnutls_datum_t text = datum_of(pem);
    NameList names = {0}, identities = {0};
    int r = gnutls_x509_crt_init(&certificate);

    if (r >= 0)
        r = gnutls_x509_crt_import(certificate, &text, GNUTLS_X509_FMT_PEM);
    if (r < 0)
        return message_fail(-EINVAL, error, "no certificate in PEM: %s", gnutls_strerror(r));
    *ret =
        (CertificateFacts){.until_sec = (int64_t)gnutls_x509_crt_get_expiration_time(certificate)};
    read_common_name(certificate, arena, &ret->common_name, &identities);
    read_names(certificate, arena, &names, &identities);
    ret->names = names.items;
    ret->n_names = names.n;
    ret->identities = identities.items;
    ret->n_identities = identities.n;
    return 0;
}
