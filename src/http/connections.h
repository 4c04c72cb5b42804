#pragma once

/*
 * Connections: the open connections, the state of each, and when it entered that state.
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
 * Every state has its own deadline, which single bytes do not extend. connections_tick()
 * cuts connections past it with shutdown(2); the thread that gets the connection next sees the end
 * of input and closes it. A connection leaves the table, under the lock, before its descriptor is
 * closed, so a cut cannot hit a descriptor that another connection has reused.
 *
 * Deadlines measure the client, not the server: bytes that the kernel received and no thread has
 * read yet count as sent, and the time that they waited to be read does not count.
 *
 * Places are divided so that strangers compete with each other only. A connection is kept, that is
 * never closed to make room, from its first complete head, or from its handshake if the client's
 * certificate is accepted. All others are new: a connection that comes when there is no place
 * evicts the new one that has been silent the longest. One whose first bytes no thread has read yet
 * does not count as silent, or a busy server would close clients that have sent their request. If
 * none is silent, the new connection waits until a thread has read some, or is done with one. So a
 * probe, which is new, always gets a place, and a flood cannot end a connection in use. A
 * connection that has a request but no place among the kept ones is answered and then closed.
 *
 * Handshakes take time, so addresses take turns: the n-th new connection of an address comes after
 * the first n - 1 of each other address. For a newcomer that finds neither a place nor a silent
 * connection the one of the last turn is evicted.
 *
 * Any thread. One lock, held for a few instructions, or for a few dozen
 * connections at a time in connections_tick().
 */

#include <stdatomic.h>
#include <sys/socket.h>

#include "http/server.h"
#include "http/tls.h"
#include "http/transport.h"

#define CONNECTION_LINGER_SEC 2

/* A client that sent bytes less than this ago is not evicted while others have unread bytes: among
 * clients that send faster than this server reads, those that wait for it would be the only silent
 * ones. */
#define CONNECTION_GRACE_MSEC 100

/* Shares of connections_max, and of connections_per_address_max: at least a quarter, rounded down,
 * is not kept; at most a quarter is kept without the certificate that the options require. Of
 * connections_max at most a half, rounded up, is in a TLS handshake. */
#define CONNECTIONS_NEW_SHARE 4u
#define CONNECTIONS_UNKNOWN_SHARE 4u
#define CONNECTIONS_HANDSHAKE_SHARE 2u

typedef enum ConnectionState {
    CONNECTION_NEW,      /* of the accepting thread: TLS handshake, or waiting for the first byte */
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
    uint64_t turn; /* of its handshake */

    /* Written by the thread that holds it, under the table's lock. */
    ConnectionState state;
    int64_t since_nsec; /* when the state was entered; later if a handshake had to wait for us */
    int64_t heard_nsec; /* the same, or the last step of its handshake if that was later */

    /* Guarded by the table's lock. */
    uint64_t mark;              /* bytes acknowledged (REPLY, STREAM) at ... */
    int64_t mark_nsec;          /* ... this time; 0: not checked yet */
    bool is_asleep;             /* only connection_wake() arms it */
    bool is_kept;               /* never evicted; also read by the thread that holds it */
    bool is_unknown;            /* kept without the certificate that the options require */
    uint64_t ticked_generation; /* of certificates, when connections_tick() last checked this one */
    struct Connection *next_evicted;

    atomic_bool is_held;             /* by a thread, or asleep; else armed */
    atomic_bool is_due;              /* a thread is to read the bytes that have just come */
    atomic_bool is_cut;              /* shutdown(2) was called, so it is only closed; ... */
    atomic_bool is_late;             /* ... because its request was late */
    atomic_uint_fast64_t body_bytes; /* of the present request */

    /* The client's certificate when the last request came. Written by the thread that holds it. */
    atomic_uint_fast64_t checked_generation;
    atomic_int_fast64_t allowed_until_sec; /* since 1970; 0: not allowed */

    /* Used by the thread that holds it. */
    int64_t due_nsec;   /* when the bytes came for which is_due was set, of a handshake */
    bool is_registered; /* in epoll */
    Transport transport;
    TlsSet *tls; /* its certificate, held as long as it lives */
    bool is_checked;
    bool is_known; /* its certificate is accepted or, where none is required, it had a request */
    char *input;   /* bytes read but not used yet: a head, and what follows it; or NULL */
    size_t input_len;
    size_t input_scanned;    /* see request_head_length() */
    struct Request *request; /* NULL between requests */
} Connection;

