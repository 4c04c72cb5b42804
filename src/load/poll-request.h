#pragma once

/*
 * PollRequest: a job on its way to a server, until there is an answer or none will come.
 *
 *     POST ──> 200: the answer
 *          ──> 405: repeated as a GET; later requests to this server are GETs
 *          ──> 3xx to the same scheme, host and port: followed; elsewhere: an error
 *
 * It ends at its timeout at the latest. A request can be reused; it keeps its memory.
 *
 * Threads: the queue's.
 */

#include "kube/client.h"
#include "load/poll-job.h"
#include "load/source.h"

#define POLL_REQUEST_KEPT ((size_t)4 * 1024 * 1024) /* a larger answer's memory is given back */
#define POLL_REQUEST_LOCATION_MAX ((size_t)8 * 1024)

typedef struct PollRequest {
    PollJob *job; /* NULL: not in use */
    SourceConnection *server;
    Call *call;

    bool is_get, is_from_root;
    unsigned n_redirects;
    unsigned timeout_sec; /* in all */
    Buf path, form;

    int64_t asked_nsec;  /* since 1970 */
    int64_t uptime_nsec; /* the same, monotonic */
    int64_t ended_nsec;  /* monotonic */

    /* The answer. */
    bool is_over;
    CallOutcome outcome;
    unsigned status; /* 0: none */
    int retry_after_sec;
    int64_t date_sec; /* the server's time at the query: Date less the duration; 0: unknown */
    bool is_html;
    bool is_redirect_refused; /* to another server, or one too many */
    Buf location, body;
    char error[CLIENT_ERROR_MAX]; /* unless CALL_DONE */
} PollRequest;

void poll_request_init(PollRequest *request);
void poll_request_done(PollRequest *request); /* cancels it if it is under way */

/* Sends the query of @job; borrows both until poll_request_end(). False: out of memory. */
bool poll_request_start(PollRequest *request, PollJob *job, SourceConnection *server) MUST_CHECK;

/* Follows a redirect, or retries as a GET, if the answer requires it. Whether the request has ended
 * for good. */
bool poll_request_settle(PollRequest *request);

/* Ends the request, or cancels it; it is free for another job. */
void poll_request_end(PollRequest *request);

/* Writes to @ret (POLLER_ERROR_MAX) why there is no usable answer, for users, with the server and a
 * suggestion. @scratch is for temporary data. Returns false if there is an answer: status 200 and
 * not HTML. */
bool poll_request_error(const PollRequest *request, Arena *scratch, char *ret);
