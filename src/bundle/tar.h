#pragma once

/*
 * Tar: files one behind the other, as POSIX (ustar) has them.
 *
 * Only what a bundle needs: regular files with short names. Others that a person's tar may have put
 * in (folders, longer names, times to the nanosecond) are passed over when it is read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define TAR_BLOCK 512u
#define TAR_NAME_MAX 99u

/* The head of a file of @size bytes; @name has at most TAR_NAME_MAX. */
void tar_head(Str name, uint64_t size, int64_t mtime_sec, char ret[static TAR_BLOCK]);

/* How many zeros follow its content. */
static inline size_t tar_padding(uint64_t size) {
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

typedef struct TarFile {
    Str name; /* points into the archive */
    Str content;
} TarFile;

enum {
    _TAR_E_SUCCESS,
    TAR_E_END,       /* there are no more */
    TAR_E_MALFORMED, /* it is no archive, or it ends too early */
};

/* The next regular file of @rest, which moves on behind it. 0 or one of the above. */
int tar_next(Str *rest, TarFile *ret);
