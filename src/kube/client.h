#pragma once

/*
 * Client: requests to one API server, many at a time, from one thread.
 *
 * libcurl's multi interface underneath. Nothing blocks but client_wait(); answers
 * arrive through a call's handler, on the thread that is in client_wait(). HTTP/1.1,
 * so that a stream that stalls holds up nothing but itself; no compression; no
 * redirects; nothing but the configured origin ever sees the credentials.
 *
 * Every call has ceilings: bytes, time to connect, time to the first byte, silence,
 * time in all. TCP keepalive finds peers that are gone (CLIENT_KEEPALIVE_*).
 *
 * Threads: one, but for client_wake().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/access.h"

typedef struct Client Client;
typedef struct Call Call;

#define CLIENT_ERROR_MAX 512u

/* A peer that vanished is noticed within idle + interval * count = 39 s. */
#define CLIENT_KEEPALIVE_IDLE_SEC 15
#define CLIENT_KEEPALIVE_INTERVAL_SEC 8
#define CLIENT_KEEPALIVE_COUNT 3
#define CLIENT_CONNECT_SEC 10

typedef enum CallOutcome {
    CALL_DONE,         /* answered to the end; status tells how */
    CALL_REFUSED,      /* no connection: refused, no route, name unknown, TLS */
    CALL_BROKEN,       /* the connection ended in the middle, or what came is no HTTP */
    CALL_TIMEOUT,      /* connect, first byte, silence or total time is over */
    CALL_TOO_LARGE,    /* over bytes_max */
    CALL_ENDED,        /* the handler's data() said so */
    CALL_UNAUTHORIZED, /* 401, also with fresh credentials, or none to be had */
    _CALL_OUTCOME_MAX,
} CallOutcome;

const char *call_outcome_name(CallOutcome outcome); /* a stable word for metrics */

typedef struct CallHead {
    unsigned status;
    Str content_type;    /* without parameters */
    int retry_after_sec; /* -1: not given */
} CallHead;

typedef struct CallResult {
    CallOutcome outcome;
    unsigned status;     /* 0: no answer came */
    bool was_sent;       /* the request may have reached the server, also when no answer came */
    int retry_after_sec; /* -1: not given */
    const char *error;   /* for a person, unless CALL_DONE; "" never */
} CallResult;

/* head, then data any number of times, then done, once. After done, or after
 * call_cancel(), none of them is called again and the Call is gone. They may start
 * and cancel calls. */
typedef struct CallHandler {
    void *context;
    void (*head)(void *context, const CallHead *head); /* may be NULL */
    bool (*data)(void *context, Str bytes);            /* false ends the call; NULL: dropped */
    void (*done)(void *context, const CallResult *result);
} CallHandler;

typedef struct CallOptions {
    const char *method;       /* "GET", "POST", "PATCH" */
    const char *path;         /* with the query; begins with '/' */
    const char *content_type; /* of the body; NULL without one */
    Str body;                 /* copied */
    unsigned first_byte_sec;  /* 0: none. From the start of the call to its status line */
    unsigned silence_sec;     /* 0: none. Without a byte, once the answer has begun */
    unsigned total_sec;       /* 0: none */
    uint64_t bytes_max;       /* of the answer; 0: none (streams count their own frames) */
} CallOptions;

/* @access is borrowed and must outlive the client. NULL when out of memory. */
Client *client_new(Access *access);
Client *client_free(Client *client); /* cancels what is under way; takes NULL */
DEFINE_CLEANUP(Client *, client_free)

/* Starts a call. A failure to even begin is reported through done() as well, from the
 * next client_wait(); NULL only when out of memory (done() is not called then). */
Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler);

void call_cancel(Call *call); /* takes NULL */

/* Moves everything along, and waits up to @timeout_msec for something to happen when
 * there is nothing to do. 0, or a negative errno. */
int client_wait(Client *client, int timeout_msec);

/* Makes client_wait() return. Any thread. */
void client_wake(Client *client);
