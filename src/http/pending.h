#pragma once

/*
 * Pending: a reply that comes later, from another thread.
 *
 *   server_defer() → handle() returns → pending_wait(): asleep ┐
 *                                       server_answer(): awake ┴→ pending_wait() → sent
 *
 * Two threads may meet here: the worker that holds the connection (or, at the end, the thread that
 * frees the server), and the one that answers, at any time, also before handle() has returned. A
 * lock decides the order, and passes the request's memory on: while a fill function runs, arena and
 * body belong to its thread, else to the worker.
 *
 * An HttpPending belongs to its request and to the thread that answers, and may outlive the server.
 */

#include "http/connections.h"
#include "http/server.h"

/* For @request on @connection; they live until pending_end(), as do @connections. NULL when out of
 * memory. */
HttpPending *pending_new(
    const HttpRequest *request, Connections *connections, Connection *connection, int tag);

/* On the worker that holds the connection. True: *ret is the reply. False: it is still to come; the
 * connection is asleep, and the caller holds it no more. */
bool pending_wait(HttpPending *pending, HttpReply *ret);

/* The request ends, and with it its half of @pending. Waits for a fill function that is running. */
void pending_end(HttpPending *pending);
