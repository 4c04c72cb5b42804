#include "http/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http/test-handshake.h"
#include "http/test-identity.h"

/* --- files --- */

typedef struct Folder {
    char path[64];
    char certificate[96], key[96], ca[96], crl[96];
} Folder;

static void folder_init(Folder *folder) {
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/berth-test-tls-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->certificate, sizeof(folder->certificate), "%s/crt", folder->path);
    (void)snprintf(folder->key, sizeof(folder->key), "%s/key", folder->path);
    (void)snprintf(folder->ca, sizeof(folder->ca), "%s/ca", folder->path);
    (void)snprintf(folder->crl, sizeof(folder->crl), "%s/crl", folder->path);
}

static void folder_done(Folder *folder) {
    (void)unlink(folder->certificate);
    (void)unlink(folder->key);
    (void)unlink(folder->ca);
    (void)unlink(folder->crl);
    (void)rmdir(folder->path);
}

/* --- fixture --- */

static Identity ca, other_ca, server, other_server;

static int make_identities(void **state) {
    ca = identity_new(&(IdentitySpec){.common_name = "ca", .is_ca = true});
    other_ca = identity_new(&(IdentitySpec){.common_name = "other ca", .is_ca = true});
    server = identity_new(
        &(IdentitySpec){.common_name = "berth", .is_for_servers = true, .issuer = &ca});
    other_server = identity_new(
        &(IdentitySpec){.common_name = "berth", .is_for_servers = true, .issuer = &ca});
    return 0;
}

static int drop_identities(void **state) {
    identity_done(&ca);
    identity_done(&other_ca);
    identity_done(&server);
    identity_done(&other_server);
    return 0;
}

static TlsFiles files_of(const Folder *folder) {
    return (TlsFiles){
        .certificate = folder->certificate,
        .key = folder->key,
        .client_ca = folder->ca,
        .client_crl = access(folder->crl, F_OK) == 0 ? folder->crl : NULL,
    };
}

/* Writes a good set without a CRL. */
static void fill(Folder *folder) {
    folder_init(folder);
    identity_write_certificate(folder->certificate, &server, 0);
    identity_write_key(folder->key, &server, 0);
    identity_write_certificate(folder->ca, &ca, 0);
}

static TlsStore *open_folder(const Folder *folder, const Str *names, size_t n_names) {
    TlsFiles files = files_of(folder);
    TlsStore *store = NULL;
    char error[512] = "";

    files.client_names = names;
    files.n_client_names = n_names;
    if (tls_store_new(&files, &store, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    return store;
}

static TlsStore *open_store(Folder *folder, const Str *names, size_t n_names) {
    fill(folder);
    return open_folder(folder, names, n_names);
}

static TlsReload reload(TlsStore *store, char *error, size_t size) {
    error[0] = '\0';
    return tls_store_reload(store, error, size);
}

/* --- the store --- */

static void test_loads_a_good_set(void **state) {
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, NULL, 0);
    char error[512];
    TlsSet *set = tls_store_ref_set(store);
    gnutls_pcert_st *chain;
    gnutls_privkey_t key;
    size_t n_names;
    unsigned n;

    tls_set_credentials(set, &chain, &n, &key);
    assert_int_equal(n, 1);
    assert_non_null(key);
    tls_set_unref(set);
    (void)tls_store_client_names(store, &n_names);
    assert_int_equal(n_names, 1); /* the default: kube-scheduler's name */
    assert_true(tls_store_expiry(store) > time(NULL) + 90000);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_UNCHANGED);
    assert_int_equal(tls_store_generation(store), 0);

    /* Rewriting a file with the same bytes is no change. */
    identity_write_key(folder.key, &server, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_UNCHANGED);
    folder_done(&folder);
}

