/* A client whose key is expensive to verify is refused before its signature is verified. */

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/certificates.h"
#include "http/test-handshake.h"
#include "http/test-identity.h"
#include "http/tls.h"

#define KEY_MAX 4096u /* bytes */

/* An RSA public key of invented numbers: there is no private key. */
typedef struct MadeUpKey {
    unsigned char modulus[KEY_MAX], exponent[KEY_MAX];
    unsigned n_modulus, n_exponent; /* bytes */
    gnutls_pcert_st certificate;
    gnutls_privkey_t key;
} MadeUpKey;

/* GnuTLS's callbacks for such a key. The signature is invented, too. */
static int sign(gnutls_privkey_t key, gnutls_sign_algorithm_t algorithm, void *context,
    unsigned flags, const gnutls_datum_t *data, gnutls_datum_t *ret) {
    const MadeUpKey *it = context;

    ret->size = it->n_modulus;
    ret->data = gnutls_calloc(1, ret->size);
    assert_non_null(ret->data);
    memset(ret->data + 1, 0x5a, ret->size - 1);
    return 0;
}

static int describe(gnutls_privkey_t key, unsigned what, void *context) {
    const MadeUpKey *it = context;

    if (what == GNUTLS_PRIVKEY_INFO_PK_ALGO)
        return GNUTLS_PK_RSA;
    if (what == GNUTLS_PRIVKEY_INFO_PK_ALGO_BITS)
        return (int)it->n_modulus * 8;
    return what & GNUTLS_PRIVKEY_INFO_HAVE_SIGN_ALGO ? 1 : -1;
}

static void key_init(MadeUpKey *it, unsigned modulus_bits, unsigned exponent_bits) {
    gnutls_datum_t modulus = {.data = it->modulus, .size = modulus_bits / 8};
    gnutls_datum_t exponent = {.data = it->exponent, .size = exponent_bits / 8};
    Identity ca = identity_new(&(IdentitySpec){.common_name = "ca", .is_ca = true});
    Identity holder = identity_new(&(IdentitySpec){.common_name = TLS_CLIENT_NAME, .issuer = &ca});
    gnutls_pubkey_t public_key;

    it->n_modulus = modulus.size;
    it->n_exponent = exponent.size;
    assert_true(modulus.size <= KEY_MAX && exponent.size <= KEY_MAX);
    memset(it->modulus, 0xa5, modulus.size); /* odd */
    memset(it->exponent, 0x35, exponent.size);
    CHECK(gnutls_pubkey_init(&public_key));
    CHECK(gnutls_pubkey_import_rsa_raw(public_key, &modulus, &exponent));
    CHECK(gnutls_x509_crt_set_pubkey(holder.certificate, public_key));
    CHECK(gnutls_x509_crt_sign2(holder.certificate, ca.certificate, ca.key, GNUTLS_DIG_SHA256, 0));
    CHECK(gnutls_pcert_import_x509(&it->certificate, holder.certificate, 0));
    CHECK(gnutls_privkey_init(&it->key));
    CHECK(gnutls_privkey_import_ext4(it->key, it, sign, sign, NULL, NULL, describe, 0));
    gnutls_pubkey_deinit(public_key);
    identity_done(&holder);
    identity_done(&ca);
}

static void key_done(MadeUpKey *it) {
    gnutls_pcert_deinit(&it->certificate);
    gnutls_privkey_deinit(it->key);
}

/* --- a handshake --- */

typedef struct Peer {
    int fd;
    const char *priorities;
    MadeUpKey *key;
} Peer;

static int on_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n_names,
    const gnutls_pk_algorithm_t *kinds, int n_kinds, gnutls_pcert_st **chain, unsigned *n_chain,
    gnutls_privkey_t *key) {
    const Peer *peer = gnutls_session_get_ptr(session);

    *chain = &peer->key->certificate;
    *n_chain = 1;
    *key = peer->key->key;
    return 0;
}

