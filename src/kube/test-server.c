#include "kube/test-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/test-assert.h"

#define PEERS_MAX 256u
#define REQUEST_MAX ((size_t)1024 * 1024)
#define CHECK(call) assert_true((call) >= 0)

/* --- certificates --- */

static void set_names(gnutls_x509_crt_t crt, const TestPairOptions *options) {
    static const unsigned char loopback[4] = {127, 0, 0, 1};

    CHECK(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, options->common_name,
        (unsigned)strlen(options->common_name)));
    if (options->dns)
        CHECK(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, options->dns,
            (unsigned)strlen(options->dns), GNUTLS_FSAN_APPEND));
    if (options->is_for_loopback)
        CHECK(gnutls_x509_crt_set_subject_alt_name(
            crt, GNUTLS_SAN_IPADDRESS, loopback, sizeof(loopback), GNUTLS_FSAN_APPEND));
}

TestPair test_pair_new(const TestPairOptions *options) {
    TestPair pair;
    time_t now = time(NULL);
    unsigned char serial[8];

    CHECK(gnutls_x509_privkey_init(&pair.key));
    CHECK(gnutls_x509_privkey_generate(
        pair.key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    CHECK(gnutls_x509_crt_init(&pair.certificate));
    CHECK(gnutls_x509_crt_set_version(pair.certificate, 3));
    CHECK(gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial)));
    serial[0] &= 0x7f;
    CHECK(gnutls_x509_crt_set_serial(pair.certificate, serial, sizeof(serial)));
    CHECK(gnutls_x509_crt_set_activation_time(
        pair.certificate, now + (options->is_early ? 1000 : -2000)));
    CHECK(gnutls_x509_crt_set_expiration_time(
        pair.certificate, now + (options->has_expired ? -1000 : 100000)));
    CHECK(gnutls_x509_crt_set_key(pair.certificate, pair.key));
    set_names(pair.certificate, options);
    CHECK(gnutls_x509_crt_set_basic_constraints(pair.certificate, options->is_ca, -1));
    if (options->is_ca)
        CHECK(gnutls_x509_crt_set_key_usage(pair.certificate, GNUTLS_KEY_KEY_CERT_SIGN));
    else
        CHECK(gnutls_x509_crt_set_key_purpose_oid(pair.certificate,
            options->is_for_clients ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER, 0));
    CHECK(gnutls_x509_crt_sign2(pair.certificate,
        options->issuer ? options->issuer->certificate : pair.certificate,
        options->issuer ? options->issuer->key : pair.key, GNUTLS_DIG_SHA256, 0));
    return pair;
}

void test_pair_done(TestPair *pair) {
    gnutls_x509_crt_deinit(pair->certificate);
    gnutls_x509_privkey_deinit(pair->key);
}

static char *take_datum(gnutls_datum_t datum) {
    char *text = strndup((const char *)datum.data, datum.size);

    gnutls_free(datum.data);
    assert_non_null(text);
    return text;
}

char *test_pair_certificate(const TestPair *pair) {
    gnutls_datum_t pem;

    CHECK(gnutls_x509_crt_export2(pair->certificate, GNUTLS_X509_FMT_PEM, &pem));
    return take_datum(pem);
}

char *test_pair_key(const TestPair *pair) {
    gnutls_datum_t pem;

    CHECK(gnutls_x509_privkey_export2(pair->key, GNUTLS_X509_FMT_PEM, &pem));
    return take_datum(pem);
}

/* --- the server --- */

struct TestPeer {
    TestServer *server;
    pthread_t thread;
    unsigned number;
    int fd;
    gnutls_session_t session; /* NULL: plain HTTP */
};

struct TestServer {
    TestServerOptions options;
    int fd;
    uint16_t port;
    pthread_t thread;
    gnutls_certificate_credentials_t credentials;
    pthread_mutex_t mutex; /* protects the fields below */
    TestPeer peers[PEERS_MAX];
    unsigned n_peers;
    bool is_stopping;
};

