#pragma once

/*
 * Acceptor: the thread that accepts clients and does TLS handshakes.
 *
 * Connections of unknown clients are its work alone, so that they cost the workers nothing: a
 * worker gets a connection when its first bytes have arrived or its handshake is complete.
 *
 * It accepts as long as there are places (http/connections.h). A client that finds none waits, and
 * with it those behind it in the kernel's queue, until acceptor_resume().
 *
 * Handshakes have a budget of processor time. When it is used up they wait for more, while clients
 * are still accepted. Addresses take turns.
 */

#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Server Server;
typedef struct Worker Worker;

/* Handshakes use at most this share of one processor, and at most HANDSHAKE_BURST_NSEC at once. */
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
    atomic_bool is_accepting; /* false: no place, or no descriptor, until acceptor_resume() */
    gnutls_certificate_credentials_t credentials; /* NULL in plain HTTP, like the next one */
    gnutls_priority_t priorities;

    /* Only for the thread. */
    int waiting_fd; /* accepted, but there is no place yet; or -1 */
    SocketAddress waiting_address;
    unsigned n_taken;       /* clients */
    unsigned n_due;         /* handshakes that can go on */
    int64_t allowance_nsec; /* processor time for handshakes, at ... */
    int64_t allowance_at;   /* ... this time */
} Acceptor;

/* Starts to listen. Its descriptors are -1, the rest is zeroed. 0 or a negative errno. In any case
 * acceptor_close() follows. */
int acceptor_open(Server *server, uint16_t *ret_port);
void acceptor_close(Acceptor *acceptor);

/* The thread's work, until the server stops. */
void acceptor_run(Worker *worker);

/* There may be a place for a client that waits. Any thread. */
void acceptor_resume(Acceptor *acceptor);
