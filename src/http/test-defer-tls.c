/* Deferred replies over TLS. */

#include <stdio.h>

#include "base/clock.h"
#include "http/test-defer-fixture.h"
#include "http/test-store.h"

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

/* Requests that came with the first one, or that GnuTLS has decrypted already, are answered after
 * it. */
static void test_requests_behind_a_deferred_one_are_answered(void **state) {
    _cleanup_(tls_store_freep) TlsStore *store = store_open();
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

/* A client that does not use TLS gets at most an alert, and its connection is closed. */
static void test_refuses_plain_http(void **state) {
    _cleanup_(tls_store_freep) TlsStore *store = store_open();
    ServerOptions options = server_default_options();
    DeferFixture fixture;
    size_t n_bytes = 0;
    char reply[256];
    ssize_t n;
    int fd;

    options.tls = store;
    start_fixture(&fixture, options);
    fd = connect_to(&fixture);
    client_send(fd, STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while ((n = recv(fd, reply, sizeof(reply), 0)) > 0)
        n_bytes += (size_t)n;
    assert_int_equal(n, 0);
    assert_true(n_bytes < sizeof("HTTP/1.1 400"));
    (void)close(fd);
    stop_fixture(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_behind_a_deferred_one_are_answered),
        cmocka_unit_test(test_refuses_plain_http),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
