#pragma once

/* Shared by connections.c (states, deadlines) and places.c (limits, evictions). */

#include "base/thread.h"
#include "http/connections.h"

struct Connections {
    ServerOptions options;
    atomic_uint_fast64_t *refused;
    atomic_uint_fast64_t total;

    unsigned capacity;
    pthread_mutex_t lock; /* protects the fields below */
    unsigned n;           /* of connections, cut ones included */
    uint64_t turn;        /* of the last handshake */
    Connection *evicted;  /* evicted in the state NEW, not taken yet */
    Connection *slots[];  /* NULL: free */
};

void connections_count_refusal(Connections *connections, ServerRefusal refusal);

/* Cuts it with shutdown(2) and @how. Called with the lock held. */
void connection_shut(Connection *connection, int how);
