/* Reading and writing all bytes of a file descriptor. */

#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

#define READ_STEP ((size_t)64 * 1024)

int fd_read(int fd, Buf *out) {
    for (;;) {
        size_t room = out->size - out->len, left = out->ceiling - out->len;
        size_t size = room > 0 ? room : left < READ_STEP ? left : READ_STEP;
        char *at = buf_reserve(out, size);
        ssize_t n;

        if (!at)
            return buf_error(out);
        if (size == 0)
            return -EFBIG;
        n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        buf_advance(out, (size_t)n);
    }
}

void fd_closep(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}

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
