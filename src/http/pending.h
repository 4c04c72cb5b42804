#pragma once

/*
 * Pending: a deferred reply, made by another thread.
 *
 *   server_defer() → handle() returns → pending_wait(): asleep ┐
 *                                       server_answer(): awake ┴→ pending_wait() → sent
 *
 * Two threads use it: the worker that holds the connection (at the end, the thread that frees the
 * server), and the one that answers, at any time, even before handle() has returned. A lock decides
 * the order and passes the request's memory on: while a fill function runs, arena and body belong
 * to its thread, else to the worker.
 *
 * An HttpPending belongs to its request and to the thread that answers, and may outlive the server.
 */

#include "http/connections.h"
#include "http/server.h"

/* For @request on @connection; they live until pending_end(), as do @connections. NULL when out of
 * memory. */
HttpPending *pending_new(
    const HttpRequest *request, Connections *connections, Connection *connection, int tag);

/* On the worker that holds the connection. True: *ret is the reply. False: no answer yet; the
 * connection is asleep, and the caller no longer holds it. */
bool pending_wait(HttpPending *pending, HttpReply *ret);

/* Ends the request and drops its reference to @pending. Waits for a running fill function. */
void pending_end(HttpPending *pending);