void test_send(TestPeer *peer, Str bytes) {
    while (bytes.len > 0) {
        ssize_t n = peer->session ? gnutls_record_send(peer->session, bytes.ptr, bytes.len)
                                  : send(peer->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        bytes = str_skip(bytes, (size_t)n);
    }
}

static ssize_t receive(TestPeer *peer, char *at, size_t size) {
    return peer->session ? gnutls_record_recv(peer->session, at, size)
                         : recv(peer->fd, at, size, 0);
}

void test_linger(TestPeer *peer) {
    char byte;

    while (receive(peer, &byte, 1) > 0)
        ;
}

unsigned test_peer_number(const TestPeer *peer) {
    return peer->number;
}

void test_answer(TestPeer *peer, const char *status, const char *headers, Str body) {
    _cleanup_(buf_done) Buf out = BUF_INIT((size_t)64 << 20);

    buf_printf(&out, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n%.*s", status, body.len, headers,
        STR_FMT(body));
    test_send(peer, buf_str(&out));
}

Str test_header(const TestRequest *request, const char *name) {
    Str rest = request->head, line;
    size_t len = strlen(name);

    while (str_split(&rest, '\n', &line))
        if (line.len > len && line.ptr[len] == ':' &&
            str_eq_nocase(str_take(line, len), str_of(name, len)))
            return str_trim(str_skip(line, len + 1));
    return STR("");
}

/* Reads one request, through @in. False at the end of the connection. */
static bool read_request(TestPeer *peer, Buf *in, TestRequest *ret, size_t *ret_len) {
    for (;;) {
        const char *end = in->len > 0 ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL;
        char *at;
        ssize_t n;

        if (end) {
            int64_t length = 0;
            Str line, rest;

            ret->head = str_of(in->data, (size_t)(end - in->data) + 2);
            (void)str_to_int64(test_header(ret, "Content-Length"), &length);
            *ret_len = ret->head.len + 2 + (size_t)length;
            if (in->len >= *ret_len) {
                ret->body = str_of(end + 4, (size_t)length);
                rest = ret->head;
                (void)str_split(&rest, '\n', &line);
                (void)str_split(&line, ' ', &ret->method);
                (void)str_split(&line, ' ', &ret->path);
                return true;
            }
        }
        at = buf_reserve(in, 4096);
        if (!at)
            return false;
        n = receive(peer, at, 4096);
        if (n <= 0)
            return false;
        buf_advance(in, (size_t)n);
    }
}

static bool handshake(TestPeer *peer) {
    TestServer *server = peer->server;
    int r;

    CHECK(gnutls_init(&peer->session, GNUTLS_SERVER));
    if (server->options.priorities)
        CHECK(gnutls_priority_set_direct(peer->session, server->options.priorities, NULL));
    else
        CHECK(gnutls_set_default_priority(peer->session));
    CHECK(gnutls_credentials_set(peer->session, GNUTLS_CRD_CERTIFICATE, server->credentials));
    if (server->options.client_ca)
        gnutls_certificate_server_set_request(peer->session, GNUTLS_CERT_REQUIRE);
    gnutls_transport_set_int(peer->session, peer->fd);
    do
        r = gnutls_handshake(peer->session);
    while (r < 0 && gnutls_error_is_fatal(r) == 0);
    if (r >= 0 && server->options.client_ca) {
        unsigned status = 1;

        r = gnutls_certificate_verify_peers2(peer->session, &status);
        if (status != 0)
            r = GNUTLS_E_CERTIFICATE_ERROR;
    }
    if (r < 0)
        (void)gnutls_alert_send_appropriate(peer->session, r);
    return r >= 0;
}

static void converse(TestPeer *peer) {
    _cleanup_(buf_done) Buf in = BUF_INIT(REQUEST_MAX);
    TestRequest request;
    size_t len;

    while (read_request(peer, &in, &request, &len)) {
        if (!peer->server->options.handler(peer->server->options.context, peer, &request))
            return;
        memmove(in.data, in.data + len, in.len - len);
        in.len -= len;
    }
}

static void *serve_peer(void *context) {
    TestPeer *peer = context;

    if (peer->server->options.is_mute)
        test_linger(peer);
    else if (!peer->server->options.pair || handshake(peer))
        converse(peer);
    if (peer->session) {
        (void)gnutls_bye(peer->session, GNUTLS_SHUT_WR);
        gnutls_deinit(peer->session);
    }
    (void)shutdown(peer->fd, SHUT_RDWR); /* closed by test_server_free() */
    return NULL;
}

static void *accept_peers(void *context) {
    TestServer *server = context;

    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        TestPeer *peer;

        if (fd < 0)
            return NULL;
        pthread_mutex_lock(&server->mutex);
        if (server->is_stopping || server->n_peers == PEERS_MAX) {
            (void)close(fd);
        } else {
            peer = &server->peers[server->n_peers++];
            *peer = (TestPeer){.server = server, .fd = fd, .number = server->n_peers};
            assert_int_equal(pthread_create(&peer->thread, NULL, serve_peer, peer), 0);
        }
        pthread_mutex_unlock(&server->mutex);
    }
}

static void load_credentials(TestServer *server) {
    const TestServerOptions *options = &server->options;

    CHECK(gnutls_certificate_allocate_credentials(&server->credentials));
    CHECK(gnutls_certificate_set_x509_key(server->credentials,
        (gnutls_x509_crt_t *)(uintptr_t)&options->pair->certificate, 1, options->pair->key));
    if (options->client_ca)
        CHECK(gnutls_certificate_set_x509_trust(server->credentials,
            (gnutls_x509_crt_t *)(uintptr_t)&options->client_ca->certificate, 1));
}

TestServer *test_server_new(const TestServerOptions *options) {
    TestServer *server = calloc(1, sizeof(*server));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    assert_non_null(server);
    server->options = *options;
    pthread_mutex_init(&server->mutex, NULL);
    if (options->pair)
        load_credentials(server);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (const void *)&address, sizeof(address)), 0);
    assert_int_equal(listen(server->fd, 64), 0);
    assert_int_equal(getsockname(server->fd, (void *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, accept_peers, server), 0);
    return server;
}

void test_server_free(TestServer *server) {
    if (!server)
        return;
    pthread_mutex_lock(&server->mutex);
    server->is_stopping = true;
    for (unsigned i = 0; i < server->n_peers; i++)
        (void)shutdown(server->peers[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&server->mutex);
    (void)shutdown(server->fd, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    for (unsigned i = 0; i < server->n_peers; i++) {
        (void)pthread_join(server->peers[i].thread, NULL);
        (void)close(server->peers[i].fd);
    }
    (void)close(server->fd);
    if (server->credentials)
        gnutls_certificate_free_credentials(server->credentials);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

void test_server_deafen(TestServer *server) {
    (void)shutdown(server->fd, SHUT_RDWR);
}

uint16_t test_server_port(const TestServer *server) {
    return server->port;
}

Access *test_server_access(const TestServer *server) {
    char url[64], error[ACCESS_ERROR_MAX];
    Access *access = NULL;

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", test_server_port(server));
    if (access_for_server(&(AccessServer){.name = "test", .url = url}, &access, error) < 0)
        fail_msg("%s", error);
    return access;
}

unsigned test_server_connections(TestServer *server) {
    unsigned n;

    pthread_mutex_lock(&server->mutex);
    n = server->n_peers;
    pthread_mutex_unlock(&server->mutex);
    return n;
}
