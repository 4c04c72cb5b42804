#pragma once

/* Deadline: until when a thread waits for another, by CLOCK_MONOTONIC, which is never set. */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* A condition that is waited for by that clock. */
void deadline_cond_init(pthread_cond_t *cond);

/* @nsec from now, for pthread_cond_timedwait() on such a condition. */
struct timespec deadline_in(int64_t nsec);
