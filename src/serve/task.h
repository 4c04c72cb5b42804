#pragma once

/*
 * Task: a thread that calls a function when requested.
 *
 * Requests are bits. Bits requested while the function runs are kept for its next call.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

typedef struct Task Task;

/* @name: of the thread, at most 15 bytes. Calls @run with the requested bits. 0, or a negative
 * errno. */
int task_new(const char *name, void (*run)(void *context, unsigned wanted), void *context,
    Task **ret) MUST_CHECK;

/* Waits for the function to return, and drops open requests. Takes NULL, returns NULL. */
Task *task_free(Task *task);

/* Any thread; does not wait for the function. @wanted: at least one bit. */
void task_request(Task *task, unsigned wanted);

/* Starts no further call. False: one still runs after @timeout_nsec, and task_free() would wait for
 * it. Only for the thread that frees the task; may be called again. */
bool task_stop(Task *task, int64_t timeout_nsec);
