#pragma once

/*
 * Shared by the files of the client:
 *
 *     client.c           clients, calls and the loop: starts and ends calls, checks deadlines
 *     client-attempt.c   one attempt of a call: libcurl's options and callbacks, the answer, errors
 */

#include <curl/curl.h>

#include "base/message.h"
#include "base/origin.h"
#include "kube/client.h"
#include "kube/identity.h"

#define CONTENT_TYPE_MAX 128u
#define REFUSAL_TEXT_MAX 256u

typedef enum CallState {
    STATE_WAITING,
    STATE_RUNNING,
    STATE_OVER,
} CallState;

struct Call {
    Client *client;
    Call *previous, *next;
    CallState state;
    bool is_cancelled;
    uint64_t born; /* turn of client_call(); it begins in a later one */

    CallHandler handler;
    CallOptions limits; /* of its pointers only answer is valid */
    char *method, *path;
    char *lines[CALL_HEADERS_MAX + 1]; /* headers for libcurl; wiped */
    size_t n_lines;
    bool has_body;
    Buf body;

    /* One attempt. */
    unsigned attempt; /* 1 is the first */
    CURL *easy;
    Identity *identity;
    struct curl_slist headers[CALL_HEADERS_MAX + 1]; /* of the call, then of the identity */
    int64_t begun_at;                                /* of the first attempt */
    int64_t started_at, received_at;
    unsigned n_sent; /* times; libcurl sends again if a kept connection is dead */
    bool has_head;
    bool is_stopped; /* by call_stop(), which sets outcome and error */
    size_t n_header_bytes;
    uint64_t n_bytes;
    unsigned status;
    int retry_after_sec;
    int64_t date_sec;
    char *location; /* NULL: none */
    char content_type[CONTENT_TYPE_MAX];
    char refusal[REFUSAL_TEXT_MAX]; /* about the last address that was refused */
    CallOutcome outcome;
    char error[CLIENT_ERROR_MAX];
    char curl_error[CURL_ERROR_SIZE];
};

struct Client {
    Access *access;
    Origin origin;      /* of access_server() */
    Identity *identity; /* of the latest credentials; NULL: none yet */
    ClientLoop *loop;
    bool owns_loop;
};

struct ClientLoop {
    CURLM *multi;
    Call *first, *last; /* calls of all clients of the loop */
    bool is_busy;       /* in client_loop_wait() */
    uint64_t n_turns;   /* of client_loop_wait() */
    uint64_t n_events;  /* handlers called */
};

/* client.c */

/* Ends the call with an outcome and error; only the first counts. */
__attribute__((format(printf, 3, 4))) void call_stop(
    Call *call, CallOutcome why, const char *format, ...);

/* Like call_stop(), with the server's address before the message. */
__attribute__((format(printf, 3, 4))) void call_blame(
    Call *call, CallOutcome why, const char *format, ...);

/* Updates client->identity to the current credentials. 0, or a negative errno with a message in
 * @error (ACCESS_ERROR_MAX). */
int client_identify(Client *client, char *error);

/* client-attempt.c */

/* Returns false on failure, after call_stop(). */
bool attempt_start(Call *call);

/* Frees the transfer (may be NULL) and its data. */
void attempt_end(Call *call);

/* Explains, by call_stop(), why an attempt ended with @code and without an answer. */
void client_explain(Call *call, CURLcode code);

/* Whether the server rejects our credentials, unless the caller accepts a 401 as an answer. */
static inline bool call_is_unauthorized(const Call *call) {
    return call->status == 401 && !call->limits.accepts_401;
}
