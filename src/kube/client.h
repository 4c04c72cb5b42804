#pragma once

/*
 * Client: concurrent requests to one server, usually the API server, from one thread.
 *
 * Only client_wait() blocks; it calls the handlers of calls. HTTP/1.1, so that a stalled stream
 * does not delay others; no compression; redirects are not followed; credentials are sent only to
 * the configured origin. An Access may refuse addresses before they are connected to.
 *
 * Every call can have limits: bytes, time to connect, to the first byte, of silence, in total.
 *
 * Threads: one, except client_wake().
 */

#include "base/buf.h"
#include "kube/access.h"

typedef struct Client Client;
typedef struct Call Call;

#define CLIENT_ERROR_MAX 512u

/* A dead peer is noticed within idle + interval * count = 39 s. */
#define CLIENT_KEEPALIVE_IDLE_SEC 15
#define CLIENT_KEEPALIVE_INTERVAL_SEC 8
#define CLIENT_KEEPALIVE_COUNT 3
#define CLIENT_CONNECT_SEC 10
#define CLIENT_LOCATION_MAX ((size_t)32 * 1024)
#define CALL_HEADERS_MAX 4u

typedef enum CallOutcome {
    CALL_DONE,      /* the whole answer arrived, with any status */
    CALL_REFUSED,   /* no connection: refused (also by the Access), no route, unknown name, TLS */
    CALL_BROKEN,    /* the connection ended early, or the answer is not HTTP */
    CALL_TIMEOUT,   /* the limit of connect, first byte, silence or total time */
    CALL_TOO_LARGE, /* over bytes_max */
    CALL_ENDED,     /* the handler's data() returned false */
    CALL_UNAUTHORIZED, /* 401, also with new credentials; or no credentials */
} CallOutcome;

typedef struct CallHead {
    unsigned status;
    Str content_type;    /* without parameters */
    Str location;        /* of a redirect; empty: none, or over CLIENT_LOCATION_MAX */
    int64_t date_sec;    /* Date, since 1970, by the server's clock; 0: not given */
    int retry_after_sec; /* -1: not given */
} CallHead;

typedef struct CallResult {
    CallOutcome outcome;
    unsigned status;     /* 0: no answer */
    bool was_sent;       /* the request may have reached the server */
    int retry_after_sec; /* -1: not given */
    const char *error;   /* for users, not empty; NULL if CALL_DONE */
} CallResult;

/* Called in this order: head, data any number of times, done once. After done() or call_cancel()
 * the Call must not be used. They may start and cancel calls. */
typedef struct CallHandler {
    void *context;
    /* Called right before the request is sent, on a ready connection, because the process may have
     * been halted since client_call(). False: CALL_REFUSED, nothing is sent. NULL: always send.
     * Must neither start nor cancel calls. */
    bool (*may_send)(void *context);
    void (*head)(void *context, const CallHead *head); /* may be NULL */
    bool (*data)(void *context, Str bytes); /* false ends the call; NULL: goes to @answer */
    void (*done)(void *context, const CallResult *result);
} CallHandler;

typedef struct CallOptions {
    const char *method;       /* "GET", "POST", "PATCH" */
    const char *path;         /* with query; begins with '/' */
    bool is_from_root;        /* @path is not relative to the path of the access's URL */
    const char *content_type; /* of the body; NULL: no body */
    Str body;                 /* copied */
    const Header *headers;    /* only for this call, may be secret; copied */
    size_t n_headers;         /* at most CALL_HEADERS_MAX */
    bool may_repeat;          /* may be sent twice, like a GET */
    unsigned first_byte_sec;  /* from the start to the status line; 0: no limit */
    unsigned silence_sec;     /* without a byte, after the answer has begun; 0: no limit */
    unsigned total_sec;       /* 0: no limit */
    uint64_t bytes_max;       /* of the answer; 0: no limit (for streams) */
    Buf *answer;              /* gets the body if there is no data(); NULL: dropped */
    bool accepts_401;         /* a 401 is CALL_DONE, not CALL_UNAUTHORIZED */
} CallOptions;

/* @access is borrowed and must outlive the client. NULL when out of memory. */
Client *client_new(Access *access);

/* A loop has clients of several servers on one thread; client_loop_wait(), and client_wait() on any
 * of them, waits for all. Each client has its own connections and credentials. The loop must
 * outlive its clients. NULL when out of memory. */
typedef struct ClientLoop ClientLoop;

ClientLoop *client_loop_new(void);
ClientLoop *client_loop_free(ClientLoop *loop); /* takes NULL */
DEFINE_CLEANUP(ClientLoop *, client_loop_free)
int client_loop_wait(ClientLoop *loop, int timeout_msec); /* like client_wait() */
void client_loop_wake(ClientLoop *loop);                  /* like client_wake() */
Client *client_new_in(ClientLoop *loop, Access *access);  /* like client_new() */

Client *client_free(Client *client); /* cancels its calls; takes NULL */
DEFINE_CLEANUP(Client *, client_free)

/* Starts a call; options are copied. Failures are reported by done(), from the next client_wait()
 * on. NULL only when out of memory, without done(). */
Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler);

void call_cancel(Call *call); /* takes NULL */

/* Runs calls, and waits for events up to @timeout_msec. 0, or a negative errno. */
int client_wait(Client *client, int timeout_msec);

/* Like client_wait(), but also returns when @fd can be read; -1: none. */
int client_wait_fd(Client *client, int fd, int timeout_msec);

/* Makes client_wait() return. Any thread. */
void client_wake(Client *client);
