#pragma once

/*
 * What others are to know of readings: measurements that are new, and changes of state.
 *
 * A source that flaps does not flood: a reading has at most one notice in READING_NOTICE_SEC, and
 * then it is the last state that is told, if it is another one than was told before.
 *
 * Threads: the queue's. The shared's lock is not held while somebody is told.
 */

#include <stdint.h>

#include "load/poll-queue.h"

/* Each does what is due and returns when something will be; INT64_MAX: nothing. */
int64_t poll_queue_publish(PollQueue *queue);
int64_t poll_queue_notify(PollQueue *queue);
