#pragma once

/*
 * Connections: the table of open connections, with the state of each and its start.
 *
 *   accept → NEW → HEADERS → BODY → HANDLING → REPLY → IDLE → HEADERS → …
 *                        │               STREAM → gone
 *                        └──→ REPLY → LINGER (refused: the reply is sent; input is discarded
 *                             until the client has read it)
 *
 * A connection is held by exactly one thread, or by none:
 *
 *   held by the accepting thread or a worker
 *     → armed (connection_arm): its worker gets it when its socket is ready
 *     → asleep (connection_sleep): connection_wake() arms it when a deferred reply is ready
 *
 * Every state has its own deadline, which single bytes do not extend. connections_tick() shuts down
 * ("cuts") connections past it with shutdown(2); the thread that gets the connection next sees the
 * end of input and closes it. A connection leaves the table, under the lock, before its descriptor
 * is closed, so a cut cannot hit a descriptor that another connection has reused.
 *
 * Deadlines measure the client, not the server: bytes that the kernel has received count as sent,
 * and the time until a thread reads them does not count.
 *
 * Unknown clients compete for places only with each other. A connection is kept, that is never
 * closed to make room, from its first complete head, or from its handshake if the client's
 * certificate is accepted. All others are new: if no place is free, a new connection evicts the new
 * one that has been silent the longest. A connection whose first bytes no thread has read yet does
 * not count as silent: a busy server would close clients that have sent their request. If none is
 * silent, the new connection waits until a thread has read or ended one. So a probe, which is new,
 * always gets a place, and a flood cannot end a connection in use. A connection with a request but
 * no place among the kept ones is closed after its reply.
 *
 * Handshakes take time, so addresses take turns: the n-th new connection of an address comes after
 * the first n - 1 of each other address. If a newcomer finds neither a place nor a silent
 * connection, it evicts the connection of the last turn.
 *
 * Threads: any. One lock, held for a few instructions, or for a few dozen connections at a time in
 * connections_tick().
 */

#include <stdatomic.h>
#include <sys/socket.h>

#include "http/server.h"
#include "http/tls.h"
#include "http/transport.h"

#define CONNECTION_LINGER_SEC 2

/* A client that sent bytes this recently is not evicted while others have unread bytes. Otherwise,
 * if clients send faster than the server reads, those waiting for the server would be evicted. */
#define CONNECTION_GRACE_MSEC 100

/* Shares of connections_max, and of connections_per_address_max: at least a quarter, rounded down,
 * is not kept; at most a quarter is kept without the certificate that the options require. At most
 * half of connections_max, rounded up, is in a TLS handshake. */
#define CONNECTIONS_NEW_SHARE 4u
#define CONNECTIONS_UNKNOWN_SHARE 4u
#define CONNECTIONS_HANDSHAKE_SHARE 2u

typedef enum ConnectionState {
    CONNECTION_NEW,      /* held by the accepting thread: handshake, or no byte yet */
    CONNECTION_HEADERS,  /* waiting for a request's headers */
    CONNECTION_BODY,     /* receiving its body */
    CONNECTION_HANDLING, /* in handle(), or the reply is deferred */
    CONNECTION_REPLY,    /* sending the reply */
    CONNECTION_STREAM,   /* sending a stream */
    CONNECTION_LINGER,   /* last reply sent; the client may still be sending */
    CONNECTION_IDLE,     /* kept alive between requests */
} ConnectionState;

typedef struct Connection {
    /* Set at accept. */
    unsigned char address[16]; /* IPv6, or IPv4 mapped into it */
    size_t slot;
    int epoll_fd;  /* of its worker */
    uint64_t turn; /* of its handshake: see above */

    /* Written with the table's lock by the thread that holds the connection, since_nsec also by
     * connections_tick(). */
    ConnectionState state;
    int64_t since_nsec; /* start of the state; later if the client waited for the server */
    int64_t heard_nsec; /* like since_nsec, or the last step of its handshake if later */

    /* Guarded by the table's lock. */
    uint64_t mark;              /* bytes acknowledged by the client (REPLY, STREAM), ... */
    int64_t mark_nsec;          /* ... at this time, of the last check; 0: not checked yet */
    bool is_asleep;             /* only connection_wake() arms it */
    bool is_kept;               /* never evicted; its thread reads this without the lock */
    bool is_unknown;            /* kept without the certificate that the options require */
    uint64_t ticked_generation; /* of certificates, at the last check by connections_tick() */
    struct Connection *next_evicted;

    atomic_bool is_held;             /* by a thread, or asleep; else it is armed */
    atomic_bool is_due;              /* bytes have come that no thread has read yet */
    atomic_bool is_cut;              /* shutdown(2) was called: only close it; ... */
    atomic_bool is_late;             /* ... because its request missed a deadline */
    atomic_uint_fast64_t body_bytes; /* of the current request */

    /* The last check of the client's certificate. Written by the thread that holds it. */
    atomic_uint_fast64_t checked_generation;
    atomic_int_fast64_t allowed_until_sec; /* since 1970; 0: not allowed */

    /* Used only by the thread that holds it. */
    int64_t due_nsec;   /* when the bytes of a handshake came, with is_due */
    bool is_registered; /* in epoll */
    Transport transport;
    TlsSet *tls; /* the server's certificates, as long as the connection */
    bool is_checked;
    bool is_known; /* the certificate is accepted; or none is required, and a request succeeded */
    char *input;   /* bytes read but not used yet: a head and bytes behind it; or NULL */
    size_t input_len;
    size_t input_scanned;    /* see request_head_length() */
    struct Request *request; /* NULL between requests */
} Connection;

