#pragma once

/*
 * Gzip: bytes made smaller, and back (RFC 1952, by zlib).
 *
 * A gzip file is a row of members that are read as one. What is not known before (the size of a
 * file that is still to be written, which its head contains) can so be compressed before its head
 * is.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

typedef struct Gzip Gzip;

/* One member after another. NULL when out of memory. */
Gzip *gzip_new(void);
Gzip *gzip_free(Gzip *gzip); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Gzip *, gzip_free)

/* Makes @bytes smaller, into @out as they come. 0, or the error of @out. */
int gzip_write(Gzip *gzip, Str bytes, Buf *out) MUST_CHECK;

/* Ends the member; the next byte begins another one. */
int gzip_end(Gzip *gzip, Buf *out) MUST_CHECK;

enum {
    _GUNZIP_E_SUCCESS,
    GUNZIP_E_OTHER,   /* it does not begin as a gzip file does */
    GUNZIP_E_DAMAGED, /* it cannot be read to its end, or a check sum is wrong */
    GUNZIP_E_LARGE,   /* it is larger than @out may be */
};

/* All members of @file, appended to @out. 0, one of the above, or -ENOMEM. */
int gunzip(Str file, Buf *out) MUST_CHECK;