static void test_rotation(void **state) {
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, NULL, 0);
    TlsSet *old = tls_store_ref_set(store), *new;
    char error[512];

    identity_write_certificate(folder.certificate, &other_server, 0);
    identity_write_key(folder.key, &other_server, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    assert_int_equal(tls_store_generation(store), 1);
    new = tls_store_ref_set(store);
    assert_ptr_not_equal(old, new);
    tls_set_unref(old); /* usable until here */
    tls_set_unref(new);

    identity_write_certificate(folder.ca, &other_ca, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    assert_int_equal(tls_store_generation(store), 2);
    folder_done(&folder);
}

typedef void Damage(Folder *folder);

static void other_key(Folder *folder) {
    identity_write_key(folder->key, &other_server, 0);
}

static void other_certificate(Folder *folder) {
    identity_write_certificate(folder->certificate, &other_server, 0);
}

static void half_certificate(Folder *folder) {
    identity_write_certificate(folder->certificate, &server, 40);
}

static void half_key(Folder *folder) {
    identity_write_key(folder->key, &server, 40);
}

static void half_ca(Folder *folder) {
    identity_write_certificate(folder->ca, &ca, 40);
}

static void half_second_ca(Folder *folder) {
    gnutls_datum_t a = {0}, b = {0};
    FILE *file = fopen(folder->ca, "w");

    assert_non_null(file);
    CHECK(gnutls_x509_crt_export2(ca.certificate, GNUTLS_X509_FMT_PEM, &a));
    CHECK(gnutls_x509_crt_export2(other_ca.certificate, GNUTLS_X509_FMT_PEM, &b));
    (void)fwrite(a.data, 1, a.size, file);
    (void)fwrite(b.data, 1, b.size - 100, file);
    (void)fclose(file);
    gnutls_free(a.data);
    gnutls_free(b.data);
}

static void empty_certificate(Folder *folder) {
    identity_write(folder->certificate, "", 0);
}

static void empty_ca(Folder *folder) {
    identity_write(folder->ca, "", 0);
}

static void no_key(Folder *folder) {
    assert_int_equal(unlink(folder->key), 0);
}

static void certificate_as_key(Folder *folder) {
    identity_write_certificate(folder->key, &server, 0);
}

static void huge_ca(Folder *folder) {
    assert_int_equal(truncate(folder->ca, (off_t)TLS_FILE_MAX + 1), 0);
}

static void certificate_is_folder(Folder *folder) {
    assert_int_equal(unlink(folder->certificate), 0);
    assert_int_equal(mkdir(folder->certificate, 0700), 0);
}

static void write_pair(const Folder *folder, const IdentitySpec *spec) {
    Identity it = identity_new(spec);

    identity_write_certificate(folder->certificate, &it, 0);
    identity_write_key(folder->key, &it, 0);
    identity_done(&it);
}

static void expired_pair(Folder *folder) {
    write_pair(folder, &(IdentitySpec){.is_for_servers = true, .has_expired = true, .issuer = &ca});
}

static void early_pair(Folder *folder) {
    write_pair(
        folder, &(IdentitySpec){.is_for_servers = true, .is_not_yet_valid = true, .issuer = &ca});
}

static void client_pair(Folder *folder) {
    write_pair(folder, &(IdentitySpec){.issuer = &ca});
}

static void key_writable_by_everyone(Folder *folder) {
    assert_int_equal(chmod(folder->key, 0666), 0);
}

static void test_refuses(void **state) {
    static const struct {
        const char *name;
        Damage *damage;
        const char *says;
    } cases[] = {
        {"another key", other_key, "does not belong"},
        {"another certificate", other_certificate, "does not belong"},
        {"half a certificate", half_certificate, "certificate"},
        {"half a key", half_key, "key"},
        {"half a CA", half_ca, "client CA"},
        {"a second CA that ends early", half_second_ca, "client CA"},
        {"an empty certificate", empty_certificate, "certificate"},
        {"an empty CA", empty_ca, "client CA"},
        {"no key", no_key, "No such file"},
        {"a certificate for a key", certificate_as_key, "key"},
        {"a CA that is too large", huge_ca, "too large"},
        {"a folder", certificate_is_folder, "directory"},
        {"an expired certificate", expired_pair, "expired at 2"},
        {"a certificate that is not valid yet", early_pair, "not valid before 2"},
        {"a certificate for clients", client_pair, "serverAuth"},
        {"a key that everyone can write", key_writable_by_everyone, "(mode 0666): chmod 600 /tmp/"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Folder folder;
        _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, NULL, 0), *second = NULL;
        TlsSet *before = tls_store_ref_set(store), *after;
        TlsFiles files = files_of(&folder);
        char error[512];

        cases[i].damage(&folder);
        assert_case(cases[i].name, reload(store, error, sizeof(error)) == TLS_REFUSED);
        if (!strstr(error, cases[i].says))
            print_error("%s\n", error);
        assert_case(cases[i].name, strstr(error, cases[i].says) != NULL);
        assert_case(cases[i].name, strstr(error, folder.path) != NULL);
        after = tls_store_ref_set(store);
        assert_case(cases[i].name, before == after);
        tls_set_unref(before);
        tls_set_unref(after);
        assert_case(cases[i].name, tls_store_new(&files, &second, error, sizeof(error)) < 0);
        (void)rmdir(folder.certificate);
        folder_done(&folder);
    }
}

static void test_purpose_of_a_server(void **state) {
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, NULL, 0);
    char error[512];

    write_pair(&folder, &(IdentitySpec){.has_any_purpose = true, .issuer = &ca});
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    folder_done(&folder);
}

