/* Reads whole files up to a limit, and detects changes. */

#include "input/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"

static void closep(int *fd) {
    if (*fd > STDERR_FILENO)
        (void)close(*fd);
}

static int fail(int code, const char *path, const char *what, char *error) {
    (void)snprintf(error, FILE_ERROR_MAX, "%s: %s", path, what);
    return code;
}

int file_read(const char *path, Buf *out, char *error) {
    bool is_stdin = strcmp(path, "-") == 0;
    _cleanup_(closep) int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    int r;

    if (fd < 0)
        return fail(-errno, path, strerror(errno), error);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        return fail(-EISDIR, path, "is a folder, not a file", error);
    out->ceiling++; /* one byte more, to find out whether the file goes on */
    r = fd_read(fd, out);
    out->ceiling--;
    if (r == -EFBIG) {
        bool is_small = out->ceiling < (size_t)1 << 20;

        (void)snprintf(error, FILE_ERROR_MAX, "%s: is larger than the limit of %zu %s", path,
            is_small ? out->ceiling : out->ceiling >> 20, is_small ? "bytes" : "MiB");
        return r;
    }
    return r < 0 ? fail(r, path, strerror(-r), error) : 0;
}

int file_read_yaml(const char *path, YamlReader *reader, YamlStream *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    char error[FILE_ERROR_MAX];
    int r = file_read(path, &text, error);

    *ret = (YamlStream){0};
    if (r < 0 && r != -ENOMEM) {
        diag_add(reader->diags, DIAG_ERROR, (Place){0}, STR_NULL, str_from_c(error), STR_NULL);
        return FILE_E_UNREADABLE;
    }
    reader->source = r == 0 ? arena_copy(reader->arena, buf_str(&text)) : STR_NULL;
    if (!reader->source.ptr)
        return -ENOMEM;
    r = yaml_parse(str_from_c(path), reader->source, reader->arena, reader->diags, ret);
    return r == -EINVAL ? FILE_E_INVALID : r;
}

static uint64_t mix(uint64_t hash, const char *path, const struct stat *status) {
    struct {
        uint64_t hash, device, inode, size;
        int64_t sec, nsec;
    } parts = {
        hash,
        (uint64_t)status->st_dev,
        (uint64_t)status->st_ino,
        (uint64_t)status->st_size,
        status->st_mtim.tv_sec,
        status->st_mtim.tv_nsec,
    };

    return hash_str(str_of((const char *)&parts, sizeof(parts))) ^ hash_str(str_from_c(path));
}

uint64_t file_fingerprint(const char *path) {
    struct stat status;
    struct dirent *entry;
    uint64_t sum;
    DIR *folder;
    int fd;

    if (stat(path, &status) < 0)
        return 0;
    sum = mix(1, path, &status);
    if (!S_ISDIR(status.st_mode))
        return sum;
    folder = opendir(path);
    if (!folder)
        return sum;
    fd = dirfd(folder);
    while (fd >= 0 && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && fstatat(fd, entry->d_name, &status, 0) == 0)
            sum += mix(2, entry->d_name, &status); /* a sum: order does not matter */
    (void)closedir(folder);
    return sum;
}
