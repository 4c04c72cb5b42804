#pragma once

/* Shared by request.c (the steps of a request), peer.c (who sends it) and later-reply.c (replies
 * that another thread makes). */

#include "http/reply.h"
#include "http/request-head.h"
#include "http/server-internal.h"

typedef struct Request {
    Server *server;
    Connection *connection;
    RequestHead head;
    size_t head_size; /* bytes of the connection's input */
    HttpReply reply;
    ReplyWriter writer;
    HttpPending *pending; /* NULL: not deferred; see later-reply.c */
    HttpStream *stream;   /* NULL: not a stream */
    int later_tag;        /* of pending or stream */
    uint64_t streamed;    /* bytes */
    Str text;             /* body of a refusal by the server itself */
    size_t arena_charged; /* bytes that the body store counts for head.http.arena */
    Body body;
    int64_t started_nsec; /* the head is complete */
    int64_t whole_nsec;   /* the body is complete; 0: it is not, or was not read */
    int64_t made_nsec;    /* the reply is made; 0: it is not */
    int64_t waited_nsec;  /* as HttpReply has it, also if the reply is deferred */
    bool is_last;         /* the connection ends with this request */
    bool has_more_input;  /* refused, and the client may still be sending it */
} Request;

/* Counts the arena at its present size. Returns false if it is over memory_max. */
bool request_charge_arena(Request *request);

/* Completes what handlers see of @head, but for body and arena. */
void request_describe(const Server *server, Connection *connection, RequestHead *head);

/* For a deferred reply, on the worker that holds the connection. True: it is in request->reply.
 * False: there is none yet; the connection is asleep, and the caller no longer holds it. */
bool request_wait(Request *request);

/* Ends a deferred reply or stream, if the request has one. */
void request_end_later(Request *request);
