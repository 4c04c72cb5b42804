/* A private, locked folder, and files that are replaced atomically. */

#include "demo/demo-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define FOLDERS_MAX 32

/* Whether only this user can write to it: in /tmp another user may have created it. */
static bool is_private(int fd) {
    struct stat info;

    return fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

/* Makes, opens and locks folder->path. 0 or a negative errno. */
static int acquire(DemoFolder *folder) {
    int fd;

    if (mkdir(folder->path, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (!is_private(fd) || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        (void)close(fd);
        return -EBUSY;
    }
    folder->fd = fd;
    return 0;
}

int demo_folder_open(DemoFolder *folder, char *error) {
    const char *root = getenv("TMPDIR");
    unsigned uid = (unsigned)geteuid();
    int r = -EBUSY, n;

    if (!root || !root[0])
        root = "/tmp";
    for (int i = 1; r < 0 && i <= FOLDERS_MAX; i++) {
        if (i == 1)
            n = snprintf(folder->path, DEMO_FOLDER_PATH_MAX, "%s/berth-demo-%u", root, uid);
        else
            n = snprintf(folder->path, DEMO_FOLDER_PATH_MAX, "%s/berth-demo-%u-%d", root, uid, i);
        r = n < (int)DEMO_FOLDER_PATH_MAX ? acquire(folder) : -ENAMETOOLONG;
        if (r < 0 && r != -EBUSY && r != -ELOOP && r != -ENOTDIR)
            break;
    }
    if (r < 0) {
        (void)snprintf(error, DEMO_FOLDER_ERROR_MAX,
            "cannot use %s for its files: %s; TMPDIR can name another place", folder->path,
            strerror(-r));
        return r;
    }
    return 0;
}

void demo_folder_done(DemoFolder *folder) {
    if (folder->fd >= 0)
        (void)close(folder->fd);
    *folder = DEMO_FOLDER_NONE;
}

static int replace(const DemoFolder *folder, const char *name, const char *new_name, Str text) {
    int fd =
        openat(folder->fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return -errno;
    r = fd_write(fd, text);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(folder->fd, new_name, folder->fd, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(folder->fd, new_name, 0);
    return r;
}

int demo_folder_write(const DemoFolder *folder, const char *name, Str text, char *error) {
    char new_name[64];
    int r;

    (void)snprintf(new_name, sizeof(new_name), ".%s.new", name);
    r = replace(folder, name, new_name, text);
    if (r == 0)
        return 0;
    (void)snprintf(
        error, DEMO_FOLDER_ERROR_MAX, "cannot write %s/%s: %s", folder->path, name, strerror(-r));
    return r;
}
