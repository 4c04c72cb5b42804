#pragma once

/*
 * Errors: two kinds of failure, told apart by sign.
 *
 *   r < 0   fatal to what was being done: out of memory, a failed system call, a
 *           bug. The value is a negative errno. Nobody but the outermost caller
 *           handles it; everybody else passes it on with error_trace().
 *   r > 0   a documented outcome of the function that was called ("malformed",
 *           "need more"). Its direct caller handles it and never passes the
 *           number on: the same number means something else one level up.
 *           error_fold() turns one that the caller did not expect into a fatal
 *           error.
 *   r == 0  success.
 *
 * The places an error passed through are kept per thread and cost nothing on
 * success. The daemon logs them at level debug when it refuses a new configuration.
 */

#include <stddef.h>

#define error_origin(code) error_origin_at((code), __FILE__, __LINE__, __func__)
#define error_trace(r) error_trace_at((r), __FILE__, __LINE__, __func__)
#define error_fold(r) error_fold_at((r), __FILE__, __LINE__, __func__)

/* Starts a trace. @code is a negative errno and is returned. */
int error_origin_at(int code, const char *file, int line, const char *func);

/* Adds a place to the trace when @r is negative. Returns @r. */
int error_trace_at(int r, const char *file, int line, const char *func);

/* As error_trace, but a positive @r, which no caller up the stack could
 * understand, becomes -ENOTRECOVERABLE. */
int error_fold_at(int r, const char *file, int line, const char *func);

/* The calling thread's last trace as text, innermost place first, written into
 * @text (cut to fit, always terminated). Empty when there was none. */
void error_describe(char *text, size_t size);
