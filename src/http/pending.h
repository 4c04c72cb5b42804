#pragma once

/*
 * Pending: a reply that is still to come, from another thread.
 *
 *   server_defer() → handle() returns → pending_wait(): suspended ┐
 *                                        server_answer(): resumed ┴→ pending_wait() → sent
 *
 * Three threads may meet at one of these: the worker that owns the connection, whoever
 * answers (at any time, also before handle() has returned), and the one that ends the
 * server. One lock settles who comes first. What a request is made of changes hands
 * under it: while a fill function runs, arena and body are its thread's, else the
 * worker's.
 *
 * A suspended connection is libmicrohttpd's to keep and ours to resume: it does not look
 * at it, does not time it out, does not see that the client has gone, and stopping with
 * one left aborts the process. So pendings_close() resumes them all. It holds the lock
 * over MHD_resume_connection(), as server_answer() does: that call uses the daemon after
 * it has let the connection go.
 *
 * An HttpPending belongs to two, its request and whoever answers, and outlives the
 * server when the answer comes after its end.
 */

#include <microhttpd.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "http/server.h"

typedef struct Pendings Pendings;

/* At most @max at a time. NULL when out of memory. */
Pendings *pendings_new(unsigned max);

/* No new ones; those that nobody has answered are over, and their connections resumed.
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
