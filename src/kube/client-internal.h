#pragma once

/*
 * What the files of the client share. client.h is the contract: nobody else includes this.
 *
 *     client.c           clients and calls: made, cancelled, freed
 *     client-loop.c      turns: what begins, what has ended, whose time is over
 *     client-attempt.c   one attempt of a call: what libcurl is told, and asks
 *     client-answer.c    what comes back
 *     client-explain.c   what libcurl and GnuTLS say, for people
 */

#include <curl/curl.h>

#include "base/buf.h"
#include "base/origin.h"
#include "kube/client.h"
#include "kube/identity.h"
#include "kube/message.h"
#include "kube/proxy.h"

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
    CallOptions limits; /* of it only what is no pointer */
    char *method, *path;
    char *content_line; /* "Content-Type: …", for libcurl */
    Buf body;

    /* One attempt. */
    unsigned attempt; /* 1 is the first */
    CURL *easy;
    Identity *identity;
    struct curl_slist headers; /* the call's own, before those of the identity */
    int64_t begun_at;          /* the first attempt */
    int64_t started_at, heard_at;
    unsigned n_sent; /* libcurl sends again when an idle connection turns out to be dead */
    bool has_head;
    bool is_stopped; /* by us; outcome and error say why */
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
    Origin origin; /* of access_server() */
    ProxyEnvironment proxies;
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

/* --- client.c --- */

/* Says why the call ends; the first reason counts. */
__attribute__((format(printf, 3, 4))) void call_stop(
    Call *call, CallOutcome why, const char *format, ...);

void call_free(Call *call);

/* The identity that the credentials of now make, in @client. 0, or a negative errno with a message
 * in @error (ACCESS_ERROR_MAX). */
int client_identify(Client *client, char *error);

/* --- client-attempt.c --- */

/* False: it cannot be made, and call_stop() says why. */
bool attempt_start(Call *call);

/* The transfer, and what belongs to it, is gone; also when there is none. */
void attempt_end(Call *call);

/* --- client-answer.c --- */

/* Nothing has come yet. */
void answer_reset(Call *call);

/* libcurl's CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION; @context is the call. */
size_t answer_header(char *bytes, size_t size, size_t n, void *context);
size_t answer_data(char *bytes, size_t size, size_t n, void *context);

/* --- client-explain.c --- */

/* An attempt has ended with @code and without an answer: says why (call_stop()). */
void client_explain(Call *call, CURLcode code);

/* The server does not accept our credentials, and that is not an answer to hand on. */
static inline bool call_is_unauthorized(const Call *call) {
    return call->status == 401 && !call->limits.accepts_401;
}
