#pragma once

/*
 * Shared by server.c (threads, limits), acceptor.c (new clients) and request.c (the steps of a
 * request).
 */

#include <pthread.h>
#include <stdatomic.h>

#include "http/acceptor.h"
#include "http/arena-pool.h"
#include "http/body.h"
#include "http/connections.h"
#include "http/server.h"
#include "http/stream.h"

/* A thread and its epoll set. A connection always has the same worker: its memory is in that
 * processor's cache, and a request wakes one thread. */
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
    int stop_fd;        /* an eventfd that ends all threads */
    Worker *workers;    /* the first is the acceptor, the others serve */
    unsigned n_workers; /* with the first */
    unsigned n_threads; /* those that were started */

    Connections *connections;
    BodyStore *bodies;
    atomic_uint n_pendings, n_streams;
    unsigned pendings_max;
    ArenaPool *arenas;
    atomic_uint_fast64_t refused[_SERVER_REFUSED_MAX];
};

/* Serves @connection, which the caller holds, until it must wait. Afterwards the caller no longer
 * holds it. */
void connection_serve(Server *server, Connection *connection);

/* The handshake is complete: if the client's certificate is accepted, the connection is kept. */
void connection_greet(Server *server, Connection *connection);

/* The handshake failed: sends the end of the connection, never a reset. */
void connection_reject(Server *server, Connection *connection);

/* Ends the connection's request, if there is one, and closes the connection. */
void connection_end(Server *server, Connection *connection);