/* In a pod a Secret's file is for its group; elsewhere a key is for its owner. */
static void test_mode_of_the_key(void **state) {
    static const struct {
        mode_t mode;
        bool is_warned;
    } cases[] = {{0600, false}, {0400, false}, {0440, false}, {0640, false}, {0644, true},
        {0604, true}, {0660, true}};

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Folder folder;
        TlsStore *store;
        char text[512] = "", name[8];

        fill(&folder);
        assert_int_equal(chmod(folder.key, cases[i].mode), 0);
        store = open_folder(&folder, NULL, 0);
        (void)snprintf(name, sizeof(name), "%04o", (unsigned)cases[i].mode);
        assert_case(name, tls_store_key_warning(store, text, sizeof(text)) == cases[i].is_warned);
        assert_case(name, !cases[i].is_warned || strstr(text, name));
        assert_case(name, !cases[i].is_warned || strstr(text, "chmod 600 /tmp/"));
        tls_store_free(store);
        folder_done(&folder);
    }
}

/* The pair in use may expire; a new client CA must still apply. */
static void test_client_ca_changes_after_expiry(void **state) {
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = NULL;
    char error[512];
    time_t until;

    fill(&folder);
    write_pair(&folder, &(IdentitySpec){.is_for_servers = true, .lasts_sec = 1, .issuer = &ca});
    store = open_folder(&folder, NULL, 0);
    until = (time_t)tls_store_expiry(store);
    while (time(NULL) <= until)
        (void)usleep(20000);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_UNCHANGED);
    identity_write_certificate(folder.ca, &other_ca, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    folder_done(&folder);
}

static void test_priorities(void **state) {
    gnutls_priority_t priorities;
    const char *at = NULL;

    if (gnutls_priority_init(&priorities, TLS_PRIORITIES, &at) < 0)
        fail_msg("priorities: %s", at);
    gnutls_priority_deinit(priorities);
}

/* --- clients --- */

typedef struct Peer {
    int fd;
    const Identity *identity; /* NULL: none */
    int result;
} Peer;

/* Sends its certificate whatever CAs the server names, as Go does when the server names none. */
static void *run_client(void *context) {
    Peer *peer = context;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;

    (void)gnutls_certificate_allocate_credentials(&credentials);
    if (peer->identity) {
        gnutls_x509_crt_t chain[] = {peer->identity->certificate};

        (void)gnutls_certificate_set_x509_key(credentials, chain, 1, peer->identity->key);
    }
    (void)gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT);
    (void)gnutls_set_default_priority(session);
    (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, peer->fd);
    peer->result = handshake_finish(session);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    return NULL;
}

