#pragma once

/*
 * Pending: a reply that comes later, from another thread.
 *
 *   server_defer() → handle() returns → pending_wait(): suspended ┐
 *                                        server_answer(): resumed ┴→ pending_wait() → sent
 *
 * Three threads may meet here: the worker that owns the connection, the thread that answers (at any
 * time, also before handle() has returned), and the one that ends the server. One lock decides the
 * order, and passes the request's memory on: while a fill function runs, arena and body belong to
 * its thread, else to the worker.
 *
 * libmicrohttpd does not look at a suspended connection: it does not time it out, does not notice
 * that the client has gone, and aborts the process if one is left when it stops. So
 * pendings_close() resumes them all. It holds the lock over MHD_resume_connection(), as
 * server_answer() does, because that call uses the daemon after it has let the connection go.
 *
 * An HttpPending belongs to its request and to the thread that answers, and may outlive the server.
 */

#include <microhttpd.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "http/server.h"

typedef struct Pendings Pendings;

/* At most @max at a time. NULL when out of memory. */
Pendings *pendings_new(unsigned max);

/* No new ones; unanswered ones are over, and their connections resumed.
 * Waits for fill functions that are running. */
void pendings_close(Pendings *pendings);

Pendings *pendings_free(Pendings *pendings); /* closed, requests have ended. Takes NULL */
DEFINE_CLEANUP(Pendings *, pendings_free)

unsigned pendings_count(Pendings *pendings);

/* For @request, which lives until pending_end(). NULL: too many, closed, or no memory. */
HttpPending *pending_new(Pendings *pendings, const HttpRequest *request, int tag);

typedef enum PendingState {
    PENDING_WAITING,  /* the connection is suspended */
    PENDING_ANSWERED, /* *ret is the reply */
    PENDING_OVER,     /* there will be none */
} PendingState;

/* On the worker, from libmicrohttpd's access handler: suspends @mhd unless the matter is
 * settled. *ret has the tag in every case. */
PendingState pending_wait(HttpPending *pending, struct MHD_Connection *mhd, HttpReply *ret);

/* The request ends, and with it its half of @pending. Takes NULL. */
void pending_end(HttpPending *pending);
