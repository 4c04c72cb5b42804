/* Certificates, keys and tokens: read from files, checked, wiped. */

#include "kube/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/message.h"
#include "kube/access.h"

void secret_wipe(Str text) {
    if (text.len > 0)
        explicit_bzero((void *)(uintptr_t)text.ptr, text.len);
}

char *secret_copy(Str text) {
    char *copy = malloc(text.len + 1);

    if (!copy)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

char *secret_free(char *text) {
    if (text)
        secret_wipe(str_from_c(text));
    free(text);
    return NULL;
}

void secret_buf_done(Buf *buf) {
    secret_wipe(str_of(buf->data, buf->data ? buf->size : 0));
    buf_done(buf);
}

void secret_done(Secret *secret) {
    free(secret->path);
    secret_free(secret->text);
    *secret = (Secret){.kind = secret->kind};
}

static FileMark mark_of(const struct stat *status) {
    return (FileMark){
        .device = (uint64_t)status->st_dev,
        .inode = (uint64_t)status->st_ino,
        .size = (uint64_t)status->st_size,
        .sec = status->st_mtim.tv_sec,
        .nsec = status->st_mtim.tv_nsec,
    };
}

int secret_read_file(const char *path, size_t max, Str *ret, FileMark *ret_mark, char *error) {
    _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_(secret_buf_done) Buf text = BUF_INIT(max + 1); /* one more than allowed */
    struct stat status;
    int r;

    if (fd < 0 || fstat(fd, &status) < 0)
        return message_fail(-errno, error, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return message_fail(-EISDIR, error, "%s: is a folder, not a file", path);
    /* One allocation: growing would leave copies that are not wiped. */
    if (S_ISREG(status.st_mode) && status.st_size > 0 && (uint64_t)status.st_size <= max)
        (void)buf_reserve(&text, (size_t)status.st_size + 1);
    r = fd_read(fd, &text);
    if (r == -EFBIG)
        return message_fail(
            -EFBIG, error, "%s: is larger than %zu KiB, the most that is read", path, max >> 10);
    if (r < 0)
        return message_fail(r, error, "%s: %s", path, strerror(-r));
    *ret_mark = mark_of(&status);
    *ret = str_of(NULL, text.len);
    ret->ptr = buf_take(&text);
    return ret->ptr ? 0 : message_fail(-ENOMEM, error, "out of memory for %s", path);
}

/* Whether all bytes are from @least to @most, and none is DEL. */
static bool is_between(Str text, unsigned char least, unsigned char most) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c < least || c > most || c == 0x7f)
            return false;
    }
    return true;
}

const char *secret_complaint(SecretKind kind, Str text) {
    if (!text.ptr || str_is_empty(str_trim(text)))
        return "is empty";
    if (kind == SECRET_TOKEN)
        return !is_between(text, '!', '~')   ? "is no token: it has blanks or line breaks in it"
               : text.len > ACCESS_TOKEN_MAX ? "is longer than 64 KiB"
                                             : NULL;
    if (kind == SECRET_PASSWORD)
        return !is_between(text, ' ', UINT8_MAX) ? "is no password: it has several lines"
               : text.len > ACCESS_PASSWORD_MAX  ? "is longer than 4 KiB"
                                                 : NULL;
    if (text.len > ACCESS_FILE_MAX)
        return "is larger than 1 MiB";
    if (str_find(text, '\0') != SIZE_MAX || !memmem(text.ptr, text.len, "-----BEGIN ", 11))
        return "is not PEM (\"-----BEGIN …\")";
    return NULL;
}

int secret_refresh(Secret *secret, bool force, bool *ret_changed, char *error) {
    const char *complaint;
    struct stat status;
    FileMark mark = {0};
    Str file = STR_NULL, text;
    char *copy;
    bool is_new;
    int r;

    if (!secret->path)
        return 0;
    if (!force && stat(secret->path, &status) == 0) {
        mark = mark_of(&status);
        if (memcmp(&mark, &secret->mark, sizeof(mark)) == 0)
            return 0;
    }
    r = secret_read_file(secret->path,
        secret->kind == SECRET_PEM ? ACCESS_FILE_MAX : ACCESS_TOKEN_MAX, &file, &mark, error);
    if (r < 0)
        return r;
    text = secret->kind == SECRET_PEM ? file : str_trim(file);
    complaint = secret_complaint(secret->kind, text);
    is_new = !complaint && (!secret->text || !str_is(text, secret->text));
    copy = is_new ? secret_copy(text) : NULL; /* keep unchanged text, which may be borrowed */
    if (complaint)
        r = message_fail(-EINVAL, error, "%s: %s", secret->path, complaint);
    else if (is_new && !copy)
        r = message_fail(-ENOMEM, error, "out of memory for %s", secret->path);
    else
        secret->mark = mark;
    if (copy) {
        secret_free(secret->text);
        secret->text = copy;
        *ret_changed = true;
    }
    secret_wipe(file);
    free((void *)(uintptr_t)file.ptr);
    return r;
}
