#pragma once

/*
 * Pending: a reply that comes later, from another thread.
 *
 *   server_defer() → handle() returns → pending_wait(): asleep ┐
 *                                       server_answer(): awake ┴→ pending_wait() → sent
 *
 * Three threads may meet here: the worker that holds the connection, the thread that answers (at
 * any time, also before handle() has returned), and the one that ends the server. One lock decides
 * the order, and passes the request's memory on: while a fill function runs, arena and body belong
 * to its thread, else to the worker.
 *
 * An HttpPending belongs to its request and to the thread that answers, and may outlive the server.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "http/connections.h"
#include "http/server.h"

typedef struct Pendings Pendings;

/* At most @max at a time. @connections are borrowed. NULL when out of memory. */
Pendings *pendings_new(unsigned max, Connections *connections);

/* No new ones; no connection is woken any more. */
void pendings_close(Pendings *pendings);

Pendings *pendings_free(Pendings *pendings); /* closed, requests have ended. Takes NULL */
DEFINE_CLEANUP(Pendings *, pendings_free)

unsigned pendings_count(Pendings *pendings);

/* For @request on @connection, which live until pending_end(). NULL: too many, closed, or no
 * memory. */
HttpPending *pending_new(
    Pendings *pendings, const HttpRequest *request, Connection *connection, int tag);

typedef enum PendingState {
    PENDING_WAITING,  /* the connection is asleep, and the caller holds it no more */
    PENDING_ANSWERED, /* *ret is the reply */
    PENDING_OVER,     /* there will be none */
} PendingState;

/* On the worker that holds the connection. *ret has the tag in every case. */
PendingState pending_wait(HttpPending *pending, HttpReply *ret);

/* The request ends, and with it its half of @pending. Waits for a fill function that is running.
 * Takes NULL. */
void pending_end(HttpPending *pending);
