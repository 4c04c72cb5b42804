#pragma once

/* Fd: helpers for file descriptors. */

#include "base/str.h"

/* Writes all of @bytes: continues after a partial write and after a signal. A negative errno
 * otherwise; a part may have been written then. */
int fd_write(int fd, Str bytes);
