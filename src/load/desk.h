#pragma once

/*
 * Desk: where questions are asked and answers come in.
 *
 *     desk_turn():  answers ──> readings        (vector.h, join.h)
 *                   due questions ──> requests  (SERVER_REQUESTS_MAX at a time)
 *                   what is new ──> publish(), notice()
 *
 * and then it is waited for the client loop. The poller does so for ever, poller_once() until
 * everything was asked once.
 *
 * Threads: one, its own. What others may see of readings is written under the board's lock, which
 * is never held while something is read, joined or waited for.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "kube/client.h"
#include "load/poller.h"
#include "load/question.h"
#include "load/reading.h"
#include "load/request.h"
#include "load/server.h"

#define DESK_LOOK_MSEC 250 /* between two looks whether a cluster is known by now */

/* A label takes at least seven bytes of an answer, and 32 in memory. */
#define DESK_VECTOR_BUDGET ((size_t)192 * 1024 * 1024)
#define DESK_SCRATCH_BUDGET ((size_t)128 * 1024 * 1024)

typedef struct Desk {
    Board *board;
    PollerCallbacks callbacks; /* publish and notice may be NULL */
    bool asks_once;

    ClientLoop *loop;
    Servers *servers; /* the sources */
    Server api;       /* access NULL: there is none */

    Readings *readings; /* those that the questions are for; a reference */
    bool is_incomplete; /* memory was missing for some questions: again at the next turn */
    Question *questions;
    Backoff seeds;
    Request requests[SERVER_REQUESTS_MAX];
    Arena *vectors, *scratch;
    JoinIndex *index; /* for all readings */

    bool is_news; /* not published yet */
    int64_t news_nsec, publish_from_nsec;
} Desk;

/* @board and @loop are borrowed, @callbacks copied. Servers are set by whoever made it. 0 or
 * -ENOMEM; desk_done() in every case. */
int desk_init(Desk *desk, Board *board, ClientLoop *loop, const PollerCallbacks *callbacks,
    uint64_t seed) MUST_CHECK;
void desk_done(Desk *desk);

/* Other sources from now on; takes @servers. */
void desk_configure(Desk *desk, Servers *servers);

/* Moves everything along. Returns when to do so again, if nothing happens before (monotonic). */
int64_t desk_turn(Desk *desk);

/* Waits for requests, up to @until_nsec, or client_loop_wake(). */
void desk_wait(Desk *desk, int64_t until_nsec);

/* Who is asked; NULL: there is none of that name. */
Server *desk_server(Desk *desk, const Question *question);

/* Whether each question that has a server was answered, or failed, once. */
bool desk_has_asked_all(Desk *desk);

/* What is still open fails with @error. */
void desk_give_up(Desk *desk, const char *error);
