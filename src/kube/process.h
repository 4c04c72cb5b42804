#pragma once

/*
 * Process: runs a program, with limits for time and output.
 *
 * It gets its own session, an empty standard input, none of our file descriptors, no blocked or
 * ignored signals. After the time-out it and its children get SIGTERM, then SIGKILL.
 *
 * Blocks. Any thread.
 */

#include "base/buf.h"

#define PROCESS_STDERR_MAX 512u /* kept bytes at the end of standard error */
#define PROCESS_GRACE_MSEC 2000 /* between SIGTERM and SIGKILL */

typedef struct ProcessOptions {
    const char *command;     /* searched in PATH unless it has a slash */
    const char *const *args; /* command first, NULL last */
    const char *const *env;  /* NULL last */
    int timeout_msec;
    int peer_fd; /* a socket: the program is killed when its peer closes; 0: none */
} ProcessOptions;

typedef enum ProcessEnd {
    PROCESS_EXITED,    /* code: its exit code */
    PROCESS_SIGNALLED, /* code: the signal */
    PROCESS_TIMEOUT,
    PROCESS_TOO_LOUD, /* killed: more standard output than @out takes */
} ProcessEnd;

typedef struct ProcessResult {
    ProcessEnd end;
    int code;
    char errors[PROCESS_STDERR_MAX + 1]; /* any bytes except NUL */
} ProcessResult;

/* Appends its standard output to @out. 0 if it ran, with any exit status; or a negative errno if it
 * could not be started (-ENOENT: no such program, -EACCES). */
int process_run(const ProcessOptions *options, Buf *out, ProcessResult *ret);
