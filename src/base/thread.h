#pragma once

/* Thread: one that works for others, and gets no signals: those are for who waits for them. */

#include <pthread.h>

#include "base/cleanup.h"

/* @name: at most 15 bytes. 0, or a negative errno. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *context) MUST_CHECK;
