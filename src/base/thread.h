#pragma once

/* Thread: starting and joining threads, waiting with a deadline, holding a mutex. */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/cleanup.h"

/* Starts a thread with all signals blocked: another thread handles them. @name: at most 15 bytes.
 * 0, or a negative errno. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *context) MUST_CHECK;

/* Waits until the thread ends. */
void thread_join(pthread_t thread);

/* Makes a condition whose timed waits use CLOCK_MONOTONIC, which is never set. */
void deadline_cond_init(pthread_cond_t *cond);

/* @nsec from now, for pthread_cond_timedwait() on such a condition. */
struct timespec deadline_in(int64_t nsec);

/* Locks @mutex until the end of the block:
 *
 *     _unlock_ pthread_mutex_t *held = mutex_hold(&store->lock);
 */
#define _unlock_ __attribute__((cleanup(mutex_unlockp), unused))

static inline pthread_mutex_t *mutex_hold(pthread_mutex_t *mutex) {
    (void)pthread_mutex_lock(mutex);
    return mutex;
}

static inline void mutex_unlockp(pthread_mutex_t **mutex) {
    (void)pthread_mutex_unlock(*mutex);
}