static void *run_client(void *context) {
    Peer *peer = context;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;

    (void)gnutls_certificate_allocate_credentials(&credentials);
    gnutls_certificate_set_retrieve_function2(credentials, on_certificate);
    (void)gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT);
    gnutls_session_set_ptr(session, peer);
    (void)gnutls_priority_set_direct(session, peer->priorities, NULL);
    (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, peer->fd);
    (void)handshake_finish(session);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    return NULL;
}

/* Returns the server's result for a client that has @key. */
static int shake_hands(const Identity *server, MadeUpKey *key, const char *priorities) {
    Handshake handshake;
    pthread_t thread;
    int fds[2], r;
    Peer peer;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    peer = (Peer){.fd = fds[1], .priorities = priorities, .key = key};
    assert_int_equal(pthread_create(&thread, NULL, run_client, &peer), 0);
    r = handshake_accept(&handshake, server, fds[0]);
    (void)shutdown(fds[0], SHUT_RDWR);
    assert_int_equal(pthread_join(thread, NULL), 0);
    handshake_done(&handshake);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return r;
}

/* Every signature is wrong; the error shows whether the server verified it. */
static void test_refuses_expensive_keys(void **state) {
    static const struct {
        const char *name;
        unsigned modulus_bits, exponent_bits;
        int error;
    } cases[] = {
        {"ordinary", 2048, 24, GNUTLS_E_PK_SIG_VERIFY_FAILED},
        {"large", 8192, 24, GNUTLS_E_PK_SIG_VERIFY_FAILED},
        {"largest exponent", 4096, 64, GNUTLS_E_PK_SIG_VERIFY_FAILED},
        {"exponent of 72 bits", 2048, 72, GNUTLS_E_CERTIFICATE_ERROR},
        {"exponent like the modulus", 2048, 2048, GNUTLS_E_CERTIFICATE_ERROR},
        {"modulus too large", 8200, 24, GNUTLS_E_CERTIFICATE_ERROR},
        {"both", 32768, 32768, GNUTLS_E_CERTIFICATE_ERROR}, /* would take three seconds */
    };
    static const char *const versions[] = {
        "NORMAL:-VERS-ALL:+VERS-TLS1.2", "NORMAL:-VERS-ALL:+VERS-TLS1.3"};
    Identity server = identity_new(&(IdentitySpec){.common_name = "berth", .is_for_servers = true});
    static MadeUpKey key;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        key_init(&key, cases[i].modulus_bits, cases[i].exponent_bits);
        for (size_t k = 0; k < ELEMENTS_OF(versions); k++)
            assert_case(cases[i].name, shake_hands(&server, &key, versions[k]) == cases[i].error);
        key_done(&key);
    }
    identity_done(&server);
}

/* Malformed messages, which GnuTLS refuses later. */
static void test_leaves_malformed_messages_to_gnutls(void **state) {
    static const char *const messages[] = {"", "\0", "\0\0", "\0\0\0\0", "\0\0\0\3\0\0\0",
        "\0\0\0\4\0\0\1\60", "\377\377\377\377\377", "\0\377\377\377\377\377\377\377"};

    for (size_t i = 0; i < ELEMENTS_OF(messages); i++)
        for (unsigned size = 0; size <= 8; size++) {
            unsigned char *bytes = calloc(1, size + 1u); /* so that sanitizers see the end */
            gnutls_datum_t message;

            assert_non_null(bytes);
            memcpy(bytes, messages[i], size < strlen(messages[i]) ? size : strlen(messages[i]));
            message = (gnutls_datum_t){.data = bytes + 1, .size = size};
            assert_true(certificates_key_is_cheap(&message, /* is_tls_1_3= */ true));
            assert_true(certificates_key_is_cheap(&message, /* is_tls_1_3= */ false));
            free(bytes);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_expensive_keys),
        cmocka_unit_test(test_leaves_malformed_messages_to_gnutls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
