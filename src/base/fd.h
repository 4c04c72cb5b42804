#pragma once

/* Fd: helpers for file descriptors. */

#include "base/buf.h"

/* Appends everything up to the end of file. The memory does not move if there was room for one byte
 * more. 0; -EFBIG: there is more than @out takes, or as much; or another negative errno. */
int fd_read(int fd, Buf *out);

/* For _cleanup_(): a negative descriptor is none. */
void fd_closep(int *fd);

/* Writes all of @bytes: continues after a partial write and after a signal. A negative errno
 * otherwise; a part may have been written then. */
int fd_write(int fd, Str bytes);
