#pragma once

/*
 * Request: a question on its way to a server, until there is an answer or none will come.
 *
 *     POST ──> 200: the answer
 *          ──> 405: once more, as a GET, and from now on
 *          ──> 3xx to the same scheme, host and port: there; elsewhere: an error
 *
 * Whatever comes, it is over when its time is. A request may be used again; it keeps its memory.
 *
 * Threads: the desk's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "kube/client.h"
#include "load/question.h"
#include "load/server.h"

#define REQUEST_KEPT ((size_t)4 * 1024 * 1024) /* a larger answer's memory is given back */
#define REQUEST_LOCATION_MAX ((size_t)8 * 1024)

typedef struct Request {
    Question *question; /* NULL: not in use */
    Server *server;
    Call *call;

    bool is_get, is_from_root;
    unsigned n_redirects;
    unsigned timeout_sec; /* in all */
    Buf path, form;

    int64_t asked_nsec;  /* since 1970 */
    int64_t uptime_nsec; /* the same, monotonic */
    int64_t ended_nsec;  /* monotonic */

    /* What came. */
    bool is_over;
    CallOutcome outcome;
    unsigned status; /* 0: none */
    int retry_after_sec;
    int64_t date_sec; /* the server's, when it was asked: less the time it took; 0: not given */
    bool is_html;
    bool is_led_astray; /* to another server, or too often */
    Buf location, body;
    char error[CLIENT_ERROR_MAX]; /* unless CALL_DONE */
} Request;

void request_init(Request *request);
void request_done(Request *request); /* taken back if it is under way */

/* Asks. False: out of memory. */
bool request_start(Request *request, Question *question, Server *server) MUST_CHECK;

/* Follows a redirect, or asks again as a GET, if it is over by that. Whether it is over for
 * good. */
bool request_settle(Request *request);

/* Over, or taken back: free for another question. */
void request_end(Request *request);

/* Why there is no answer, once it is over: for a person, with the server and what would help; into
 * @ret (POLLER_ERROR_MAX). @scratch is for what is needed on the way. False: there is one, with
 * status 200, and it is not HTML. */
bool request_complaint(const Request *request, Arena *scratch, char *ret);

/* Whether it is the server that does not work, and not only this question. */
bool request_blames_server(const Request *request);
