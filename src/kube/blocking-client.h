#pragma once

/*
 * One request to the API server (or another server) and its whole answer, for commands.
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
    unsigned status;  /* HTTP status */
    int64_t date_sec; /* since 1970, by the server's clock; 0: not given */
    Str body;         /* in the arena */
} BlockingReply;

/* @access is borrowed. 0: there is an answer, with any status; 1: there is none (no connection, not
 * authorized, timeout, too large), with the reason in @error (BLOCKING_CLIENT_ERROR_MAX); or
 * -ENOMEM. */
int blocking_client_request(
    Access *access, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error);

/* Like blocking_client_request(), with a client that keeps its connections. */
int blocking_client_request_with(
    Client *client, const BlockingRequest *request, Arena *arena, BlockingReply *ret, char *error);

/* Why @reply is an error, for users: the message of its Status, or its HTTP status. */
void blocking_client_explain(const BlockingReply *reply, Arena *arena, char *error);
