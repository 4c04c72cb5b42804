/* Reads PEM files of a folder under a lock, and replaces them when all new ones are written. */

#include "certs/pem-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "certs/authority.h"
#include "cli/terminal.h"
#include "kube/secret.h"

#define PATH_SIZE 4096u

static const struct {
    const char *name, *beside; /* where it is written first */
    bool is_key;
} files[_PEM_FILE_MAX] = {
    [PEM_CA_KEY] = {"ca.key", ".ca.key.new", true},
    [PEM_CA] = {"ca.crt", ".ca.crt.new", false},
    [PEM_SERVER_KEY] = {"server.key", ".server.key.new", true},
    [PEM_SERVER] = {"server.crt", ".server.crt.new", false},
    [PEM_CLIENT_KEY] = {"client.key", ".client.key.new", true},
    [PEM_CLIENT] = {"client.crt", ".client.crt.new", false},
};

const char *pem_file_name(PemFile file) {
    return files[file].name;
}

/* Ends the process with a message about @r, a negative errno. */
static _Noreturn void fail(const PemFolder *folder, const char *name, int r) {
    terminal_exit(r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE, "%s%s%s: %s", folder->path,
        name ? "/" : "", name ? name : "", strerror(-r));
}

static void lock_folder(PemFolder *folder) {
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0 && errno != ENOENT)
        fail(folder, NULL, -errno);
    if (folder->fd < 0 || flock(folder->fd, LOCK_EX | LOCK_NB) == 0)
        return;
    if (errno == EWOULDBLOCK)
        terminal_fail("%s: another `berth certs` is running there; try again", folder->path);
    fail(folder, NULL, -errno);
}

static void read_one(PemFolder *folder, PemFile file) {
    char path[PATH_SIZE], error[ACCESS_ERROR_MAX];
    struct stat status;
    FileMark mark;
    Str text = STR_NULL;
    int r;

    if (fstatat(folder->fd, files[file].name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            fail(folder, files[file].name, -errno);
        return;
    }
    if (!S_ISREG(status.st_mode))
        terminal_exit(EXIT_FAILED,
            "%s/%s is a link or something else, not a file: use a folder of your own", folder->path,
            files[file].name);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder->path, files[file].name) >=
        sizeof(path))
        fail(folder, NULL, -ENAMETOOLONG);
    r = secret_read_file(path, AUTHORITY_TEXT_MAX, &text, &mark, error);
    if (r < 0)
        terminal_fail_with(r, error);
    buf_append(&folder->texts[file], text);
    (void)terminal_check(buf_error(&folder->texts[file]), "the certificates", NULL);
    folder->is_there[file] = true;
    secret_wipe(text);
    free((void *)(uintptr_t)text.ptr);
}

void pem_folder_read(PemFolder *folder, const char *path) {
    *folder = PEM_FOLDER_INIT;
    folder->path = path;
    for (int i = 0; i < _PEM_FILE_MAX; i++)
        folder->texts[i] = BUF_INIT(AUTHORITY_TEXT_MAX);
    lock_folder(folder);
    for (int i = 0; i < _PEM_FILE_MAX && folder->fd >= 0; i++)
        read_one(folder, (PemFile)i);
}

Buf *pem_folder_renew(PemFolder *folder, PemFile file) {
    secret_buf_done(&folder->texts[file]);
    folder->is_new[file] = true;
    return &folder->texts[file];
}

/* Keeps owner and mode of the replaced file, but never lets other users read a key. */
static int set_rights(const PemFolder *folder, PemFile file, int fd) {
    mode_t mode = files[file].is_key ? 0600 : 0644;
    struct stat before;

    if (folder->is_there[file]) {
        if (fstatat(folder->fd, files[file].name, &before, AT_SYMLINK_NOFOLLOW) < 0 ||
            fchown(fd, before.st_uid, before.st_gid) < 0)
            return -errno;
        mode = before.st_mode & (files[file].is_key ? 0660 : 0666);
    }
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int write_beside(const PemFolder *folder, PemFile file) {
    const char *name = files[file].beside;
    int fd, r;

    (void)unlinkat(folder->fd, name, 0); /* left by an interrupted run */
    fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    r = set_rights(folder, file, fd);
    if (r == 0)
        r = fd_write(fd, pem_folder_text(folder, file));
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

static int move_one(const PemFolder *folder, PemFile file) {
    return renameat(folder->fd, files[file].beside, folder->fd, files[file].name) < 0 ? -errno : 0;
}

void pem_folder_write(PemFolder *folder) {
    int (*const steps[])(const PemFolder *, PemFile) = {write_beside, move_one};

    if (folder->fd < 0 && mkdir(folder->path, 0700) < 0)
        fail(folder, NULL, -errno);
    if (folder->fd < 0)
        lock_folder(folder);
    if (folder->fd < 0) /* deleted since mkdir() */
        fail(folder, NULL, -ENOENT);
    for (size_t step = 0; step < ELEMENTS_OF(steps); step++)
        for (int i = 0; i < _PEM_FILE_MAX; i++) {
            int r = folder->is_new[i] ? steps[step](folder, (PemFile)i) : 0;

            for (int k = 0; r < 0 && k < _PEM_FILE_MAX; k++)
                if (folder->is_new[k])
                    (void)unlinkat(folder->fd, files[k].beside, 0);
            if (r < 0)
                fail(folder, files[i].name, r);
        }
    (void)fsync(folder->fd);
}

const char *pem_folder_first(const PemFolder *folder) {
    for (int i = 0; i < _PEM_FILE_MAX; i++)
        if (folder->is_there[i])
            return files[i].name;
    return NULL;
}

bool pem_folder_is_open(const PemFolder *folder) {
    struct stat status;

    return folder->fd >= 0 && fstat(folder->fd, &status) == 0 &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

void pem_folder_done(PemFolder *folder) {
    for (int i = 0; i < _PEM_FILE_MAX; i++)
        secret_buf_done(&folder->texts[i]);
    if (folder->fd >= 0)
        (void)close(folder->fd);
    folder->fd = -1;
}
