#pragma once

/* Shared by request.c (the steps of a request), peer.c (its sender) and later-reply.c (replies by
 * other threads). */

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
    int later_tag;        /* for finished(), of pending or stream */
    uint64_t streamed;    /* body bytes of the stream */
    Str text;             /* body of a refusal by the server itself */
    size_t arena_charged; /* bytes that the body store counts for head.http.arena */
    Body body;
    int64_t started_nsec; /* the head is complete */
    int64_t whole_nsec;   /* the body is complete; 0: not yet, or not read */
    int64_t made_nsec;    /* the reply is made; 0: not yet */
    int64_t waited_nsec;  /* as in HttpReply, also if the reply is deferred */
    bool is_last;         /* the connection ends with this request */
    bool has_more_input;  /* refused; the client may still be sending the request */
} Request;

/* Counts the arena at its current size. False: that exceeds memory_max. */
bool request_charge_arena(Request *request);

/* Completes the part of @head for handlers, except body and arena. */
void request_describe(const Server *server, Connection *connection, RequestHead *head);

/* For a deferred reply, on the worker that holds the connection. True: request->reply has it.
 * False: there is none yet; the connection is asleep, and the caller no longer holds it. */
bool request_wait(Request *request);

/* Ends a deferred reply or stream, if the request has one. */
void request_end_later(Request *request);
