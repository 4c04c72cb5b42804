#pragma once

/*
 * PollQueue: sends queries to sources when they are due, and takes their answers.
 *
 *     poll_queue_turn():  answers ──> readings    (vector.h, join.h)
 *                         due jobs ──> requests   (POLL_REQUESTS_MAX at a time)
 *                         news ──> publish(), notice()
 *
 * and then it waits for the client loop. The poller repeats this for ever, poller_once() until
 * every query was sent once.
 *
 * Threads: one, its own. Fields of readings that other threads read are written under the lock of
 * SharedReadings, which is not held while the queue parses, joins or waits.
 */

#include "kube/client.h"
#include "load/poll-job.h"
#include "load/poll-request.h"
#include "load/poller.h"
#include "load/reading.h"

#define POLL_QUEUE_LOOK_MSEC 250 /* between two checks whether the cluster is known */

/* A label takes at least seven bytes of an answer, and 32 in memory. */
#define POLL_QUEUE_VECTOR_BUDGET ((size_t)192 * 1024 * 1024)
#define POLL_QUEUE_SCRATCH_BUDGET ((size_t)128 * 1024 * 1024)

typedef struct PollQueue {
    SharedReadings *shared;
    PollerCallbacks callbacks; /* publish and notice may be NULL */
    bool asks_once;

    ClientLoop *loop;
    SourceConnections *connections; /* the sources */
    SourceConnection api;           /* access NULL: none */

    Readings *readings; /* the list that the jobs serve; a reference */
    bool is_incomplete; /* some jobs lacked memory: they are made in the next turn */
    PollJob *jobs;
    Backoff seeds;
    PollRequest requests[POLL_REQUESTS_MAX];
    Arena *vectors, *scratch;
    JoinIndex *index; /* for all readings */

    bool is_news; /* measurements are not published yet */
    int64_t news_nsec, publish_from_nsec;
} PollQueue;

/* @shared and @loop are borrowed, @callbacks copied. The caller sets api and connections.
 * 0 or -ENOMEM; poll_queue_done() in every case. */
int poll_queue_init(PollQueue *queue, SharedReadings *shared, ClientLoop *loop,
    const PollerCallbacks *callbacks, uint64_t seed) MUST_CHECK;
void poll_queue_done(PollQueue *queue);

/* Replaces the sources; takes @connections. */
void poll_queue_configure(PollQueue *queue, SourceConnections *connections);

/* Does all work that is due. Returns when to call it again at the latest (monotonic). */
int64_t poll_queue_turn(PollQueue *queue);

/* Waits for requests, up to @until_nsec, or client_loop_wake(). */
void poll_queue_wait(PollQueue *queue, int64_t until_nsec);

/* The connection of a job; NULL: there is no source of that name. */
SourceConnection *poll_queue_connection(PollQueue *queue, const PollJob *job);

/* Whether each job that has a server was answered, or failed, once. */
bool poll_queue_has_asked_all(PollQueue *queue);

/* Jobs that are still open fail with @error. */
void poll_queue_give_up(PollQueue *queue, const char *error);

/* poll-answer.c */

/* Stores an answer, or a failure, in the readings of its job, and schedules the next poll. @request
 * must be over. */
void poll_queue_take_answer(PollQueue *queue, PollRequest *request);

/* Sets the state of a reading without an answer. @error "": none. */
void poll_queue_set_state(PollQueue *queue, Reading *reading, PollState state, const char *error);

/* Public for test-poll-notify.c. */

/* Both do the work that is due and return when more will be; INT64_MAX: never. Each reading has at
 * most one notice in READING_NOTICE_SEC: its last state, if that differs from the reported one. The
 * lock is not held during a callback. */
int64_t poll_queue_publish(PollQueue *queue);
int64_t poll_queue_notify(PollQueue *queue);
