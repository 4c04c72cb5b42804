/* Reads certificates in PEM with GnuTLS. */

#include "certs/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>

#include "base/message.h"
#include "base/vec.h"

#define NAME_SIZE 1024u

typedef VEC(Str) NameList;

static void cleanup_certificate(gnutls_x509_crt_t *certificate) {
    if (*certificate)
        gnutls_x509_crt_deinit(*certificate);
}

/* An address as text; other @bytes unchanged. */
static Str name_text(int kind, Str bytes, Arena *arena) {
    char text[INET6_ADDRSTRLEN] = "?";
    int family = bytes.len == sizeof(struct in_addr) ? AF_INET : AF_INET6;

    if (kind != GNUTLS_SAN_IPADDRESS)
        return arena_copy(arena, bytes);
    if (bytes.len == sizeof(struct in_addr) || bytes.len == sizeof(struct in6_addr))
        (void)inet_ntop(family, bytes.ptr, text, sizeof(text));
    return arena_copy(arena, str_from_c(text));
}

static void add_name(NameList *names, int kind, Str bytes, Arena *arena) {
    Str *name = VEC_PUSH(names, arena);

    if (name)
        *name = name_text(kind, bytes, arena);
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
            add_name(names, kind, str_of(bytes, size), arena);
        if (is_dns || is_other)
            add_name(identities, kind, str_of(bytes, size), arena);
    }
}

/* With two common names readers differ about which counts: then none is an identity. */
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
        add_name(identities, GNUTLS_SAN_DNSNAME, str_of(name, size), arena);
}

int certificate_read(Str pem, Arena *arena, CertificateFacts *ret, char *error) {
    _cleanup_(cleanup_certificate) gnutls_x509_crt_t certificate = NULL;
    gnutls_datum_t text = {.data = (unsigned char *)(uintptr_t)pem.ptr, .size = (unsigned)pem.len};
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
    if (arena_has_failed(arena))
        return message_no_memory(error, MESSAGE_MAX, "the names of the certificate", arena);
    ret->names = names.items;
    ret->n_names = names.n;
    ret->identities = identities.items;
    ret->n_identities = identities.n;
    return 0;
}
