/* Writes a snapshot to a file, or to standard output. */

#include "input/dump-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cluster/dump.h"

#define DUMP_PATH_MAX 4096u

static int write_bytes(void *context, Str bytes) {
    return fd_write(*(const int *)context, bytes);
}

static int write_to(int fd, const Snapshot *snapshot) {
    return dump_write(snapshot, /* mask= */ NULL, (DumpSink){.write = write_bytes, .context = &fd});
}

/* Writes a new file at @path; after a failure there is none. */
static int write_new(const char *path, const Snapshot *snapshot) {
    int fd, r;

    (void)unlink(path); /* left by an interrupted dump */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_to(fd, snapshot);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r < 0)
        (void)unlink(path);
    return r;
}

int dump_file_write(const char *path, const Snapshot *snapshot, char *error) {
    char beside[DUMP_PATH_MAX];
    int r;

    if (strcmp(path, "-") == 0) {
        r = write_to(STDOUT_FILENO, snapshot);
    } else if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside)) {
        r = -ENAMETOOLONG;
    } else {
        r = write_new(beside, snapshot);
        if (r == 0 && rename(beside, path) < 0) {
            r = -errno;
            (void)unlink(beside);
        }
    }
    if (r < 0)
        (void)snprintf(error, DUMP_FILE_ERROR_MAX, "cannot write %s: %s", path, strerror(-r));
    return r;
}
