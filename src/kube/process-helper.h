#pragma once

/*
 * ProcessHelper: a process that runs one program for this process, which will give up the right to
 * start programs (sandbox/sandbox.h).
 *
 * The program, its arguments and its environment are fixed when the helper is forked: requests
 * carry only a time-out, so that the helper is of no other use to an intruder. It ends when this
 * process ends, for any reason, and kills a running program then.
 */

#include "kube/process.h"

/* Forks the helper, once per process and before other threads start; fork() copies @options. 0, or
 * a negative errno. */
int process_helper_start(const ProcessOptions *options) MUST_CHECK;

bool process_helper_is_started(void);

/* Like process_run(), with its own time-out. Runs are serialized. -EPIPE: the helper has ended. Any
 * thread. */
int process_helper_run(int timeout_msec, Buf *out, ProcessResult *ret);
