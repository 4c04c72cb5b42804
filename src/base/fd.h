#pragma once

/* Fd: helpers for file descriptors. */

#include "base/buf.h"

/* Appends everything up to the end of file. The memory does not move if it had room for one byte
 * more. 0; -EFBIG unless it is less than @out can take; or another negative errno. */
int fd_read(int fd, Buf *out);

/* For _cleanup_(). Does nothing if the descriptor is negative. */
void fd_closep(int *fd);

/* Writes all of @bytes: continues after a partial write and after a signal. 0, or a negative errno;
 * then a part may have been written. */
int fd_write(int fd, Str bytes);
