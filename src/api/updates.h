#pragma once

/*
 * Updates: the event stream of the dashboard and of `berth top`, GET /api/v1/events.
 *
 * One update for all clients, at most once a second, and only while there are clients: health,
 * counters and the newest decisions. Each is an event "update" with a number as id and one line of
 * JSON as data; docs/dashboard.md has the fields. If an update cannot be made because memory is
 * short or it is too long, a comment is sent every 15 s, so that proxies keep the stream open.
 *
 * Threads: only the daemon's ticks; any may add a stream.
 */

#include "http/server.h"

typedef struct ApiContext ApiContext;
typedef struct Updates Updates;

Updates *updates_new(void);              /* NULL when out of memory */
Updates *updates_free(Updates *updates); /* ends all streams. Takes NULL */

/* Call it in handle(): @request becomes an event stream. False: there are too many, or
 * server_stream() failed. */
bool updates_join(Updates *updates, const HttpRequest *request, int tag);

/* Call it about four times a second; sends once a second if there are clients. */
void updates_tick(Updates *updates, ApiContext *api, int64_t now_nsec);
