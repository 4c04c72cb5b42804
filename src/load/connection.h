#pragma once

/*
 * SourceConnection: a source as we talk to it.
 *
 * SourceConnections are made where sources are configured, on any thread, and used on the queue's:
 * the client of one is made when it is first asked something.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/access.h"
#include "kube/client.h"
#include "load/source.h"

/* Requests under way. One server never has all of them; those that fail have one each, and together
 * never all: whoever answers is asked in time whatever the others do. */
#define POLL_REQUESTS_MAX 4u
#define POLL_SHARE_MAX (POLL_REQUESTS_MAX - 1)

typedef struct SourceConnection {
    char *name; /* of the source; NULL: the API server */
    Access *access;
    bool owns_access;
    Client *client; /* NULL: not made yet */

    bool wants_get; /* it does not take POST */
    /* A request got no answer, or a 5xx, and no other has been answered since it was sent. */
    bool is_failing;
    int64_t answered_nsec; /* monotonic: the last that was; 0: none */
    unsigned n_requests;   /* under way */
} SourceConnection;

void source_connection_done(SourceConnection *server);

/* Makes the client if there is none. False: out of memory. */
bool source_connection_open(SourceConnection *server, ClientLoop *loop) MUST_CHECK;

typedef struct SourceConnections {
    size_t n;
    SourceConnection items[SOURCES_MAX];
} SourceConnections;

/* 0; or a negative errno with a message in @error (ACCESS_ERROR_MAX). */
int source_connections_new(const MetricSources *sources, SourceConnections **ret, char *error)
    MUST_CHECK;
SourceConnections *source_connections_free(SourceConnections *connections); /* takes NULL */
DEFINE_CLEANUP(SourceConnections *, source_connections_free)

/* As sources_find(). */
SourceConnection *source_connections_find(SourceConnections *connections, Str name);
