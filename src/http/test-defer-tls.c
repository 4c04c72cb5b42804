/* Deferred replies over TLS. */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "http/test-defer-fixture.h"
#include "http/test-identity.h"
#include "http/tls.h"

static TlsStore *open_store(void) {
    char folder[] = "/tmp/berth-test-defer-XXXXXX", certificate[64], key[64], error[256] = "";
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

static void tls_ask(gnutls_session_t session, const char *text) {
    assert_int_equal(gnutls_record_send(session, text, strlen(text)), strlen(text));
}

/* Reads up to @end. */
static void tls_expect(gnutls_session_t session, const char *end) {
    char text[4096];
    size_t n = 0;

    while (!str_has_suffix(str_of(text, n), str_from_c(end))) {
        ssize_t got = gnutls_record_recv(session, text + n, sizeof(text) - n);

        assert_true(got > 0 || got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED);
        n += got > 0 ? (size_t)got : 0;
        assert_true(n < sizeof(text));
    }
}

#define TLS_REQUEST(path, body)                                                                    \
    "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n" body

/* Requests that were read with the first one, or that GnuTLS has decrypted already, are answered
 * after it. */
static void test_tls(void **state) {
    _cleanup_(tls_store_freep) TlsStore *store = open_store();
    ServerOptions options = server_default_options();
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    HttpPending *late;
    DeferFixture fixture;
    int fd;

    options.tls = store;
    start_fixture(&fixture, options);
    fd = connect_to(&fixture);
    CHECK(gnutls_certificate_allocate_credentials(&credentials));
    CHECK(gnutls_init(&session, GNUTLS_CLIENT));
    CHECK(gnutls_set_default_priority(session));
    CHECK(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
    gnutls_transport_set_int(session, fd);
    CHECK(gnutls_handshake(session));
    for (int i = 0; i < 5; i++) {
        tls_ask(session, TLS_REQUEST("/later", "1") TLS_REQUEST("/now", "2"));
        wait_for_queue(&fixture, 1);
        tls_ask(session, TLS_REQUEST("/later", "3")); /* while it is deferred */
        assert_true(server_answer(take_one(&fixture), fill, &fixture));
        tls_expect(session, "[2]");
        assert_true(server_answer(take_one(&fixture), fill, &fixture));
        tls_expect(session, "<3>");
        server_tick(fixture.server, clock_monotonic_nsec());
    }
    tls_ask(session, TLS_REQUEST("/later", "4"));
    late = take_one(&fixture);
    stop_fixture(&fixture);
    assert_false(server_answer(late, fill, &fixture));
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    (void)close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
