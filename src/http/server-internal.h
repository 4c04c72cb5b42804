#pragma once

/*
 * Shared by server.c (threads, limits), acceptor.c (new clients) and request.c (one request from
 * its first byte to its end).
 */

#include <pthread.h>
#include <stdatomic.h>

#include "http/acceptor.h"
#include "http/arena-pool.h"
#include "http/body.h"
#include "http/connections.h"
#include "http/server.h"
#include "http/stream.h"

/* A thread and its epoll set. A connection stays with one worker: its memory is in that processor's
 * cache, and a request wakes one thread. */
struct Worker {
    Server *server;
    pthread_t thread;
    int epoll_fd;
};

struct Server {
    ServerOptions options;
    ServerCallbacks callbacks;
    uint16_t port;
    atomic_bool is_stopping, is_retiring, is_draining;

    Acceptor acceptor;
    int stop_fd;        /* an eventfd that wakes all threads for good */
    Worker *workers;    /* the first is the acceptor, the others serve */
    unsigned n_workers; /* with the first */
    unsigned n_threads; /* of them: started */

    Connections *connections;
    BodyStore *bodies;
    atomic_uint n_pendings, n_streams;
    unsigned pendings_max;
    ArenaPool *arenas;
    atomic_uint_fast64_t refused[_SERVER_REFUSED_MAX];
};

/* Serves @connection, which the caller holds, as far as possible without waiting. The caller does
 * not hold it afterwards. */
void connection_serve(Server *server, Connection *connection);

/* The handshake is complete: a client whose certificate is accepted keeps its connection. */
void connection_greet(Server *server, Connection *connection);

/* The handshake failed. The client sees the end of the connection, no reset, whatever it sends. */
void connection_reject(Server *server, Connection *connection);

/* Ends its request, if there is one, and closes it. */
void connection_end(Server *server, Connection *connection);
