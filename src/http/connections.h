#pragma once

/*
 * Connections: who is connected, what each is doing, and since when.
 *
 *   accept → HEADERS → BODY → HANDLING → REPLY → IDLE → HEADERS → …
 *                        │               STREAM → gone
 *                        └──→ LINGER (refused: the answer is out, input is thrown
 *                             away until the client has seen it)
 *
 * libmicrohttpd knows one timeout, for silence, and a client that sends a byte
 * now and then never meets it. Here every state has a deadline of its own, and
 * connections_tick() cuts those that are past it with shutdown(2). The worker
 * that owns the connection sees the end of input and cleans up. A connection
 * leaves the table, under the lock, before its descriptor is closed; so a cut
 * never meets a descriptor that belongs to another connection by now.
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

#define CONNECTION_LINGER_SEC 2

typedef enum ConnectionState {
    CONNECTION_HEADERS,  /* headers of a request are awaited or coming */
    CONNECTION_BODY,     /* its body is coming */
    CONNECTION_HANDLING, /* ours to work */
    CONNECTION_REPLY,    /* the reply is going out */
    CONNECTION_STREAM,   /* the same, and it goes on */
    CONNECTION_LINGER,   /* refused in the middle of a body */
    CONNECTION_IDLE,     /* kept alive between requests */
} ConnectionState;

typedef struct Connection {
    /* Set at accept. */
    int fd;
    bool is_tls;
    unsigned char address[16]; /* IPv6, or IPv4 mapped into it */
    size_t slot;

    /* Guarded by the table's lock. */
    ConnectionState state;
    int64_t since_nsec;  /* when the state was entered */
    uint64_t mark;       /* bytes received (IDLE) or acknowledged (REPLY, STREAM) at ... */
    int64_t mark_nsec;   /* ... this time; 0: not looked at yet */
    bool is_cut;         /* shutdown(2) was called: nothing more is done for it */
    unsigned cut_status; /* 408 when that was a refusal, else 0 */

    atomic_uint_fast64_t body_bytes; /* of the present request; written by its worker */

    /* Of the worker that serves it. */
    TlsSet *tls; /* its certificate, held as long as it lives */
    bool is_checked, is_authenticated;
    uint64_t checked_generation;
} Connection;

typedef struct Connections Connections;

/* @refused has _SERVER_REFUSED_MAX counters. NULL when out of memory. */
Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused);
Connections *connections_free(Connections *connections); /* all are gone; takes NULL */
DEFINE_CLEANUP(Connections *, connections_free)

/* How many may exist at once, those being cut included. */
unsigned connections_capacity(const Connections *connections);

/* A new connection, in HEADERS. When there are too many, in all or from this
 * address, the one that has been waiting for headers or idle for longest makes
 * room, if that is over a second; else NULL: refused, @fd is shut down, and it
 * is still for the caller to close it. */
Connection *connections_add(
    Connections *connections, int fd, const struct sockaddr *address, int64_t now);
void connections_remove(Connections *connections, Connection *connection); /* takes NULL */

/* The first bytes of a request are here. False: the connection has been cut. */
bool connection_begin(Connections *connections, Connection *connection, int64_t now);

/* The state changes. False: the connection has been cut, the caller gives up. */
bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now);

/* Ends it, as a deadline would. */
void connection_cut(Connections *connections, Connection *connection);

/* 408 when the connection was cut for being late, else 0. */
unsigned connection_cut_status(Connections *connections, const Connection *connection);

/* Cuts what is past its deadline. */
void connections_tick(Connections *connections, int64_t now);

/* Cuts what has been idle for a second, or has not sent or, of a stream, taken a byte in that time.
 * Returns how many are left. */
unsigned connections_drain(Connections *connections, int64_t now);

unsigned connections_count(const Connections *connections);
uint64_t connections_total(const Connections *connections);
