#pragma once

/*
 * ProcessHelper: a process that runs one program for this one, which is about to give up the right
 * to start any (sandbox/sandbox.h).
 *
 * The program, its arguments and its environment are fixed when the helper is forked: requests
 * carry only a time-out, so that the helper is of no other use to an intruder. It ends when this
 * process does, by whatever means, and ends a running program then.
 */

#include "kube/process.h"

/* Forks it; there is one for a process. @options are copied by that. Before other threads are
 * started. 0, or a negative errno. */
int process_helper_start(const ProcessOptions *options) MUST_CHECK;

bool process_helper_is_started(void);

/* As process_run(), with a time-out of its own; one run at a time, others wait. -EPIPE: the helper
 * has ended. Any thread. */
int process_helper_run(int timeout_msec, Buf *out, ProcessResult *ret);
