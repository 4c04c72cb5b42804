/* Writing all bytes to a file descriptor. */

#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

int fd_write(int fd, Str bytes) {
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes = str_skip(bytes, (size_t)n);
    }
    return 0;
}
