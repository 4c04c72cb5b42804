#pragma once

/*
 * Process: a program run to its end, bounded in time and in output.
 *
 * It gets a session of its own, nothing on standard input, none of our file descriptors, no blocked
 * or ignored signals. One that takes too long gets SIGTERM, then SIGKILL, with its children.
 *
 * Blocks. Any thread.
 */

#include "base/buf.h"

#define PROCESS_STDERR_MAX 512u /* of its standard error, the end */
#define PROCESS_GRACE_MSEC 2000 /* between SIGTERM and SIGKILL */

typedef struct ProcessOptions {
    const char *command;     /* looked for in PATH unless it has a slash */
    const char *const *args; /* command first, NULL last */
    const char *const *env;  /* NULL last */
    int timeout_msec;
    int peer_fd; /* a socket: the program is ended when its peer goes. 0: none */
} ProcessOptions;

typedef enum ProcessEnd {
    PROCESS_EXITED,    /* code: its exit code */
    PROCESS_SIGNALLED, /* code: the signal */
    PROCESS_TIMEOUT,
    PROCESS_TOO_LOUD, /* more on standard output than @out takes; it was ended */
} ProcessEnd;

typedef struct ProcessResult {
    ProcessEnd end;
    int code;
    char errors[PROCESS_STDERR_MAX + 1]; /* any bytes but NUL */
} ProcessResult;

/* Appends its standard output to @out. 0 when it ran, whatever its exit status; or a negative errno
 * when it could not be started (-ENOENT: no such program, -EACCES). */
int process_run(const ProcessOptions *options, Buf *out, ProcessResult *ret);
