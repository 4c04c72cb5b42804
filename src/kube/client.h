#pragma once

/*
 * Client: requests to one server, mostly the API server, many at a time, from one thread.
 *
 * Nothing blocks but client_wait(); answers arrive through a call's handler, on the thread that is
 * in client_wait(). HTTP/1.1, so that a stream that stalls holds up nothing but itself; no
 * compression; no redirect is followed; nothing but the configured origin sees the credentials. An
 * Access may refuse the very address that is connected to.
 *
 * Every call has ceilings: bytes, time to connect, to the first byte, of silence, in all.
 *
 * Threads: one, but for client_wake().
 */

#include "base/buf.h"
#include "kube/access.h"

typedef struct Client Client;
typedef struct Call Call;

#define CLIENT_ERROR_MAX 512u

/* A peer that vanished is noticed within idle + interval * count = 39 s. */
#define CLIENT_KEEPALIVE_IDLE_SEC 15
#define CLIENT_KEEPALIVE_INTERVAL_SEC 8
#define CLIENT_KEEPALIVE_COUNT 3
#define CLIENT_CONNECT_SEC 10
#define CLIENT_LOCATION_MAX ((size_t)32 * 1024)
#define CALL_HEADERS_MAX 4u

typedef enum CallOutcome {
    CALL_DONE,         /* answered to the end, with status */
    CALL_REFUSED,      /* no connection: refused (by us, too), no route, name unknown, TLS */
    CALL_BROKEN,       /* the connection ended in the middle, or what came is no HTTP */
    CALL_TIMEOUT,      /* the limit of connect, first byte, silence or total time */
    CALL_TOO_LARGE,    /* over bytes_max */
    CALL_ENDED,        /* the handler's data() returned false */
    CALL_UNAUTHORIZED, /* 401, also with fresh credentials, or no credentials */
} CallOutcome;

typedef struct CallHead {
    unsigned status;
    Str content_type;    /* without parameters */
    Str location;        /* of a redirect, as it came; empty: none, or over CLIENT_LOCATION_MAX */
    int64_t date_sec;    /* since 1970: when it was made, by the server's clock; 0: not given */
    int retry_after_sec; /* -1: not given */
} CallHead;

typedef struct CallResult {
    CallOutcome outcome;
    unsigned status;     /* 0: no answer came */
    bool was_sent;       /* the request may have reached the server, also when no answer came */
    int retry_after_sec; /* -1: not given */
    const char *error;   /* for users, unless CALL_DONE; "" never */
} CallResult;

/* head, then data any number of times, then done, once. After done, or call_cancel(), the Call is
 * gone. They may start and cancel calls. */
typedef struct CallHandler {
    void *context;
    /* Right before the request leaves, on a connection that is ready: is it still to? A process may
     * have been halted since client_call(). False ends the call: CALL_REFUSED, and it was not sent.
     * NULL: always. Neither starts nor cancels calls. */
    bool (*may_send)(void *context);
    void (*head)(void *context, const CallHead *head); /* may be NULL */
    bool (*data)(void *context, Str bytes);            /* false ends the call; NULL: to answer */
    void (*done)(void *context, const CallResult *result);
} CallHandler;

typedef struct CallOptions {
    const char *method;       /* "GET", "POST", "PATCH" */
    const char *path;         /* with the query; begins with '/' */
    bool is_from_root;        /* the path of the access's URL, if it has one, is not in front */
    const char *content_type; /* of the body; NULL without one */
    Str body;                 /* copied */
    const Header *headers;    /* of this call only: secrets, too; copied */
    size_t n_headers;         /* at most CALL_HEADERS_MAX */
    bool may_repeat;          /* a request that does no harm if it arrives twice, as a GET */
    unsigned first_byte_sec;  /* 0: none. From the start of the call to its status line */
    unsigned silence_sec;     /* 0: none. Without a byte, once the answer has begun */
    unsigned total_sec;       /* 0: none */
    uint64_t bytes_max;       /* of the answer; 0: none (streams have ceilings of their own) */
    Buf *answer;              /* where its body goes without data(); NULL: dropped */
    bool accepts_401;         /* a 401 is an answer like any other, not CALL_UNAUTHORIZED */
} CallOptions;

/* @access is borrowed and must outlive the client. NULL when out of memory. */
Client *client_new(Access *access);

/* Clients of several servers on one thread: those of a loop are waited for together, by
 * client_loop_wait(); client_wait() on one of them is the same. Connections and credentials belong
 * to each client. The loop outlives its clients. NULL when out of memory. */
typedef struct ClientLoop ClientLoop;

ClientLoop *client_loop_new(void);
ClientLoop *client_loop_free(ClientLoop *loop); /* takes NULL */
DEFINE_CLEANUP(ClientLoop *, client_loop_free)
int client_loop_wait(ClientLoop *loop, int timeout_msec); /* as client_wait() */
void client_loop_wake(ClientLoop *loop);                  /* as client_wake() */
Client *client_new_in(ClientLoop *loop, Access *access);  /* as client_new() */

Client *client_free(Client *client); /* cancels calls under way; takes NULL */
DEFINE_CLEANUP(Client *, client_free)

/* Starts a call. A failure to even begin is reported through done() as well, from the
 * next client_wait(); NULL only when out of memory (done() is not called then). */
Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler);

void call_cancel(Call *call); /* takes NULL */

/* Moves everything along, and waits for events up to @timeout_msec. 0, or a negative errno. */
int client_wait(Client *client, int timeout_msec);

/* The same, and returns when @fd can be read; -1: none. */
int client_wait_fd(Client *client, int fd, int timeout_msec);

/* Makes client_wait() return. Any thread. */
void client_wake(Client *client);
