#pragma once

/*
 * Shared by the files of the client:
 *
 *     client.c           clients, calls and the loop: what begins, has ended, or is over time
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
    uint64_t born; /* in this turn; begun in a later one */

    CallHandler handler;
    CallOptions limits; /* of its pointers only answer */
    char *method, *path;
    char *lines[CALL_HEADERS_MAX + 1]; /* of headers, for libcurl; wiped */
    size_t n_lines;
    bool has_body;
    Buf body;

    /* One attempt. */
    unsigned attempt; /* 1 is the first */
    CURL *easy;
    Identity *identity;
    struct curl_slist headers[CALL_HEADERS_MAX + 1]; /* the call's own, before the identity's */
    int64_t begun_at;                                /* the first attempt */
    int64_t started_at, received_at;
    unsigned n_sent; /* libcurl sends again when an idle connection turns out to be dead */
    bool has_head;
    bool is_stopped; /* by us; outcome and error have the reason */
    size_t n_header_bytes;
    uint64_t n_bytes;
    unsigned status;
    int retry_after_sec;
    int64_t date_sec;
    char *location; /* NULL: none */
    char content_type[CONTENT_TYPE_MAX];
    char refusal[REFUSAL_TEXT_MAX]; /* of the last address that we did not connect to */
    CallOutcome outcome;
    char error[CLIENT_ERROR_MAX];
    char curl_error[CURL_ERROR_SIZE];
};

struct Client {
    Access *access;
    Origin origin;      /* of access_server() */
    Identity *identity; /* of the newest credentials; NULL: none yet */
    ClientLoop *loop;
    bool owns_loop;
};

struct ClientLoop {
    CURLM *multi;
    Call *first, *last; /* of all its clients */
    bool is_busy;       /* in client_loop_wait() */
    uint64_t n_turns;   /* of client_loop_wait() */
    uint64_t n_events;  /* handlers called */
};

/* client.c */

/* Sets why the call ends; the first reason counts. */
__attribute__((format(printf, 3, 4))) void call_stop(
    Call *call, CallOutcome why, const char *format, ...);

/* The same, after the server's address. */
__attribute__((format(printf, 3, 4))) void call_blame(
    Call *call, CallOutcome why, const char *format, ...);

/* The identity of the current credentials, in @client. 0, or a negative errno with a message in
 * @error (ACCESS_ERROR_MAX). */
int client_identify(Client *client, char *error);

/* client-attempt.c */

/* Returns false if it cannot be made; call_stop() was called. */
bool attempt_start(Call *call);

/* Frees the transfer, if there is one, and its data. */
void attempt_end(Call *call);

/* An attempt has ended with @code and without an answer: sets why, by call_stop(). */
void client_explain(Call *call, CURLcode code);

/* The server does not accept our credentials, and that is not an answer to hand on. */
static inline bool call_is_unauthorized(const Call *call) {
    return call->status == 401 && !call->limits.accepts_401;
}