/* Whether @store accepts a client with @identity after a real handshake. */
static bool is_allowed(TlsStore *store, const Identity *identity, char *error, size_t size) {
    Handshake handshake;
    pthread_t thread;
    int fds[2];
    const Str *names;
    size_t n_names;
    Peer peer;
    bool allowed;
    int64_t until_sec;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    peer = (Peer){.fd = fds[1], .identity = identity};
    assert_int_equal(pthread_create(&thread, NULL, run_client, &peer), 0);
    assert_true(handshake_accept(&handshake, &server, fds[0]) >= 0);
    names = tls_store_client_names(store, &n_names);
    allowed = tls_store_peer_is_allowed(
        store, handshake.session, names, n_names, &until_sec, error, size);
    assert_int_equal(
        until_sec, allowed ? gnutls_x509_crt_get_expiration_time(identity->certificate) : 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    handshake_done(&handshake);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return allowed;
}

static void test_clients(void **state) {
    static const char name[] = TLS_CLIENT_NAME;
    const struct {
        const char *name;
        IdentitySpec spec;
        bool allowed;
    } cases[] = {
        {"by common name", {.common_name = name, .issuer = &ca}, true},
        {"by DNS name", {.common_name = "x", .dns = name, .issuer = &ca}, true},
        {"by URI", {.common_name = "x", .uri = name, .issuer = &ca}, true},
        {"by e-mail", {.common_name = "x", .email = name, .issuer = &ca}, false},
        {"by the second alternative name",
            {.common_name = "x", .dns = "y", .uri = name, .issuer = &ca}, true},
        {"another name", {.common_name = "system:node:a", .dns = "a", .issuer = &ca}, false},
        {"a name that begins alike", {.common_name = TLS_CLIENT_NAME "2", .issuer = &ca}, false},
        {"no name", {.issuer = &ca}, false},
        {"two common names", {.common_name = "x", .second_common_name = name, .issuer = &ca},
            false},
        {"another CA", {.common_name = name, .issuer = &other_ca}, false},
        {"its own CA", {.common_name = name}, false},
        {"expired", {.common_name = name, .has_expired = true, .issuer = &ca}, false},
        {"not yet valid", {.common_name = name, .is_not_yet_valid = true, .issuer = &ca}, false},
        {"for servers", {.common_name = name, .is_for_servers = true, .issuer = &ca}, false},
    };
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, NULL, 0);
    char error[512];

    assert_false(is_allowed(store, NULL, error, sizeof(error)));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Identity client = identity_new(&cases[i].spec);
        bool allowed;

        error[0] = '\0';
        allowed = is_allowed(store, &client, error, sizeof(error));
        if (allowed != cases[i].allowed)
            print_error("%s\n", error);
        assert_case(cases[i].name, allowed == cases[i].allowed);
        assert_case(cases[i].name, allowed || error[0] != '\0');
        identity_done(&client);
    }
    folder_done(&folder);
}

