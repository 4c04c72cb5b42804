#pragma once

/*
 * Server: a source as we talk to it.
 *
 * Servers are made where sources are configured, on any thread, and used on the desk's: the
 * client of one is made when it is first asked something.
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
#define SERVER_REQUESTS_MAX 4u
#define SERVER_SHARE_MAX (SERVER_REQUESTS_MAX - 1)

typedef struct Server {
    char *name; /* of the source; NULL: the API server */
    Access *access;
    bool owns_access;
    Client *client; /* NULL: not made yet */

    bool wants_get; /* it does not take POST */
    /* A request got no answer, or a 5xx, and no other has been answered since it was sent. */
    bool is_failing;
    int64_t answered_nsec; /* monotonic: the last that was; 0: none */
    unsigned n_requests;   /* under way */
} Server;

void server_done(Server *server);

/* Makes the client if there is none. False: out of memory. */
bool server_connect(Server *server, ClientLoop *loop) MUST_CHECK;

typedef struct Servers {
    size_t n;
    Server items[SOURCES_MAX];
} Servers;

/* 0; or a negative errno with a message in @error (ACCESS_ERROR_MAX). */
int servers_new(const Sources *sources, Servers **ret, char *error) MUST_CHECK;
Servers *servers_free(Servers *servers); /* takes NULL */
DEFINE_CLEANUP(Servers *, servers_free)

/* As sources_find(). */
Server *servers_find(Servers *servers, Str name);
