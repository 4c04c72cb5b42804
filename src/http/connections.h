#pragma once

/*
 * Connections: who is connected, what each is doing, and since when.
 *
 *   accept → HEADERS → BODY → HANDLING → REPLY → IDLE → HEADERS → …
 *                        │               STREAM → gone
 *                        └──→ REPLY → LINGER (refused: the answer is out, input is thrown
 *                             away until the client has seen it)
 *
 * A connection is held by exactly one thread, or by none:
 *
 *   held by the accepting thread or a worker
 *     → armed (connection_arm): its worker gets it when its socket is ready
 *     → asleep (connection_sleep): connection_wake() arms it, when a reply that was put off is
 * there
 *
 * Every state has a deadline of its own: a client that sends a byte now and then is late as well.
 * connections_tick() cuts those that are past it with shutdown(2), and the thread that gets the
 * connection next sees the end of input and closes it. A connection leaves the table, under the
 * lock, before its descriptor is closed; so a cut never meets a descriptor that belongs to another
 * connection by now.
 *
 * The peer is judged, not ourselves: bytes that the kernel has and we have not
 * read yet count for it.
 *
 * Any thread. One lock, held for a few instructions, or for a few dozen
 * connections at a time in connections_tick().
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/transport.h"

#define CONNECTION_LINGER_SEC 2

typedef enum ConnectionState {
    CONNECTION_HEADERS,  /* headers of a request are awaited or coming */
    CONNECTION_BODY,     /* its body is coming */
    CONNECTION_HANDLING, /* ours to work */
    CONNECTION_REPLY,    /* the reply is going out */
    CONNECTION_STREAM,   /* the same, and it goes on */
    CONNECTION_LINGER,   /* the last reply is out, the client may still be sending */
    CONNECTION_IDLE,     /* kept alive between requests */
} ConnectionState;

typedef struct Connection {
    /* Set at accept. */
    unsigned char address[16]; /* IPv6, or IPv4 mapped into it */
    size_t slot;
    int epoll_fd; /* of its worker */

    /* Written by the thread that holds it, under the table's lock. */
    ConnectionState state;
    int64_t since_nsec; /* when the state was entered */

    /* Guarded by the table's lock. */
    uint64_t mark;     /* bytes acknowledged (REPLY, STREAM) at ... */
    int64_t mark_nsec; /* ... this time; 0: not looked at yet */
    bool is_asleep;    /* no event but connection_wake() */

    atomic_bool is_held; /* by a thread, or it is asleep; else it is armed */
    atomic_bool is_cut;  /* shutdown(2) was called: nothing more is done for it; and it was ... */
    atomic_bool is_late; /* ... because its request did not come in time */
    atomic_uint_fast64_t body_bytes; /* of the present request */

    /* Of the thread that holds it. */
    bool is_registered; /* with epoll */
    Transport transport;
    TlsSet *tls; /* its certificate, held as long as it lives */
    bool is_checked, is_authenticated;
    uint64_t checked_generation;
    char *input; /* bytes that were read and not used yet: a head, and what is behind it; or NULL */
    size_t input_len;
    size_t input_scanned;    /* see request_head_length() */
    struct Request *request; /* NULL between requests */
} Connection;

typedef struct Connections Connections;

/* @refused, _SERVER_REFUSED_MAX counters, is borrowed. NULL when out of memory. */
Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused);
Connections *connections_free(Connections *connections); /* all are removed; takes NULL */
DEFINE_CLEANUP(Connections *, connections_free)

/* A new connection, in HEADERS, held by the caller, for the worker of @epoll_fd. When there are too
 * many, in all or from this address, the one that has been waiting for headers or idle for longest
 * makes room, if that is over a second; else NULL: refused, and the caller closes @fd. */
Connection *connections_add(
    Connections *connections, int fd, const struct sockaddr *address, int epoll_fd, int64_t now);

/* Closes and frees it. The caller holds it, and has ended its request. */
void connections_remove(Connections *connections, Connection *connection);

/* Any one; NULL when there is none. For the end of the server. */
Connection *connections_first(Connections *connections);

/* The caller holds it no more: its worker does, when one of @events is there. False: the system has
 * no room for that, and the caller still holds it. */
bool connection_arm(Connection *connection, uint32_t events) MUST_CHECK;

/* On its worker, when epoll says so. */
void connection_hold(Connection *connection);

/* The caller holds it no more, and nobody does until connection_wake(), or until it is cut. */
void connection_sleep(Connections *connections, Connection *connection);

/* Arms it if it is asleep, so that a worker gets it at once. */
void connection_wake(Connections *connections, Connection *connection);

/* The first bytes of a request are here. False: the connection has been cut. */
bool connection_begin(Connections *connections, Connection *connection, int64_t now);

/* The state changes. False: the connection has been cut, the caller gives up. */
bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now);

/* Ends it, as a deadline would. */
void connection_cut(Connections *connections, Connection *connection);

/* Whether bytes have come that were not read. */
bool connection_has_unread(const Connection *connection);

/* Cuts what is past its deadline. */
void connections_tick(Connections *connections, int64_t now);

/* Cuts what has been idle for a second, or has not sent or, of a stream, taken a byte in that time.
 * Wakes streams. Returns how many are left. */
unsigned connections_drain(Connections *connections, int64_t now);

unsigned connections_count(const Connections *connections);
uint64_t connections_total(const Connections *connections);
