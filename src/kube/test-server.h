#pragma once

/* A server on loopback with HTTP or HTTPS, one thread per connection; tests control every byte of
 * an answer. */

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/access.h"

/* --- certificates --- */

typedef struct TestPair {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
} TestPair;

typedef struct TestPairOptions {
    const char *common_name;
    const char *dns;      /* NULL: none */
    bool is_for_loopback; /* valid for 127.0.0.1 */
    bool is_ca, is_for_clients;
    bool has_expired, is_early; /* no longer or not yet valid */
    const TestPair *issuer;     /* NULL: self-signed */
} TestPairOptions;

TestPair test_pair_new(const TestPairOptions *options);
void test_pair_done(TestPair *pair);

/* PEM; the caller frees it. */
char *test_pair_certificate(const TestPair *pair);
char *test_pair_key(const TestPair *pair);

/* --- the server --- */

typedef struct TestServer TestServer;
typedef struct TestPeer TestPeer;

typedef struct TestRequest {
    Str method, path, body;
    Str head; /* request line and headers */
} TestRequest;

/* The value of a header; "" if there is none. */
Str test_header(const TestRequest *request, const char *name);

/* Answers with test_send(), on the connection's thread. False closes the connection. */
typedef bool TestHandler(void *context, TestPeer *peer, const TestRequest *request);

typedef struct TestServerOptions {
    TestHandler *handler;
    void *context;
    const TestPair *pair;      /* NULL: plain HTTP */
    const TestPair *client_ca; /* NULL: no client certificates are required */
    const char *priorities;    /* for GnuTLS; NULL: its defaults */
    bool is_mute;              /* accepts connections, but sends nothing */
} TestServerOptions;

TestServer *test_server_new(const TestServerOptions *options);
void test_server_free(TestServer *server);
uint16_t test_server_port(const TestServer *server);
Access *test_server_access(const TestServer *server); /* over plain HTTP, without credentials */
void test_server_deafen(TestServer *server);          /* refuses new connections */
unsigned test_server_connections(TestServer *server); /* number of connections so far */

void test_send(TestPeer *peer, Str bytes); /* ignores a closed connection */
void test_answer(TestPeer *peer, const char *status, const char *headers, Str body);
void test_linger(TestPeer *peer);            /* waits until the peer or the server closes */
unsigned test_peer_number(const TestPeer *); /* the first connection is 1 */
