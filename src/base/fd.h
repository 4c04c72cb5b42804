#pragma once

/* Fd: what a file descriptor does not do by itself. */

#include "base/str.h"

/* Writes all of @bytes: goes on after a part, and after a signal. A negative errno otherwise; a
 * part may have been written then. */
int fd_write(int fd, Str bytes);