typedef struct Connections Connections;

/* @refused, _SERVER_REFUSED_MAX counters, is borrowed. NULL when out of memory. */
Connections *connections_new(const ServerOptions *options, atomic_uint_fast64_t *refused);
Connections *connections_free(Connections *connections); /* all are removed; takes NULL */

enum {
    _CONNECTIONS_E_SUCCESS,
    CONNECTIONS_E_WAIT,   /* there may be a place when a thread is done with a connection */
    CONNECTIONS_E_QUEUED, /* the same, but its address has new connections already */
    CONNECTIONS_E_FULL,   /* refused */
};

/* A new connection, in NEW, held by the caller, for the worker of @epoll_fd. When there are too
 * many, in all or from this address, it evicts one. 0; or CONNECTIONS_E_*, and @fd is still the
 * caller's. For the accepting thread, like the next three. */
int connections_add(Connections *connections, int fd, const struct sockaddr *address, int epoll_fd,
    int64_t now, Connection **ret);

/* One that connections_add() has evicted in the state NEW, for the caller to end; or NULL. */
Connection *connections_take_evicted(Connections *connections);

/* Bytes of its handshake are to be read, since @received_nsec. */
void connection_set_due(Connection *connection, int64_t received_nsec);

/* The handshake to go on with: of those that are due the one of the lowest turn; or NULL. Its
 * deadline moves by the time that it was due. */
Connection *connections_next_handshake(Connections *connections, int64_t now);

/* Keeps it from now on. @is_unknown: without the certificate that the options require. Returns
 * false if there is no place, so it must be closed after the reply. The caller holds it. */
bool connection_keep(Connections *connections, Connection *connection, bool is_unknown);

/* Closes and frees it. The caller holds it, and has ended its request. */
void connections_remove(Connections *connections, Connection *connection);

/* Any one; NULL when there is none. For server_free(). */
Connection *connections_first(Connections *connections);

/* The caller no longer holds it: its worker gets it on one of @events. False: epoll is out of
 * memory, and the caller still holds it. */
bool connection_arm(Connection *connection, uint32_t events) MUST_CHECK;

/* Called by its worker on an epoll event. */
void connection_hold(Connection *connection);

/* The caller no longer holds it; no thread does until connection_wake(), or until it is cut. */
void connection_sleep(Connections *connections, Connection *connection);

/* Arms it if it is asleep, so that a worker gets it at once. */
void connection_wake(Connections *connections, Connection *connection);

/* The first bytes of a request have arrived. Returns false if the connection was cut. */
bool connection_begin(Connections *connections, Connection *connection, int64_t now);

/* Changes the state. Returns false if the connection was cut, and the caller must end it. */
bool connection_enter(
    Connections *connections, Connection *connection, ConnectionState state, int64_t now);

/* Cuts it, as a missed deadline would. */
void connection_cut(Connections *connections, Connection *connection);

/* When its last bytes came: not now if this thread had to wait for a processor. */
int64_t connection_received_nsec(const Connection *connection, int64_t now);

/* Whether the kernel has bytes that were not read. */
bool connection_has_unread(const Connection *connection);

/* Cuts connections past their deadline, and those that wait for a request, or are streams, of a
 * client whose certificate has expired or is no longer accepted. */
void connections_tick(Connections *connections, int64_t now);

/* Cuts connections that were idle for a second, or whose client sent (of a stream: read) no byte in
 * that time. Wakes streams. Returns how many are left. */
unsigned connections_drain(Connections *connections, int64_t now);

unsigned connections_count(Connections *connections);
uint64_t connections_total(const Connections *connections);
