#pragma once

/* Deadline: until when a thread waits for another, by the clock that conditions wait by. */

#include <stdint.h>
#include <time.h>

/* @nsec from now, CLOCK_MONOTONIC; for pthread_cond_timedwait() on a condition of that clock. */
struct timespec deadline_in(int64_t nsec);
