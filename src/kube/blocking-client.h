#pragma once

/*
 * One request to the API server (or any other server of an Access) and its whole answer, for
 * commands.
 *
 * It blocks, up to BLOCKING_CLIENT_SEC; the daemon uses kube/client.h.
 */

#include "kube/access.h"
#include "kube/client.h"

#define BLOCKING_CLIENT_SEC 15
#define BLOCKING_CLIENT_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define BLOCKING_CLIENT_ERROR_MAX 1024u

/* method NULL: "GET"; content_type of a body NULL: "application/json"; total_sec 0:
 * BLOCKING_CLIENT_SEC; bytes_max 0: BLOCKING_CLIENT_BYTES_MAX. */
typedef CallOptions BlockingRequest;

typedef struct BlockingReply {
    unsigned status;  /* of HTTP */
    int64_t date_sec; /* since 1970, by the server's clock; 0: not given */
    Str body;         /* in the arena */
} BlockingReply;

/* @access is borrowed. 0 when there was an answer, whatever its status; 1 when there was none (no
 * connection, not authorized, timeout, too large), with the reason in @error
 * (BLOCKING_CLIENT_ERROR_MAX); or -ENOMEM. */
int blocking_client_request(
    Access *access, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error);

/* The same through @client, which keeps its connections for the next request. */
int blocking_client_request_with(
    Client *client, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error);

/* Why @reply is no success, for users: the message of its Status, else its number. */
void blocking_client_explain(const BlockingReply *reply, Arena *arena, char *error);
