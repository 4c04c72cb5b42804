/* The listener for AdmissionReviews, with as many connections as an API server may open at once. */

#include "api/listeners.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/test-client.h"
#include "http/test-store.h"
#include "live/admission-review.h"

#define N_CLIENTS 200u
#define REPLY_MAX ((size_t)4096)

/* An update of labels is allowed with any other policies, so the test needs none. */
#define OBJECT "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}"
#define REVIEW                                                                                     \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"   \
    "\"7\",\"operation\":\"UPDATE\",\"resource\":{\"group\":\"berth.dev\",\"resource\":"           \
    "\"placementpolicies\"},\"object\":" OBJECT ",\"oldObject\":" OBJECT "}}"

typedef struct Client {
    int fd;
    gnutls_session_t session;
    bool is_ready; /* the handshake is complete */
    char reply[REPLY_MAX];
    size_t n;
} Client;

static void client_open(
    Client *client, uint16_t port, gnutls_certificate_credentials_t credentials) {
    client->fd = client_connect(port, /* buffer= */ 0);
    assert_int_equal(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
    CHECK(gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK));
    CHECK(gnutls_set_default_priority(client->session));
    CHECK(gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, credentials));
    gnutls_transport_set_int(client->session, client->fd);
}

static void client_close(Client *client) {
    gnutls_deinit(client->session);
    (void)close(client->fd);
}

/* Waits until the server has sent something to a client that is not @is_done. */
static void wait_for_any(const Client *clients, bool (*is_done)(const Client *client)) {
    struct pollfd fds[N_CLIENTS];
    nfds_t n = 0;

    for (unsigned i = 0; i < N_CLIENTS; i++)
        if (!is_done(&clients[i]))
            fds[n++] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
    assert_true(n == 0 || poll(fds, n, CLIENT_PATIENCE_SEC * 1000) > 0);
}

static bool is_ready(const Client *client) {
    return client->is_ready;
}

static bool is_answered(const Client *client) {
    return str_has_suffix(str_of(client->reply, client->n), STR("}}"));
}

static bool are_all(const Client *clients, bool (*is_so)(const Client *client)) {
    for (unsigned i = 0; i < N_CLIENTS; i++)
        if (!is_so(&clients[i]))
            return false;
    return true;
}

/* Each client sends its first bytes before any of them continues its handshake. */
static void shake_hands(Client *clients) {
    while (!are_all(clients, is_ready)) {
        for (unsigned i = 0; i < N_CLIENTS; i++) {
            int r = clients[i].is_ready ? 0 : gnutls_handshake(clients[i].session);

            assert_true(r == 0 || !gnutls_error_is_fatal(r));
            clients[i].is_ready = r == 0;
        }
        wait_for_any(clients, is_ready);
    }
}

static void send_review(const Client *client) {
    char text[1024];
    int n = snprintf(text, sizeof(text),
        "POST " ADMISSION_PATH " HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n" REVIEW,
        sizeof(REVIEW) - 1);

    assert_int_equal(gnutls_record_send(client->session, text, (size_t)n), n);
}

static void read_some(Client *client) {
    ssize_t n = gnutls_record_recv(
        client->session, client->reply + client->n, sizeof(client->reply) - client->n);

    assert_true(n > 0 || n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED);
    client->n += n > 0 ? (size_t)n : 0;
}

static void read_answers(Client *clients) {
    while (!are_all(clients, is_answered)) {
        for (unsigned i = 0; i < N_CLIENTS; i++)
            if (!is_answered(&clients[i]))
                read_some(&clients[i]);
        wait_for_any(clients, is_answered);
    }
}

/* An API server opens a connection for each policy that is applied at the same time. No connection
 * may be closed or refused, and all must work a second time. */
static void test_many_new_connections_at_once(void **state) {
    _cleanup_(tls_store_freep) TlsStore *store = store_open();
    _cleanup_(metrics_freep) Metrics *metrics = metrics_new();
    ApiContext api = {.metrics = metrics};
    gnutls_certificate_credentials_t credentials;
    Client *clients = calloc(N_CLIENTS, sizeof(*clients));
    ServerFigures figures;
    Server *server;

    (void)state;
    assert_true(clients && metrics);
    CHECK(gnutls_certificate_allocate_credentials(&credentials));
    assert_int_equal(
        admission_listen(&(AdmissionOptions){.address = "127.0.0.1"}, &api, store, &server), 0);
    for (unsigned i = 0; i < N_CLIENTS; i++)
        client_open(&clients[i], server_port(server), credentials);
    shake_hands(clients);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N_CLIENTS; i++) {
            clients[i].n = 0;
            send_review(&clients[i]);
        }
        read_answers(clients);
        for (unsigned i = 0; i < N_CLIENTS; i++)
            assert_non_null(memmem(clients[i].reply, clients[i].n, "\"allowed\":true", 14));
    }
    server_figures(server, &figures);
    for (size_t i = 0; i < _SERVER_REFUSED_MAX; i++)
        assert_int_equal(figures.refused[i], 0);
    assert_int_equal(figures.connections_total, N_CLIENTS);
    for (unsigned i = 0; i < N_CLIENTS; i++)
        client_close(&clients[i]);
    server_free(server);
    gnutls_certificate_free_credentials(credentials);
    free(clients);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_new_connections_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