typedef struct Connections Connections;

/* @refused, _SERVER_REFUSED_MAX counters, and @options' pointers are borrowed. NULL: out of
 * memory. */
Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused);
Connections *connections_free(Connections *connections); /* the table must be empty; takes NULL */

enum {
    _CONNECTIONS_E_SUCCESS,
    CONNECTIONS_E_WAIT,   /* a place may become free when a thread has served a connection */
    CONNECTIONS_E_QUEUED, /* the same, but its address already has new connections */
    CONNECTIONS_E_FULL,   /* no place: refuse the client */
};

/* Adds a connection in the state NEW, held by the caller, for the worker of @epoll_fd. Evicts one
 * if there are too many, of all addresses or of this one. 0; or CONNECTIONS_E_*, and @fd is still
 * the caller's. For the accepting thread only, like the next three functions. */
int connections_add(Connections *connections, int fd, const struct sockaddr *address, int epoll_fd,
    int64_t now, Connection **ret);

/* Returns a connection that was evicted in the state NEW, and that the caller must end; or NULL. */
Connection *connections_take_evicted(Connections *connections);

/* Notes that bytes of its handshake came at @received_nsec and must be read. */
void connection_set_due(Connection *connection, int64_t received_nsec);

/* Returns the due handshake of the lowest turn, or NULL. Moves its deadline by its wait. */
Connection *connections_next_handshake(Connections *connections, int64_t now);

/* Keeps it from now on. @is_unknown: without the certificate that the options require. False: there
 * is no place, so close it after the reply. The caller holds it. */
bool connection_keep(Connections *connections, Connection *connection, bool is_unknown);

/* Closes and frees it. The caller holds it, and has freed its request and input. */
void connections_remove(Connections *connections, Connection *connection);

/* Returns any connection; NULL: there is none. For server_free(). */
Connection *connections_first(Connections *connections);

/* Gives it up: its worker gets it on one of @events. False: no memory; the caller still holds
 * it. */
bool connection_arm(Connection *connection, uint32_t events) MUST_CHECK;

/* Called by its worker on an epoll event: the worker holds it now. */
void connection_hold(Connection *connection);

/* Gives the connection up: no thread holds it until connection_wake(), or until a stream is cut. */
void connection_sleep(Connections *connections, Connection *connection);

/* Arms it if it is asleep, so that a worker gets it at once. */
void connection_wake(Connections *connections, Connection *connection);

/* The first bytes of a request have arrived. Returns false if the connection was cut. */
bool connection_begin(Connections *connections, Connection *connection, int64_t now);

/* Changes the state. Returns false if the connection was cut, and the caller must end it. */
bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now);

/* Cuts it like connections_tick(), because the client does not read. */
void connection_cut(Connections *connections, Connection *connection);

/* When its last bytes came: earlier than @now if this thread had to wait for a processor. */
int64_t connection_received_nsec(const Connection *connection, int64_t now);

/* Whether the kernel has unread bytes. */
bool connection_has_unread(const Connection *connection);

/* Cuts connections past their deadline. Also cuts idle connections and streams of clients whose
 * certificate has expired or is no longer accepted. */
void connections_tick(Connections *connections, int64_t now);

/* Cuts connections that were idle for a second, or whose client sent (of a stream: read) no byte
 * for a second. Wakes streams. Returns the number of connections left. */
unsigned connections_drain(Connections *connections, int64_t now);

unsigned connections_count(Connections *connections);
uint64_t connections_total(const Connections *connections);
