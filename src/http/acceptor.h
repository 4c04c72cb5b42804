#pragma once

/*
 * Acceptor: the thread that accepts clients and does TLS handshakes.
 *
 * Only this thread serves connections of unknown clients, so that they cost the workers nothing: a
 * worker gets a connection when its first bytes have arrived or its handshake is complete.
 *
 * It accepts while there are places (http/connections.h). A client that finds none waits until
 * acceptor_resume(), and so do the clients behind it in the kernel's queue.
 *
 * Handshakes have a budget of CPU time. When it is used up, they wait, while clients are still
 * accepted. Addresses take turns.
 */

#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Server Server;
typedef struct Worker Worker;

/* Handshakes use at most this fraction of one processor, and HANDSHAKE_BURST_NSEC at once. */
#define HANDSHAKE_CPU_SHARE 2u
#define HANDSHAKE_BURST_NSEC ((int64_t)250 * 1000 * 1000)

typedef union SocketAddress {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} SocketAddress;

typedef struct Acceptor {
    int listen_fd;
    int resume_fd;            /* an eventfd */
    atomic_bool is_accepting; /* false: no place or file descriptor, until acceptor_resume() */
    gnutls_certificate_credentials_t credentials; /* NULL in plain HTTP, like the next one */
    gnutls_priority_t priorities;

    /* Used by the accepting thread only. */
    int waiting_fd; /* accepted, but without a place yet; -1: none */
    SocketAddress waiting_address;
    unsigned n_taken;       /* accepted clients */
    unsigned n_due;         /* handshakes with bytes to read */
    int64_t allowance_nsec; /* CPU time left for handshakes, ... */
    int64_t allowance_at;   /* ... computed at this monotonic time */
} Acceptor;

/* Starts to listen. @server's acceptor has descriptors of -1, and is zeroed otherwise. 0 or a
 * negative errno. Call acceptor_close() in both cases. */
int acceptor_open(Server *server, uint16_t *ret_port);
void acceptor_close(Acceptor *acceptor);

/* The main function of the accepting thread; returns when the server stops. */
void acceptor_run(Worker *worker);

/* Call it when a waiting client may get a place. Any thread. */
void acceptor_resume(Acceptor *acceptor);
