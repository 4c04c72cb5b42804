#pragma once

/*
 * PollRequest: a job on its way to a server, until there is an answer or none will come.
 *
 *     POST ──> 200: the answer
 *          ──> 405: once more, as a GET, and from now on
 *          ──> 3xx to the same scheme, host and port: there; elsewhere: an error
 *
 * It ends at its timeout at the latest. A request may be used again; it keeps its memory.
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
    int64_t date_sec; /* the server's time when it got the query: its Date less the duration; 0: not
                         given */
    bool is_html;
    bool is_led_astray; /* to another server, or too often */
    Buf location, body;
    char error[CLIENT_ERROR_MAX]; /* unless CALL_DONE */
} PollRequest;

void poll_request_init(PollRequest *request);
void poll_request_done(PollRequest *request); /* taken back if it is under way */

/* Asks. Returns false if out of memory. */
bool poll_request_start(PollRequest *request, PollJob *job, SourceConnection *server) MUST_CHECK;

/* Follows a redirect, or retries as a GET, if the answer requires it. Whether the request has ended
 * for good. */
bool poll_request_settle(PollRequest *request);

/* Over, or taken back: free for another job. */
void poll_request_end(PollRequest *request);

/* Why there is no answer, for a user, with the server and a suggestion; into @ret
 * (POLLER_ERROR_MAX). @scratch is for temporary data. Returns false if there is one, with status
 * 200, and it is not HTML. */
bool poll_request_error(const PollRequest *request, Arena *scratch, char *ret);
