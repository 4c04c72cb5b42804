#pragma once

/*
 * Intake: what an answer is to the readings of its question.
 *
 * Threads: the desk's.
 */

#include "load/desk.h"

/* Takes what came, or that nothing came, over into the readings, and says when to ask next. The
 * request is over. */
void intake_request(Desk *desk, Request *request);

/* The state of a reading of which nothing was asked. @error "": none. */
void intake_state(Desk *desk, Reading *reading, PollState state, const char *error);
