#pragma once

/*
 * Errors: two kinds of failure, distinguished by sign.
 *
 *   r < 0   fatal to the operation: out of memory, a failed system call, a bug. The value is a
 *           negative errno. Only the outermost caller handles it; all others return it.
 *   r > 0   a documented outcome of the called function ("malformed", "need more"). Its direct
 *           caller handles it and never returns the number: it means something else one level
 *           up. error_fold() turns an unexpected one into a fatal error.
 *   r == 0  success.
 *
 * Arenas, buffers and ropes remember that an allocation failed, so code that builds something
 * of many pieces checks once, at its end (arena_has_failed, buf_error).
 *
 * Commands that run once end the process instead: see cli/terminal.h and arena_on_refusal().
 */

#include <errno.h>

/* @r, or -ENOTRECOVERABLE if it is positive, since callers further up could not understand it. */
static inline int error_fold(int r) {
    return r > 0 ? -ENOTRECOVERABLE : r;
}
