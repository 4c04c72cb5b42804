#pragma once

/*
 * A server for tests: HTTP/1.1 or HTTPS on the loopback, one thread a connection, that
 * answers each request byte by byte as the test says.
 */

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

typedef struct TestWish {
    const char *common_name;
    const char *dns;      /* NULL: none */
    bool is_for_loopback; /* 127.0.0.1 among its names */
    bool is_ca, is_for_clients;
    bool has_expired, is_early; /* no longer valid, not yet */
    const TestPair *issuer;     /* NULL: signs itself */
} TestWish;

TestPair test_pair_new(const TestWish *wish);
void test_pair_done(TestPair *pair);

/* PEM; to be freed. */
char *test_pair_certificate(const TestPair *pair);
char *test_pair_key(const TestPair *pair);

/* --- the server --- */

typedef struct TestServer TestServer;
typedef struct TestPeer TestPeer;

typedef struct TestRequest {
    Str method, path, body;
    Str head; /* all of it */
} TestRequest;

/* A header's value, "" when there is none. */
Str test_header(const TestRequest *request, const char *name);

/* Answers with test_send(). False closes the connection. On the connection's thread. */
typedef bool TestHandler(void *context, TestPeer *peer, const TestRequest *request);

typedef struct TestServerOptions {
    TestHandler *handler;
    void *context;
    const TestPair *pair;      /* NULL: plain HTTP */
    const TestPair *client_ca; /* NULL: wants no client certificates */
    const char *priorities;    /* GnuTLS's; NULL: its defaults */
    bool is_mute;              /* accepts, and says nothing at all */
} TestServerOptions;

TestServer *test_server_new(const TestServerOptions *options);
void test_server_free(TestServer *server);
uint16_t test_server_port(const TestServer *server);
Access *test_server_access(const TestServer *server); /* over plain HTTP, without credentials */
void test_server_deafen(TestServer *server);          /* no new connections */
unsigned test_server_connections(TestServer *server); /* so far */

void test_send(TestPeer *peer, Str bytes); /* a peer that is gone is no error */
void test_answer(TestPeer *peer, const char *status, const char *headers, Str body);
void test_linger(TestPeer *peer);            /* until the peer goes away, or the server does */
unsigned test_peer_number(const TestPeer *); /* 1 is the first connection */
