#pragma once

/* Shared by connections.c (states, deadlines) and places.c (limits, and which to close first). */

#include "base/thread.h"
#include "http/connections.h"

struct Connections {
    ServerOptions options;
    atomic_uint_fast64_t *refused;
    atomic_uint_fast64_t total;

    unsigned capacity;
    pthread_mutex_t lock; /* protects the fields below */
    unsigned n;           /* cut ones included */
    uint64_t turn;        /* of the last handshake */
    Connection *evicted;  /* in the state NEW */
    Connection *slots[];  /* NULL: free */
};

void connections_count_refusal(Connections *connections, ServerRefusal refusal);

/* Shuts the socket down, @how as in shutdown(2). With the lock held. */
void connection_shut(Connection *connection, int how);
