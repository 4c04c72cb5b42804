#pragma once

/*
 * PollAnswer: what an answer is to the readings of its job.
 *
 * Threads: the queue's.
 */

#include "load/poll-queue.h"

/* Takes what came, or that nothing came, over into the readings, and says when to ask next. The
 * request is over. */
void poll_queue_take_answer(PollQueue *queue, PollRequest *request);

/* The state of a reading of which nothing was asked. @error "": none. */
void poll_queue_set_state(PollQueue *queue, Reading *reading, PollState state, const char *error);