static void test_names_and_ca_swap(void **state) {
    const Str names[] = {STR("alice"), STR("bob")};
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = open_store(&folder, names, 2);
    Identity bob = identity_new(&(IdentitySpec){.common_name = "bob", .issuer = &ca});
    Identity new_bob = identity_new(&(IdentitySpec){.common_name = "bob", .issuer = &other_ca});
    Identity scheduler =
        identity_new(&(IdentitySpec){.common_name = TLS_CLIENT_NAME, .issuer = &ca});
    char error[512];

    assert_true(is_allowed(store, &bob, error, sizeof(error)));
    assert_false(is_allowed(store, &scheduler, error, sizeof(error)));
    assert_false(is_allowed(store, &new_bob, error, sizeof(error)));
    identity_write_certificate(folder.ca, &other_ca, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    assert_false(is_allowed(store, &bob, error, sizeof(error)));
    assert_true(is_allowed(store, &new_bob, error, sizeof(error)));
    identity_done(&bob);
    identity_done(&new_bob);
    identity_done(&scheduler);
    folder_done(&folder);
}

/* --- revocation --- */

static void test_refuses_crls(void **state) {
    static const char name[] = TLS_CLIENT_NAME;
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = NULL;
    Identity client = identity_new(&(IdentitySpec){.common_name = name, .issuer = &ca});
    char error[512];

    fill(&folder);
    identity_append_crl(folder.crl, &ca, &client, false, 0);
    store = open_folder(&folder, NULL, 0);
    assert_false(is_allowed(store, &client, error, sizeof(error)));

    /* With any other content of the file, the last good list must stay in force. */
    for (int i = 0; i < 5; i++) {
        static const char *const says[] = {"unknown CA", "PEM", "PEM", "PEM", "No such file"};

        assert_int_equal(unlink(folder.crl), 0);
        if (i == 0)
            identity_append_crl(folder.crl, &other_ca, NULL, false, 0);
        else if (i == 1)
            identity_append_crl(folder.crl, &ca, NULL, false, 40);
        else if (i == 2)
            identity_write(folder.crl, "", 0);
        else if (i == 3)
            identity_write_certificate(folder.crl, &ca, 0);
        assert_int_equal(reload(store, error, sizeof(error)), TLS_REFUSED);
        assert_case(error, strstr(error, says[i]) && strstr(error, folder.crl));
        assert_false(is_allowed(store, &client, error, sizeof(error)));
        if (i == 4)
            identity_append_crl(folder.crl, &ca, &client, false, 0);
    }
    identity_done(&client);
    folder_done(&folder);
}

static void test_crls(void **state) {
    static const char name[] = TLS_CLIENT_NAME;
    Folder folder;
    _cleanup_(tls_store_freep) TlsStore *store = NULL;
    Identity first = identity_new(&(IdentitySpec){.common_name = name, .issuer = &ca});
    Identity second = identity_new(&(IdentitySpec){.common_name = name, .issuer = &ca});
    char error[512];

    fill(&folder);
    identity_append_crl(folder.crl, &ca, NULL, false, 0);
    store = open_folder(&folder, NULL, 0);
    assert_true(is_allowed(store, &first, error, sizeof(error)));
    assert_false(tls_store_crl_warning(store, time(NULL), error, sizeof(error)));
    assert_true(tls_store_crl_expiry(store) > time(NULL));

    identity_append_crl(folder.crl, &ca, &first, false, 0); /* a second one in the same file */
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    assert_int_equal(tls_store_generation(store), 1);
    assert_false(is_allowed(store, &first, error, sizeof(error)));
    assert_non_null(strstr(error, "revoked"));
    assert_true(is_allowed(store, &second, error, sizeof(error)));

    /* An overdue CRL applies, with a warning. */
    assert_int_equal(unlink(folder.crl), 0);
    identity_append_crl(folder.crl, &ca, &second, true, 0);
    assert_int_equal(reload(store, error, sizeof(error)), TLS_RELOADED);
    assert_true(is_allowed(store, &first, error, sizeof(error)));
    assert_false(is_allowed(store, &second, error, sizeof(error)));
    assert_true(tls_store_crl_warning(store, time(NULL), error, sizeof(error)));
    assert_non_null(strstr(error, folder.crl));
    identity_done(&first);
    identity_done(&second);
    folder_done(&folder);
}

/* The key usage of the CA does not allow CRLs. */
static void test_crl_of_a_ca_that_may_not(void **state) {
    Identity weak = identity_new(
        &(IdentitySpec){.common_name = "weak", .is_ca = true, .may_not_sign_crls = true});
    TlsStore *store = NULL;
    TlsFiles files;
    Folder folder;
    char error[512];

    fill(&folder);
    identity_write_certificate(folder.ca, &weak, 0);
    identity_append_crl(folder.crl, &weak, NULL, false, 0);
    files = files_of(&folder);
    assert_int_equal(tls_store_new(&files, &store, error, sizeof(error)), -EINVAL);
    assert_case(error, strstr(error, "may not sign CRLs") != NULL);
    identity_done(&weak);
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_a_good_set),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_purpose_of_a_server),
        cmocka_unit_test(test_mode_of_the_key),
        cmocka_unit_test(test_client_ca_changes_after_expiry),
        cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_names_and_ca_swap),
        cmocka_unit_test(test_refuses_crls),
        cmocka_unit_test(test_crls),
        cmocka_unit_test(test_crl_of_a_ca_that_may_not),
    };

    return cmocka_run_group_tests(tests, make_identities, drop_identities);
}
