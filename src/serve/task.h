#pragma once

/*
 * Task: a function on a thread of its own, called when it is requested.
 *
 * Requests are bits. Those that come while the function runs are collected for its next call.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

typedef struct Task Task;

/* @name: of the thread, at most 15 bytes. @run is called with the requested bits. 0, or a negative
 * errno. */
int task_new(const char *name, void (*run)(void *context, unsigned wanted), void *context,
    Task **ret) MUST_CHECK;

/* Waits for the function to return; requests that it has not begun are dropped. Takes NULL. */
Task *task_free(Task *task);

/* Any thread; never blocks for long. @wanted: at least one bit. */
void task_request(Task *task, unsigned wanted);

/* No call begins any more. False: one is still running after @timeout_nsec, and task_free() would
 * wait for it. The thread that frees it calls this, any number of times. */
bool task_stop(Task *task, int64_t timeout_nsec);
